/* The mean of a run's newest checkpoints. */
#include "base/memory.h"
#include "core/train/average.h"
#include "tests/train/tiny.h"

#include <stdio.h>
#include <string.h>

enum { SAVED = 4 }; /* of steps 0 .. 3 */

static float weights[SAVED][4000];

/* A run with checkpoints whose weights are kept here, too. */
static void open_saved(TinyRun *r)
{
    static char path[600];
    static const LoopOptions no_loop = {.steps = 0};
    Error e;
    StepResult result;
    TinyOptions o = tiny_standard;
    o.tied = true;
    snprintf(path, sizeof path, "%s/run", test_folder());
    tiny_run_open(r, path, &o, &no_loop);
    size_t size = r->trainer.parameters->size;
    ck_assert_uint_le(size, sizeof weights[0] / sizeof **weights);
    for (uint64_t step = 0; step < SAVED; step++) {
        const Progression at = {.step = step};
        if (step)
            ck_done(trainer_step(&r->trainer, step, 1e-2, &result, &e), e);
        ck_done(checkpoint_save(r->run, &r->trainer, &r->loop.note, &at, false, &e), e);
        memcpy(weights[step], r->trainer.weights.reals, size * sizeof **weights);
    }
}

/* Each weight is the mean of those from a step to the last. */
static void expect_mean(const Weights *w, size_t first)
{
    for (size_t p = 0; p < w->parameters->count; p++) {
        const Parameter *one = w->parameters->list[p];
        for (size_t i = one->offset; i < one->offset + one->count; i++) {
            double sum = 0;
            for (size_t step = first; step < SAVED; step++)
                sum += (double)weights[step][i];
            ck_assert_msg(((const float *)w->reals)[i] == (float)(sum / (double)(SAVED - first)), "%s[%zu]", one->name,
                          i - one->offset);
        }
    }
}

START_TEST(each_weight_is_the_mean_of_the_newest_checkpoints)
{
    Error e;
    TinyRun r;
    open_saved(&r);
    Weights *w = &r.trainer.weights;
    Stream *s = r.trainer.worker[0].stream;
    char *path = average_path(r.run);
    for (size_t last = 1; last < SAVED; last++) {
        uint64_t first = 99, newest = 99;
        ck_done(average_checkpoints(w, s, r.run, last, &r.loop.note, &first, &newest, &e), e);
        ck_assert_uint_eq(first, SAVED - last);
        ck_assert_uint_eq(newest, SAVED - 1);
        expect_mean(w, SAVED - last);
        ck_done(weights_init(w, s, INIT_GPT2, 1, 5, &e), e);
        ck_done(weights_read(w, s, path, NULL, &r.loop.note, NULL, &e), e);
        expect_mean(w, SAVED - last);
    }
    memory_free(path);
    tiny_run_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(the_initial_weights_are_not_counted)
{
    Error e;
    TinyRun r;
    uint64_t first, newest;
    open_saved(&r);
    ck_assert(!average_checkpoints(&r.trainer.weights, r.trainer.worker[0].stream, r.run, SAVED, &r.loop.note, &first,
                                   &newest, &e));
    ck_assert_msg(strstr(e.text, "has 3 checkpoints after step 0, not 4: give --last 3"), "%s", e.text);
    tiny_run_close(&r);
}

static bool average_two(void *argument, Error *e)
{
    TinyRun *r = argument;
    uint64_t first, newest;
    return average_checkpoints(&r->trainer.weights, r->trainer.worker[0].stream, r->run, 2, &r->loop.note, &first,
                               &newest, e);
}

START_TEST(each_allocation_may_fail)
{
    TinyRun r;
    open_saved(&r);
    fail_each_allocation(average_two, &r);
    tiny_run_close(&r);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(each_weight_is_the_mean_of_the_newest_checkpoints),
                                 TEST(the_initial_weights_are_not_counted), TEST(each_allocation_may_fail)};
    test_folders_in_memory();
    return suite_run("train/average", tests, sizeof tests / sizeof *tests, argc, argv);
}
