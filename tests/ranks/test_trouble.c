/* Processes that are killed or stopped at any step, a folder that is gone, a disk that is full: all processes end, with one line that says which and why, and the run goes on from its last checkpoint to the same bits.
 *
 * A busy machine is no reason to fail: nothing here is counted in seconds but the time of --wait, which is far longer than
 * a step; what is waited for is written in the log or done by the system, for as long as that takes. */
#define _GNU_SOURCE /* prlimit */
#include "base/ranks.h"
#include "tests/ranks/disturbed.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { RANKS = 3, CASES = 3 };

/* Runs that train at the same time, and of each the process that a signal goes to after some steps. */
typedef struct Disturbed {
    char run[CASES][700];
    Said said[CASES];
    size_t victim[CASES]; /* its rank */
} Disturbed;

static void disturb(Disturbed *d, int signal, const char *how)
{
    static const size_t steps[CASES] = {1, 30, 101};
    Started s[CASES];
    pid_t process[MOST];
    command_processes(RANKS);
    for (size_t i = 0; i < CASES; i++) {
        char name[30];
        snprintf(name, sizeof name, "disturbed-%zu", i);
        snprintf(d->run[i], sizeof d->run[i], "%s", fresh_path(name));
        s[i] = command_start("train --run %s " WORDS ENDLESS "%s", d->run[i], how);
    }
    for (size_t i = 0; i < CASES; i++) {
        expect_steps(&s[i], d->run[i], steps[i]);
        ck_assert_uint_eq(training(d->run[i], process), RANKS);
        d->victim[i] = rank_of(process[i % RANKS]);
        kill(process[i % RANKS], signal);
    }
    for (size_t i = 0; i < CASES; i++)
        d->said[i] = ended(&s[i], d->run[i]);
}

static void finish(Disturbed *d)
{
    for (size_t i = 0; i < CASES; i++) {
        said_free(&d->said[i]);
        check_resumed(d->run[i], i); /* in fewer */
    }
}

/* The launcher names the process, in its own words. */
START_TEST(a_process_that_is_killed_ends_all)
{
    Disturbed d;
    if (!ranks_possible())
        return;
    disturb(&d, SIGKILL, "--wait 60s --save-every 20");
    for (size_t i = 0; i < CASES; i++)
        ck_assert_msg(d.said[i].status != 0 && strstr(d.said[i].err, "ignal 9"), "%d: %s", d.said[i].status,
                      d.said[i].err);
    finish(&d);
}

START_TEST(a_process_that_stops_ends_all_within_the_time_stated)
{
    Disturbed d;
    if (!ranks_possible())
        return;
    disturb(&d, SIGSTOP, "--wait 8s --save-every 20");
    for (size_t i = 0; i < CASES; i++)
        expect_named(&d.said[i], d.victim[i], "8 s");
    finish(&d);
}

/* A rank that has been told to stop still says why all end. */
START_TEST(a_process_that_stops_is_named_by_one_that_has_a_signal)
{
    pid_t process[MOST];
    if (!ranks_possible())
        return;
    const char *run = fresh_path("both");
    command_processes(RANKS);
    Started s = command_start("train --run %s " WORDS ENDLESS "--wait 8s --save-every 20", run);
    expect_steps(&s, run, 20);
    ck_assert_uint_eq(training(run, process), RANKS);
    for (size_t i = 0; i < RANKS; i++)
        if (rank_of(process[i]) == 0)
            kill(process[i], SIGSTOP);
    usleep(100000); /* until the others wait for it */
    for (size_t i = 0; i < RANKS; i++)
        if (rank_of(process[i]) != 0)
            kill(process[i], SIGTERM);
    Said said = ended(&s, run);
    expect_named(&said, 0, "8 s");
    said_free(&said);
}

/* As a scheduler does that gives the machine to another job for a while. */
START_TEST(a_run_that_is_stopped_as_a_whole_goes_on)
{
    pid_t process[MOST];
    if (!ranks_possible())
        return;
    const char *run = fresh_path("paused");
    command_processes(RANKS);
    Started s = command_start("train --run %s " WORDS ENDLESS "--wait 5s --save-every 20", run);
    expect_steps(&s, run, 20);
    ck_assert_uint_eq(training(run, process), RANKS);
    for (size_t i = 0; i < RANKS; i++)
        kill(process[i], SIGSTOP);
    usleep(6000000);
    for (size_t i = 0; i < RANKS; i++)
        kill(process[i], SIGCONT);
    expect_steps(&s, run, lines_of_log(run) + 100);
    kill(process[0], SIGTERM);
    Said said = ended(&s, run);
    ck_assert_msg(said.status == 0, "%s", said.err);
    said_free(&said);
    check_resumed(run, 0);
}

START_TEST(the_time_to_wait_is_a_second_at_least)
{
    refused(2, "--wait '0s': expected a time from 1s", "train --dry-run --wait 0s");
    refused(2, "--wait '1e12h': expected a time from 1s", "train --dry-run --wait 1e12h");
}

/* What a scheduler sends to all of them, and mpirun sends on; one is enough. */
START_TEST(a_signal_saves_the_run_of_all)
{
    Disturbed d;
    if (!ranks_possible())
        return;
    disturb(&d, SIGTERM, "--wait 60s");
    for (size_t i = 0; i < CASES; i++)
        ck_assert_msg(d.said[i].status == 0 &&
                          strstr(d.said[i].err, "stopped and saved; continue with: charlm train --resume"),
                      "%d: %s", d.said[i].status, d.said[i].err);
    finish(&d);
}

/* What cannot be written is the trouble of one process, and ends the others. */
static void expect_one_line(const Said *s, const char *why)
{
    const char *own = strstr(s->err, "charlm: rank 0 of 3 on "), *line = own ? strstr(own, why) : NULL;
    ck_assert_msg(s->status != 0 && line && !strstr(own + 1, "charlm: "), "%d: %s", s->status, s->err);
}

START_TEST(a_run_whose_folder_goes_ends_all)
{
    char run[700], away[720];
    if (!ranks_possible())
        return;
    snprintf(run, sizeof run, "%s", fresh_path("gone"));
    snprintf(away, sizeof away, "%s-away", run);
    command_processes(RANKS);
    Started s = command_start("train --run %s " WORDS ENDLESS "--wait 60s --save-every 40", run);
    expect_steps(&s, run, 3);
    ck_assert_int_eq(rename(run, away), 0);
    Said said = ended(&s, run);
    expect_one_line(&said, run);
    said_free(&said);
    check_resumed(away, 2);
}

/* From now on a process can write no file longer than this, as if the disk were full then. */
static void fill_disk(const char *run, rlim_t bytes)
{
    pid_t process[MOST];
    const size_t count = training(run, process);
    ck_assert_uint_eq(count, RANKS);
    for (size_t i = 0; i < count; i++) {
        const struct rlimit limit = {bytes, bytes};
        ck_assert_int_eq(prlimit(process[i], RLIMIT_FSIZE, &limit, NULL), 0);
    }
}

/* The others may be computing, or sending their parts of the state meanwhile. */
START_TEST(a_disk_that_gets_full_ends_all)
{
    static const struct {
        const char *how, *what;
        rlim_t bytes;
    } cases[] = {{"", "/state.safetensors", 60000}, /* the weights fit */
                 {"--shard ", "/state.safetensors", 60000},
                 {"--shard ", "/model.safetensors", 10000},
                 {"", "/log.tsv", 100}};
    char why[800];
    if (!ranks_possible())
        return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *run = fresh_path("full");
        command_processes(RANKS);
        Started s = command_start("train --run %s " WORDS ENDLESS "--wait 60s --save-every 100 %s", run, cases[i].how);
        expect_steps(&s, run, 3);
        fill_disk(run, cases[i].bytes);
        Said said = ended(&s, run);
        snprintf(why, sizeof why,
                 "%s: File too large; once that is fixed, --resume %s continues from its last checkpoint\n",
                 cases[i].what, run);
        expect_one_line(&said, why);
        said_free(&said);
        check_resumed(run, i % RANKS);
    }
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(a_process_that_is_killed_ends_all),
                                 TEST(a_process_that_stops_ends_all_within_the_time_stated),
                                 TEST(a_signal_saves_the_run_of_all),
                                 TEST(a_run_whose_folder_goes_ends_all),
                                 TEST(a_process_that_stops_is_named_by_one_that_has_a_signal),
                                 TEST(a_run_that_is_stopped_as_a_whole_goes_on),
                                 TEST(the_time_to_wait_is_a_second_at_least),
                                 TEST(a_disk_that_gets_full_ends_all)};
    test_folders_in_memory(); /* a disk may take longer than the time of --wait */
    return suite_run("ranks/trouble", tests, sizeof tests / sizeof *tests, argc, argv);
}
