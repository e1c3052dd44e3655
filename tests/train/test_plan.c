/* What a trainer plans before it is opened: the memory that it then holds, and what a step then costs. */
#include "base/memory.h"
#include "kernels/profile/profile.h"
#include "tests/train/tiny.h"

static const TinyOptions model = {
    .letters = 8, .dim = 32, .heads = 4, .depth = 2, .rows = 7, .score_rows = 3, .score_batches = 1, .dropout = 0.1};

/* Beside what is planned a trainer has its own structs, and what a product of the backend keeps. */
START_TEST(a_trainer_holds_the_memory_of_its_plan)
{
    enum { KINDS = 4, OWN = 8 << 10 };
    Tiny tiny;
    Trainer trainer;
    Error e;
    TrainerOptions o = tiny_trainer(1 + (size_t)_i % 3, 2);
    o.k = kernels_find("plain", _i % 2 ? NUMBER_F32 : NUMBER_BF16, NULL);
    o.optimizer.kind = _i % KINDS;
    o.ema = _i % 5 == 0 ? 0.9 : 0;
    o.training = _i != 7;
    optimizer_kind(o.optimizer.kind)->configure(&o.optimizer);
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
    o.optimizer.kind = _i % 4;
    optimizer_kind(o.optimizer.kind)->configure(&o.optimizer);
    ck_done(tiny_open(&tiny, &model, &e), e);
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

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(a_trainer_holds_the_memory_of_its_plan, 16),
                                 TEST_LOOP(a_step_costs_what_was_planned, 12)};
    return suite_run("train/plan", tests, sizeof tests / sizeof *tests, argc, argv);
}
