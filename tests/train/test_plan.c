/* What a trainer plans before it is opened: the memory that it then holds, and what a step then costs. */
#include "base/memory.h"
#include "kernels/profile/profile.h"
#include "tests/train/tiny.h"

static const TinyOptions model = {
    .letters = 8, .dim = 32, .heads = 4, .depth = 2, .rows = 7, .score_rows = 3, .score_batches = 1, .dropout = 0.1};

/* A step of it costs hardly more than its update. */
static const TinyOptions wide = {
    .letters = 2, .dim = 64, .heads = 4, .depth = 2, .rows = 1, .score_rows = 1, .score_batches = 1};

/* Beside what is planned a trainer has its own structs, and what a product of the backend keeps. */
START_TEST(a_trainer_holds_the_memory_of_its_plan)
{
    enum { KINDS = 5, OWN = 8 << 10 };
    Tiny tiny;
    Trainer trainer;
    Error e;
    TrainerOptions o = tiny_trainer(1 + (size_t)_i % 3, 2);
    o.k = kernels_find("plain", _i % 2 ? NUMBER_F32 : NUMBER_BF16, NULL);
    o.optimizer.kind = _i % KINDS;
    o.ema = _i % 5 == 0 ? 0.9 : 0;
    o.training = _i != 7;
    optimizer_configure(&o.optimizer);
    ck_done(tiny_open(&tiny, &model, &e), e);
    const size_t before = memory_in_use();
    ck_done(trainer_open(&trainer, &o, &tiny.parameters, &tiny.task, &e), e);
    const TrainerPlan *p = &trainer.plan;
    const size_t held = memory_in_use() - before;
    const size_t planned = p->weights + p->gradients + p->moments + p->activations + p->batches;
    ck_assert_msg(held >= planned && held - planned < OWN + o.workers * sizeof(Worker),
                  "planned %zu (%zu %zu %zu %zu %zu), held %zu", planned, p->weights, p->gradients, p->moments,
                  p->activations, p->batches, held);
    ck_assert_uint_eq(p->total, planned + p->program);
    trainer_close(&trainer);
    tiny_close(&tiny);
}

/* Rows of a step that are no multiple of a micro-batch, too. */
START_TEST(a_step_costs_what_was_planned)
{
    Tiny tiny;
    Trainer trainer;
    StepResult result;
    Error e;
    TrainerOptions o = tiny_trainer(1 + (size_t)_i % 3, (size_t)_i % 4);
    o.k = profile_over(kernels_find("plain", NUMBER_F32, NULL));
    o.optimizer.kind = _i % 5;
    optimizer_configure(&o.optimizer);
    ck_done(tiny_open(&tiny, _i < 12 ? &model : &wide, &e), e);
    ck_done(trainer_open(&trainer, &o, &tiny.parameters, &tiny.task, &e), e);
    for (size_t i = 0; i < o.workers; i++)
        profile_reset(trainer.worker[i].stream);
    ck_done(trainer_step(&trainer, 1, 1e-3, &result, &e), e);
    double flop = 0, bytes = 0;
    for (size_t i = 0; i < o.workers; i++) {
        size_t count;
        const Timing *t = profile_timings(trainer.worker[i].stream, &count);
        for (size_t n = 0; n < count; n++)
            flop += t[n].flop, bytes += t[n].bytes;
    }
    ck_assert_msg(flop == trainer.plan.flop && bytes > 0.97 * trainer.plan.bytes && bytes < 1.03 * trainer.plan.bytes,
                  "planned %.0f FLOP and %.0f bytes; it took %.0f and %.0f", trainer.plan.flop, trainer.plan.bytes,
                  flop, bytes);
    trainer_close(&trainer);
    tiny_close(&tiny);
}

/* A part ends with a row, so it may be longer than its share by less than a row: of 500 positions in rows of up to 20,
 * parts of up to 100 have 81 at least, which are 7. They become 8, whoever computes them. */
START_TEST(positions_are_cut_into_parts_that_hold_their_rows)
{
    static const size_t parts[][2] = {{519, 1}, {500, 2}, {200, 4}, {120, 8}, {100, 8}, {80, 12}};
    const Task task = {.sides = 1,
                       .longest = {20},
                       .most_rows = 100,
                       .step_positions = 500,
                       .micro_positions = parts[_i][0],
                       .score_rows = 1};
    for (size_t workers = 1; workers < 10; workers++) {
        const TrainerOptions o = {.workers = workers, .training = true};
        ck_assert_uint_eq(plan_parts(&o, &task, 0), parts[_i][1]);
    }
}

/* A model's activations are those of a part, not of the step; what a step costs is the sum of its parts. */
START_TEST(parts_of_a_step_need_less_memory_and_cost_as_much)
{
    size_t activations[2];
    double flop[2];
    for (size_t i = 0; i < 2; i++) {
        Tiny tiny;
        Trainer trainer;
        Error e;
        TinyOptions many = model;
        TrainerOptions o = tiny_trainer(1, 0);
        many.rows = 64;
        ck_done(tiny_open(&tiny, &many, &e), e);
        const size_t row = 2 * many.letters + 1, all = many.rows * row;
        tiny.task.step_positions = all;
        tiny.task.micro_positions = i ? all / 8 : all;
        ck_done(trainer_open(&trainer, &o, &tiny.parameters, &tiny.task, &e), e);
        activations[i] = trainer.plan.activations;
        flop[i] = trainer.plan.flop;
        trainer_close(&trainer);
        tiny_close(&tiny);
    }
    ck_assert_msg(activations[1] < activations[0] / 3, "%zu of %zu", activations[1], activations[0]);
    ck_assert_msg(flop[1] > 0.8 * flop[0] && flop[1] < 1.25 * flop[0], "%g and %g", flop[1], flop[0]);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(a_trainer_holds_the_memory_of_its_plan, 16),
                                 TEST_LOOP(a_step_costs_what_was_planned, 16),
                                 TEST_LOOP(positions_are_cut_into_parts_that_hold_their_rows, 6),
                                 TEST(parts_of_a_step_need_less_memory_and_cost_as_much)};
    return suite_run("train/plan", tests, sizeof tests / sizeof *tests, argc, argv);
}
