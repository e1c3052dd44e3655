/* classifier as a user sees it: it learns the built-in reviews, says what it knows, and continues to the same bits. */
#include "base/file.h"
#include "base/memory.h"
#include "tests/command.h"
#include "tests/each.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Some hundred steps a second. */
#define TINY                                                                                                           \
    "--preset minute --minutes 0 --dim 32 --heads 2 --ff 64 --context 64 --batch 16 --micro-batch 4 --workers 2 "      \
    "--positions none --distances bias --dropout 0 --lr 1e-2 --eval-every 0 --no-cache -q "

/* The heading of eval --each. */
#define TEXTS "text\tclass\tpredicted\tnats\tneg\tpos"

static const char *trained(const char *words)
{
    const char *run = fresh_path("run");
    works("train --run %s " TINY " %s", run, words);
    return run;
}

static Json *evaluated(const char *run, const char *words)
{
    Json *j = must_json("eval --run %s --no-cache -q --json %s", run, words);
    return j;
}

START_TEST(it_learns_and_eval_says_how_well)
{
    static const char *const ways[] = {"--pool max", "--pool average",
                                       "--pool max --norm pre --dropout 0.1 --no-by-length",
                                       "--pool max --batch-tokens 1500", "--pool max --ngrams 4 --registers 2"};
    char words[150]; /* of eight seeds, each way, the worst gets .65: other bits do not decide whether this passes */
    snprintf(words, sizeof words, "--steps 400 --lr 7e-3 --batch 48 --micro-batch 16 %s", ways[_i]);
    const char *run = trained(words);
    Json *j = evaluated(run, "--weights last");
    const Json *confusion = json_get(j, "confusion");
    double sum = 0, right = 0;
    const char *const classes[] = {"neg", "pos"};
    for (size_t i = 0; i < 2; i++) {
        const Json *row = json_get(confusion, classes[i]);
        for (size_t k = 0; k < 2; k++) {
            double count = row->items[k].number;
            sum += count;
            right += i == k ? count : 0;
        }
    }
    ck_assert(sum == 500 && json_real(j, "texts") == 500);
    ck_assert_double_eq_tol(json_real(j, "accuracy"), right / sum, 1e-6);
    ck_assert_msg(json_real(j, "accuracy") > 0.6, "accuracy %g", json_real(j, "accuracy"));
    ck_assert(json_real(j, "f1") > 0.55 && json_real(j, "loss") > 0);
    ck_assert(json_real(j, "calibration_error") < 0.3);
    json_free(j);
}

/* Passes that dropped alike would agree, however much that counts; what is computed again drops what it dropped. */
START_TEST(two_passes_of_a_step_drop_otherwise_and_when_computed_again_alike)
{
    static const char *const ways[] = {"--dropout 0.3 --r-drop 1", "--dropout 0.3 --r-drop 1 --recompute",
                                       "--dropout 0.3 --r-drop 90", "--dropout 0 --r-drop 1",
                                       "--dropout 0 --r-drop 90"};
    enum { WAYS = sizeof ways / sizeof *ways };
    char *model[WAYS], words[100];
    size_t size[WAYS];
    Error e;
    for (size_t i = 0; i < WAYS; i++) {
        snprintf(words, sizeof words, "--steps 5 %s", ways[i]);
        char *path = path_join(trained(words), "checkpoints/00000005/model.safetensors");
        ck_done(file_read(path, &model[i], &size[i], &e), e);
        memory_free(path);
    }
    for (size_t i = 1; i < WAYS; i++)
        ck_assert(size[i] == size[0]);
    ck_assert(!memcmp(model[0], model[1], size[0]) && memcmp(model[0], model[2], size[0]) != 0);
    ck_assert(!memcmp(model[3], model[4], size[0]) && memcmp(model[0], model[3], size[0]) != 0);
    for (size_t i = 0; i < WAYS; i++)
        memory_free(model[i]);
}

/* What the log says of the last step is what eval says of its checkpoint. */
START_TEST(the_log_has_the_accuracy_that_eval_finds)
{
    const char *run = trained("--steps 60");
    char *log, *line, *last;
    size_t size;
    log = read_in(run, "log.tsv", &size);
    log[size - 1] = 0;
    line = strrchr(log, '\n');
    *strrchr(line, '\t') = 0; /* how long processes waited, which there was one of */
    last = strrchr(line, '\t');
    Json *j = evaluated(run, "--weights last");
    ck_assert_double_eq_tol(strtod(last + 1, NULL), json_real(j, "accuracy"), 1e-5);
    json_free(j);
    memory_free(log);
}

START_TEST(a_run_that_goes_on_has_the_same_bits)
{
    char whole[700], parts[720];
    size_t size, other;
    snprintf(whole, sizeof whole, "%s", trained("--steps 40 --dropout 0.1 --seed 3"));
    snprintf(parts, sizeof parts, "%s-parts", whole);
    works("train --run %s " TINY " --steps 17 --dropout 0.1 --seed 3", parts);
    works("train --resume %s --steps 40 --no-cache -q", parts);
    char *a = read_in(whole, "checkpoints/00000040/state.safetensors", &size);
    char *b = read_in(parts, "checkpoints/00000040/state.safetensors", &other);
    ck_assert(a && b && size == other && size > 1000);
    memory_free(a);
    memory_free(b);
    a = read_in(whole, "vocabulary.tsv", &size);
    b = read_in(parts, "vocabulary.tsv", &other);
    ck_assert(a && b && size == other && memcmp(a, b, size) == 0);
    memory_free(a);
    memory_free(b);
    Json *x = evaluated(whole, "--weights last"), *y = evaluated(parts, "--weights last");
    ck_assert(json_real(x, "loss") == json_real(y, "loss"));
    json_free(x);
    json_free(y);
}

/* Texts from arguments, a file or standard input get the same answer, however many there are beside them. */
START_TEST(predict_says_the_same_wherever_a_text_comes_from)
{
    static const char texts[] = "good\n\nnot a good film at all\r\nbad";
    const char *run = trained("--steps 60");
    char path[800], first[200];
    Said s = must("predict --run %s good", run);
    ck_assert(strchr(s.out, '\t') && strstr(s.out, "\tgood\n"));
    snprintf(first, sizeof first, "%s", s.out);
    said_free(&s);

    command_input(texts, sizeof texts - 1);
    s = must("predict --run %s", run);
    size_t lines = 0;
    for (const char *at = s.out; *at; at++)
        lines += *at == '\n';
    ck_assert_uint_eq(lines, 4);
    ck_assert(strncmp(s.out, first, strlen(first)) == 0);
    write_in(run, "texts", texts, sizeof texts - 1);
    snprintf(path, sizeof path, "%s/texts", run);
    Said file = must("predict --run %s --file %s", run, path);
    ck_assert_str_eq(file.out, s.out);
    said_free(&file);
    write_in(run, "texts", "\xef\xbb\xbfgood\n", 8); /* a byte order mark is no part of a word */
    file = must("predict --run %s --file %s", run, path);
    ck_assert_str_eq(file.out, first);
    said_free(&file);
    said_free(&s);

    Json *j = must_json("predict --run %s --json good", run);
    const Json *shares = json_get(j, "probabilities");
    ck_assert_double_eq_tol(json_real(shares, "neg") + json_real(shares, "pos"), 1, 1e-9);
    ck_assert_double_eq_tol(strtod(strchr(first, '\t'), NULL), fmax(json_real(shares, "neg"), json_real(shares, "pos")),
                            6e-5);
    json_free(j);
}

START_TEST(what_is_too_long_is_cut_aloud)
{
    const char *run = trained("--steps 2");
    char line[600] = "";
    for (int i = 0; i < 70; i++)
        strcat(line, "good ");
    command_input(line, strlen(line));
    Said s = must("predict --run %s", run);
    ck_assert_msg(strstr(s.err, "text 1: its last 6 words are ignored: the model reads 64"), "%s", s.err);
    ck_assert_ptr_null(strstr(s.err, "so were"));
    said_free(&s);
    memset(line + 340, '\n', 3); /* a text of 68, two empty ones, one of 1; then as many once more */
    char twice[1300];
    snprintf(twice, sizeof twice, "%s\n%s", line, line);
    command_input(twice, strlen(twice));
    s = must("predict --run %s", run);
    ck_assert_ptr_nonnull(strstr(s.err, "text 1: its last 4 words"));
    ck_assert_msg(!strstr(s.err, "text 5") && strstr(s.err, "2 of 8 texts were cut"), "%s", s.err);
    said_free(&s);
}

START_TEST(a_run_remembers_who_looked_at_its_test_part)
{
    const char *run = trained("--steps 2 --final");
    Said s = must("eval --run %s --no-cache --final --json", run);
    ck_assert_msg(strstr(s.err, "scored on the test part 1 time\n"), "%s", s.err);
    Json *j = said_json(&s);
    ck_assert(json_real(j, "texts") == 500);
    json_free(j);
    said_free(&s);
    s = must("eval --run %s --no-cache --split test", run);
    ck_assert_msg(strstr(s.err, "scored on the test part 2 times"), "%s", s.err);
    said_free(&s);
}

START_TEST(mistakes_are_shown_the_surest_first)
{
    const char *run = trained("--steps 60");
    Said s = must("eval --run %s --no-cache -q --mistakes 3", run);
    double shares[3];
    int count = 0;
    for (const char *at = s.out; count < 3 && (at = strstr(at, "but predicted as ")); at++)
        count += sscanf(strchr(at, '('), "(%lf", &shares[count]);
    ck_assert(count == 3 && shares[0] >= shares[1] && shares[1] >= shares[2] && shares[2] >= 50);
    said_free(&s);
}

START_TEST(steps_that_are_asked_for_count_more_than_a_presets_epochs)
{
    const char *run = fresh_path("run");
    Json *j = must_json("train --run %s --preset minute --dim 16 --heads 2 --ff 32 --no-cache -q --steps 3 --json",
                        run);
    ck_assert(json_real(j, "steps") == 3);
    json_free(j);
}

/* How far its probability of "neg" depends on the order of a text's words. */
static double of_order(const char *run)
{
    double p[2];
    static const char *const texts[] = {"the film was good", "good was the film"};
    for (size_t i = 0; i < 2; i++) {
        write_in(run, "text", texts[i], strlen(texts[i]));
        Json *j = must_json("predict --run %s --json --file %s/text", run, run);
        p[i] = json_real(json_get(j, "probabilities"), "neg");
        json_free(j);
    }
    return fabs(p[0] - p[1]);
}

START_TEST(a_bag_knows_no_order_but_that_of_its_ngrams)
{
    const char *runs[2];
    for (size_t i = 0; i < 2; i++) {
        runs[i] = fresh_path("run");
        works("train --run %s --preset bag --words 1000 --steps 20 --workers 1 --no-cache -q %s", runs[i],
              i ? "--ngram-rows 1000" : "--ngrams 0 --ngram-rows 0");
    }
    ck_assert_double_lt(of_order(runs[0]), 1e-6); /* as sums round */
    ck_assert_double_gt(of_order(runs[1]), 1e-5);
}

START_TEST(what_cannot_be_is_refused)
{
    char table[800];
    const char *run = trained("--steps 2");
    refused(2, "leave out --json", "eval --run %s --no-cache --mistakes 2 --json", run);
    refused(2, "leave out --dump-logits", "eval --run %s --no-cache --each --dump-logits x.npy", run);
    refused(2, "leave out --split", "eval --run %s --no-cache --final --split train", run);
    refused(2, "--unlabelled is for pretraining", "train " TINY " --steps 1 --unlabelled /nonexistent");
    write_in(run, "t.csv", "text,stars\ngood,1\n", 18);
    snprintf(table, sizeof table, "%s/t.csv", run);
    refused(1, "label", "train --run %s-2 --data %s --no-cache", run, table);
    refused(2, "would be in the folder of --data", "train --run %s/own --data %s --no-cache", run, run);
    refused(2, "would be in the folder of --unlabelled", "pretrain --run %s/own --unlabelled %s --no-cache", run, run);
    refused(2, "--tie", "train --run %s-2 " TINY " --tie", run);
    refused(1, "/no/such/data", "train --run %s-2 --data /no/such/data --no-cache", run);
    refused(1, "cannot read", "predict --run %s --file /no/such/file", run);
    write_in(run, "t.txt", "\x1f\x8b\x08\x00 and so on", 14);
    refused(1, "is packed (gzip): unpack it first", "predict --run %s --file %s/t.txt", run, run);
    refused(1, "/no/such/x.npy", "eval --run %s --no-cache --dump-logits /no/such/x.npy", run);
    refused(2, "--run", "eval");
    refused(2, "is not a multiple of", "train --run %s-2 --preset minute --dim 30 --heads 4 --no-cache", run);
    refused(2, "is not a multiple of", "info --dim 30 --heads 4");
    write_in(run, "vocabulary.tsv", "<unk>\t1\ngood\t7\n", 15); /* cut at the end of a line */
    refused(1, "the vocabulary is damaged", "predict --run %s good", run);
}

/* A received run's classes.txt may hold anything; what stands in it is printed. */
START_TEST(a_run_whose_classes_are_no_names_is_refused)
{
    static const struct {
        const char *classes, *words;
        size_t size;
    } faults[] = {{"neg\n\0pos\n", "control character", 9},
                  {"neg\0\npos\n", "line 1: the class 'neg' holds a control", 9},
                  {"neg\npos\033[2J\n", "control character", 12},
                  {"neg\npo\ts\n", "control character", 9},
                  {"neg\npos\x9B"
                   "2J\n",
                   "the class 'pos?2J' holds a control", 11},
                  {"neg\npos\xC2\x9B"
                   "2J\n",
                   "the class 'pos??2J' holds a control", 12},
                  {"neg\npos", "is truncated", 7},
                  {"neg\n\n", "line 2: the class '' is empty", 5},
                  {"neg\nneg\n", "appears twice", 8},
                  {"", "no classes", 0}};
    static const char *const calls[] = {"predict --run %s good", "eval --run %s --no-cache", "info --run %s",
                                        "heads --run %s --text good", "train --resume %s --steps 3 --no-cache"};
    char words[100];
    const char *run = trained("--steps 2");
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
            write_in(run, "classes.txt", faults[i].classes, faults[i].size);
            snprintf(words, sizeof words, calls[k], run);
            refused(1, faults[i].words, "%s", words);
        }
}

START_TEST(weights_that_are_not_finite_are_refused)
{
    static const char *const calls[] = {"predict --run %s good", "eval --run %s --no-cache",
                                        "heads --run %s --text good", "train --resume %s --no-cache -q"};
    char words[100];
    size_t size;
    const char *run = trained("--steps 2"), *name = "checkpoints/00000002/model.safetensors";
    char *bytes = read_in(run, name, &size);
    memset(bytes + size - 8, 0xff, 4);
    write_in(run, name, bytes, size);
    memory_free(bytes);
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        snprintf(words, sizeof words, calls[k], run);
        refused(1, "is not finite", "%s", words);
    }
}

/* Each weight is finite, and none is the answer. */
START_TEST(weights_too_large_to_compute_with_give_no_answer)
{
    static const char *const calls[] = {"predict --run %s good", "eval --run %s --no-cache --json",
                                        "heads --run %s --text good --out -"};
    char words[100];
    size_t size;
    const char *run = trained("--steps 2"), *name = "checkpoints/00000002/model.safetensors";
    char *bytes = read_in(run, name, &size);
    uint64_t header;
    memcpy(&header, bytes, sizeof header);
    memset(bytes + 8 + header, 0x7f, size - 8 - header);
    write_in(run, name, bytes, size);
    write_in(run, "checkpoints/00000002/SHA256SUMS", "", 0);
    memory_free(bytes);
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        snprintf(words, sizeof words, calls[k], run);
        refused(1, "not finite", "%s", words);
    }
}

/* All of them, under the run's classes; and nobody looked at the run's own test part. */
START_TEST(other_texts_are_scored_whole)
{
    static const char table[] = "label,text\npos,good film\nneg,bad film\nneg,\n";
    char path[800];
    const char *run = trained("--steps 60 --examples 300");
    write_in(run, "other.csv", table, sizeof table - 1);
    snprintf(path, sizeof path, "--data %s/other.csv", run);
    Json *j = evaluated(run, path);
    ck_assert(json_real(j, "texts") == 3);
    json_free(j);
    static const char two[] = "label,text\npos,a very good film\npos,a very bad film\n"; /* read as the run reads */
    write_in(run, "other.csv", two, sizeof two - 1);
    char quiet[820];
    snprintf(quiet, sizeof quiet, "%s --no-cache", path);
    EachLines each = each_lines(run, quiet, TEXTS);
    ck_assert(each.count == 2 && fabs(each_line(&each, 0)[3] - each_line(&each, 1)[3]) > 1e-3);
    each_lines_free(&each);
    write_in(run, "other.csv", "label,text\nfunny,good film\n", 27);
    refused(1, "funny", "eval --run %s -q %s", run, path);
    size_t size;
    ck_assert_ptr_null(read_in(run, "test-looks.tsv", &size));
}

static double column(const char *line, size_t number)
{
    for (size_t i = 0; i < number; i++)
        line = strchr(line, '\t') + 1;
    return atof(line);
}

/* Of one block whose experts are about equally busy the loss of a text grows by what was given, whatever its length. */
START_TEST(a_load_loss_is_of_a_text)
{
    size_t size;
    const char *run = trained("--experts 4 --load-loss 1 --smoothing 0 --lr 1e-9 --steps 1 --depth 1");
    char *log = read_in(run, "log.tsv", &size);
    const char *line = strchr(log, '\n') + 1;
    const double more = column(line, 2) - column(line, 8); /* loss, and loss without smoothing */
    ck_assert_msg(more > 0.95 && more < 1.3, "%g", more);
    memory_free(log);
}

static bool is_right(const EachLines *t, size_t i) { return each_line(t, i)[1] == each_line(t, i)[2]; }

/* As many heads as this, or fewer; or as many tails: of n tosses of a coin. */
static double by_tossing(size_t less, size_t n)
{
    double share = pow(0.5, (double)n), sum = 0;
    for (size_t i = 0; i <= less; i++, share *= (double)(n - i + 1) / (double)i)
        sum += share;
    return fmin(1, 2 * sum);
}

START_TEST(two_runs_are_compared_on_the_same_texts)
{
    const char *a = trained("--steps 100"), *b = trained("--steps 15"), *other = trained("--steps 2 --seed 2");
    EachLines of_a = each_lines(a, "--no-cache", TEXTS), of_b = each_lines(b, "--no-cache", TEXTS);
    size_t only_a = 0, only_b = 0, right = 0;
    double nats = 0;
    ck_assert(of_a.count == 500 && of_b.count == 500);
    for (size_t i = 0; i < 500; i++) {
        ck_assert(each_line(&of_a, i)[0] == each_line(&of_b, i)[0]);
        only_a += is_right(&of_a, i) && !is_right(&of_b, i);
        only_b += !is_right(&of_a, i) && is_right(&of_b, i);
        right += is_right(&of_b, i);
        nats += each_line(&of_a, i)[3];
    }
    Json *j = compared(a, b, "--no-cache");
    ck_assert_double_eq_tol(json_real(j, "loss"), nats / 500, 1e-5);
    ck_assert_double_eq_tol(compared_as(j, "score"), (double)right / 500, 1e-12);
    ck_assert_double_eq_tol(compared_as(j, "difference"), ((double)only_a - (double)only_b) / 500, 1e-12);
    ck_assert(only_a + only_b > 20);
    ck_assert_double_eq_tol(compared_as(j, "p") / by_tossing(only_a < only_b ? only_a : only_b, only_a + only_b), 1,
                            1e-8);
    ck_assert(compared_as(j, "low") < compared_as(j, "difference") &&
              compared_as(j, "high") > compared_as(j, "difference"));
    json_free(j);
    Said s = must("eval --run %s --against %s --no-cache", a, b);
    ck_assert_msg(strstr(s.out, "  McNemar's test: only this run is right about "), "%s", s.out);
    said_free(&s);
    refused(1, "was scored on other texts", "eval --run %s --against %s --no-cache -q", a, other);
    each_lines_free(&of_a);
    each_lines_free(&of_b);
}

START_TEST(members_of_an_ensemble_count_alike)
{
    char a[700], b[700], words[1500];
    snprintf(a, sizeof a, "%s", trained("--steps 60"));
    snprintf(b, sizeof b, "%s", trained("--steps 60 --dim 16 --pool max"));
    snprintf(words, sizeof words, "--no-cache --ensemble %s", b);
    const EachLines of[] = {each_lines(a, "--no-cache", TEXTS), each_lines(b, "--no-cache", TEXTS)},
                    both = each_lines(a, words, TEXTS);
    size_t right = 0;
    ck_assert(both.count == 500 && both.columns == 6);
    for (size_t i = 0; i < 500; i++) {
        double share = 0;
        for (size_t m = 0; m < 2; m++)
            share += 0.5 / (1 + exp(each_line(&of[m], i)[4] - each_line(&of[m], i)[5]));
        ck_assert_double_eq_tol(exp(each_line(&both, i)[5]), share, 1e-5);
        ck_assert_double_eq_tol(exp(each_line(&both, i)[4]), 1 - share, 1e-5);
        right += is_right(&both, i);
    }
    snprintf(words, sizeof words, "--ensemble %s,regression", b);
    Json *three = evaluated(a, words), *against;
    ck_assert_msg(json_real(three, "accuracy") > 0.6, "accuracy %g", json_real(three, "accuracy"));
    snprintf(words, sizeof words, "--no-cache --ensemble %s", b);
    against = compared(a, b, words);
    ck_assert_double_eq_tol(json_real(against, "accuracy"), (double)right / 500, 1e-9);
    ck_assert_double_eq_tol(compared_as(against, "difference"), (double)right / 500 - compared_as(against, "score"),
                            1e-9);
    json_free(three);
    json_free(against);
    refused(1, "would be scored on the texts that it learns from",
            "eval --run %s --no-cache -q --split train --ensemble regression", a);
    refused(2, "a name in --ensemble is empty", "eval --run %s --no-cache -q --ensemble %s,", a, b);
    refused(1, "there is no run nowhere", "eval --run %s --no-cache -q --ensemble nowhere", a);
    refused(1, "was scored on other texts", "eval --run %s --no-cache -q --ensemble %s", a,
            trained("--steps 2 --seed 2"));
    for (size_t m = 0; m < 2; m++)
        each_lines_free((EachLines *)&of[m]);
    each_lines_free((EachLines *)&both);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LEARNS(it_learns_and_eval_says_how_well, 5, 60),
                                 TEST(two_passes_of_a_step_drop_otherwise_and_when_computed_again_alike),
                                 TEST(the_log_has_the_accuracy_that_eval_finds),
                                 TEST(a_run_that_goes_on_has_the_same_bits),
                                 TEST(predict_says_the_same_wherever_a_text_comes_from),
                                 TEST(what_is_too_long_is_cut_aloud),
                                 TEST(a_run_remembers_who_looked_at_its_test_part),
                                 TEST(mistakes_are_shown_the_surest_first),
                                 TEST(steps_that_are_asked_for_count_more_than_a_presets_epochs),
                                 TEST(a_bag_knows_no_order_but_that_of_its_ngrams),
                                 TEST(a_run_whose_classes_are_no_names_is_refused),
                                 TEST(weights_that_are_not_finite_are_refused),
                                 TEST(weights_too_large_to_compute_with_give_no_answer),
                                 TEST(a_load_loss_is_of_a_text),
                                 TEST(other_texts_are_scored_whole),
                                 TEST(two_runs_are_compared_on_the_same_texts),
                                 TEST(members_of_an_ensemble_count_alike),
                                 TEST(what_cannot_be_is_refused)};
    command_program("classifier");
    test_folders_in_memory();
    return suite_run("classifier/program", tests, sizeof tests / sizeof *tests, argc, argv);
}
