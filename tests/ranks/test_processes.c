/* Runs are the same in any number of processes, with any number of workers, bit for bit; and what several processes say. In a
 * build without MPI, only what that says. */
#include "base/memory.h"
#include "base/ranks.h"
#include "tests/ranks/same.h"
#include "tests/same_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL "--dim 16 --heads 2 --depth 1 --context 16 --batch 16 --micro-batch 1 "
#define SMALL MODEL "--eval-bytes 300 --minutes 0 "

static const char *no_cache(const SameCase *c) { return strcmp(c->program, "classifier") ? "" : "--no-cache"; }

START_TEST(any_number_of_processes_makes_the_same_run)
{
    static const struct {
        size_t ranks, workers;
        const char *how;
    } ways[] = {{2, 1, ""}, {3, 1, "--shard"}, {3, 2, ""}, {5, 1, ""}, {2, 2, "--shard"}, {5, 2, "--shard"}};
    const SameCase *c = &same_cases[_i];
    char one[700], other[720];
    if (!ranks_possible())
        return;
    command_program(c->program);
    snprintf(one, sizeof one, "%s", fresh_path("one"));
    works("train --run %s %s --workers 1", one, c->words);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        snprintf(other, sizeof other, "%s-%zu", one, i);
        command_processes(ways[i].ranks);
        works("train --run %s %s --workers %zu --team 1 %s", other, c->words, ways[i].workers, ways[i].how);
        expect_same_runs(one, other, SAME_STEPS);
    }
}

/* Two processes begin it, one and three continue; some of them with parts of the moments. */
START_TEST(a_run_goes_on_in_another_number_of_processes)
{
    const SameCase *c = &same_cases[_i];
    char one[700], other[720];
    if (!ranks_possible())
        return;
    command_program(c->program);
    snprintf(one, sizeof one, "%s", fresh_path("one"));
    snprintf(other, sizeof other, "%s-other", one);
    works("train --run %s %s --workers 1", one, c->words);
    command_processes(2);
    works("train --run %s %s --workers 1 --steps 3 --shard", other, c->words);
    command_processes(0);
    works("train --resume %s --steps 6 -q %s", other, no_cache(c));
    command_processes(3);
    works("train --resume %s --steps 9 -q %s --%sshard", other, no_cache(c), _i % 2 ? "no-" : "");
    expect_same(one, other, "checkpoints/00000009/model.safetensors");
    expect_same(one, other, "checkpoints/00000009/state.safetensors");
}

/* And the others nothing: neither twice what one says, nor a second result. */
START_TEST(one_process_speaks)
{
    if (!ranks_possible())
        return;
    const char *run = fresh_path("run");
    command_processes(3);
    Said s = must("train --run %s " SMALL "--steps 3 --workers 1", run);
    const char *step = strstr(s.err, "step 3/3"), *lines = strchr(s.out, '\n');
    ck_assert_msg(step && !strstr(step + 1, "step 3/3") && lines && !lines[1], "%s%s", s.out, s.err);
    said_free(&s);
    s = must("--version");
    ck_assert_msg(strchr(s.out, '\n') && !strchr(s.out, '\n')[1], "%s", s.out);
    said_free(&s);
    s = must("eval --run %s -q", run); /* a command that one process does alone */
    ck_assert_msg(strchr(s.out, '\n') && !strchr(s.out, '\n')[1], "%s", s.out);
    said_free(&s);
}

/* Three processes have 2, 3 and 3 of 8 shares: the first sends one sum of two, and gets from each of the others two. */
START_TEST(the_plan_says_what_processes_hold_and_send)
{
    if (!ranks_possible())
        return;
    command_processes(3);
    Json *j = must_json("info " MODEL "--workers 1 --json");
    command_processes(0);
    Json *one = must_json("info " MODEL "--workers 1 --json");
    const double block = 4 * json_real(one, "parameters");
    ck_assert(json_real(j, "processes") == 3 && json_real(one, "processes") == 1);
    ck_assert(json_real(one, "sent_bytes_a_step") == 0);
    ck_assert_msg(json_real(j, "sent_bytes_a_step") > 1.9 * block / 3 &&
                      json_real(j, "sent_bytes_a_step") < 2.1 * block,
                  "%g of %g", json_real(j, "sent_bytes_a_step"), block);
    ck_assert(json_real(j, "micro_batches_a_worker") == 6);
    json_free(j);
    json_free(one);
}

/* And the bytes are nearly those without: gradients of what a process moves, and the weights that it has moved. */
START_TEST(with_shard_each_process_has_its_part_of_moments)
{
    if (!ranks_possible())
        return;
    command_processes(3);
    Json *whole = must_json("info --dim 256 --heads 4 --depth 4 --workers 1 --json"),
         *parts = must_json("info --dim 256 --heads 4 --depth 4 --workers 1 --json --shard");
    const double all = json_real(json_get(whole, "memory"), "moments"),
                 one = json_real(json_get(parts, "memory"), "moments"), sent = json_real(parts, "sent_bytes_a_step");
    ck_assert_msg(one > 0.333 * all && one < 0.334 * all, "%g of %g", one, all);
    ck_assert_msg(sent > 0.99 * json_real(whole, "sent_bytes_a_step") &&
                      sent < 1.05 * json_real(whole, "sent_bytes_a_step"),
                  "%g, not %g", sent, json_real(whole, "sent_bytes_a_step"));
    json_free(whole);
    json_free(parts);
}

/* What the log says in its last column of a step; NaN: nothing. */
static double waiting_in(const char *log, const char *line)
{
    const char *at = strstr(log, line), *end = at ? strchr(at + 1, '\n') : NULL;
    ck_assert_msg(end, "no line of the step: %s", log);
    while (end[-1] != '\t')
        end--;
    return *end == '\n' ? NAN : strtod(end, NULL);
}

START_TEST(the_log_says_how_long_processes_wait)
{
    if (!ranks_possible())
        return;
    size_t size;
    const char *run = fresh_path("waiting");
    works("train --run %s " SMALL "--steps 1 --workers 1 -q", run);
    command_processes(3);
    Said s = must("train --resume %s --steps 3 --workers 1", run);
    char *log = read_in(run, "log.tsv", &size);
    ck_assert_msg(strstr(log, "\twaiting for processes (part of the seconds)\n"), "%s", log);
    ck_assert(isnan(waiting_in(log, "\n1\t")));
    const double part = waiting_in(log, "\n3\t");
    ck_assert_msg(part > 0 && part < 1, "%g of a step", part);
    ck_assert_msg(strstr(s.err, "processes waited for each other in "), "%s", s.err);
    memory_free(log);
    said_free(&s);
}

/* What process 0 is said to have sent in a step, in MiB, and how much of it (in %) during backward passes. */
static void sent_in(const char *said, double *sent, double *early)
{
    const char *at = strstr(said, "this one sent ");
    char unit[8] = "";
    ck_assert_msg(at && sscanf(at, "this one sent %lf %7s a step, %lf %% of it during", sent, unit, early) == 3, "%s",
                  said);
    ck_assert_str_eq(unit, "MiB");
}

/* Six hundred thousand numbers, of which processes add up a part each, and an odd number of micro-batches. What goes is
 * what was planned: the table is tied, so that all of it goes. */
START_TEST(a_larger_gradient_goes_during_the_backward_pass_and_is_the_same)
{
    static const struct {
        size_t ranks, workers;
        const char *how;
    } ways[] = {{2, 1, ""}, {2, 2, "--shard"}, {3, 2, ""}};
    const char *words = "--dim 128 --heads 4 --depth 3 --context 16 --batch 9 --micro-batch 1 --minutes 0 "
                        "--tie --eval-bytes 300 --eval-every 0 --steps 3";
    char one[700], other[720];
    double sent, early;
    if (!ranks_possible())
        return;
    command_program("charlm");
    snprintf(one, sizeof one, "%s", fresh_path("large"));
    works("train --run %s %s --workers 1 -q", one, words);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        snprintf(other, sizeof other, "%s-%zu", one, i);
        command_processes(ways[i].ranks);
        Said s = must("train --run %s %s --workers %zu --team 1 %s", other, words, ways[i].workers, ways[i].how);
        Json *plan = must_json("info --run %s --json --workers %zu %s", other, ways[i].workers, ways[i].how);
        const double planned = json_real(plan, "sent_bytes_a_step") / (1 << 20);
        sent_in(s.err, &sent, &early);
        ck_assert_msg(fabs(sent - planned) < 0.055, "%g MiB, not %g", sent, planned);
        ck_assert_msg(ways[i].workers > 1 || (early > 30 && early <= 50), "%g %%", early);
        json_free(plan);
        expect_same(one, other, "checkpoints/00000003/model.safetensors");
        expect_same(one, other, "checkpoints/00000003/state.safetensors");
        said_free(&s);
    }
}

/* `why` is in the one line of the program's own, wherever the launcher's lines are. */
static void ends(const char *program, const char *why, const char *words)
{
    Said s = command("%s", words);
    const char *line = strstr(s.err, why), *own = strstr(s.err, program);
    ck_assert_msg(s.status != 0 && line && own && own < line && !strstr(own + 1, program), "`%s` exits with %d: %s",
                  words, s.status, s.err);
    said_free(&s);
}

START_TEST(mistakes_are_told_once)
{
    if (!ranks_possible())
        return;
    char words[1000];
    const char *run = fresh_path("run");
    command_processes(2);
    ends("charlm: ", "--no-such", "train --no-such 3");
    ends("charlm: ", "No such file", "train --data /no/such/file --steps 1");
    snprintf(words, sizeof words, "train --run %s " SMALL "--steps 2 -q --lr 1e40 --clip 0", run);
    ends("charlm: rank ", "not finite", words);
    ends("charlm: rank ", "--shard: the state of adafactor is too small to be divided",
         "train --shard --optimizer adafactor --steps 1");
    ends("charlm: ", "--wait 'soon': expected a time from 1s", "train --wait soon");
}

START_TEST(without_mpi_a_launcher_is_told)
{
    if (ranks_possible())
        return;
    setenv("PMI_RANK", "0", 1);
    setenv("PMI_SIZE", "4", 1);
    refused(1, "a launcher has started 4 processes, but this program was built without MPI", "train --steps 1");
    unsetenv("PMI_RANK");
    unsetenv("PMI_SIZE");
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(any_number_of_processes_makes_the_same_run, SAME_CASES),
                                 TEST_LOOP(a_run_goes_on_in_another_number_of_processes, SAME_CASES),
                                 TEST(one_process_speaks),
                                 TEST(the_plan_says_what_processes_hold_and_send),
                                 TEST(with_shard_each_process_has_its_part_of_moments),
                                 TEST(the_log_says_how_long_processes_wait),
                                 TEST(a_larger_gradient_goes_during_the_backward_pass_and_is_the_same),
                                 TEST(mistakes_are_told_once),
                                 TEST(without_mpi_a_launcher_is_told)};
    return suite_run("ranks/processes", tests, sizeof tests / sizeof *tests, argc, argv);
}
