/* disturb FIRST SEEDS: trains small runs in several processes, and kills or stops (SIGKILL, SIGSTOP) one process of each
 * at a random moment: while they start, compute, exchange gradients or save. Then everything must end in time, one line
 * must say why, no process may be left, the newest checkpoint must open, and the run must go on in another number of
 * processes to the bits of a run that nothing disturbed. */
#define _DEFAULT_SOURCE /* usleep */
#include "base/clock.h"
#include "base/memory.h"
#include "base/ranks.h"
#include "tests/chance.h"
#include "tests/ranks/disturbed.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WAIT = 4, START = 60 /* ranks.h: what is being opened gets a minute at least */, SLACK = 15, OLDEST = 32 };

static uint32_t first;

/* One disturbance, and what it was done to. */
typedef struct Turn {
    Random random;
    const char *run;
    size_t ranks, victim; /* victim: which of those that are found */
    bool shard, stops, starting;
    useconds_t moment; /* after the first step, or after the launcher was started */
    size_t rank;       /* the victim's */
    double seconds;    /* until all had ended */
} Turn;

static Turn draw(uint32_t seed)
{
    Turn t = {.random = {seed, 0}, .run = fresh_path("disturbed")};
    t.ranks = 2 + below(&t.random, 3);
    t.victim = below(&t.random, t.ranks);
    t.shard = chance(&t.random, 0.5);
    t.stops = seed % 2;
    t.starting = chance(&t.random, 0.15);
    t.moment = (useconds_t)below(&t.random, t.starting ? 400000 : 1200000);
    return t;
}

/* Waits until all processes are there, and then for the moment. */
static pid_t find_victim(Turn *t, const Started *s)
{
    pid_t process[MOST];
    if (!t->starting)
        expect_steps(s, t->run, 1);
    while (training(t->run, process) < t->ranks)
        usleep(1000);
    usleep(t->moment);
    ck_assert_uint_eq(training(t->run, process), t->ranks);
    t->rank = rank_of(process[t->victim]);
    return process[t->victim];
}

static size_t times_said(const char *text, const char *words)
{
    size_t times = 0;
    for (const char *at = text; (at = strstr(at, words)) != NULL; at += strlen(words))
        times++;
    return times;
}

/* The launcher sees who was killed; who has stopped is named by another rank, or it is said that MPI does not start. */
static void check_line(const Turn *t, const Said *said)
{
    char words[100];
    if (t->stops &&
        strstr(said->err, " another process has not started for 60 s: it has stopped, or the network has\n"))
        ck_assert_msg(t->starting && times_said(said->err, "charlm: ") == 1, "%s", said->err);
    else if (t->stops) {
        const bool opening = t->starting && strstr(said->err, " has not answered for 60 s");
        expect_named(said, t->rank, opening ? "60 s" : "4 s");
    } else {
        snprintf(words, sizeof words, "process rank %zu with PID ", t->rank);
        ck_assert_msg(said->status != 0 && times_said(said->err, words) == 1 && strstr(said->err, "ignal 9") &&
                          !strstr(said->err, "charlm: "),
                      "it was rank %zu: %s", t->rank, said->err);
    }
}

static void disturb(Turn *t)
{
    command_processes(t->ranks);
    Started s = command_start("train --run %s " WORDS ENDLESS "--wait %ds --save-every 7 %s", t->run, WAIT,
                              t->shard ? "--shard" : "");
    const pid_t victim = find_victim(t, &s);
    const double start = clock_seconds();
    ck_assert_int_eq(kill(victim, t->stops ? SIGSTOP : SIGKILL), 0);
    Said said = ended(&s, t->run);
    t->seconds = clock_seconds() - start;
    check_line(t, &said);
    const double most = SLACK + (t->stops ? t->starting ? START : WAIT : 0);
    ck_assert_msg(t->seconds <= most, "all had ended after %.1f s only: %s", t->seconds, said.err);
    said_free(&said);
}

/* A run that had not begun begins. */
static void check_goes_on(const Turn *t)
{
    static const size_t numbers[] = {0, 2, 3, 5};
    size_t others = numbers[t->victim], size;
    if (others == t->ranks)
        others = 5;
    char *config = read_in(t->run, "config.json", &size);
    command_processes(0);
    if (config) {
        works("eval --run %s --weights last --bytes 300 -q", t->run);
        check_resumed(t->run, others);
    } else
        works("train --run %s " WORDS "--steps 3", t->run);
    memory_free(config);
}

START_TEST(a_process_disturbed_at_a_random_moment_ends_all_and_the_run_goes_on)
{
    Turn t = draw(first + (uint32_t)_i);
    disturb(&t);
    check_goes_on(&t);
    printf("seed %u: rank %zu of %zu%s %s %.3f s after %s: all had ended %.1f s later, and the run goes on\n",
           first + (uint32_t)_i, t.rank, t.ranks, t.shard ? ", --shard," : "", t.stops ? "stopped" : "killed",
           t.moment / 1e6, t.starting ? "the start" : "the first step", t.seconds);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    unsigned long from, seeds;
    if (argc != 3 || !chance_number(argv[1], UINT32_MAX, &from) || !chance_number(argv[2], INT_MAX, &seeds)) {
        fprintf(stderr, "usage: disturb FIRST SEEDS\n");
        return 2;
    }
    if (!ranks_possible()) {
        fprintf(stderr, "disturb: this build has no MPI\n");
        return 2;
    }
    first = (uint32_t)from;
    const Test test = {"disturb", &a_process_disturbed_at_a_random_moment_ends_all_and_the_run_goes_on, (int)seeds, 300,
                       false};
    test_folders_in_memory(); /* a disk may take longer than the time of --wait */
    return suite_run("disturb", &test, 1, 1, argv);
}
