/* encdec as a user sees it: it learns the built-in sentences, says how well, and continues to the same bits. */
#include "base/file.h"
#include "base/memory.h"
#include "core/run/safetensors.h"
#include "tests/command.h"
#include "tests/each.h"
#include "tests/npy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Some ten steps a second and more. */
#define TINY                                                                                                           \
    "--preset minute --minutes 0 --dim 32 --heads 2 --ff 64 --depth 1 --batch-tokens 512 --micro-tokens 256 "          \
    "--workers 2 --dropout 0 --eval-every 0 -q "

static const char *trained(const char *words)
{
    const char *run = fresh_path("run");
    works("train --run %s " TINY " %s", run, words);
    return run;
}

static Json *evaluated(const char *run, const char *words)
{
    Json *j = must_json("eval --run %s -q --json %s", run, words);
    return j;
}

/* The last line of a run's log: column i, from 0. */
static double last_logged(const char *run, size_t column)
{
    size_t size;
    char *log = read_in(run, "log.tsv", &size);
    ck_assert_ptr_nonnull(log);
    log[size - 1] = 0;
    char *at = strrchr(log, '\n') + 1;
    for (size_t i = 0; i < column; i++)
        at = strchr(at, '\t') + 1;
    double value = strtod(at, NULL);
    memory_free(log);
    return value;
}

START_TEST(it_learns_and_eval_says_how_well)
{
    static const char *const ways[] = {"", "--norm pre --no-tie", "--no-by-length --dropout 0.1 --distances bias",
                                       "--positions learned --decoder-depth 2 --attention composed"};
    char words[120];
    snprintf(words, sizeof words, "--steps 250 --warmup 100 %s", ways[_i]);
    const char *run = trained(words);
    Json *j = evaluated(run, "--weights last");
    double loss = json_real(j, "loss"), subwords = json_real(j, "subwords"), of_words = json_real(j, "words");
    ck_assert_msg(loss < 2.8, "loss %g", loss); /* of one that knows how frequent words are alone: 3.6 */
    ck_assert(json_real(j, "sentences") == 500 && subwords > 5000);
    ck_assert_double_eq_tol(json_real(j, "perplexity"), exp(loss), 1e-6 * exp(loss));
    ck_assert_double_eq_tol(json_real(j, "word_perplexity"), exp(loss * subwords / of_words), 1e-6);
    json_free(j);
}

/* What the log says of the last step is what eval says of its checkpoint: loss, and both perplexities. */
START_TEST(the_log_has_what_eval_finds)
{
    const char *run = trained("--steps 20 --type bytes --longest 60 --context 200 --smoothing 0.1");
    Json *j = evaluated(run, "--weights last");
    ck_assert_double_eq_tol(last_logged(run, 5), json_real(j, "loss"), 1e-5);
    ck_assert_double_eq_tol(last_logged(run, 10), json_real(j, "perplexity"), 1e-3);
    ck_assert_double_eq_tol(last_logged(run, 11) / json_real(j, "word_perplexity"), 1, 1e-4);
    ck_assert_double_gt(last_logged(run, 2), last_logged(run, 8)); /* with smoothing, and without */
    json_free(j);
}

/* Before it has learned anything it knows no more than how many subwords there are; with tied tables of deviation
 * 1 / sqrt(D), logits have about the variance 1 then, which costs half a nat. */
START_TEST(the_first_loss_is_that_of_a_guess)
{
    const char *run = trained("--steps 1 --type bytes --longest 60 --context 200");
    double loss = last_logged(run, 8), guess = log(258);
    ck_assert_msg(loss > guess && loss < guess + 1, "loss %g, a guess %g", loss, guess);
}

START_TEST(a_run_that_goes_on_has_the_same_bits)
{
    static const char *const ways[] = {"--dropout 0.1 --attention-dropout 0.1 --ff-dropout 0.1 --seed 3",
                                       "--type bpe --merges 100 --bpe-dropout 0.2 --longest 60 --context 128",
                                       "--guided-alignment 0.5 --guided-head 1 --precision bf16",
                                       "--depth 2 --guided-alignment 0.5 --guided-layer 0"};
    char whole[700], parts[720], options[200];
    size_t size, other;
    snprintf(options, sizeof options, "--steps 40 %s", ways[_i]);
    snprintf(whole, sizeof whole, "%s", trained(options));
    snprintf(parts, sizeof parts, "%s-parts", whole);
    works("train --run %s " TINY " --steps 17 %s", parts, ways[_i]);
    works("train --resume %s --steps 40 -q", parts);
    static const char *const files[] = {"checkpoints/00000040/model.safetensors",
                                        "checkpoints/00000040/state.safetensors", "vocabulary.tsv"};
    for (size_t i = 0; i < 3; i++) {
        char *a = read_in(whole, files[i], &size), *b = read_in(parts, files[i], &other);
        ck_assert_msg(a && b && size == other && size > 100, "%s", files[i]);
        ck_assert_msg(i == 1 || memcmp(a, b, size) == 0, "%s", files[i]); /* the state knows when it was scored */
        memory_free(a);
        memory_free(b);
    }
}

/* However a step is cut into micro-batches, and whoever computes them, it is the same step but for rounding. */
START_TEST(micro_batches_and_workers_change_rounding_alone)
{
    static const char *const ways[] = {"--micro-tokens 4096 --workers 1", "--micro-tokens 130 --workers 1",
                                       "--micro-tokens 130 --workers 3", "--recompute --workers 2"};
    double first = 0;
    for (size_t i = 0; i < 4; i++) {
        char words[200];
        snprintf(words, sizeof words, "--steps 6 --device plain --precision f64 --dropout 0.2 %s", ways[i]);
        double loss = last_logged(trained(words), 2);
        first = i ? first : loss;
        ck_assert_double_eq_tol(loss, first, 2e-6); /* of a log with six digits */
    }
}

START_TEST(logits_are_dumped_in_reading_order)
{
    const char *run = trained("--steps 3");
    char path[800];
    Npy logits, ids;
    snprintf(path, sizeof path, "--dump-logits %s/x.npy --micro-tokens 50", run);
    Json *j = evaluated(run, path);
    snprintf(path, sizeof path, "%s/x.npy", run);
    logits = npy_read(path);
    snprintf(path, sizeof path, "%s/x.ids.npy", run);
    ids = npy_read(path);
    ck_assert(logits.rank == 2 && logits.type == NPY_F32 && ids.type == NPY_I32);
    ck_assert(logits.shape[0] == ids.shape[0] && ids.shape[0] == (size_t)json_real(j, "subwords"));
    double sum = 0;
    size_t sentences = 0;
    for (size_t i = 0; i < ids.shape[0]; i++) {
        const float *row = (const float *)logits.data + i * logits.shape[1];
        int32_t id = ((const int32_t *)ids.data)[i];
        double all = 0;
        for (size_t k = 0; k < logits.shape[1]; k++)
            all += exp((double)row[k]);
        sum += log(all) - (double)row[id];
        sentences += id == 1;
    }
    ck_assert_uint_eq(sentences, 500);
    ck_assert_double_eq_tol(sum / (double)ids.shape[0], json_real(j, "loss"), 1e-5);
    npy_free(&logits);
    npy_free(&ids);
    json_free(j);
}

START_TEST(the_average_is_the_mean_of_checkpoints)
{
    const char *run = trained("--steps 6 --save-every 2 --keep 3");
    Said s = must("average --run %s --last 2 --json", run);
    Json *j = said_json(&s);
    ck_assert(json_real(j, "first") == 4 && json_real(j, "newest") == 6 && json_real(j, "checkpoints") == 2);
    json_free(j);
    said_free(&s);
    Safetensors *file[3];
    const char *const names[] = {"checkpoints/00000004/model.safetensors", "checkpoints/00000006/model.safetensors",
                                 "average.safetensors"};
    Error e;
    for (size_t i = 0; i < 3; i++) {
        char path[800];
        snprintf(path, sizeof path, "%s/%s", run, names[i]);
        ck_done(safetensors_open(&file[i], path, &e), e);
    }
    ck_assert_uint_eq(safetensors_count(file[0]), safetensors_count(file[2]));
    ck_assert_str_eq(safetensors_text(file[0], "model"), safetensors_text(file[2], "model"));
    for (size_t i = 0; i < safetensors_count(file[2]); i++) {
        const SafeTensor *mean = safetensors_at(file[2], i);
        size_t count = safe_elements(mean);
        double *x[3];
        for (size_t k = 0; k < 3; k++) {
            x[k] = memory_get(count, sizeof **x);
            const SafeTensor *t = safetensors_find(file[k], mean->name);
            ck_done(safetensors_read(file[k], t, SAFE_F64, x[k], count, &e), e);
        }
        for (size_t n = 0; n < count; n++)
            ck_assert_double_eq_tol(x[2][n], (x[0][n] + x[1][n]) / 2, 1e-7 * fmax(1, fabs(x[2][n])));
        for (size_t k = 0; k < 3; k++)
            memory_free(x[k]);
    }
    for (size_t i = 0; i < 3; i++)
        safetensors_close(file[i]);
    Json *last = evaluated(run, "--weights last"), *average = evaluated(run, "--weights average");
    ck_assert(json_real(last, "loss") != json_real(average, "loss"));
    json_free(last);
    json_free(average);
    refused(1, "has 3 checkpoints after step 0, not 4", "average --run %s --last 4", run);
}

START_TEST(an_average_of_what_the_run_was_before_it_went_on_is_refused)
{
    const char *run = trained("--steps 4 --save-every 2 --keep 3");
    works("average --run %s --last 2", run);
    works("eval --run %s -q --weights average", run);
    works("train --resume %s -q", run); /* which trains nothing */
    works("eval --run %s -q --weights average", run);
    works("train --resume %s --steps 6 -q", run);
    refused(1, "is of checkpoints up to step 4, and the run's newest is of step 6: encdec average --run ",
            "eval --run %s -q --weights average", run);
    refused(1, "with --last N, where the run has fewer than 5", "eval --run %s -q --weights average", run);
    works("eval --run %s -q --weights %s/average.safetensors", run, run);
    works("average --run %s --last 2", run);
    works("eval --run %s -q --weights average", run);
}

START_TEST(presets_are_the_models_that_they_are_named_after)
{
    static const struct {
        const char *words;
        double parameters;
    } models[] = {
        {"tiny", 2870016},
        {"tiny --no-tie", 2870016 + 2 * 1280000 + 10000},
        {"base", 63082496},
        {"base --type bytes", 63082496 - (37000 - 258) * 512},
        {"base --type wordpiece --vocabulary tests/fixtures/wordpiece-vocab.txt", 63082496 - (37000 - 168) * 512}};
    for (size_t i = 0; i < 5; i++) {
        Json *j = must_json("info --preset %s --json", models[i].words);
        ck_assert_double_eq(json_real(j, "parameters"), models[i].parameters);
        ck_assert_double_eq(json_real(j, "tokens_a_step"), i < 2 ? 4096 : 25000);
        json_free(j);
    }
}

START_TEST(the_batch_and_what_is_left_out_are_said)
{
    const char *run = fresh_path("run");
    Said s = must("train --run %s --preset minute --minutes 0 --dim 16 --heads 2 --ff 16 --depth 1 --steps 1 "
                  "--longest 8 --batch-tokens 200",
                  run);
    ck_assert_msg(strstr(s.err, "target tokens per step on average") && strstr(s.err, "steps per epoch"), "%s", s.err);
    ck_assert_msg(strstr(s.err, "the learning rate was chosen for batches of 1024 tokens"), "%s", s.err);
    ck_assert_msg(strstr(s.err, "left out: 0 empty, ") && !strstr(s.err, "train     8000 pairs"), "%s", s.err);
    said_free(&s);
    s = must("train --run %s-2 --preset minute --minutes 0 --dim 16 --heads 2 --ff 16 --depth 1 --steps 1", run);
    ck_assert_msg(!strstr(s.err, "warning"), "%s", s.err);
    said_free(&s);
    s = must("train --resume %s --steps 2", run); /* whose preset nobody knows any more */
    ck_assert_msg(strstr(s.err, "target tokens per step") && !strstr(s.err, "warning"), "%s", s.err);
    said_free(&s);
}

/* Nothing is read or learned for a run that cannot begin. */
START_TEST(a_folder_that_is_taken_is_refused_at_once)
{
    const char *run = fresh_path("run");
    works("train --run %s --preset minute --minutes 0 --dim 16 --heads 2 --ff 16 --depth 1 --steps 0", run);
    Said s = command("train --run %s --preset minute", run);
    ck_assert_int_eq(s.status, 1);
    ck_assert_msg(strstr(s.err, "it holds a run. Continue it with --resume") && !strstr(s.err, "pairs"), "%s", s.err);
    said_free(&s);
    s = must("train --run %s --preset minute --dry-run", run); /* makes nothing */
    said_free(&s);
}

/* Validation sentences with what `translate` makes of them. */
START_TEST(samples_are_translations_beside_sources_and_references)
{
    const char *run = trained("--steps 20 --eval-every 10");
    size_t size, other, count = 0;
    Buffer sources = {0}, translations = {0};
    char *text = read_in(run, "samples/00000020.txt", &size), *before = read_in(run, "samples/00000010.txt", &other);
    ck_assert(text && before && size > 300 && other > 300);
    for (char *at = text; at < text + size; count++) {
        static const char *const names[] = {"source       ", "reference    ", "translation  ", "\n"};
        for (size_t i = 0; i < 4; i++) {
            ck_assert_msg(strncmp(at, names[i], strlen(names[i])) == 0, "sample %zu: no %s", count, names[i]);
            char *line = at + strlen(names[i]), *end = strchr(at, '\n') + 1;
            if (i % 2 == 0)
                buffer_add(i ? &translations : &sources, line, (size_t)(end - line));
            at = end;
        }
    }
    ck_assert_uint_eq(count, 6);
    command_input(sources.text, sources.size);
    Said s = must("translate --run %s -q --weights last --max-extra 20", run);
    ck_assert_str_eq(s.out, translations.text);
    said_free(&s);
    buffer_free(&sources);
    buffer_free(&translations);
    memory_free(text);
    memory_free(before);
}

#define LARGE                                                                                                          \
    "--preset minute --minutes 0 --dim 128 --heads 4 --depth 2 --ff 512 --batch-tokens 6000 --micro-tokens 2000 "      \
    "--eval-every 0 --steps 2 -q "

START_TEST(the_plan_is_within_a_tenth_of_the_peak)
{
    static const char *const ways[] = {"--workers 1", "--workers 2", "--workers 2 --micro-tokens 700",
                                       "--workers 1 --recompute", "--workers 2 --norm pre --no-tie"};
    const char *run = fresh_path("run");
    Json *j = must_json("train --run %s " LARGE " %s --dry-run --json", run, ways[_i]);
    double planned = json_real(j, "memory_bytes");
    ck_assert(json_real(j, "steps") == 2);
    json_free(j);
    Said s = must("train --run %s " LARGE " %s", run, ways[_i]); /* where the dry run made nothing */
    double peak = (double)s.peak;
    ck_assert_msg(SANITIZED || (peak > 0.9 * planned && peak < 1.1 * planned), "%s: %.1f MiB planned, %.1f at the peak",
                  ways[_i], planned / 1048576, peak / 1048576);
    said_free(&s);
}

START_TEST(bench_needs_no_data)
{
    Json *j = must_json(
        "bench --preset minute --dim 32 --heads 2 --ff 64 --depth 1 --batch-tokens 512 --micro-tokens 256 "
        "--steps 2 --length 9 --json");
    ck_assert_double_eq_tol(json_real(j, "tokens_per_s") * json_real(j, "step_s"), 512 / 9 * 9, 1);
    ck_assert(json_real(j, "first_loss") > 8 && json_real(j, "first_loss") < 10); /* ln 5000 is 8.5 */
    json_free(j);
}

START_TEST(what_cannot_be_is_refused)
{
    static const char lines[] = "a\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\n";
    const char *run = trained("--steps 1");
    refused(1, "/no/such/data", "train --run %s-2 --data /no/such/data", run);
    refused(2, "--micro-tokens", "train --run %s-2 " TINY " --micro-batch 3", run);
    refused(2, "needs --type bpe", "train --run %s-2 " TINY " --type bytes --bpe-dropout 0.1", run);
    refused(2, "leave out --bpe-dropout", "train --run %s-2 " TINY " --type bpe --bpe-dropout 0.1 --guided-alignment 1",
            run);
    refused(2, "--guided-head", "train --run %s-2 " TINY " --guided-alignment 1 --guided-head 2", run);
    refused(2, "--guided-layer", "train --run %s-2 " TINY " --guided-alignment 1 --guided-layer 1", run);
    refused(2, "--guided-alignment is for a softmax",
            "train --run %s-2 " TINY " --guided-alignment 1 --attention composed --distances none --talking-heads",
            run);
    refused(2, "and --sink-score", "train --run %s-2 " TINY " --guided-alignment 1 --sink-score", run);
    refused(2, "--top-keys, ",
            "train --run %s-2 " TINY " --guided-alignment 1 --attention composed --distances none --top-keys 2", run);
    refused(2, "--bias-free leaves no bias", "train --run %s-2 " TINY " --tie --bias-free --logits-bias", run);
    works("train --run %s-3 " TINY " --depth 1 --decoder-depth 2 --steps 1", run);
    works("eval --run %s-3 --skip-blocks 1 --no-bleu -q", run);
    refused(2, "from 0 to 1", "eval --run %s-3 --skip-blocks 2", run);
    refused(2, "for --guided-alignment", "train --run %s-2 " TINY " --alignments x", run);
    write_in(run, "train.en", lines, sizeof lines - 1), write_in(run, "train.de", lines, sizeof lines - 1);
    refused(1, "held out",
            "train --run %s-2 " TINY " --guided-alignment 1 --alignments x --source en --target de --data %s", run,
            run);
    refused(2, "--context", "train --run %s-2 " TINY " --context 1", run);
    refused(2, "--length", "bench --preset minute --length 300");
    refused(2, "[1,1073741824]", "translate --run %s --max-tokens 9223372036854775807", run);
    refused(1, "/no/such/x.npy", "eval --run %s --dump-logits /no/such/x.npy", run);
    refused(1, "built-in sentences are in en and de", "train --run %s-2 --target fr", run);
    refused(1, "has no average.safetensors: encdec average makes one", "eval --run %s --weights average", run);
    refused(1, "on other data", "train --resume %s --steps 2 --source de --target en", run);
    refused(2, "--run", "eval");
    refused(2, "is not a multiple of", "train --run %s-2 --preset minute --dim 30 --heads 4", run);
    refused(2, "is not a multiple of", "info --dim 30 --heads 4");
    refused(2, "--type gpt2 cannot be learned here", "train --run %s-2 " TINY " --type gpt2", run);
    refused(2, "needs the --codes", "info --preset minute --type bpe --vocabulary x");
    refused(1, "/no/such/file", "train --run %s-2 " TINY " --type wordpiece --vocabulary /no/such/file", run);
    write_in(run, "vocabulary.tsv", "<unk>\t1\n</s>\t7\n", 15); /* cut at the end of a line */
    refused(1, "the vocabulary is damaged", "eval --run %s", run);
}

/* Another set of files is scored as it is; and one that a run cannot find again is asked for. */
START_TEST(other_data_are_scored_too)
{
    const char *run = trained("--steps 2");
    write_in(run, "v.en", "the dog sleeps .\n\nthe cat\n", 26);
    write_in(run, "v.de", "der Hund schläft .\nx\n\n", 23);
    char words[1600];
    snprintf(words, sizeof words, "--valid-source %s/v.en --valid-target %s/v.de", run, run);
    Json *j = evaluated(run, words);
    ck_assert(json_real(j, "sentences") == 3 && json_real(j, "words") == 5 + 2 + 1);
    json_free(j);
    j = must_json("eval --run %s %s --split test", run, "--json");
    ck_assert(json_real(j, "sentences") == 500);
    json_free(j);
}

/* From raw text to raw text: it trains, continues, scores itself and translates, and no longer needs the files that it
 * was given; those it has it keeps. */
START_TEST(all_types_of_subwords_are_trained_and_translate)
{
    static const struct {
        const char *words;
        bool given;
    } types[] = {
        {"--type words --tokens moses", false},
        {"--type bytes", false},
        {"--type bpe --merges 300 --tokens moses", false},
        {"--type wordpiece --size 400 --tokens moses", false},
        {"--type wordpiece --lower --vocabulary %s/vocab.txt", true},
        {"--type gpt2 --vocabulary %s/encoder.json --codes %s/vocab.bpe", true},
        {"--type bpe --codes %s/codes --vocabulary %s/subwords --vocabulary-threshold 8", true},
        {"--type words --vocabulary %s/subwords", true},
    };
    static const char *const files[][2] = {{"tests/fixtures/wordpiece-vocab.txt", "vocab.txt"},
                                           {"tests/fixtures/gpt2-encoder.json", "encoder.json"},
                                           {"tests/fixtures/gpt2-vocab.bpe", "vocab.bpe"},
                                           {"tests/fixtures/bpe/codes", "codes"},
                                           {"tests/fixtures/bpe/subwords", "subwords"}};
    static const char lines[] = "the old dog sleeps .\n\nSay \"no\", it's a \xF0\x9F\x98\x80!\n";
    char words[1700], given[1500], run[680], folder[700];
    Error e;
    snprintf(run, sizeof run, "%s", fresh_path("run"));
    snprintf(folder, sizeof folder, "%s-files", run);
    ck_done(folder_make(folder, &e), e);
    for (size_t i = 0; i < 5; i++) {
        size_t size;
        char *text = read_in(".", files[i][0], &size);
        write_in(folder, files[i][1], text, size);
        memory_free(text);
    }
    snprintf(given, sizeof given, types[_i].words, folder, folder);
    snprintf(words, sizeof words, "--longest 200 --context 220 %s", given);
    works("train --run %s " TINY " --steps 3 %s", run, words);
    ck_done(folder_remove(folder, &e), e);
    works("train --resume %s --steps 5 -q", run);
    Json *j = evaluated(run, "--weights last");
    ck_assert(json_real(j, "sentences") == 500 && json_real(j, "loss") > 0);
    json_free(j);
    command_input(lines, strlen(lines));
    Said s = must("translate --run %s -q --weights last --max-extra 5", run);
    size_t ends = 0;
    for (const char *at = s.out; *at; at++)
        ends += *at == '\n';
    ck_assert_uint_eq(ends, 3);
    said_free(&s);
    if (types[_i].given)
        refused(2, "already has its vocabulary", "train --resume %s --steps 9 --vocabulary %s/vocab.txt", run, folder);
}

/* Two lines of a side, as typographers and as normalize-punctuation.perl write them. */
static const char *const punctuated[2] = {"\xE2\x80\x9Eit\xE2\x80\x9C \xE2\x80\x93 it\xE2\x80\x99s\xE2\x80\xA6\n",
                                          "\"it\" - it's...\n"};

/* Nats per token of a pair of one of these on both sides; and what is translated of it, with its log p. */
static double loss_of_pair(const char *run, int written, const char *words)
{
    write_in(run, "v.en", punctuated[written], strlen(punctuated[written]));
    write_in(run, "v.de", punctuated[written], strlen(punctuated[written]));
    Json *j = must_json("eval --run %s -q --json --valid-source %s/v.en --valid-target %s/v.de %s", run, run, run,
                        words);
    const double loss = json_real(j, "loss");
    json_free(j);
    return loss;
}

static bool translated_alike(const char *run, const char *words)
{
    command_input(punctuated[0], strlen(punctuated[0]));
    Said a = must("translate --run %s -q --scores --max-extra 5 %s", run, words);
    command_input(punctuated[1], strlen(punctuated[1]));
    Said b = must("translate --run %s -q --scores --max-extra 5 %s", run, words);
    const bool same = !strcmp(a.out, b.out);
    said_free(&a);
    said_free(&b);
    return same;
}

START_TEST(a_run_normalizes_punctuation_if_it_was_trained_so_or_is_told_to)
{
    static const char pieces[] = "--steps 3 --type sentencepiece --vocabulary tests/fixtures/pieces/unigram.model";
    char words[200];
    snprintf(words, sizeof words, "%s%s", pieces, _i ? "" : " --normalize-punctuation");
    const char *run = trained(words), *no = "--no-normalize-punctuation", *yes = "--normalize-punctuation";
    ck_assert(translated_alike(run, yes) && !translated_alike(run, no) && translated_alike(run, "") == !_i);
    const double plain = loss_of_pair(run, 1, no), normalized = loss_of_pair(run, 0, yes),
                 as_written = loss_of_pair(run, 0, no), of_run = loss_of_pair(run, 0, "");
    ck_assert(normalized == plain && as_written != plain);
    ck_assert(of_run == (_i ? as_written : plain));
    works("train --resume %s --steps 4 -q", run);
    ck_assert(translated_alike(run, "--weights last") == !_i);
    refused(2, "needs --type sentencepiece", "train --run %s-bytes " TINY " --steps 0 --type bytes %s", run, yes);
}

/* The source and the target of some lines, into files of a folder. */
static void write_pairs(const char *folder)
{
    Buffer side[2] = {{0}, {0}};
    for (int i = 0; i < 60; i++)
        for (int s = 0; s < 2; s++)
            buffer_print(&side[s], "%s %c%c %s %d .\n", s ? "der" : "the", 'a' + i % 7, 'a' + i % 3,
                         s ? "sieht" : "sees", i % 5);
    write_in(folder, "train.en", side[0].text, side[0].size);
    write_in(folder, "train.de", side[1].text, side[1].size);
    write_in(folder, "valid.en", side[0].text, side[0].size);
    write_in(folder, "valid.de", side[1].text, side[1].size);
    buffer_free(&side[0]);
    buffer_free(&side[1]);
}

/* As `bleu --paired` compares what both translate. */
START_TEST(two_runs_are_compared_on_the_same_lines)
{
    static const int steps[] = {60, 66}; /* so few that p is neither 0 nor 1 */
    const char *folder = fresh_path("pairs"), *run[2];
    works("train --run %s " TINY " --steps 1", folder);
    write_pairs(folder);
    for (int i = 0; i < 2; i++) {
        char words[900], name[20];
        snprintf(words, sizeof words, "--steps %d --lr 1 --warmup 20 --data %s", steps[i], folder);
        run[i] = trained(words);
        snprintf(name, sizeof name, "made-%d", i);
        Said s = must("translate --run %s --file %s/valid.en -q", run[i], folder);
        write_in(folder, name, s.out, strlen(s.out));
        said_free(&s);
    }
    Said s = must("bleu --paired %s/made-0 %s/made-1 %s/valid.de --json -q", folder, folder, folder);
    Json *wanted = said_json(&s), *j = compared(run[0], run[1], "");
    said_free(&s);
    ck_assert(json_real(wanted, "p") > 0.01 && json_real(wanted, "p") < 0.9);
    ck_assert_double_eq_tol(json_real(j, "bleu"), json_real(wanted, "first"), 1e-9);
    ck_assert_double_eq_tol(compared_as(j, "score"), json_real(wanted, "second"), 1e-9);
    ck_assert_double_eq_tol(compared_as(j, "p"), json_real(wanted, "p"), 1e-12);
    const double difference = json_real(wanted, "first") - json_real(wanted, "second");
    ck_assert_double_eq_tol(compared_as(j, "difference"), difference, 1e-9);
    ck_assert(compared_as(j, "low") < difference && compared_as(j, "high") > difference);
    json_free(wanted);
    json_free(j);
    s = must("eval --run %s --against %s -q", run[0], run[1]);
    ck_assert_msg(strstr(s.out, "  paired bootstrap, 1000 samples of 60 lines\n"), "%s", s.out);
    said_free(&s);
    refused(2, "--against needs translations: not with --no-bleu", "eval --run %s --against %s --no-bleu", run[0],
            run[1]);
    refused(1, "was scored on other texts", "eval --run %s --against %s -q", run[0], folder);
}

/* Tables of another run are for its tokens: they are refused for as many others, and left alone for more or fewer. */
START_TEST(a_run_does_not_begin_with_tables_of_other_tokens)
{
    static const char *const sizes[] = {"--type words --size 100 --tokens spaces",
                                        "--type words --size 90 --tokens spaces"};
    const char *run = fresh_path("run"), *folder = fresh_path("texts");
    Buffer lines = {0};
    Error e;
    ck_done(folder_make(folder, &e), e);
    for (int i = 0; i < 200; i++)
        buffer_print(&lines, "%x is %d\n", 77 * i, i);
    write_in(folder, "train.en", lines.text, lines.size);
    write_in(folder, "train.de", lines.text, lines.size);
    buffer_free(&lines);
    works("train --run %s " TINY " --steps 1 %s", run, sizes[0]);
    refused(1, "as many tokens as this run, but others", "train --run %s-a " TINY " --steps 1 --data %s %s --from %s",
            run, folder, sizes[0], run);
    refused(1, "as many tokens as this run, but others",
            "train --run %s-a " TINY " --steps 1 %s --registers 10 --from %s", run, sizes[1], run);
    works("train --run %s-b " TINY " --steps 1 %s --from %s", run, sizes[0], run);
    works("train --run %s-c " TINY " --steps 1 --data %s %s --from %s", run, folder, sizes[1], run);
    works("train --run %s-d " TINY " --steps 1 --data %s %s --from %s/checkpoints/00000001/model.safetensors "
          "--map embedding.=other.",
          run, folder, sizes[0], run);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LEARNS(it_learns_and_eval_says_how_well, 4, 60),
                                 TEST(the_log_has_what_eval_finds),
                                 TEST(the_first_loss_is_that_of_a_guess),
                                 TEST_LOOP(a_run_that_goes_on_has_the_same_bits, 4),
                                 TEST(micro_batches_and_workers_change_rounding_alone),
                                 TEST(logits_are_dumped_in_reading_order),
                                 TEST(the_average_is_the_mean_of_checkpoints),
                                 TEST(an_average_of_what_the_run_was_before_it_went_on_is_refused),
                                 TEST(presets_are_the_models_that_they_are_named_after),
                                 TEST(the_batch_and_what_is_left_out_are_said),
                                 TEST(a_folder_that_is_taken_is_refused_at_once),
                                 TEST_LOOP(the_plan_is_within_a_tenth_of_the_peak, 5),
                                 TEST(samples_are_translations_beside_sources_and_references),
                                 TEST(bench_needs_no_data),
                                 TEST(what_cannot_be_is_refused),
                                 TEST(other_data_are_scored_too),
                                 TEST(two_runs_are_compared_on_the_same_lines),
                                 TEST(a_run_does_not_begin_with_tables_of_other_tokens),
                                 TEST_LOOP(all_types_of_subwords_are_trained_and_translate, 8),
                                 TEST_LOOP(a_run_normalizes_punctuation_if_it_was_trained_so_or_is_told_to, 2)};
    command_program("encdec");
    test_folders_in_memory();
    return suite_run("encdec/program", tests, sizeof tests / sizeof *tests, argc, argv);
}
