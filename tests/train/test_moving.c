/* The moving average of weights: the formula, on each backend; that it is what is scored and saved; and that a run goes on
 * with both to the bit. */
#include "base/memory.h"
#include "core/train/update.h"
#include "tests/train/tiny.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 8192 };

static const LoopOptions no_loop = {.steps = 0};

/* In the place of the one that there was. */
static void open_trainer(TinyRun *r, const char *device, NumberType type, double ema)
{
    Error e;
    trainer_close(&r->trainer);
    TrainerOptions o = tiny_trainer(2, 1);
    o.k = kernels_find(device, type, &e);
    o.ema = ema;
    ck_done(o.k && trainer_open(&r->trainer, &o, &r->tiny.parameters, &r->tiny.task, &e), e);
    ck_done(weights_init(&r->trainer.weights, r->trainer.worker[0].stream, INIT_GPT2, 1, 1, &e), e);
    trainer_average_begins(&r->trainer);
}

static void open_run(TinyRun *r, const char *name, const char *device, NumberType type, double ema)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    tiny_run_open(r, path, &tiny_standard, &no_loop);
    open_trainer(r, device, type, ema);
}

static void train(TinyRun *r, uint64_t first, uint64_t last)
{
    Error e;
    StepResult result;
    for (uint64_t step = first; step <= last; step++)
        ck_done(trainer_step(&r->trainer, step, 1e-2, &result, &e), e);
}

START_TEST(the_average_follows_by_the_formula_and_the_weights_are_as_without)
{
    static const char *const devices[] = {"plain", "cpu", "cpu"};
    static const NumberType types[] = {NUMBER_F64, NUMBER_F32, NUMBER_BF16};
    static double average[MOST];
    TinyRun r, without;
    open_run(&r, "run", devices[_i], types[_i], 0.75);
    open_run(&without, "without", devices[_i], types[_i], 0);
    const Kernels *k = r.trainer.options.k;
    const size_t size = r.tiny.parameters.size;
    ck_assert_uint_le(size, MOST);
    for (size_t i = 0; i < size; i++)
        average[i] = real_at(k, r.trainer.weights.reals, i);
    for (uint64_t step = 1; step <= 40; step++) {
        const double keep = fmin(0.75, (1 + (double)step) / (10 + (double)step));
        train(&r, step, step);
        train(&without, step, step);
        for (size_t i = 0; i < size; i++) {
            average[i] = keep * average[i] + (1 - keep) * real_at(k, r.trainer.weights.reals, i);
            ck_assert_double_eq_tol(real_at(k, r.trainer.average, i), average[i],
                                    types[_i] == NUMBER_F64 ? 1e-14 : 1e-5);
        }
        ck_assert(memcmp(r.trainer.weights.reals, without.trainer.weights.reals, size * k->real) == 0);
    }
    tiny_run_close(&r);
    tiny_run_close(&without);
}

START_TEST(the_average_is_what_is_scored_and_saved_and_the_run_goes_on_to_the_bit)
{
    static float straight[MOST], average[MOST];
    const NumberType type = _i ? NUMBER_BF16 : NUMBER_F32;
    const Progression at = {.step = 3};
    MeanLoss raw, averaged, read;
    Progression back;
    TinyRun r;
    Error e;
    open_run(&r, "run", "cpu", type, 0.5);
    train(&r, 1, 3);
    ck_done(trainer_score(&r.trainer, &raw, &e), e);
    trainer_exchange(&r.trainer);
    ck_done(trainer_score(&r.trainer, &averaged, &e), e);
    trainer_exchange(&r.trainer);
    ck_assert(raw.loss != averaged.loss);
    ck_done(checkpoint_save(r.run, &r.trainer, &r.loop.note, &at, false, &e), e);
    train(&r, 4, 9);
    const size_t bytes = r.tiny.parameters.size * sizeof *straight;
    memcpy(straight, r.trainer.weights.reals, bytes);
    memcpy(average, r.trainer.average, bytes);
    ck_done(checkpoint_load(r.run, &r.trainer, 3, NULL, &back, &e), e);
    train(&r, 4, 9);
    ck_assert(memcmp(straight, r.trainer.weights.reals, bytes) == 0);
    ck_assert(memcmp(average, r.trainer.average, bytes) == 0);
    ck_done(weights_read_step(&r.trainer.weights, r.trainer.worker[0].stream, r.run, 3, NULL, NULL, NULL, &e), e);
    ck_done(trainer_score(&r.trainer, &read, &e), e);
    ck_assert(read.loss == averaged.loss);
    tiny_run_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* A run without an average gets one that begins as its weights are. */
START_TEST(an_average_may_begin_later)
{
    const Progression at = {.step = 3};
    Progression back;
    TinyRun r;
    Error e;
    open_run(&r, "run", "cpu", NUMBER_F32, 0);
    train(&r, 1, 3);
    ck_done(checkpoint_save(r.run, &r.trainer, &r.loop.note, &at, false, &e), e);
    open_trainer(&r, "cpu", NUMBER_F32, 0.5);
    ck_done(checkpoint_load(r.run, &r.trainer, 3, NULL, &back, &e), e);
    ck_assert(memcmp(r.trainer.average, r.trainer.weights.reals, r.tiny.parameters.size * sizeof(float)) == 0);
    tiny_run_close(&r);
}

/* A run that goes on without its average goes on from its weights. */
START_TEST(an_average_may_end)
{
    static float weights[MOST];
    const Progression at = {.step = 3};
    Progression back;
    TinyRun r;
    Error e;
    open_run(&r, "run", "cpu", NUMBER_F32, 0.5);
    train(&r, 1, 3);
    const size_t bytes = r.tiny.parameters.size * sizeof *weights;
    memcpy(weights, r.trainer.weights.reals, bytes);
    ck_done(checkpoint_save(r.run, &r.trainer, &r.loop.note, &at, false, &e), e);
    open_trainer(&r, "cpu", NUMBER_F32, 0);
    ck_done(checkpoint_load(r.run, &r.trainer, 3, NULL, &back, &e), e);
    ck_assert(memcmp(r.trainer.weights.reals, weights, bytes) == 0);
    tiny_run_close(&r);
}

START_TEST(the_plan_counts_it)
{
    TrainerPlan with, without;
    Tiny tiny;
    Error e;
    ck_done(tiny_open(&tiny, &tiny_standard, &e), e);
    TrainerOptions o = tiny_trainer(2, 1);
    ck_done(trainer_plan(&without, &o, &tiny.parameters, &tiny.task, &e), e);
    o.ema = 0.5;
    ck_done(trainer_plan(&with, &o, &tiny.parameters, &tiny.task, &e), e);
    ck_assert_uint_eq(with.weights - without.weights, tiny.parameters.whole * sizeof(float));
    tiny_close(&tiny);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(the_average_follows_by_the_formula_and_the_weights_are_as_without, 3),
                                 TEST_LOOP(the_average_is_what_is_scored_and_saved_and_the_run_goes_on_to_the_bit, 2),
                                 TEST(an_average_may_begin_later), TEST(an_average_may_end), TEST(the_plan_counts_it)};
    return suite_run("train/moving", tests, sizeof tests / sizeof *tests, argc, argv);
}
