/* The seam of optimizers: each is found by the name that people write, SGD does what its formula says, a run continues
 * with it to the bit, and the state of one is no state of another. */
#include "base/memory.h"
#include "core/program/shared.h"
#include "tests/chance.h"
#include "tests/train/tiny.h"

#include <stdio.h>
#include <string.h>

#define ONE(KIND) +1

enum { KINDS = OPTIMIZERS(ONE), ADAM = 0, SGD, USED = 2, MOST = 8192 };

START_TEST(choices_are_the_kinds)
{
    size_t found = 0;
    for (size_t i = 0; i < shared_option_count; i++)
        if (strcmp(shared_options[i].name, "optimizer") == 0)
            for (const OptionChoice *c = shared_options[i].choices; c->name; c++, found++)
                ck_assert_str_eq(optimizer_kind(c->value)->name, c->name);
    ck_assert_uint_eq(found, KINDS);
}

static OptimizerOptions sgd(double momentum, double decay)
{
    OptimizerOptions o = {.kind = SGD, .momentum = momentum, .decay = decay};
    optimizer_kind(SGD)->configure(&o);
    return o;
}

/* Where a parameter's number j has its gradient; -1: it has none. */
static long gradient_at(const Parameters *all, const Parameter *p, const int32_t *slots, size_t j)
{
    if (p->role != ROLE_LOOKUP)
        return (long)(p->offset + j);
    int32_t slot = slots[j / p->shape[1]];
    return slot < 0 ? -1 : (long)(gradient_offset(all, p, USED) + (size_t)slot * p->shape[1] + j % p->shape[1]);
}

/* In double, for three workers one after another: momentum none, some, much; with and without decay. */
START_TEST(sgd_is_its_formula)
{
    static double w[MOST], v[MOST], g[MOST];
    const double momentum = (double[]){0, 0.5, 0.9}[_i % 3], decay = _i / 3 ? 0.1 : 0, rate = 0.01, clip = 0.5;
    const Kernels *k = kernels_find("plain", NUMBER_F64, NULL);
    const OptimizerOptions options = sgd(momentum, decay);
    Random random = {(uint32_t)_i, 0};
    Tiny tiny;
    Stream *s;
    Weights weights;
    Optimizer o;
    Error e;
    ck_done(tiny_open(&tiny, &tiny_standard, &e) && k->open(&s, 1, &e), e);
    const Parameters *p = &tiny.parameters;
    ck_assert_uint_le(p->whole, MOST);
    ck_done(weights_open(&weights, k, s, p, &e) && weights_init(&weights, s, INIT_GPT2, 1, 1, &e), e);
    ck_done(optimizer_open(&o, &options, k, s, p, &e), e);
    ck_assert_ptr_null(o.block[1]);
    memcpy(w, weights.reals, p->size * sizeof *w);
    memset(v, 0, sizeof v);
    for (uint64_t step = 1; step <= 5; step++) {
        int32_t slots[LETTERS + 1];
        memset(slots, -1, sizeof slots);
        slots[3] = 1, slots[step] = 0;
        for (size_t i = 0; i < MOST; i++)
            g[i] = uniform(&random);
        StepState state = {.learning_rate = rate, .clip = clip, .finite = 1};
        optimizer_begin(&o, s, &state, step);
        for (size_t i = 0; i < 3; i++)
            o.kind->step(&o, s, &(OptimizerStep){&weights, g, USED, slots, &state, i, 3});
        for (size_t i = 0; i < p->count; i++)
            for (size_t j = 0, at = p->list[i]->offset; j < p->list[i]->count && at + j < p->size; j++) {
                const long from = gradient_at(p, p->list[i], slots, j);
                v[at + j] = momentum * v[at + j] + (from < 0 ? 0 : clip * g[from]);
                w[at + j] -= rate * (v[at + j] + (p->list[i]->rank == 2 ? decay * w[at + j] : 0));
                ck_assert_double_eq_tol(((double *)weights.reals)[at + j], w[at + j], 1e-13);
            }
    }
    optimizer_close(&o);
    weights_close(&weights);
    k->close(s);
    tiny_close(&tiny);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static void train(TinyRun *r, uint64_t first, uint64_t last)
{
    Error e;
    StepResult result;
    for (uint64_t step = first; step <= last; step++)
        ck_done(trainer_step(&r->trainer, step, 1e-2, &result, &e), e);
}

/* A run of Tiny whose trainer has another optimizer, on the cpu. */
static void open_run(TinyRun *r, const char *path, const OptimizerOptions *optimizer)
{
    Error e;
    tiny_run_open(r, path, &tiny_standard, &(LoopOptions){.steps = 0});
    trainer_close(&r->trainer);
    TrainerOptions o = tiny_trainer(2, 1);
    o.k = kernels_find("cpu", NUMBER_F32, &e);
    if (optimizer)
        o.optimizer = *optimizer;
    ck_done(o.k && trainer_open(&r->trainer, &o, &r->tiny.parameters, &r->tiny.task, &e), e);
    ck_done(weights_init(&r->trainer.weights, r->trainer.worker[0].stream, INIT_GPT2, 1, 1, &e), e);
}

START_TEST(sgd_goes_on_to_the_bit_and_not_from_adam)
{
    char path[600];
    static float straight[MOST];
    const OptimizerOptions options = sgd(0.9, 0);
    const Progression at = {.step = 3};
    Progression back;
    TinyRun r;
    Error e;
    snprintf(path, sizeof path, "%s/run", test_folder());
    open_run(&r, path, &options);
    train(&r, 1, 3);
    ck_done(checkpoint_save(r.run, &r.trainer, &r.loop.note, &at, false, &e), e);
    train(&r, 4, 6);
    size_t bytes = r.trainer.parameters->size * sizeof *straight;
    ck_assert_uint_le(bytes, sizeof straight);
    memcpy(straight, r.trainer.weights.reals, bytes);
    ck_done(checkpoint_load(r.run, &r.trainer, 3, NULL, &back, &e), e);
    ck_assert(memcmp(straight, r.trainer.weights.reals, bytes) != 0);
    train(&r, 4, 6);
    ck_assert(memcmp(straight, r.trainer.weights.reals, bytes) == 0);
    trainer_close(&r.trainer);

    TrainerOptions adam = tiny_trainer(2, 1);
    ck_done(trainer_open(&r.trainer, &adam, &r.tiny.parameters, &r.tiny.task, &e), e);
    ck_assert(!checkpoint_load(r.run, &r.trainer, 3, NULL, &back, &e));
    ck_assert_msg(strstr(e.text, "holds the state of optimizer sgd, and this run uses adam"), "%s", e.text);
    ck_assert_ptr_null(strchr(e.text, '\n'));
    tiny_run_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(choices_are_the_kinds), TEST_LOOP(sgd_is_its_formula, 6),
                                 TEST(sgd_goes_on_to_the_bit_and_not_from_adam)};
    return suite_run("train/optimizer", tests, sizeof tests / sizeof *tests, argc, argv);
}
