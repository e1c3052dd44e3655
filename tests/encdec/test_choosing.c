/* encdec translate and score as a user sees them, where more than the likeliest translation is asked for: diverse beams,
 * draws, prefixes, no repetitions, ensembles, and translations that are given. That each is exact: nn/translate. */
#include "base/memory.h"
#include "encdec/builtin.h"
#include "tests/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCES = 24, CONTEXT = 48 };

#define TINY                                                                                                           \
    "--preset minute --minutes 0 --dim 32 --heads 2 --ff 64 --depth 1 --batch-tokens 512 --micro-tokens 256 "          \
    "--workers 2 --dropout 0 --eval-every 0 --context 48 --longest 40 -q "

static char run[600], source[700];

/* A run, and R/v.en with sentences. */
static void setup(const char *words)
{
    Buffer english = {0}, german = {0};
    snprintf(run, sizeof run, "%s", fresh_path("run"));
    works("train --run %s " TINY "%s", run, words);
    for (size_t i = 0; i < SENTENCES; i++) {
        builtin_pair(&english, &german, BUILTIN_TRAINING + i);
        buffer_add(&english, "\n", 1);
    }
    write_in(run, "v.en", english.text, english.size);
    snprintf(source, sizeof source, "%s/v.en", run);
    buffer_free(&english);
    buffer_free(&german);
}

static Said translated(const char *words) { return must("translate --run %s -q --file %s %s", run, source, words); }

static void expect(const char *one, const char *other, bool same)
{
    Said a = translated(one), b = translated(other);
    ck_assert_msg(!strcmp(a.out, b.out) == same, "`%s`: %s\n`%s`: %s", one, a.out, other, b.out);
    said_free(&a);
    said_free(&b);
}

/* The next line, closed by a zero byte in the place of its end. */
static char *take_line(char **at)
{
    char *line = *at, *end = strchr(line, '\n');
    ck_assert_ptr_nonnull(end);
    *end = 0;
    *at = end + 1;
    return line;
}

/* The score in front of a line, and what is after it. */
static double take_score(char **line)
{
    char *end;
    const double score = strtod(*line, &end);
    ck_assert(end > *line && *end == '\t');
    *line = end + 1;
    return score;
}

START_TEST(the_seed_decides_what_is_drawn_and_nothing_else)
{
    setup("--steps 60 --warmup 30");
    expect("--sample --seed 3 --nbest 2", "--sample --seed 3 --nbest 2 --chunk 5 --max-tokens 64 --workers 3", true);
    expect("--sample --seed 3", "--sample --seed 4", false);
    expect("--sample --seed 3", "--sample --seed 3 --temperature 0.3", false);
    expect("--sample --seed 3 --top-k 1", "--beam 1", true);
    expect("--sample --seed 3 --top-p 1e-9", "--beam 1", true);
    expect("--sample --temperature 0", "--beam 1", true);
    expect("--sample --seed 3 --top-k 2", "--beam 1", false);
}

START_TEST(groups_make_lists_that_differ_more)
{
    setup("--steps 250 --warmup 100");
    size_t different[2] = {0, 0}; /* first words of a sentence's translations */
    for (size_t way = 0; way < 2; way++) {
        Said s = translated(way ? "--beam 4 --nbest 4 --beam-groups 4 --diversity 5" : "--beam 4 --nbest 4");
        char *at = s.out, first[4][64];
        for (size_t i = 0; i < SENTENCES; i++)
            for (size_t n = 0; n < 4; n++) {
                char *line = take_line(&at);
                line[strcspn(line, " ")] = 0;
                snprintf(first[n], sizeof first[n], "%s", line);
                bool known = false;
                for (size_t m = 0; m < n; m++)
                    known = known || !strcmp(first[m], first[n]);
                different[way] += !known;
            }
        said_free(&s);
    }
    ck_assert_uint_eq(different[1], 4 * SENTENCES); /* 5 nats keep any two apart in the first step */
    ck_assert_uint_lt(different[0], different[1]);
}

START_TEST(a_translation_begins_as_it_has_to)
{
    Buffer prefixes = {0};
    setup("--steps 60 --warmup 30");
    for (size_t i = 0; i < SENTENCES; i++)
        buffer_print(&prefixes, "%s\n", i % 3 == 0 ? "" : i % 3 == 1 ? "die alte" : "ein Hund sieht die Frau , die");
    write_in(run, "p", prefixes.text, prefixes.size);
    char words[800];
    snprintf(words, sizeof words, "--prefixes %s/p --chunk 7 --max-extra 0", run);
    Said s = translated(words), free = translated("--chunk 7 --max-extra 0");
    char *at = s.out, *other = free.out, *prefix = prefixes.text;
    for (size_t i = 0; i < SENTENCES; i++) {
        char *line = take_line(&at), *begins = take_line(&prefix), *without = take_line(&other);
        ck_assert_msg(!strncmp(line, begins, strlen(begins)), "%s: %s", begins, line);
        ck_assert(i % 3 || !strcmp(line, without));
    }
    said_free(&s);
    said_free(&free);
    write_in(run, "short", "die\n", 4);
    refused(1, "fewer lines", "translate --run %s -q --file %s --prefixes %s/short", run, source, run);
    write_in(run, "one", "the dog\n", 8);
    refused(1, "more lines", "translate --run %s -q --file %s/one --prefixes %s/p", run, run, run);
    Buffer much = {0};
    for (size_t i = 0; i < CONTEXT; i++)
        buffer_print(&much, "die ");
    write_in(run, "much", much.text, much.size);
    refused(1, "/much: the prefix in line 1 has 48 tokens, and the model writes at most 47",
            "translate --run %s -q --file %s/one --prefixes %s/much", run, run, run);
    buffer_free(&much);
    buffer_free(&prefixes);
}

START_TEST(no_word_comes_twice_where_none_may)
{
    setup("--steps 250 --warmup 100");
    size_t twice[2] = {0, 0};
    for (size_t way = 0; way < 2; way++) {
        Said s = translated(way ? "--beam 1 --no-repeat 1" : "--beam 1");
        for (char *at = s.out; *at;) {
            char *line = take_line(&at), *words[CONTEXT];
            size_t count = 0;
            for (char *word = strtok(line, " "); word; word = strtok(NULL, " "), count++) {
                ck_assert_uint_lt(count, CONTEXT);
                words[count] = word;
                for (size_t i = 0; i < count; i++)
                    twice[way] += !strcmp(words[i], word);
            }
        }
        said_free(&s);
    }
    ck_assert_uint_gt(twice[0], 0);
    ck_assert_uint_eq(twice[1], 0);
}

/* What translate says of its own translations; and the empty line, which is a sentence there. */
START_TEST(scores_of_given_translations_are_those_of_translate)
{
    static const char *const kinds[] = {"--steps 100 --warmup 50", "--steps 60 --warmup 30 --type bpe --merges 100",
                                        "--steps 60 --warmup 30 --norm pre --attention composed"};
    for (size_t kind = 0; kind < 3; kind++) {
        Buffer given = {0};
        setup(kinds[kind]);
        Said s = translated("--alpha 0 --scores");
        double wanted[SENTENCES];
        char *at = s.out;
        for (size_t i = 0; i < SENTENCES; i++) {
            char *line = take_line(&at);
            wanted[i] = take_score(&line);
            buffer_print(&given, "%s\n", line);
        }
        said_free(&s);
        write_in(run, "t", given.text, given.size);
        for (size_t way = 0; way < 2; way++) {
            Said score = must("score --run %s --file %s --translations %s/t %s", run, source, run,
                              way ? "--chunk 5 --workers 3 -q" : "");
            ck_assert(way ? !*score.err : strstr(score.err, "nats/token") != NULL);
            at = score.out;
            for (size_t i = 0; i < SENTENCES; i++)
                ck_assert_double_eq_tol(strtod(take_line(&at), NULL), wanted[i], 1e-4);
            ck_assert(!*at);
            said_free(&score);
        }
        buffer_free(&given);
    }
    write_in(run, "e", "\n\n", 2);
    Said empty = must("score --run %s -q --file %s/e --translations %s/e --json", run, run, run);
    char *at = empty.out, *first = take_line(&at);
    ck_assert(strstr(first, "\"number\": 0") && strstr(first, "\"tokens\": 1") && strstr(first, "\"log_p\": -"));
    said_free(&empty);
}

START_TEST(an_ensemble_is_the_mean_of_its_runs)
{
    char other[700], words[2000];
    setup("--steps 100 --warmup 50");
    snprintf(other, sizeof other, "%s-other", run);
    works("train --run %s " TINY "--steps 60 --warmup 30 --seed 1 --norm pre --dim 24 --context 40 --longest 39",
          other);
    /* the same twice is the same */
    snprintf(words, sizeof words, "--ensemble %s,%s", run, run);
    Said alone = translated(""), twice = translated(words);
    ck_assert_str_eq(alone.out, twice.out);
    said_free(&alone);
    said_free(&twice);
    /* a token's probability is between both: so is that of a sentence of one, an empty one */
    double log_p[3];
    write_in(run, "e", "\n", 1);
    for (size_t i = 0; i < 3; i++) {
        Said s = i < 2 ? must("score --run %s -q --file %s/e --translations %s/e", i ? other : run, run, run)
                       : must("score --run %s -q --file %s/e --translations %s/e --ensemble %s", run, run, run, other);
        log_p[i] = strtod(s.out, NULL);
        said_free(&s);
    }
    ck_assert_double_eq_tol(log_p[2], log((exp(log_p[0]) + exp(log_p[1])) / 2), 1e-5);
    refused(1, "-none", "translate --run %s -q --file %s --ensemble %s-none", run, source, run);
    works("train --run %s-bytes " TINY "--steps 1 --type bytes", run);
    works("train --run %s-registers " TINY " --registers 2 --steps 1", run);
    refused(1, "it has 2 registers, and ", "translate --run %s -q --file %s --ensemble %s-registers", run, source, run);
    refused(1, "its vocabulary is not that of", "translate --run %s -q --file %s --ensemble %s-bytes", run, source,
            run);
}

/* Of encoder and decoder alike, with caches. */
START_TEST(a_model_without_some_blocks_translates_as_that_of_the_others)
{
    setup("--steps 60 --warmup 30 --depth 2");
    works("train --run %s-1 " TINY "--steps 0 --from %s/checkpoints/00000060/model.safetensors --map "
          "encoder.1.=encoder.0.,encoder.0.=a.,decoder.1.=decoder.0.,decoder.0.=b.",
          run, run);
    Said one = must("translate --run %s-1 -q --weights last --file %s --scores", run, source),
         two = translated("--weights last --scores --skip-blocks 0"), all = translated("--weights last --scores");
    ck_assert_str_eq(one.out, two.out);
    ck_assert_str_ne(one.out, all.out);
    said_free(&one);
    said_free(&two);
    said_free(&all);
}

START_TEST(what_does_not_go_together_is_refused)
{
    setup("--steps 1");
    refused(2, "--beam 4 cannot be divided into --beam-groups 3",
            "translate --run %s --file %s --beam 4 --beam-groups 3", run, source);
    refused(2, "--sample draws", "translate --run %s --file %s --sample --beam-groups 2", run, source);
    refused(2, "a name in --ensemble is empty", "translate --run %s --file %s --ensemble %s,", run, source, run);
    refused(2, "--temperature belongs to --sample", "translate --run %s --file %s --temperature 0.5", run, source);
    refused(2, "--top-k belongs to --sample", "translate --run %s --file %s --top-k 3", run, source);
    refused(2, "--top-p belongs to --sample", "translate --run %s --file %s --top-p 0.5", run, source);
    refused(2, "--diversity belongs to --beam-groups", "translate --run %s --file %s --diversity 1", run, source);
    refused(2, "--translations FILE is missing", "score --run %s --file %s", run, source);
    refused(1, "cannot read", "score --run %s --file %s --translations %s-none", run, source, run);
    refused(1, "cannot read", "translate --run %s --file %s --prefixes %s-none", run, source, run);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST(the_seed_decides_what_is_drawn_and_nothing_else),
        TEST(groups_make_lists_that_differ_more),
        TEST(a_translation_begins_as_it_has_to),
        TEST(no_word_comes_twice_where_none_may),
        TEST(scores_of_given_translations_are_those_of_translate),
        TEST(an_ensemble_is_the_mean_of_its_runs),
        TEST(a_model_without_some_blocks_translates_as_that_of_the_others),
        TEST(what_does_not_go_together_is_refused),
    };
    command_program("encdec");
    return suite_run("encdec/choosing", tests, sizeof tests / sizeof *tests, argc, argv);
}
