/* Processes that are killed or stopped at any moment: all end in time, with a line that says which and where, and the run
 * goes on from its last checkpoint to the same bits. */
#define _DEFAULT_SOURCE /* usleep */
#include "base/clock.h"
#include "base/memory.h"
#include "base/ranks.h"
#include "tests/same_runs.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS                                                                                                          \
    "--minutes 0 --dim 16 --heads 2 --depth 1 --context 16 --batch 8 --micro-batch 1 --eval-bytes 300 --eval-every 0 " \
    "--workers 1 --team 1 --dropout 0.1 --schedule constant --lr 1e-2 -q "

enum { RANKS = 3, MOST = 16 };

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

static bool begun(const char *run)
{
    size_t size;
    char *text = read_in(run, "log.tsv", &size);
    const bool there = text && size > 300;
    memory_free(text);
    return there;
}

/* Sends a signal to one of the processes of a run some time after it has begun. (Where a checkpoint on a slow disk takes
 * longer than the wait, two processes may say that they have waited.) */
static Said disturbed(const char *run, int signal, int moment, int save_every)
{
    pid_t process[MOST];
    Started s = command_start("train --run %s " WORDS "--steps 1000000 --wait 2s --save-every %d", run, save_every);
    for (int i = 0; i < 3000 && !begun(run); i++)
        usleep(10000);
    ck_assert(begun(run));
    usleep((unsigned)moment * 1000);
    ck_assert_uint_eq(training(run, process), RANKS);
    const double start = clock_seconds();
    kill(process[moment % RANKS], signal);
    Said said = command_end(&s);
    ck_assert_msg(clock_seconds() - start < 20, "it took %g s to end", clock_seconds() - start);
    for (int i = 0; i < 500 && training(run, process); i++)
        usleep(10000);
    ck_assert_uint_eq(training(run, process), 0);
    ck_assert_int_ne(said.status, 0);
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
    works("train --resume %s --steps %d -q", run, step);
    works("train --run %s " WORDS "--steps %d", whole, step);
    snprintf(name, sizeof name, "checkpoints/%08d/model.safetensors", step);
    expect_same(run, whole, name);
}

static const int moments[] = {0, 131, 262};

START_TEST(a_process_that_is_killed_ends_all)
{
    if (!ranks_possible())
        return;
    const char *run = fresh_path("killed");
    command_processes(RANKS);
    Said s = disturbed(run, SIGKILL, moments[_i], 20);
    ck_assert_msg(strstr(s.err, "9") && strchr(s.err, '\n'), "%s", s.err); /* the launcher names it in its own words */
    said_free(&s);
    check_resumed(run);
}

START_TEST(a_process_that_stops_ends_all_within_the_time_stated)
{
    if (!ranks_possible())
        return;
    const char *run = fresh_path("stopped");
    command_processes(RANKS);
    Said s = disturbed(run, SIGSTOP, moments[_i], 500);
    const char *own = strstr(s.err, "charlm: rank ");
    ck_assert_msg(own && !strstr(own + 1, "charlm: rank "), "%s", s.err);
    ck_assert_msg(strstr(own,
                         " has not answered for 2 s: it has stopped, or the network has; --resume goes on from the "
                         "last checkpoint\n"),
                  "%s", s.err);
    said_free(&s);
    check_resumed(run);
}

/* What a scheduler sends to all of them, and mpirun sends on. */
START_TEST(a_signal_saves_the_run_of_all)
{
    if (!ranks_possible())
        return;
    pid_t process[MOST];
    const char *run = fresh_path("signalled");
    command_processes(RANKS);
    Started s = command_start("train --run %s " WORDS "--steps 1000000 --wait 5s", run);
    for (int i = 0; i < 3000 && !begun(run); i++)
        usleep(10000);
    ck_assert_uint_eq(training(run, process), RANKS);
    kill(process[_i], SIGTERM); /* one is enough */
    Said said = command_end(&s);
    ck_assert_msg(said.status == 0 && strstr(said.err, "stopped and saved; continue with: charlm train --resume"),
                  "%d: %s", said.status, said.err);
    said_free(&said);
    check_resumed(run);
}

/* What cannot be written is the trouble of one process, and ends the others. */
START_TEST(a_run_whose_folder_goes_ends_all)
{
    if (!ranks_possible())
        return;
    char away[720];
    pid_t process[MOST];
    const char *run = fresh_path("gone");
    command_processes(RANKS);
    Started s = command_start("train --run %s " WORDS "--steps 1000000 --wait 5s", run);
    for (int i = 0; i < 3000 && !begun(run); i++)
        usleep(10000);
    snprintf(away, sizeof away, "%s-away", run);
    ck_assert_int_eq(rename(run, away), 0);
    Said said = command_end(&s);
    ck_assert_msg(said.status != 0 && strstr(said.err, "charlm: rank 0 of 3 on ") && strstr(said.err, run), "%d: %s",
                  said.status, said.err);
    ck_assert_uint_eq(training(run, process), 0);
    said_free(&said);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(a_process_that_is_killed_ends_all, 3),
                                 TEST_LOOP(a_process_that_stops_ends_all_within_the_time_stated, 3),
                                 TEST_LOOP(a_signal_saves_the_run_of_all, 2), TEST(a_run_whose_folder_goes_ends_all)};
    return suite_run("ranks/trouble", tests, sizeof tests / sizeof *tests, argc, argv);
}
