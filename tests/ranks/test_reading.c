/* What is evaluated, predicted, translated and scored in several processes: one result in order, with the bytes of one
 * process. */
#include "base/memory.h"
#include "base/ranks.h"
#include "tests/command.h"

#include <stdio.h>
#include <string.h>

#define TRAIN "--minutes 0 --steps 4 -q --dim 16 --heads 2 --depth 1 --workers 1 "

enum { CHARLM, CLASSIFIER, ENCDEC, PROGRAMS, LINES = 601, LONGEST = 40 };
static const char *const programs[] = {"charlm", "classifier", "encdec"};

/* A run of each program, and a text with lines of several lengths: empty ones, longer ones than a model reads, and the last
 * without an end. */
static char runs[PROGRAMS][700], text[LINES * LONGEST * 4], file[800];

static void make(void)
{
    static const char *const train[] = {TRAIN "--context 16 --batch 8",
                                        "--preset minute --no-cache --epochs 0 " TRAIN
                                        "--ff 32 --context 16 --batch 18",
                                        "--preset minute " TRAIN "--ff 32 --batch-tokens 512"};
    size_t used = 0;
    for (size_t i = 0; i < PROGRAMS; i++) {
        snprintf(runs[i], sizeof runs[i], "%s", fresh_path(programs[i]));
        command_program(programs[i]);
        works("train --run %s %s", runs[i], train[i]);
    }
    for (size_t i = 0; i < LINES; i++) {
        for (size_t j = 0; j < i * 7 % 13 + (i == 300 ? LONGEST : 0); j++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s", (i + j) % 3 ? "the red " : "film ");
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", i + 1 < LINES ? "\n" : "house");
    }
    write_in(runs[ENCDEC], "lines.txt", text, used);
    snprintf(file, sizeof file, "%s/lines.txt", runs[ENCDEC]);
}

typedef struct Call {
    int program;
    const char *words; /* after the run */
    bool input;        /* reads the text */
} Call;

static const Call calls[] = {{CHARLM, "eval --stride 3 --bytes 2000 --json", false},
                             {CLASSIFIER, "eval --no-cache --mistakes 5", false},
                             {CLASSIFIER, "predict", true},
                             {CLASSIFIER, "predict --json", true},
                             {CLASSIFIER, "predict a good-film and-a-bad-one", false},
                             {ENCDEC, "eval --json --max-tokens 300", false},
                             {ENCDEC, "eval --no-bleu", false},
                             {ENCDEC, "translate --nbest 3 --chunk 50 --max-tokens 200", true},
                             {ENCDEC, "translate --sample --nbest 2 --format fairseq", true},
                             {ENCDEC, "translate --json --beam 1", true},
                             {ENCDEC, "score --translations LINES", true}};
enum { CALLS = sizeof calls / sizeof *calls };

static Said said_by(const Call *c, size_t processes, size_t workers)
{
    char words[1000];
    const char *lines = strstr(c->words, "LINES");
    command_program(programs[c->program]);
    command_processes(processes);
    command_input(c->input ? text : "", c->input ? strlen(text) : 0);
    snprintf(words, sizeof words, "%.*s%s", lines ? (int)(lines - c->words) : 1000, c->words, lines ? file : "");
    return must("%s --run %s --workers %zu --team 1 -q", words, runs[c->program], workers);
}

START_TEST(any_number_of_processes_says_the_same)
{
    static const size_t ways[][2] = {{2, 1}, {3, 2}, {5, 1}};
    if (!ranks_possible())
        return;
    make();
    for (size_t i = 0; i < CALLS; i++) {
        Said one = said_by(&calls[i], 0, 1);
        ck_assert_uint_gt(one.out_size, 20);
        for (size_t j = 0; j < sizeof ways / sizeof *ways; j++) {
            Said other = said_by(&calls[i], ways[j][0], ways[j][1]);
            ck_assert_msg(one.out_size == other.out_size && !memcmp(one.out, other.out, one.out_size),
                          "`%s` in %zu processes says\n%s\nand alone\n%s", calls[i].words, ways[j][0], other.out,
                          one.out);
            said_free(&other);
        }
        said_free(&one);
    }
}

/* What is written into a file is written once. */
START_TEST(vectors_are_one_file)
{
    static const char *const names[] = {"one.npy", "three.npy"};
    char *bytes[2];
    size_t size[2];
    if (!ranks_possible())
        return;
    make();
    command_program("classifier");
    for (size_t i = 0; i < 2; i++) {
        command_processes(i ? 3 : 0);
        command_input(text, strlen(text));
        works("predict --run %s -q --workers 1 --vectors %s/%s", runs[CLASSIFIER], runs[CLASSIFIER], names[i]);
        bytes[i] = read_in(runs[CLASSIFIER], names[i], &size[i]);
    }
    ck_assert(size[0] > LINES * 16 * sizeof(float) && size[0] == size[1] && !memcmp(bytes[0], bytes[1], size[0]));
    memory_free(bytes[0]);
    memory_free(bytes[1]);
}

/* The result is that of one process, and the others say nothing. */
START_TEST(what_is_not_shared_is_done_by_one)
{
    if (!ranks_possible())
        return;
    make();
    static const char *const words[] = {"eval --each --bytes 3000", "eval --dynamic 0.1 --bytes 100"};
    command_program("charlm");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        command_processes(0);
        Said one = must("%s --run %s -q --workers 1", words[i], runs[CHARLM]);
        command_processes(2);
        Said two = must("%s --run %s -q --workers 1", words[i], runs[CHARLM]);
        ck_assert_str_eq(one.out, two.out);
        said_free(&one);
        said_free(&two);
    }
}

START_TEST(what_cannot_be_read_ends_all)
{
    if (!ranks_possible())
        return;
    make();
    command_program("encdec");
    command_processes(2);
    Said s = command("translate --run %s -q --file /no/such/file", runs[ENCDEC]);
    ck_assert_msg(s.status == 1 && strstr(s.err, "encdec: rank ") && strstr(s.err, "cannot read /no/such/file"),
                  "%d: %s", s.status, s.err);
    said_free(&s);
    command_input("a\nb\nc\n", 6);
    s = command("score --run %s -q --translations %s", runs[ENCDEC], file);
    ck_assert_msg(s.status == 1 && strstr(s.err, "encdec: rank 0 of 2 on ") &&
                      strstr(s.err, "has more lines than there are sentences"),
                  "%d: %s", s.status, s.err);
    said_free(&s);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(any_number_of_processes_says_the_same), TEST(vectors_are_one_file),
                                 TEST(what_is_not_shared_is_done_by_one), TEST(what_cannot_be_read_ends_all)};
    return suite_run("ranks/reading", tests, sizeof tests / sizeof *tests, argc, argv);
}
