/* sweep: every run that a file describes is trained once, whatever happens in between; and what comes of them is one
 * table, the same however often it was interrupted. */
#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "charlm/prose.h"
#include "tests/command.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RECIPE_OF(steps)                                                                                               \
    "dim = 16\nheads = 2\ndepth = 1\ncontext = 16\nbatch = 4\nworkers = 1\nlr = 0.01\neval-bytes = 300\n"              \
    "warmup = 2\nschedule = constant\nminutes = 0\npatience = 0\nsteps = " steps "\neval-every = 5\n"
#define RECIPE RECIPE_OF("20")

/* Writes the file of a sweep; the path of where its runs go, beside it. */
static const char *sweep_of(const char *text)
{
    const char *folder = fresh_path("sweep");
    Error e;
    ck_done(folder_make(folder, &e), e);
    write_in(folder, "a.sweep", text, strlen(text));
    return folder;
}

/* sweep.tsv without its last column, which is time. */
static char *table_of(const char *folder)
{
    size_t size, kept = 0;
    char *text = read_in(folder, "runs/sweep.tsv", &size);
    ck_assert_ptr_nonnull(text);
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        char *tab = strrchr(line, '\t');
        ck_assert_ptr_nonnull(tab);
        memmove(text + kept, line, (size_t)(tab - line));
        kept += (size_t)(tab - line);
        text[kept++] = '\n';
    }
    text[kept] = 0;
    return text;
}

static bool run_there(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/config.json", folder, name);
    return file_exists(path);
}

static Said sweep(const char *folder, const char *more)
{
    return must("sweep %s/a.sweep --run %s/runs %s", folder, folder, more);
}

#define TWO_BY_TWO_OF(steps) RECIPE_OF(steps) "seeds = 3\nff = 8 | 16\n[post]\n[pre]\nnorm = pre\n"
#define TWO_BY_TWO           TWO_BY_TWO_OF("20")

/* Two tables of `compare --format tsv` with the same numbers, in another order and with other labels. */
static void same_numbers(const char *a, const char *b)
{
    size_t lines = 0;
    for (const char *line = strchr(a, '\n') + 1; *line; line += strcspn(line, "\n") + 1, lines++) {
        char numbers[512];
        const char *from = strchr(line, '\t');
        snprintf(numbers, sizeof numbers, "%.*s\n", (int)strcspn(from, "\n"), from);
        ck_assert_msg(strstr(b, numbers), "%s is not in\n%s", numbers, b);
    }
    ck_assert_uint_eq(lines, 4);
}

START_TEST(a_sweep_keeps_out_of_its_data)
{
    const char *folder = sweep_of(RECIPE);
    char text[1000];
    snprintf(text, sizeof text, RECIPE "data = %s\n", folder);
    write_in(folder, "data.txt", prose_text, prose_size);
    write_in(folder, "a.sweep", text, strlen(text));
    for (int dry = 0; dry < 2; dry++)
        refused(2, "all files of which are data", "sweep %s/a.sweep --run %s/runs %s", folder, folder,
                dry ? "--dry-run" : "");
    snprintf(text, sizeof text, "%s/runs", folder);
    ck_assert(!folder_exists(text));
}

START_TEST(a_sweep_trains_compares_and_makes_its_table_anew)
{
    const char *folder = sweep_of(TWO_BY_TWO);
    Said s = sweep(folder, "--jobs 2");
    ck_assert_msg(strstr(s.out, "12 of 12 runs are done\n") && strstr(s.out, "pre-ff16"), "%s", s.out);
    ck_assert_msg(strstr(s.err, "12 runs of 4 groups, 12 to train") && strstr(s.err, "12/12"), "%s", s.err);
    said_free(&s);
    char *table = table_of(folder);
    ck_assert_msg(strstr(table, "run\tff\tnorm\tseed\tstate\tsteps\ttokens\tFLOP\tparameters\tbest validation"), "%s",
                  table);
    ck_assert_msg(strstr(table, "\npre-ff16-s3\t16\tpre\t3\tdone\t20\t1280\t"), "%s", table);

    Said of_runs = must("compare %s/runs --against %s/runs/pre-ff8-s1 --format tsv", folder, folder),
         of_table = must("compare %s/runs/sweep.tsv --against pre-ff8 --format tsv", folder);
    ck_assert_msg(strstr(of_table.out, "\npre-ff8\t3\t"), "%s", of_table.out);
    same_numbers(of_runs.out, of_table.out);
    said_free(&of_runs);
    said_free(&of_table);
    refused(1, "is not a table, but others are", "compare %s/runs/sweep.tsv %s/runs", folder, folder);
    refused(2, "--at needs the logs of runs", "compare %s/runs/sweep.tsv --at steps=3", folder);
    refused(1, "--over norm: no run has a number there", "compare %s/runs/sweep.tsv --over norm --out %s/o.svg", folder,
            folder);
    refused(2, "--over says what a picture shows: --out FILE", "compare %s/runs/sweep.tsv --over ff", folder);
    refused(2, "--over and --tuned exclude each other", "compare %s/runs/sweep.tsv --over ff --tuned ff --out x.svg",
            folder);
    refused(2, "--over compares the rows of a sweep", "compare %s/runs --over ff --out %s/o.svg", folder, folder);

    write_in(folder, "runs/sweep.tsv", "run\tnonsense\n", 13); /* a changed one is written anew */
    s = sweep(folder, "--json -q");
    Json *j = said_json(&s);
    ck_assert(json_real(j, "runs") == 12 && json_real(j, "done") == 12 && json_real(j, "failed") == 0);
    json_free(j);
    said_free(&s);
    char *again = table_of(folder);
    ck_assert_str_eq(again, table);
    memory_free(again);

    write_in(folder, "a.sweep", TWO_BY_TWO "[wide]\ndim = 32\n",
             sizeof TWO_BY_TWO "[wide]\ndim = 32\n" - 1); /* more of it */
    s = sweep(folder, "");
    ck_assert_msg(strstr(s.err, "18 runs of 6 groups, 6 to train") && strstr(s.out, "18 of 18"), "%s%s", s.err, s.out);
    said_free(&s);
    write_in(folder, "a.sweep", RECIPE "ff = 9\n", sizeof RECIPE "ff = 9\n" - 1);
    refused(1, "holds another sweep: its run post-ff8-s1 is not in", "sweep %s/a.sweep --run %s/runs", folder, folder);
    memory_free(table);
}

/* A sweep goes on from its table alone, where its runs are gone; and with what has changed it does not. */
START_TEST(what_a_kept_table_says_is_done_is_not_trained_again)
{
    char wider[] = TWO_BY_TWO;
    memcpy(strstr(wider, "dim = 16"), "dim = 18", 8);
    const char *folder = sweep_of(TWO_BY_TWO), *other = sweep_of(TWO_BY_TWO), *wide = sweep_of(wider);
    size_t size;
    Said s = sweep(folder, "");
    said_free(&s);
    char *all = table_of(folder), *text = read_in(folder, "runs/sweep.tsv", &size), known[512];
    char *line = strstr(text, "\npre-ff16-s2\t") + 1, *done = strstr(line, "\tdone\t");
    ck_assert_ptr_nonnull(done);
    memcpy(done, "\tnone\t", 6); /* one that is not done */
    write_in(other, "kept.tsv", text, strlen(text));
    snprintf(known, sizeof known, "--known %s/kept.tsv", other);

    s = sweep(other, known);
    ck_assert_msg(strstr(s.err, "12 runs of 4 groups, 1 to train") && strstr(s.out, "12 of 12"), "%s%s", s.err, s.out);
    said_free(&s);
    char *again = table_of(other);
    ck_assert_str_eq(again, all);
    memory_free(again);
    ck_assert(run_there(other, "runs/pre-ff16-s2") && !run_there(other, "runs/pre-ff16-s1"));

    refused(1, "its run post-ff8-s1 has other steps, FLOP or parameters", "sweep %s/a.sweep --run %s/runs %s", wide,
            wide, known);
    static const char grown[] = RECIPE_OF(
        "20") "seeds = 3\nff = 8 | 16\n[gated]\ngate = yes\nff = 8\n[post]\n[pre]\nnorm = pre\n";
    write_in(other, "grown.sweep", grown, sizeof grown - 1);
    s = must("sweep %s/grown.sweep --dry-run --run %s/grown %s", other, other, known);
    ck_assert_msg(strstr(s.err, "15 runs of 5 groups, 4 to train"), "%s%s", s.out, s.err);
    said_free(&s);
    static const char changed[] = RECIPE_OF(
        "20") "seeds = 3\nff = 8 | 16\n[post]\n[pre]\nnorm = pre\n[one by one]\nbatch = 1\nff = 8\n";
    write_in(other, "changed.sweep", changed, sizeof changed - 1); /* a row changes what the table has no column for */
    s = must("sweep %s/changed.sweep --dry-run --run %s/changed %s", other, other, known);
    ck_assert_msg(strstr(s.err, "15 runs of 5 groups, 4 to train"), "%s%s", s.out, s.err);
    said_free(&s);
    memcpy(line, "prf", 3);
    write_in(other, "kept.tsv", text, strlen(text));
    refused(1, "a.sweep has no such run: prf-ff16-s2", "sweep %s/a.sweep --run %s/more %s", other, other, known);
    memcpy(text, "rum", 3);
    write_in(other, "kept.tsv", text, strlen(text));
    refused(1, "its first line is not that of a table of this sweep", "sweep %s/a.sweep --run %s/more %s", other, other,
            known);
    memcpy(text, "run", 3);
    memcpy(strchr(text, '\n') + 1, "a\tb\n", 4);
    write_in(other, "kept.tsv", text, strlen(text));
    refused(1, "a.sweep has no such run: a", "sweep %s/a.sweep --run %s/more %s", other, other, known);
    memory_free(text);
    memory_free(all);
}

/* Killed at random moments, with a run or between two; then it goes on to the same table. */
START_TEST(a_sweep_that_is_killed_ends_with_the_same_table)
{
    const char *whole = sweep_of(TWO_BY_TWO_OF("200")), *killed = sweep_of(TWO_BY_TWO_OF("200"));
    Said s = sweep(whole, "-q");
    said_free(&s);
    size_t kills = 0;
    for (uint32_t round = 0; round < 20; round++) {
        const struct timespec moment = {0, (long)philox_below(400, 7, round, 0, 0) * 1000 * 1000};
        Started started = command_start("sweep %s/a.sweep --run %s/runs -q --jobs %d", killed, killed,
                                        round % 2 ? 2 : 1);
        nanosleep(&moment, NULL);
        kill(started.process, SIGKILL);
        s = command_end(&started);
        kills += s.status == -SIGKILL ? 1 : 0;
        said_free(&s);
    }
    ck_assert_uint_gt(kills, 3);
    s = sweep(killed, "-q");
    said_free(&s);
    char *a = table_of(whole), *b = table_of(killed);
    ck_assert_str_eq(a, b);
    memory_free(a);
    memory_free(b);
}

START_TEST(several_processes_share_a_sweep)
{
    enum { PROCESSES = 3 };
    const char *alone = sweep_of(TWO_BY_TWO), *shared = sweep_of(TWO_BY_TWO);
    Started started[PROCESSES];
    for (int i = 0; i < PROCESSES; i++)
        started[i] = command_start("sweep %s/a.sweep --run %s/runs -q", shared, shared);
    Said s = sweep(alone, "-q");
    said_free(&s);
    for (int i = 0; i < PROCESSES; i++) {
        s = command_end(&started[i]);
        ck_assert_msg(s.status == 0 && strstr(s.out, "12 of 12 runs are done\n"), "%d: %s%s", s.status, s.out, s.err);
        said_free(&s);
    }
    char *a = table_of(alone), *b = table_of(shared);
    ck_assert_str_eq(a, b);
    memory_free(a);
    memory_free(b);
}

START_TEST(a_sweep_that_is_stopped_goes_on)
{
    const struct timespec moment = {0, 500 * 1000 * 1000};
    const char *folder = sweep_of("dim = 16\nheads = 2\nsteps = 100000\nminutes = 1\nseeds = 2\n");
    Started started = command_start("sweep %s/a.sweep --run %s/runs", folder, folder);
    for (int i = 0; i < 60; i++) {
        char path[800];
        snprintf(path, sizeof path, "%s/runs/s1/config.json", folder);
        if (file_exists(path))
            break;
        nanosleep(&moment, NULL);
    }
    kill(started.process, SIGINT);
    Said s = command_end(&started);
    ck_assert_msg(s.status == 0 && strstr(s.out, "0 of 2 runs are done; the same command continues"), "%d %s%s",
                  s.status, s.out, s.err);
    said_free(&s);
}

START_TEST(a_run_that_fails_is_a_row_that_says_so)
{
    const char *folder = sweep_of(
        "dim = 16\nheads = 2\ndepth = 1\ncontext = 16\nsteps = 30\nminutes = 0\nwarmup = 0\n"
        "schedule = constant\nclip = 0\nnorm = pre\noptimizer = sgd\n[good]\nlr = 0.01\n[bad]\nlr = 1e30\n");
    Said s = sweep(folder, "");
    ck_assert_msg(s.status == 0 && strstr(s.out, "1 of 2 runs are done, 1 failed\n") &&
                      strstr(s.err, "bad-s1 failed: "),
                  "%s%s", s.out, s.err);
    said_free(&s);
    char *table = table_of(folder);
    ck_assert_msg(strstr(table, "\nbad-s1\t1e30\t1\tfailed: ") && strstr(table, "\ngood-s1\t0.01\t1\tdone\t30\t"), "%s",
                  table);
    memory_free(table);
    folder = sweep_of("dim = 16\nheads = 2\ndepth = 1\ncontext = 16\nsteps = 3\nminutes = 0\nweights = none-such\n");
    s = command("sweep %s/a.sweep --run %s/runs", folder, folder);
    ck_assert_msg(s.status == 1 && strstr(s.out, "0 of 1 runs are done, 1 failed\n") &&
                      strstr(s.err, "no run could be trained; their rows say why\n"),
                  "%d %s%s", s.status, s.out, s.err);
    said_free(&s);
}

START_TEST(what_cannot_be_trained_is_refused_before_anything_is)
{
    static const char *const cases[][2] = {
        {"dmi = 3", "run s1: unknown option --dmi; did you mean --dim?"},
        {"[a]\n[b]\ndim = 0", "run b-s1: --dim"},
        {"data = nowhere.txt", "run s1: "},
        {"dim = 15\nheads = 2", "run s1: "},
        {"[a", "a.sweep:1: a row's name"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *folder = sweep_of(cases[i][0]);
        char path[800];
        Said s = command("sweep %s/a.sweep --run %s/runs", folder, folder);
        ck_assert_msg((s.status == 1 || s.status == 2) && strstr(s.err, cases[i][1]) &&
                          strchr(s.err, '\n') == strrchr(s.err, '\n'),
                      "%s: %d %s", cases[i][0], s.status, s.err);
        snprintf(path, sizeof path, "%s/runs/s1", folder);
        ck_assert(access(path, F_OK) != 0);
        said_free(&s);
    }
    const char *folder = sweep_of("dmi = 16\nheads = 2\nsteps = 1\nminutes = 0"); /* mended, it is as good as new */
    refused(2, "run s1: unknown option --dmi", "sweep %s/a.sweep --run %s/runs", folder, folder);
    write_in(folder, "a.sweep", "dim = 16\nheads = 2\nsteps = 1\nminutes = 0", 40);
    Said s = sweep(folder, "");
    ck_assert_msg(strstr(s.out, "1 of 1 runs are done"), "%s", s.out);
    said_free(&s);
    refused(1, "is not empty and holds no sweep", "sweep %s/a.sweep --run tests", folder);
    refused(2, "expected one file", "sweep");
    refused(1, "nowhere.sweep", "sweep nowhere.sweep");
}

START_TEST(a_dry_run_leaves_nothing)
{
    const char *folder = sweep_of(TWO_BY_TWO);
    char path[800];
    Said s = must("sweep %s/a.sweep --run %s/runs --dry-run", folder, folder);
    ck_assert_msg(strstr(s.out, "\npost-ff16-s2\n") && strstr(s.err, "12 runs of 4 groups, 12 to train: "), "%s%s",
                  s.out, s.err);
    said_free(&s);
    s = must("sweep %s/a.sweep --run %s/runs --dry-run --json -q", folder, folder);
    Json *j = said_json(&s);
    ck_assert(json_get(j, "to_train")->count == 12 && !s.err[0]);
    json_free(j);
    snprintf(path, sizeof path, "%s/runs", folder);
    ck_assert(access(path, F_OK) != 0);
    said_free(&s);
    static const char *const files[][2] = {/* those of the documents */
                                           {"norms", "18 runs of 6 groups, 18 to train: "},
                                           {"positions", "24 runs of 8 groups, 24 to train: "},
                                           {"shape", "15 runs of 5 groups, 15 to train: "}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        s = must("sweep charlm/sweeps/%s.sweep --run %s/runs --dry-run", files[i][0], folder);
        ck_assert_msg(strstr(s.err, files[i][1]), "%s", s.err);
        said_free(&s);
    }
}

static const Test tests[] = {
    TEST(a_sweep_keeps_out_of_its_data),
    TEST(a_sweep_trains_compares_and_makes_its_table_anew),
    TEST(what_a_kept_table_says_is_done_is_not_trained_again),
    TEST_SLOW(a_sweep_that_is_killed_ends_with_the_same_table, 300),
    TEST(several_processes_share_a_sweep),
    TEST(a_sweep_that_is_stopped_goes_on),
    TEST(a_run_that_fails_is_a_row_that_says_so),
    TEST(what_cannot_be_trained_is_refused_before_anything_is),
    TEST(a_dry_run_leaves_nothing),
};

int main(int argc, char **argv) { return suite_run("charlm/sweep", tests, sizeof tests / sizeof *tests, argc, argv); }
