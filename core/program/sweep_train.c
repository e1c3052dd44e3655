/* The processes of a sweep: --jobs of them at once, each of which trains one run. */
#include "core/program/sweep.h"

#include "base/clock.h"
#include "base/process.h"
#include "base/units.h"
#include "core/cli/stop.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>

/* Starts the next run that waits and that no other process trains. busy: there is one that others train. */
static bool start_next(Sweep *s, bool *started, bool *busy, Error *e)
{
    *started = *busy = false;
    for (size_t i = 0; i < s->plan.count; i++) {
        Item *item = &s->item[i];
        if (item->state != WAITING)
            continue;
        sweep_find_state(item); /* another process may have finished it meanwhile */
        if (item->state == DONE)
            continue;
        const bool old = run_is_there(item->run);
        if (run_busy(item->run)) {
            *busy = true;
            continue;
        }
        const Child child = sweep_child(s, i);
        Words w;
        if (!child_words(&w, &child, old ? "resume" : "run", item->run, e))
            return false;
        item->child = process_start(process_self, (const char *const *)w.word, item->out, item->err, e);
        words_free(&w);
        if (item->child < 0)
            return false;
        item->state = RUNNING;
        s->running++;
        *started = true;
        return true;
    }
    return true;
}

static double flop_of(const Sweep *s, State state)
{
    double flop = 0;
    for (size_t i = 0; i < s->plan.count; i++)
        flop += s->item[i].state == state ? s->cost[s->plan.run[i].group].flop : 0;
    return flop;
}

/* Seconds that the rest will take at the speed measured from `start` on. */
static double seconds_left(const Sweep *s, double done_before, double start)
{
    const double done = flop_of(s, DONE) - done_before, left = flop_of(s, WAITING) + flop_of(s, RUNNING);
    return done > 0 ? (clock_seconds() - start) / done * left : NAN;
}

/* A run that was stopped or killed waits; one that says it cannot be trained has failed. It may be that another process
 * was quicker to begin it, and has even finished it: whatever is there is tried a second time. */
static void note_end(Sweep *s, Item *item, int status)
{
    item->state = WAITING;
    s->running--;
    if (status == 0)
        sweep_find_state(item);
    else if (status > 0 && !run_busy(item->run) && (!run_is_there(item->run) || ++item->failures > 1)) {
        item->state = FAILED;
        child_last_words(item->why, sizeof item->why, item->err);
    } else if (status < 0 && !s->asked_to_stop) {
        item->state = FAILED;
        snprintf(item->why, sizeof item->why, "a signal ended it; the same command tries again");
    }
}

static bool wait_for_one(Sweep *s, double done_before, double start, Error *e)
{
    int status;
    const pid_t child = process_ended(&status);
    if (stop_requested() && !s->asked_to_stop) {
        s->asked_to_stop = true;
        for (size_t i = 0; i < s->plan.count; i++)
            if (s->item[i].state == RUNNING)
                kill(s->item[i].child, SIGTERM);
    }
    if (!child) {
        clock_sleep(0.02);
        return true;
    }
    for (size_t i = 0; i < s->plan.count; i++) {
        Item *item = &s->item[i];
        if (item->state != RUNNING || item->child != child)
            continue;
        note_end(s, item, status);
        if (item->state == DONE)
            progress_note(&s->progress, "%zu/%zu  %s: best %.4f; left %s", sweep_count(s, DONE), s->plan.count,
                          s->plan.run[i].name, item->best, duration_text(seconds_left(s, done_before, start)).text);
        if (item->state == FAILED)
            progress_note(&s->progress, "%zu/%zu  %s failed: %s", sweep_count(s, DONE), s->plan.count,
                          s->plan.run[i].name, item->why);
        return sweep_write_table(s, e);
    }
    return true;
}

bool sweep_train(Sweep *s, Error *e)
{
    const double start = clock_seconds(), done_before = flop_of(s, DONE);
    bool fine = true, started = true, busy = false;
    stop_catch();
    while (fine) {
        while (fine && !stop_requested() && s->running < s->a->options->jobs &&
               (fine = start_next(s, &started, &busy, e)) && started)
            ;
        if (!s->running && !(busy && !stop_requested()))
            break;
        fine = fine && wait_for_one(s, done_before, start, e);
    }
    for (size_t i = 0; !fine && i < s->plan.count; i++)
        if (s->item[i].state == RUNNING)
            kill(s->item[i].child, SIGTERM);
    return fine;
}
