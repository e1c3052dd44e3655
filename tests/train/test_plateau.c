/* Schedule `plateau`: the rate is halved when evaluations bring no new best, and a resume knows how often it was. */
#include "base/memory.h"
#include "tests/train/tiny.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The rate in the log's line of a step. */
static double logged_rate(const TinyRun *r, int step)
{
    size_t size;
    char *text = tiny_run_text(r, "log.tsv", &size), start[16];
    double rate = -1;
    snprintf(start, sizeof start, "\n%d\t", step);
    const char *line = strstr(text, start);
    ck_assert(line && sscanf(line, " %*d %*s %*s %*s %lf", &rate) == 1);
    memory_free(text);
    return rate;
}

START_TEST(a_plateau_halves_the_rate_as_often_after_a_resume)
{
    Error e;
    TinyRun whole, cut;
    char path[600], other[600];
    /* a rate so high that an early evaluation stays the best for ever */
    LoopOptions o = {.schedule = {.kind = SCHEDULE_PLATEAU, .rate = 0.3, .warmup = 8},
                     .steps = 24,
                     .eval_every = 1,
                     .keep = 2,
                     .lr_patience = 2};
    snprintf(path, sizeof path, "%s/cut", test_folder());
    snprintf(other, sizeof other, "%s/whole", test_folder());
    tiny_run_open(&whole, other, &tiny_standard, &o);
    ck_done(loop_run(&whole.loop, &e), e);
    const Progression *at = &whole.loop.at;
    ck_assert_uint_ge(at->halved, at->stalled / 2);
    ck_assert_uint_ge(at->stalled, 8);
    for (int step = 24; (uint64_t)step > at->best_step + 3; step--) { /* the evaluation before decides */
        const uint64_t stalled = (uint64_t)step - 1 - at->best_step, now = at->halved - (at->stalled / 2 - stalled / 2);
        ck_assert_double_eq_tol(logged_rate(&whole, step) / ldexp(0.3, -(int)now), 1, 1e-4);
    }
    o.steps = (uint64_t)at->best_step + 5;
    tiny_run_open(&cut, path, &tiny_standard, &o);
    ck_done(loop_run(&cut.loop, &e), e);
    tiny_run_close(&cut);
    o.steps = 24;
    tiny_run_open(&cut, path, &tiny_standard, &o);
    ck_assert_uint_gt(cut.loop.at.halved, 0);
    ck_done(loop_run(&cut.loop, &e), e);
    for (int step = 1; step <= 24; step++)
        ck_assert(logged_rate(&whole, step) == logged_rate(&cut, step));
    tiny_run_close(&cut);
    tiny_run_close(&whole);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(a_plateau_halves_the_rate_as_often_after_a_resume)};
    return suite_run("train/plateau", tests, sizeof tests / sizeof *tests, argc, argv);
}
