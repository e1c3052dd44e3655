/* BLEU where a model is judged: what eval prints is what translate and bleu give together, in all ways of counting, and
 * what training logs is the same of its sample, and changes nothing else. */
#include "base/memory.h"
#include "core/text/moses.h"
#include "tests/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINY                                                                                                           \
    "--preset minute --minutes 0 --dim 32 --heads 2 --ff 64 --depth 1 --batch-tokens 512 --micro-tokens 256 "          \
    "--workers 2 --dropout 0.1 --eval-every 0 --context 48 --longest 40 -q "

static const char *trained(const char *words)
{
    const char *run = fresh_path("run");
    works("train --run %s " TINY " %s", run, words);
    return run;
}

/* Sentences as people write them: with capitals, marks that stand on words, an empty line on either side, one that is
 * longer than the model reads, the ends of Windows, and none after the last one. */
static const char sources[] = "the old friend says that some dogs want to see a green tree today .\n"
                              "the dog sleeps .\r\n"
                              "\n"
                              "a child sees the house .\n"
                              "the cat sees the cat and the cat sees the cat and the cat sees the cat and the cat sees "
                              "the cat and the cat sees the cat and the cat sees the cat and the cat sees the cat and "
                              "the cat sees the cat and the cat sees the cat and the cat sees the cat .\n"
                              "some dogs want to see a tree .";
static const char targets[] = "Der alte Freund sagt, dass einige Hunde heute einen grünen Baum sehen wollen.\n"
                              "Der Hund schläft.\r\n"
                              "Nichts & \"niemand\".\n"
                              "\n"
                              "Die Katze sieht die Katze, und die Katze sieht die Katze.\n"
                              "Einige Hunde wollen einen Baum sehen.";
enum { LINES = 6 };

static void write_part(const char *run, const char *source, const char *target)
{
    write_in(run, "v.en", source, strlen(source));
    write_in(run, "v.xx", target, strlen(target));
}

static Json *json_of(Said s)
{
    Json *j = said_json(&s);
    said_free(&s);
    return j;
}

static Json *evaluated(const char *run, const char *words)
{
    return json_of(must("eval --run %s -q --json --weights last --valid-source %s/v.en --valid-target %s/v.xx %s", run,
                        run, run, words));
}

/* A member of what `bleu` says of FOLDER/a and FOLDER/b. */
static double counted(const char *folder, const char *a, const char *b, const char *words, const char *key)
{
    Json *j = json_of(must("bleu %s/%s %s/%s --json -q %s", folder, a, folder, b, words));
    double value = json_real(j, key);
    json_free(j);
    return value;
}

/* Writes FOLDER/TO: each line of FOLDER/FROM in Moses' tokens. */
static void tokenise(const char *folder, const char *from, const char *to, const char *language)
{
    Moses rules = {0};
    Buffer out = {0};
    Error e;
    size_t size;
    char *text = read_in(folder, from, &size);
    ck_done(moses_language(&rules.language, language, &e), e);
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t line = end ? (size_t)(end - text) - at : size - at;
        ck_done(moses_tokenise(rules, text + at, line, &out, &e), e);
        buffer_add(&out, "\n", 1);
        at += line + 1;
    }
    write_in(folder, to, out.text, out.size);
    buffer_free(&out);
    memory_free(text);
}

/* What eval says is what comes of translate, Moses' tokens and bleu, one after the other. */
static void expect_the_same(const char *run, const Json *j, const char *how, const char *language)
{
    static const char *const keys[][2] = {{"bleu", "lower_bleu"}, {"tokenised_bleu", "lower_tokenised_bleu"}};
    Said s = must("translate --run %s -q --weights last --file %s/v.en %s", run, run, how);
    write_in(run, "said", s.out, s.out_size);
    said_free(&s);
    if (language) {
        tokenise(run, "said", "said.tok", language);
        tokenise(run, "v.xx", "v.tok", language);
    }
    for (size_t tokens = 0; tokens < 2; tokens++)
        for (size_t lower = 0; lower < 2; lower++) {
            bool made = tokens && language;
            double expected = counted(run, made ? "said.tok" : "said", made ? "v.tok" : "v.xx",
                                      lower ? "--lowercase" : "", keys[tokens][0]);
            ck_assert_msg(json_real(j, keys[tokens][lower]) == expected, "%s: %.17g, not %.17g", keys[tokens][lower],
                          json_real(j, keys[tokens][lower]), expected);
        }
}

static void expect_text(const Json *j, const char *key, const char *text)
{
    const char *found = json_get_text(j, key);
    ck_assert_msg(found && strcmp(found, text) == 0, "%s is %s", key, found ? found : "not there");
}

START_TEST(eval_finds_what_translate_and_bleu_find)
{
    static const char *const how[] = {"", "--beam 1 --max-extra 5", "--beam 3 --alpha 0 --max-tokens 1",
                                      "--chunk 2 --workers 1", "--chunk 1"};
    const char *run = trained("--steps 250 --warmup 100");
    write_part(run, sources, targets);
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        Json *j = evaluated(run, how[i]);
        ck_assert(json_real(j, "lines") == LINES && json_real(j, "sentences") == LINES - 1); /* one is too long */
        ck_assert_msg(json_real(j, "bleu") > 0.1, "%g", json_real(j, "bleu"));
        ck_assert(json_real(j, "lower_bleu") > json_real(j, "bleu"));
        expect_text(j, "signature", "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|impl:attend");
        expect_text(j, "tokenised_signature", "nrefs:1|case:mixed|eff:no|tok:moses-de|smooth:exp|impl:attend");
        expect_the_same(run, j, how[i], "de");
        json_free(j);
    }
}

/* Where there are no rules for a language, tokens are what stands between spaces. */
START_TEST(tokens_are_those_of_the_language)
{
    static const char *const languages[][3] = {
        {"fr", "fr", "moses-fr"}, {"en", "en", "moses-en"}, {"nl", NULL, "none"}};
    const char *run = trained("--steps 60 --warmup 30");
    write_part(run, "the dog sleeps .\nthe cat\n", "l'homme d'aujourd'hui, don't der Hund\nthe cat's\n");
    for (size_t i = 0; i < 3; i++) {
        char words[60], signature[100];
        snprintf(words, sizeof words, "--target %s", languages[i][0]);
        snprintf(signature, sizeof signature, "nrefs:1|case:mixed|eff:no|tok:%s|smooth:exp|impl:attend",
                 languages[i][2]);
        Json *j = evaluated(run, words);
        expect_text(j, "tokenised_signature", signature);
        expect_the_same(run, j, "", languages[i][1]);
        json_free(j);
    }
}

/* What has learned nothing says any bytes: no UTF-8, zero bytes, ends of lines. */
START_TEST(any_bytes_are_counted_as_they_are_printed)
{
    const char *run = trained("--steps 2 --type bytes");
    write_part(run, "dogs sleep .\n\xff\xfe\n\ntrees\n", "Hunde\n\xc3\n \x80\x01\nB\xc3\xa4ume\n");
    Json *j = evaluated(run, "--max-extra 25");
    ck_assert(json_real(j, "lines") == 4);
    expect_the_same(run, j, "--max-extra 25", "de");
    json_free(j);
}

START_TEST(it_can_be_left_out_and_be_of_any_part)
{
    const char *run = trained("--steps 20 --warmup 10");
    Json *j = json_of(must("eval --run %s -q --json --no-bleu", run));
    ck_assert_ptr_null(json_get(j, "bleu"));
    ck_assert(json_get(j, "loss"));
    json_free(j);
    write_part(run, sources, targets);
    j = json_of(must("eval --run %s -q --json --split train --beam 1 --train-source %s/v.en --train-target %s/v.xx "
                     "--valid-source %s/v.en --valid-target %s/v.xx --weights last",
                     run, run, run, run, run));
    ck_assert(json_real(j, "lines") == LINES && json_real(j, "sentences") == LINES - 3);
    expect_the_same(run, j, "--beam 1", "de");
    json_free(j);
    Said s = must("eval --run %s --split test --beam 1", run);
    ck_assert_msg(strstr(s.out, "BLEU = ") && strstr(s.out, "tok:13a|smooth:exp|impl:attend, 500 lines; beam 1") &&
                      strstr(s.out, "(moses-de)"),
                  "%s", s.out);
    ck_assert_msg(!strstr(s.err, "looks tokenized"), "%s", s.err); /* the built-in sentences are so */
    said_free(&s);
}

START_TEST(what_makes_it_doubtful_is_said)
{
    const char *run = trained("--steps 2");
    Buffer text = {0};
    for (int i = 0; i < 110; i++)
        buffer_print(&text, "the dog sleeps %d .\n", i);
    write_part(run, text.text, text.text);
    Said s = must("eval --run %s --beam 1 --valid-source %s/v.en --valid-target %s/v.xx", run, run, run);
    ck_assert_msg(strstr(s.err, "the target looks tokenized"), "%s", s.err);
    said_free(&s);
    write_part(run, sources, targets);
    s = must("eval --run %s --beam 1 --valid-source %s/v.en --valid-target %s/v.xx", run, run, run);
    ck_assert_msg(
        strstr(s.err, "1 sources are too long: the model reads only their first 47 subwords; the first such is line 5"),
        "%s", s.err);
    ck_assert_msg(!strstr(s.err, "looks tokenized"), "%s", s.err);
    said_free(&s);
    buffer_free(&text);
}

/* --- while it learns --- */

/* Column `name` of the log, line `line` of it, from 1; closed by a zero byte. */
static void logged(const char *run, const char *name, size_t line, char *value, size_t capacity)
{
    size_t size, column = 0;
    char *log = read_in(run, "log.tsv", &size), *at = log;
    ck_assert_ptr_nonnull(log);
    log[size - 1] = 0;
    char *header = strstr(log, name);
    ck_assert_msg(header && header < strchr(log, '\n'), "%s", log);
    for (const char *c = log; c <= header; c++)
        column += *c == '\t';
    for (size_t i = 0; i < line; i++)
        at = strchr(at, '\n') + 1;
    for (size_t i = 0; i < column; i++)
        at = strchr(at, '\t') + 1;
    at[strcspn(at, "\t\n")] = 0;
    snprintf(value, capacity, "%s", at);
    memory_free(log);
}

static const char column[] = "\tvalidation BLEU (0 to 100)";

START_TEST(the_log_has_it_at_each_evaluation)
{
    const char *run = trained("--steps 250 --warmup 100 --eval-every 200 --bleu-sentences 1000");
    char value[60];
    Json *j = json_of(must("eval --run %s -q --json --weights last --beam 1 --max-extra 20", run));
    ck_assert(json_real(j, "lines") == 500 && json_real(j, "bleu") > 0);
    logged(run, column, 250, value, sizeof value);
    ck_assert_double_eq_tol(strtod(value, NULL), json_real(j, "bleu"), 0.00051);
    logged(run, column, 200, value, sizeof value);
    ck_assert(strtod(value, NULL) > 0);
    logged(run, column, 249, value, sizeof value);
    ck_assert_str_eq(value, "");
    json_free(j);
}

/* A sample is spread over the part: of four pairs, two are the first and the third. */
START_TEST(a_sample_is_spread_over_the_part)
{
    char folder[600], trained_on[800], value[60];
    Buffer train[2] = {{0}, {0}};
    snprintf(folder, sizeof folder, "%s", test_folder());
    snprintf(trained_on, sizeof trained_on, "%s/run", folder);
    for (int i = 0; i < 40; i++) {
        buffer_print(&train[0], "the dog sleeps .\nthe cat sleeps .\n");
        buffer_print(&train[1], "der Hund schläft .\ndie Katze schläft .\n");
    }
    write_in(folder, "t.en", train[0].text, train[0].size);
    write_in(folder, "t.xx", train[1].text, train[1].size);
    write_part(folder, "the dog sleeps .\nthe dog\nthe cat sleeps .\nthe cat\n",
               "der Hund schläft .\nnichts davon\ndie Katze schläft .\nist so\n");
    works("train --run %s " TINY "--steps 120 --warmup 40 --bleu-sentences 2 --train-source %s/t.en "
          "--train-target %s/t.xx --valid-source %s/v.en --valid-target %s/v.xx",
          trained_on, folder, folder, folder, folder);
    write_part(trained_on, "the dog sleeps .\nthe cat sleeps .\n", "der Hund schläft .\ndie Katze schläft .\n");
    Json *j = evaluated(trained_on, "--beam 1 --max-extra 20");
    logged(trained_on, column, 120, value, sizeof value);
    ck_assert_double_eq_tol(strtod(value, NULL), json_real(j, "bleu"), 0.00051);
    ck_assert_double_gt(json_real(j, "bleu"), 99);
    json_free(j);
    buffer_free(&train[0]);
    buffer_free(&train[1]);
}

/* Whether BLEU is found on the way, how often, and by how many: the run learns the same; and a run that continues logs
 * what the whole one does. */
START_TEST(it_changes_nothing_that_is_learnt)
{
    static const char *const ways[] = {"--bleu-sentences 0", "--bleu-sentences 200 --eval-every 7",
                                       "--bleu-sentences 3 --eval-every 7"};
    char whole[700], value[60], other[60];
    size_t size, same;
    for (size_t i = 0; i < 3; i++) {
        char words[120];
        snprintf(words, sizeof words, "--steps 35 %s", ways[i]);
        const char *run = trained(words);
        char *now = read_in(run, "checkpoints/00000035/model.safetensors", &size),
             *first = i ? read_in(whole, "checkpoints/00000035/model.safetensors", &same) : NULL;
        ck_assert(now && (!i || (first && size == same && memcmp(now, first, size) == 0)));
        memory_free(now);
        memory_free(first);
        if (i < 2)
            snprintf(whole, sizeof whole, "%s", run);
    }
    works("train --run %s-parts " TINY " --steps 21 --bleu-sentences 200 --eval-every 7", whole);
    works("train --resume %s-parts --steps 35 -q", whole);
    char parts[720];
    snprintf(parts, sizeof parts, "%s-parts", whole);
    for (size_t step = 7; step <= 35; step += 7) {
        logged(whole, column, step, value, sizeof value);
        logged(parts, column, step, other, sizeof other);
        ck_assert_msg(value[0] && strcmp(value, other) == 0, "step %zu: %s and %s", step, value, other);
    }
    logged(parts, column, 6, value, sizeof value);
    ck_assert_str_eq(value, "");
}

START_TEST(without_it_the_column_is_empty)
{
    const char *run = trained("--steps 3 --bleu-sentences 0");
    char value[60];
    logged(run, column, 3, value, sizeof value);
    ck_assert_str_eq(value, "");
    works("train --resume %s --steps 4 --bleu-sentences 5 -q", run);
    logged(run, column, 4, value, sizeof value);
    ck_assert_str_ne(value, "");
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(eval_finds_what_translate_and_bleu_find),
                                 TEST(tokens_are_those_of_the_language),
                                 TEST(any_bytes_are_counted_as_they_are_printed),
                                 TEST(it_can_be_left_out_and_be_of_any_part),
                                 TEST(what_makes_it_doubtful_is_said),
                                 TEST(the_log_has_it_at_each_evaluation),
                                 TEST(a_sample_is_spread_over_the_part),
                                 TEST(it_changes_nothing_that_is_learnt),
                                 TEST(without_it_the_column_is_empty)};
    command_program("encdec");
    test_folders_in_memory();
    return suite_run("encdec/bleu_evaluator", tests, sizeof tests / sizeof *tests, argc, argv);
}
