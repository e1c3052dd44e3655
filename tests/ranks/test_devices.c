/* Processes with a device each: what they do with its memory, on the emulator, where a stand-in for NCCL goes through
 * base/ranks.h. Nothing is tested in a build without MPI or without the emulator. */
#include "base/ranks.h"
#include "tests/ranks/same.h"
#include "tests/same_runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_EMULATOR
static bool there(void) { return ranks_possible(); }
#else
static bool there(void) { return false; }
#endif

/* Streams run early, late and in between: what a sum is sent from is complete in each order. */
START_TEST(any_number_of_devices_makes_the_same_run)
{
    static const struct {
        size_t processes, number;
        const char *order, *words;
    } cases[] = {{2, 0, "forward", ""},
                 {3, 0, "backward", "--shard"},
                 {2, 1, "backward", "--shard"},
                 {3, 3, "random:5", ""},
                 {2, 5, "backward", "--shard"}};
    const SameCase *c = &same_cases[cases[_i].number];
    char one[700], other[720];
    if (!there())
        return;
    command_program(c->program);
    snprintf(one, sizeof one, "%s", fresh_path("one"));
    snprintf(other, sizeof other, "%s-other", one);
    works("train --run %s %s --device emulated --shares 8", one, c->words);
    setenv("ATTEND_ORDER", cases[_i].order, 1);
    command_processes(cases[_i].processes);
    works("train --run %s %s --device emulated --shares 8 %s", other, c->words, cases[_i].words);
    unsetenv("ATTEND_ORDER");
    expect_same_runs(one, other, SAME_STEPS);
}

START_TEST(several_workers_share_a_device)
{
    char one[700], other[720];
    if (!there())
        return;
    snprintf(one, sizeof one, "%s", fresh_path("one"));
    snprintf(other, sizeof other, "%s-other", one);
    works("train --run %s %s --device emulated --shares 8", one, same_cases[0].words);
    command_processes(2);
    works("train --run %s %s --device emulated --shares 8 --workers 2", other, same_cases[0].words);
    expect_same_runs(one, other, SAME_STEPS);
}

#ifdef HAVE_CHECKED
START_TEST(each_access_is_allowed)
{
    char one[700], other[720];
    if (!there())
        return;
    snprintf(one, sizeof one, "%s", fresh_path("one"));
    snprintf(other, sizeof other, "%s-other", one);
    works("train --run %s %s --device checked --shares 8 --steps 3", one, same_cases[0].words);
    command_processes(2);
    works("train --run %s %s --device checked --shares 8 --steps 3", other, same_cases[0].words);
    expect_same(one, other, "checkpoints/00000003/model.safetensors");
}
#endif

START_TEST(a_call_that_fails_ends_all_with_its_name)
{
    static const char *const calls[] = {"ncclGetUniqueId", "ncclCommInitRank", "ncclGroupStart", "ncclGroupEnd"};
    char plant[64], name[64];
    if (!there())
        return;
    snprintf(plant, sizeof plant, "%s:1:1", calls[_i]);
    snprintf(name, sizeof name, "%s: NCCL says: ", calls[_i]);
    command_processes(2);
    setenv("ATTEND_FAIL", plant, 1);
    Said s = command("train --run %s %s --device emulated", fresh_path("run"), same_cases[0].words);
    unsetenv("ATTEND_FAIL");
    const char *line = strstr(s.err, name);
    ck_assert_msg(s.status != 0 && line && !strstr(line + 1, name), "%d: %s", s.status, s.err);
    said_free(&s);
}

START_TEST(each_process_of_a_host_takes_its_own_device)
{
    char own[64] = "as it was";
    ck_assert(ranks_entry(NULL, 3, own, sizeof own) && !strcmp(own, "3"));
    ck_assert(ranks_entry("2,GPU-7f,5", 1, own, sizeof own) && !strcmp(own, "GPU-7f"));
    ck_assert(ranks_entry("2,GPU-7f,5", 2, own, sizeof own) && !strcmp(own, "5"));
    ck_assert(ranks_entry("4", 0, own, sizeof own) && !strcmp(own, "4"));
    ck_assert(!ranks_entry("4", 1, own, sizeof own) && !strcmp(own, "4"));
    ck_assert(!ranks_entry("", 0, own, sizeof own) && !strcmp(own, "4"));
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(any_number_of_devices_makes_the_same_run, 5), TEST(several_workers_share_a_device),
#ifdef HAVE_CHECKED
        TEST(each_access_is_allowed),
#endif
        TEST_LOOP(a_call_that_fails_ends_all_with_its_name, 4), TEST(each_process_of_a_host_takes_its_own_device)};
    return suite_run("ranks/devices", tests, sizeof tests / sizeof *tests, argc, argv);
}
