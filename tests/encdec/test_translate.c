/* encdec translate as a user sees it: what it says is what eval finds likeliest, in the order of the lines, whatever is
 * translated together and however it is printed. */
#include "base/memory.h"
#include "encdec/builtin.h"
#include "encdec/subwords.h"
#include "tests/encdec/translating.h"
#include "tests/npy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCES = 40, EMPTY = 6, CONTEXT = 48 };

/* Built-in sentences, some of them empty. */
static void add_sources(Buffer *text, size_t count)
{
    Buffer german = {0};
    for (size_t i = 0; i < count; i++) {
        if (i % 7 != 3)
            builtin_pair(text, &german, BUILTIN_TRAINING + i);
        buffer_add(text, "\n", 1);
    }
    buffer_free(&german);
}

static Said translated(const char *run, const Buffer *text, const char *words)
{
    command_input(text->text ? text->text : "", text->size);
    return must("translate --run %s -q %s", run, words);
}

static size_t lines_of(const Said *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->out_size; i++)
        count += s->out[i] == '\n';
    return count;
}

/* --- what it finds --- */

/* Logits of targets beside sources, as eval computes them: all positions of a target at once, and without a cache. */
typedef struct ForcedScores {
    Npy logits, ids;
    size_t row; /* of what is scored next */
} ForcedScores;

static void forced_open(ForcedScores *j, const char *run, const char *words)
{
    char path[800];
    works("eval --run %s -q --weights last --dump-logits %s/x.npy --valid-source %s/v.en --valid-target %s/v.de "
          "%s",
          run, run, run, run, words);
    *j = (ForcedScores){.row = 0};
    snprintf(path, sizeof path, "%s/x.npy", run);
    j->logits = npy_read(path);
    snprintf(path, sizeof path, "%s/x.ids.npy", run);
    j->ids = npy_read(path);
}

static void forced_close(ForcedScores *j)
{
    ck_assert_uint_eq(j->row, j->ids.shape[0]); /* it has scored all */
    npy_free(&j->logits);
    npy_free(&j->ids);
}

/* ln p of the next target, </s> and all; subwords: of it with </s>. short_of: how much the likeliest subword at some place
 * is likelier than the one that stands there. */
static double forced_score(ForcedScores *j, size_t *subwords, double *short_of)
{
    const size_t all = j->logits.shape[1];
    double log_p = 0;
    *subwords = 0;
    *short_of = 0;
    for (int32_t id = 0; id != END;) {
        ck_assert_uint_lt(j->row, j->ids.shape[0]);
        const float *row = (const float *)j->logits.data + j->row * all;
        double sum = 0, most = -INFINITY;
        id = ((const int32_t *)j->ids.data)[j->row++];
        for (size_t i = 0; i < all; i++) {
            sum += exp((double)row[i]);
            most = fmax(most, (double)row[i]);
        }
        log_p += (double)row[id] - log(sum);
        *short_of = fmax(*short_of, most - (double)row[id]);
        ++*subwords;
    }
    return log_p;
}

/* Kinds of models, of which each has another way through a cache. What has hardly learned continues up to the end. */
static const char *const kinds[] = {"--steps 250 --warmup 100",
                                    "--steps 60 --warmup 30 --norm pre --no-tie --decoder-depth 2",
                                    "--steps 60 --warmup 30 --positions learned --attention composed",
                                    "--steps 60 --warmup 30 --distances bias --window 9",
                                    "--steps 60 --warmup 30 --type bpe --merges 100",
                                    ("--steps 60 --warmup 30 --norm pre --norm-kind rms --qk-norm --value-gate --gate "
                                     "--activation silu --positions rotary --distances t5 --registers 2"),
                                    "--steps 60 --warmup 30 --experts 3 --sink-score --score-cap 5",
                                    "--steps 60 --warmup 30 --depth 0"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* At beam 1, each subword is the likeliest of all after those before it. */
START_TEST(beam_1_takes_the_likeliest_subword_each_time)
{
    const char *run = trained(kinds[_i]);
    Buffer text = {0};
    ForcedScores j;
    size_t subwords, ended = 0;
    double short_of;
    add_sources(&text, SENTENCES);
    Said s = translated(run, &text, "--weights last --beam 1 --max-extra 20");
    ck_assert_uint_eq(lines_of(&s), SENTENCES);
    write_in(run, "v.en", text.text, text.size);
    write_in(run, "v.de", s.out, s.out_size);
    forced_open(&j, run, "");
    for (size_t i = 0; i < SENTENCES; i++) {
        forced_score(&j, &subwords, &short_of);
        if (i % 7 == 3) {
            ck_assert_uint_eq(subwords, 1); /* nothing was said */
        } else if (subwords < 20) {
            ck_assert_msg(short_of < 1e-4, "line %zu: something is likelier by %g", i + 1, short_of);
            ended++;
        }
    }
    /* Enough of what was compared ends by itself; how many do depends on the last bits of a training. */
    ck_assert_msg(_i || ended > SENTENCES / 5, "only %zu of %d end", ended, SENTENCES);
    forced_close(&j);
    said_free(&s);
    buffer_free(&text);
}

/* Marian's lines: scores fall, and each is what eval makes of the translation. */
START_TEST(scores_of_the_best_are_what_eval_finds)
{
    const char *run = learnt();
    Buffer text = {0}, source = {0}, target = {0};
    double score[4 * SENTENCES], log_p[4 * SENTENCES], short_of;
    size_t number[4 * SENTENCES], count = 0, without = 0, subwords;
    ForcedScores j;
    add_sources(&text, SENTENCES);
    Said s = translated(run, &text, "--weights last --nbest 4 --format nbest --alpha 0.9");
    for (char *at = s.out; *at;) {
        char *line = take_line(&at), *bar = strstr(line, " ||| "), *end = bar ? strstr(bar + 5, " ||| F0= ") : NULL;
        ck_assert(count < 4 * SENTENCES && bar && end && sscanf(line, "%zu |||", &number[count]) == 1 &&
                  sscanf(end, " ||| F0= %lf ||| %lf", &log_p[count], &score[count]) == 2);
        bool first = !count || number[count - 1] != number[count];
        ck_assert(first ? !count || number[count] > number[count - 1] : score[count] <= score[count - 1]);
        char *from = text.text;
        for (size_t i = 0; i < number[count]; i++)
            from = strchr(from, '\n') + 1;
        without += *from == '\n';
        if (*from == '\n')
            continue;
        buffer_add(&target, bar + 5, (size_t)(end - bar) - 5);
        buffer_add(&target, "\n", 1);
        buffer_add(&source, from, (size_t)(strchr(from, '\n') + 1 - from));
        count++;
    }
    ck_assert(count == 4 * (SENTENCES - EMPTY) && without == EMPTY);
    write_in(run, "v.en", source.text, source.size);
    write_in(run, "v.de", target.text, target.size);
    forced_open(&j, run, "");
    for (size_t i = 0; i < count; i++) {
        double found = forced_score(&j, &subwords, &short_of);
        ck_assert_msg(fabs(found - log_p[i]) < 2e-4, "line %zu: %g, eval finds %g", i + 1, log_p[i], found);
        ck_assert_double_eq_tol(score[i], log_p[i] / pow((5 + (double)subwords) / 6, 0.9), 2e-6);
    }
    forced_close(&j);
    said_free(&s);
    buffer_free(&text);
    buffer_free(&source);
    buffer_free(&target);
}

/* --- what it does not depend on --- */

START_TEST(the_same_whatever_is_translated_together)
{
    static const char *const ways[] = {"--workers 1",   "--workers 3 --max-tokens 100", "--chunk 1",
                                       "--chunk 7",     "--chunk 13 --workers 2",       "--max-tokens 1",
                                       "--device plain"};
    const char *run = learnt();
    Buffer text = {0};
    add_sources(&text, SENTENCES);
    for (int beam = 1; beam <= 4; beam += 3) {
        char words[100];
        snprintf(words, sizeof words, "--beam %d", beam);
        Said first = translated(run, &text, words);
        ck_assert_uint_eq(lines_of(&first), SENTENCES);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            snprintf(words, sizeof words, "--beam %d %s", beam, ways[i]);
            Said s = translated(run, &text, words);
            ck_assert_msg(!strcmp(s.out, first.out), "%s: another translation", words);
            said_free(&s);
        }
        said_free(&first);
    }
    buffer_free(&text);
}

/* Each line alone, and all after one another: several chunks of the usual size. */
START_TEST(answers_are_in_the_order_of_lines)
{
    const char *run = learnt();
    Buffer text = {0}, many = {0}, wanted = {0};
    add_sources(&text, SENTENCES);
    Said s = translated(run, &text, "--beam 1");
    char *from = text.text, *at = s.out;
    for (size_t i = 0; i < SENTENCES; i++) {
        char *line = take_line(&from), *said = take_line(&at);
        if (i % 5 == 0 && *line) {
            Said one = translated_text(run, line, "--beam 1");
            ck_assert_msg(strlen(one.out) == strlen(said) + 1 && !memcmp(one.out, said, strlen(said)), "line %zu", i);
            said_free(&one);
        }
        line[strlen(line)] = said[strlen(said)] = '\n';
    }
    for (size_t i = 0; i < 4200 / SENTENCES; i++) {
        buffer_add(&many, text.text, text.size);
        buffer_add(&wanted, s.out, s.out_size);
    }
    said_free(&s);
    s = translated(run, &many, "--beam 1");
    ck_assert(s.out_size == wanted.size && !memcmp(s.out, wanted.text, wanted.size));
    said_free(&s);
    buffer_free(&text);
    buffer_free(&many);
    buffer_free(&wanted);
}

/* --- lines --- */

START_TEST(any_line_gets_its_line)
{
    static const struct {
        const char *text;
        size_t size, lines;
    } cases[] = {{"", 0, 0},
                 {"\n", 1, 1},
                 {"\n\n \t\n\r\n", 7, 4},
                 {"the dog", 7, 1},
                 {"\n\nthe dog", 9, 3},
                 {"\xff\xfe\xc3 the \xed\xa0\x80\n\0 dog\0\n", 19, 2},
                 {"%s %n\n||| |||\n", 14, 2}};
    const char *run = trained("--steps 5");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Buffer text = {.text = (char *)cases[i].text, .size = cases[i].size};
        Said s = translated(run, &text, "");
        ck_assert_msg(lines_of(&s) == cases[i].lines, "%zu: %zu lines", i, lines_of(&s));
        ck_assert(!s.out_size || s.out[s.out_size - 1] == '\n');
        ck_assert_str_eq(s.err, "");
        said_free(&s);
    }
    Said s = translated_text(run, "\n\n \t\n\r\n", "--scores");
    ck_assert_str_eq(s.out, "0.000000\t\n0.000000\t\n0.000000\t\n0.000000\t\n");
    said_free(&s);
}

START_TEST(ends_of_lines_change_nothing)
{
    const char *run = learnt();
    Said s = translated_text(run, "the dog sleeps .\nthe cats sleep .\n", "");
    ck_assert(lines_of(&s) == 2 && s.out_size > 4); /* not but empty ones */
    static const char *const texts[] = {"the dog sleeps .\r\nthe cats sleep .\r\n",
                                        "the dog sleeps .\nthe cats sleep .",
                                        " the\tdog  sleeps . \nthe cats sleep .\r"};
    for (size_t i = 0; i < 3; i++) {
        Said other = translated_text(run, texts[i], "");
        ck_assert_str_eq(other.out, s.out);
        said_free(&other);
    }
    write_in(run, "in", texts[0], strlen(texts[0]));
    Said file = must("translate --run %s -q --file %s/in", run, run);
    ck_assert_str_eq(file.out, s.out);
    said_free(&file);
    said_free(&s);
}

START_TEST(what_is_not_in_the_vocabulary_is_all_the_same)
{
    const char *run = trained("--steps 30");
    Said a = translated_text(run, "the xyzzy sleeps .", "--scores"),
         b = translated_text(run, "the \xc3\xa4\xff sleeps .", "--scores"),
         c = translated_text(run, "the dog sleeps .", "--scores");
    ck_assert_str_eq(a.out, b.out);
    ck_assert_str_ne(a.out, c.out);
    said_free(&a);
    said_free(&b);
    said_free(&c);
}

/* What the model does not read is cut off, and said once. */
START_TEST(a_line_that_is_too_long_is_cut)
{
    const char *run = trained("--steps 30");
    Buffer text = {0}, cut = {0};
    for (size_t line = 0; line < 6; line++) {
        for (size_t i = 0; line == 2 || line == 4 ? i < (line == 2 ? CONTEXT : 100000) : i < CONTEXT - 1; i++) {
            buffer_print(&text, "%s ", i % 3 ? "dog" : "the");
            if (i < CONTEXT - 1)
                buffer_print(&cut, "%s ", i % 3 ? "dog" : "the");
        }
        buffer_add(&text, "\n", 1);
        buffer_add(&cut, "\n", 1);
    }
    Said s = translated(run, &text, "--scores --chunk 2"), all = translated(run, &cut, "--scores --chunk 2");
    ck_assert_str_eq(s.err, "encdec: 2 lines are longer than the 47 tokens that the model reads, and cut there; the "
                            "first is line 3\n");
    ck_assert_str_eq(all.err, "");
    ck_assert_str_eq(s.out, all.out);
    said_free(&s);
    said_free(&all);
    buffer_free(&text);
    buffer_free(&cut);
}

/* The most that a translation may have: its source's subwords and --max-extra, and what the decoder has places for. */
START_TEST(translations_have_an_end)
{
    const char *run = trained("--steps 1 --type bytes");
    static const size_t extra[] = {0, 3, 100};
    for (size_t i = 0; i < 3; i++) {
        char words[60];
        snprintf(words, sizeof words, "--max-extra %zu --format fairseq", extra[i]);
        Said s = translated_text(run, "abc", words);
        size_t subwords = 0, most = 3 + extra[i] < CONTEXT - 1 ? 3 + extra[i] : CONTEXT - 1;
        char *at = strstr(s.out, "\nP-0\t");
        ck_assert_ptr_nonnull(at);
        for (at += 5; *at; at++)
            subwords += *at == ' ';
        ck_assert_msg(subwords <= most && (subwords == most || subwords < 3), "%zu subwords of %zu", subwords, most);
        said_free(&s);
    }
}

/* A run that has learned one pair of lines by heart. */
static const char *by_heart(const char *source, const char *target, const char *words)
{
    char folder[600];
    Buffer text[2] = {{0}};
    snprintf(folder, sizeof folder, "%s", test_folder());
    const char *run = fresh_path("run");
    for (size_t i = 0; i < 60; i++) {
        buffer_print(&text[0], "%s\n", source);
        buffer_print(&text[1], "%s\n", target);
    }
    write_in(folder, "a.en", text[0].text, text[0].size);
    write_in(folder, "a.de", text[1].text, text[1].size);
    works("train --run %s " TINY " %s --train-source %s/a.en --train-target %s/a.de", run, words, folder, folder);
    buffer_free(&text[0]);
    buffer_free(&text[1]);
    return run;
}

/* A network of bytes can say what ends a line. */
START_TEST(no_translation_ends_its_line)
{
    const char *run = by_heart("x", "1\r2", "--type bytes --steps 100 --warmup 50");
    Said s = translated_text(run, "x\nx\n", "--weights last");
    ck_assert_str_eq(s.out, "1 2\n1 2\n");
    said_free(&s);
}

/* What is learned by heart comes back with its marks where they stood. */
START_TEST(raw_text_comes_back_raw)
{
    static const char source[] = "Yes, \"it's\" so.", target[] = "Ja, \"es ist\" so (3,5 kg).";
    const char *run = by_heart(source, target, "--type bpe --merges 50 --tokens moses --steps 300 --warmup 100");
    Said s = translated_text(run, source, "--weights last");
    ck_assert_int_eq(strncmp(s.out, target, sizeof target - 1), 0);
    ck_assert_str_eq(s.out + sizeof target - 1, "\n");
    said_free(&s);
    s = command("train --run %s-2 --tokens moses --target cs --steps 1", run);
    ck_assert_int_eq(s.status, 2);
    ck_assert_msg(strstr(s.err, "'cs'") && strstr(s.err, "--tokens spaces"), "%s", s.err);
    said_free(&s);
}

START_TEST(the_speed_is_said)
{
    const char *run = trained("--steps 1");
    double rate, read, written;
    command_input("the dog\n\nthe cat\n", 17);
    Said s = must("translate --run %s", run);
    char *at = strstr(s.err, "3 sentences in ");
    ck_assert_msg(at && sscanf(strchr(at, ':'), ": %lf sentences/s, %lf + %lf tokens/s", &rate, &read, &written) == 3,
                  "%s", s.err);
    ck_assert_msg(rate > 0 && fabs(read / rate - 2) < 0.1 && written > 0, "%s", s.err); /* 2 x 3 subwords */
    said_free(&s);
}

/* Rounding changes choices between nearly equal translations, and hardly how likely a given one is. */
START_TEST(int8_translates_as_plain_does_and_scores_nearly_as_f32)
{
    const char *run = learnt();
    Buffer text = {0};
    add_sources(&text, SENTENCES);
    Said int8 = translated(run, &text, "--precision int8"),
         plain = translated(run, &text, "--precision int8 --device plain --workers 1");
    size_t other = 0;
    char *a = int8.out, *b = plain.out;
    for (size_t i = 0; i < SENTENCES; i++)
        other += strcmp(take_line(&a), take_line(&b)) != 0;
    ck_assert_msg(other <= SENTENCES / 20, "%zu of %d differ", other, SENTENCES);
    Json *rough = must_json("eval --run %s --json --beam 1 --precision int8", run),
         *fine = must_json("eval --run %s --json --beam 1", run);
    const double off = fabs(json_real(rough, "loss") - json_real(fine, "loss"));
    ck_assert_msg(off > 0 && off < 5e-3, "%g nats a token", off);
    json_free(rough);
    json_free(fine);
    said_free(&int8);
    said_free(&plain);
    buffer_free(&text);
}

/* --- what cannot be --- */

START_TEST(what_cannot_be_is_refused)
{
    const char *run = trained("--steps 1");
    refused(2, "--run", "translate");
    refused(2, "--nbest 5 is more than --beam 4", "translate --run %s --nbest 5", run);
    refused(2, "--format", "translate --run %s --format marian", run);
    refused(1, "/no/such/file", "translate --run %s --file /no/such/file", run);
    refused(1, "cannot read", "translate --run %s --file %s", run, run); /* a folder */
    refused(1, "--precision int8 is for networks that have been trained", "train --run %s-8 " TINY " --precision int8",
            run);
    refused(1, "device mine does not support int8", "translate --run %s --precision int8 --device mine", run);
    refused(1, "has no average.safetensors", "translate --run %s --weights average", run);
}

START_TEST(numbers_that_are_none_are_no_translation)
{
    const char *run = trained("--steps 1");
    const char *name = "checkpoints/00000001/model.safetensors";
    size_t size;
    char *bytes = read_in(run, name, &size);
    memset(bytes + size - 64, 0x7f,
           64); /* of a norm, or of a table's last row: finite, and too large to compute with */
    memset(bytes + size / 2, 0x7f, size / 4);
    write_in(run, name, bytes, size);
    write_in(run, "checkpoints/00000001/SHA256SUMS", "", 0);
    memory_free(bytes);
    command_input("\nthe dog\n", 9);
    refused(1, "line 2 has no translation: the network computed values that are not finite",
            "translate --run %s --weights last", run);
}

START_TEST(an_output_that_is_full_is_said)
{
    const char *run = trained("--steps 1");
    Buffer text = {0};
    add_sources(&text, SENTENCES);
    command_input(text.text, text.size);
    command_limit_files(100); /* the input is written before, by the test itself */
    Said s = command("translate --run %s -q --chunk 8", run);
    command_limit_files(0);
    ck_assert_int_eq(s.status, 1);
    ck_assert_str_eq(s.err, "encdec: standard output could not be written\n");
    said_free(&s);
    buffer_free(&text);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(beam_1_takes_the_likeliest_subword_each_time, KINDS),
                                 TEST(scores_of_the_best_are_what_eval_finds),
                                 TEST(the_same_whatever_is_translated_together),
                                 TEST(answers_are_in_the_order_of_lines),
                                 TEST(any_line_gets_its_line),
                                 TEST(ends_of_lines_change_nothing),
                                 TEST(what_is_not_in_the_vocabulary_is_all_the_same),
                                 TEST(a_line_that_is_too_long_is_cut),
                                 TEST(translations_have_an_end),
                                 TEST(no_translation_ends_its_line),
                                 TEST(raw_text_comes_back_raw),
                                 TEST(the_speed_is_said),
                                 TEST(int8_translates_as_plain_does_and_scores_nearly_as_f32),
                                 TEST(what_cannot_be_is_refused),
                                 TEST(numbers_that_are_none_are_no_translation),
                                 TEST(an_output_that_is_full_is_said)};
    command_program("encdec");
    test_folders_in_memory();
    return suite_run("encdec/translate", tests, sizeof tests / sizeof *tests, argc, argv);
}
