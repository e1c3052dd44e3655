/* Processes that are killed or stopped at any step, a folder that is gone: all processes end, with one line that says which and why, and the run goes on from its last checkpoint to the same bits.
 *
 * A busy machine is no reason to fail: nothing here is counted in seconds but the time of --wait, which is far longer than
 * a step; what is waited for is written in the log or done by the system, for as long as that takes. */
#define _DEFAULT_SOURCE /* usleep */
#include "base/file.h"
#include "base/memory.h"
#include "base/ranks.h"
#include "tests/same_runs.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS                                                                                                          \
    "--minutes 0 --dim 16 --heads 2 --depth 1 --context 16 --batch 8 --micro-batch 1 --eval-bytes 300 --eval-every 0 " \
    "--workers 1 --team 1 --dropout 0.1 --schedule constant --lr 1e-2 -q "
#define ENDLESS "--steps 1000000000 "

enum { RANKS = 3, MOST = 16, CASES = 3 };

/* Processes that train this run, the launcher's own left out. */
static size_t training(const char *run, pid_t *found)
{
    size_t count = 0;
    DIR *folder = opendir("/proc");
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[300], line[4096] = "";
        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        FILE *file = atoi(entry->d_name) ? fopen(path, "rb") : NULL;
        size_t size = file ? fread(line, 1, sizeof line - 1, file) : 0;
        if (file)
            fclose(file);
        bool program = strlen(line) >= 7 && !strcmp(line + strlen(line) - 7, "/charlm"), ours = false;
        for (size_t i = 0; i < size; i += strlen(line + i) + 1)
            ours = ours || !strcmp(line + i, run);
        if (program && ours && count < MOST)
            found[count++] = (pid_t)atoi(entry->d_name);
    }
    closedir(folder);
    return count;
}

static size_t lines_of_log(const char *run)
{
    char *path = path_join(run, "log.tsv"), *text = NULL;
    size_t size = 0, lines = 0;
    Error e;
    if (file_exists(path) && !file_read(path, &text, &size, &e))
        size = 0;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    memory_free(text);
    memory_free(path);
    return lines;
}

/* Waits until a run's log has this many steps. */
static void expect_steps(const Started *s, const char *run, size_t steps)
{
    siginfo_t state = {.si_pid = 0};
    while (lines_of_log(run) <= steps && !state.si_pid) {
        usleep(10000);
        waitid(P_PID, (id_t)s->process, &state, WEXITED | WNOHANG | WNOWAIT);
    }
    if (state.si_pid) {
        Said said = command_end(s);
        ck_abort_msg("the run has ended by itself with %d: %s", said.status, said.err);
    }
}

/* And until none of its processes is left. */
static Said ended(const Started *s, const char *run)
{
    pid_t process[MOST];
    Said said = command_end(s);
    while (training(run, process))
        usleep(10000);
    return said;
}

/* Some steps after its last checkpoint it is the run that nothing disturbed. */
static void check_resumed(const char *run)
{
    char whole[720], name[100];
    size_t size;
    char *last = read_in(run, "last", &size);
    ck_assert_ptr_nonnull(last);
    const int step = atoi(last) + 27; /* a checkpoint may be newer than what is marked */
    memory_free(last);
    command_processes(0);
    snprintf(whole, sizeof whole, "%s-whole", run);
    works("train --resume %s --steps %d -q --save-every 0", run, step);
    works("train --run %s " WORDS "--steps %d --save-every 0", whole, step);
    snprintf(name, sizeof name, "checkpoints/%08d/model.safetensors", step);
    expect_same(run, whole, name);
}

/* Runs that train at the same time, and of each the process that a signal goes to after some steps. */
typedef struct Disturbed {
    char run[CASES][700];
    Said said[CASES];
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
        kill(process[i % RANKS], signal);
    }
    for (size_t i = 0; i < CASES; i++)
        d->said[i] = ended(&s[i], d->run[i]);
}

static void finish(Disturbed *d)
{
    for (size_t i = 0; i < CASES; i++) {
        said_free(&d->said[i]);
        check_resumed(d->run[i]);
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
    for (size_t i = 0; i < CASES; i++) {
        const char *own = strstr(d.said[i].err, "charlm: rank ");
        ck_assert_msg(d.said[i].status != 0 && own && !strstr(own + 1, "charlm: rank "), "%d: %s", d.said[i].status,
                      d.said[i].err);
        ck_assert_msg(strstr(own,
                             " has not answered for 8 s: it has stopped, or the network has; --resume goes on from "
                             "the last checkpoint\n"),
                      "%s", d.said[i].err);
    }
    finish(&d);
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
    check_resumed(away);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(a_process_that_is_killed_ends_all),
                                 TEST(a_process_that_stops_ends_all_within_the_time_stated),
                                 TEST(a_signal_saves_the_run_of_all), TEST(a_run_whose_folder_goes_ends_all)};
    test_folders_in_memory(); /* a disk may take longer than the time of --wait */
    return suite_run("ranks/trouble", tests, sizeof tests / sizeof *tests, argc, argv);
}
