/* Optimizers: each does what its formula says, for dense parameters, looked-up tables and lazy rows; the state of one is
 * no state of another. Groups of parameters: what is said of one is done to all of its weights and to no other; and what
 * cannot be meant is refused. */
#include "core/train/groups.h"

#include "base/memory.h"
#include "core/program/shared.h"
#include "core/train/adam.h"
#include "core/train/update.h"
#include "tests/chance.h"
#include "tests/train/tiny.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { USED = 2, MOST = 8192, STEPS = 5 };

START_TEST(choices_are_the_kinds)
{
    size_t found = 0;
    for (size_t i = 0; i < shared_option_count; i++)
        if (strcmp(shared_options[i].name, "optimizer") == 0)
            for (const OptionChoice *c = shared_options[i].choices; c->name; c++, found++)
                ck_assert_str_eq(optimizer_kind(c->value)->name, c->name);
    ck_assert_uint_eq(found, OPTIMIZER_KINDS);
}

/* Of an optimizer as a command line says it. */
static OptimizerOptions options_of(int kind, double momentum, double beta1, double beta2, double decay,
                                   const char *groups)
{
    OptimizerOptions o = {
        .kind = kind, .adam = {beta1, beta2, 1e-8}, .momentum = momentum, .decay = decay, .groups = groups};
    optimizer_configure(&o);
    return o;
}

static OptimizerOptions adam(const char *groups) { return options_of(OPTIMIZER_ADAM, 0, 0.9, 0.99, 0.01, groups); }

static OptimizerOptions sgd(const char *groups) { return options_of(OPTIMIZER_SGD, 0.9, 0, 0, 0.01, groups); }

static OptimizerOptions muon(const char *groups) { return options_of(OPTIMIZER_MUON, 0.75, 0.9, 0.99, 0.01, groups); }

static OptimizerOptions lion(const char *groups) { return options_of(OPTIMIZER_LION, 0, 0.9, 0.99, 0.01, groups); }

static OptimizerOptions adafactor(const char *groups)
{
    return options_of(OPTIMIZER_ADAFACTOR, 0, 0.9, 0.99, 0.01, groups);
}

static OptimizerOptions (*const each_kind[])(const char *) = {adam, sgd, muon, lion, adafactor};

/* ---- each weight, against the formulas */

/* What a group says, said again by hand. */
static Motion wanted(const Parameter *p, const OptimizerOptions *o)
{
    Motion m = {.rate = 1, .decay = p->rank == 2 ? 0.1 : 0, .adam = o->adam};
    if (!o->groups)
        return m;
    const bool first = strncmp(p->name, "blocks.", 7) == 0, norm = strstr(p->name, "norm") != NULL;
    if (norm)
        m.rate = 3, m.decay = 0.5, m.adam.beta1 = 0.25;
    else if (first && strstr(p->name, ".attention."))
        m.rate = 0;
    else if (first)
        m.rate = 0.125;
    else if (strcmp(p->name, "token_embedding.weight") == 0)
        m.decay = 0, m.rate = 2, m.adam.beta1 = 0.5;
    return m;
}

/* Where a parameter's number j has its gradient; -1: it has none. */
static long gradient_at(const Parameters *all, const Parameter *p, const int32_t *slots, size_t j)
{
    if (p->role != ROLE_LOOKUP)
        return (long)(p->offset + j);
    int32_t slot = slots[j / p->shape[1]];
    return slot < 0 ? -1 : (long)(gradient_offset(all, p, USED) + (size_t)slot * p->shape[1] + j % p->shape[1]);
}

static void move(double *w, double *m, double *v, double g, const Motion *how, int kind, uint64_t step)
{
    const double rate = 0.01 * how->rate, b1 = how->adam.beta1, b2 = how->adam.beta2;
    if (kind == OPTIMIZER_SGD) {
        *m = b1 * *m + g;
        *w -= rate * (*m + how->decay * *w);
        return;
    }
    if (kind == OPTIMIZER_LION) {
        const double way = b1 * *m + (1 - b1) * g;
        *w -= rate * ((way > 0) - (way < 0) + how->decay * *w);
        *m = b2 * *m + (1 - b2) * g;
        return;
    }
    *m = b1 * *m + (1 - b1) * g;
    *v = b2 * *v + (1 - b2) * g * g;
    *w -= rate * (*m / (1 - pow(b1, (double)step)) / (sqrt(*v / (1 - pow(b2, (double)step))) + 1e-8) + how->decay * *w);
}

/* In double, for three workers one after another; with groups, and without: then with a first mean of nothing. */
START_TEST(each_weight_moves_by_the_formula_of_its_group)
{
    static double w[MOST], m[MOST], v[MOST], g[MOST];
    static const int kinds[] = {OPTIMIZER_ADAM, OPTIMIZER_SGD, OPTIMIZER_LION};
    const int kind = kinds[_i % 3];
    const double mean = _i < 3 ? 0.9 : 0, clip = 0.5;
    char groups[200];
    snprintf(groups, sizeof groups,
             "*norm*:lr=3,decay=0.5,%s=0.25; blocks.*.attention.*:lr=0;blocks.*:lr=0.125;"
             "token_embedding.weight:decay=0,lr=2,%s=0.5",
             kind == OPTIMIZER_SGD ? "momentum" : "beta1", kind == OPTIMIZER_SGD ? "momentum" : "beta1");
    const OptimizerOptions options = options_of(kind, mean, mean, 0.99, 0.1, _i < 3 ? groups : NULL);
    const Kernels *k = kernels_find("plain", NUMBER_F64, NULL);
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
    ck_done(optimizer_open(&o, &options, 3, k, s, p, &e), e);
    ck_assert_uint_eq(o.groups, _i < 3 ? 4 : 0);
    ck_assert(!o.block[1] == (kind != OPTIMIZER_ADAM));
    memcpy(w, weights.reals, p->size * sizeof *w);
    memset(m, 0, sizeof m), memset(v, 0, sizeof v);
    for (uint64_t step = 1; step <= STEPS; step++) {
        int32_t slots[LETTERS + 1];
        memset(slots, -1, sizeof slots);
        slots[3] = 1, slots[step] = 0;
        for (size_t i = 0; i < MOST; i++)
            g[i] = uniform(&random);
        StepState state = {.learning_rate = 0.01, .clip = clip, .finite = 1};
        optimizer_begin(&o, s, &state, step);
        for (size_t i = 0; i < o.groups; i++)
            o.states[i].clip = clip, o.states[i].finite = 1;
        for (size_t i = 0; i < 3; i++)
            o.kind->step(&o, s, &(OptimizerStep){&weights, g, USED, slots, &state, i, 3});
        for (size_t i = 0; i < p->count; i++) {
            const Motion how = wanted(p->list[i], &options);
            for (size_t j = 0, at = p->list[i]->offset; j < p->list[i]->count && at + j < p->size; j++) {
                const long from = gradient_at(p, p->list[i], slots, j);
                if (how.rate > 0)
                    move(&w[at + j], &m[at + j], &v[at + j], from < 0 ? 0 : clip * g[from], &how, kind, step);
                const double found = ((double *)weights.reals)[at + j];
                ck_assert_msg(how.rate > 0 ? fabs(found - w[at + j]) < 1e-13 : found == w[at + j],
                              "%s[%zu]: %g, not %g", p->list[i]->name, j, found, w[at + j]);
            }
        }
    }
    optimizer_close(&o);
    weights_close(&weights);
    k->close(s);
    tiny_close(&tiny);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* ---- Muon's matrices, against the paper's formula */

enum { SIDE = 64 };

/* X = a X + b (X X^T) X + c (X X^T)^2 X, as it is written, whatever the shape. */
static void newton_schulz(double *x, size_t rows, size_t columns)
{
    static double s[SIDE][SIDE], sx[SIDE][SIDE], ssx[SIDE][SIDE];
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < rows; j++) {
            s[i][j] = 0;
            for (size_t k = 0; k < columns; k++)
                s[i][j] += x[i * columns + k] * x[j * columns + k];
        }
    for (int twice = 0; twice < 2; twice++)
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < columns; j++) {
                double sum = 0;
                for (size_t k = 0; k < rows; k++)
                    sum += s[i][k] * (twice ? sx[k][j] : x[k * columns + j]);
                (twice ? ssx : sx)[i][j] = sum;
            }
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            x[i * columns + j] = 3.4445 * x[i * columns + j] - 4.7750 * sx[i][j] + 2.0315 * ssx[i][j];
}

static void move_matrix(double *w, double *m, const double *g, const Parameter *p, const Motion *how, double clip,
                        size_t iterations)
{
    static double x[MOST];
    double norm = 0;
    for (size_t i = 0; i < p->count; i++) {
        m[i] = how->momentum * m[i] + (1 - how->momentum) * clip * g[i];
        x[i] = how->momentum * m[i] + (1 - how->momentum) * clip * g[i];
        norm += x[i] * x[i];
    }
    for (size_t i = 0; i < p->count; i++)
        x[i] /= sqrt(norm);
    for (size_t t = 0; t < iterations; t++)
        newton_schulz(x, p->shape[0], p->shape[1]);
    const double scale = 0.2 * sqrt((double)(p->shape[0] > p->shape[1] ? p->shape[0] : p->shape[1]));
    for (size_t i = 0; i < p->count; i++)
        w[i] -= 0.01 * how->rate * (scale * x[i] + how->decay * w[i]);
}

/* Five steps of three workers; on the cpu, whose products are in float, as far as these go. With groups some matrices have
 * their own momentum, rate and decay, others stay, and there is an even number of iterations. */
START_TEST(matrices_move_by_newton_and_schulz_and_the_rest_by_adam)
{
    static double w[MOST], m[MOST], v[MOST], g[MOST];
    static char block[MOST * sizeof(double)];
    const bool cpu = _i > 1;
    const double clip = 0.5;
    const char *groups = _i % 2 ? "*.attention.*.weight:lr=0.5,momentum=0.25,decay=0;*.ff.out.*:lr=0" : NULL;
    OptimizerOptions options = options_of(OPTIMIZER_MUON, 0.75, 0.9, 0.99, 0.1, groups);
    const Kernels *k = kernels_find(cpu ? "cpu" : "plain", cpu ? NUMBER_F32 : NUMBER_F64, NULL);
    Random random = {(uint32_t)_i, 0};
    Tiny tiny;
    Stream *s;
    Weights weights;
    Optimizer o;
    Error e;
    options.iterations = groups ? 2 : options.iterations;
    ck_done(tiny_open(&tiny, &tiny_standard, &e) && k->open(&s, 1, &e), e);
    const Parameters *p = &tiny.parameters;
    ck_done(weights_open(&weights, k, s, p, &e) && weights_init(&weights, s, INIT_GPT2, 1, 1, &e), e);
    ck_done(optimizer_open(&o, &options, 3, k, s, p, &e), e);
    for (size_t i = 0; i < p->size; i++)
        w[i] = real_at(k, weights.reals, i);
    memset(m, 0, sizeof m), memset(v, 0, sizeof v);
    size_t wide = 0, tall = 0;
    for (uint64_t step = 1; step <= STEPS; step++) {
        int32_t slots[LETTERS + 1];
        memset(slots, -1, sizeof slots);
        slots[3] = 1, slots[step] = 0;
        for (size_t i = 0; i < MOST; i++) {
            g[i] = uniform(&random);
            real_put(k, block, i, g[i]);
        }
        StepState state = {.learning_rate = 0.01, .clip = clip, .finite = 1};
        optimizer_begin(&o, s, &state, step);
        for (size_t i = 0; i < o.groups; i++)
            o.states[i].clip = clip, o.states[i].finite = 1;
        for (size_t i = 0; i < 3; i++)
            o.kind->step(&o, s, &(OptimizerStep){&weights, block, USED, slots, &state, i, 3});
        for (size_t i = 0; i < p->count; i++) {
            const Parameter *one = p->list[i];
            const size_t at = one->offset;
            const bool matrix = one->rank == 2 && !strstr(one->name, "embedding");
            const bool slow = groups && matrix && strstr(one->name, ".attention."),
                       frozen = groups && strstr(one->name, ".ff.out.");
            const Motion how = {.rate = frozen ? 0
                                        : slow ? 0.5
                                               : 1,
                                .decay = one->rank == 2 && !slow ? 0.1 : 0,
                                .adam = options.adam,
                                .momentum = slow ? 0.25 : 0.75};
            if (matrix && !frozen)
                move_matrix(&w[at], &m[at], &g[at], one, &how, clip, groups ? 2 : 5);
            wide += matrix && one->shape[0] < one->shape[1], tall += matrix && one->shape[0] > one->shape[1];
            for (size_t j = 0; j < one->count && at + j < p->size; j++) {
                const long from = gradient_at(p, one, slots, j);
                if (!matrix && !frozen)
                    move(&w[at + j], &m[at + j], &v[at + j], from < 0 ? 0 : clip * g[from], &how, OPTIMIZER_ADAM, step);
                const double found = real_at(k, weights.reals, at + j);
                ck_assert_msg(fabs(found - w[at + j]) < (cpu ? 2e-6 : 1e-13), "step %d, %s[%zu]: %.9g, not %.9g",
                              (int)step, one->name, j, found, w[at + j]);
            }
        }
    }
    ck_assert(wide && tall);
    optimizer_close(&o);
    weights_close(&weights);
    k->close(s);
    tiny_close(&tiny);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* ---- whole steps */

/* A trainer of Tiny with fresh weights, on the cpu, where rows are lazy. */
static void open_run(TinyRun *r, const char *path, const OptimizerOptions *optimizer)
{
    Error e;
    tiny_run_open(r, path, &tiny_standard, &(LoopOptions){.steps = 0});
    trainer_close(&r->trainer);
    TrainerOptions o = tiny_trainer(2, 1);
    o.k = kernels_find("cpu", NUMBER_F32, &e);
    o.optimizer = *optimizer;
    ck_done(o.k && trainer_open(&r->trainer, &o, &r->tiny.parameters, &r->tiny.task, &e), e);
    ck_done(weights_init(&r->trainer.weights, r->trainer.worker[0].stream, INIT_GPT2, 1, 1, &e), e);
}

static void train(TinyRun *r, uint64_t first, uint64_t last, double rate)
{
    Error e;
    StepResult result;
    for (uint64_t step = first; step <= last; step++)
        ck_done(trainer_step(&r->trainer, step, rate, &result, &e), e);
}

/* The weights after some steps, without what is between parameters. */
static size_t after_steps(float *weights, const OptimizerOptions *optimizer, double rate)
{
    static int runs;
    char path[600];
    TinyRun r;
    size_t count = 0;
    snprintf(path, sizeof path, "%s/run%d", test_folder(), runs++);
    open_run(&r, path, optimizer);
    train(&r, 1, 40, rate);
    for (size_t i = 0; i < r.tiny.parameters.count; i++) {
        const Parameter *p = r.tiny.parameters.list[i];
        ck_assert_uint_le(count + p->count, MOST);
        memcpy(weights + count, parameter_in(p, r.trainer.weights.reals, sizeof(float)), p->count * sizeof(float));
        count += p->count;
    }
    tiny_run_close(&r);
    return count;
}

/* Groups that say what holds anyway, and half the rate of half the weights each: the same bits as without groups. */
START_TEST(groups_that_say_the_same_give_the_same_bits)
{
    static float with[MOST], without[MOST];
    static const char *const texts[] = {"", "*:lr=1", "*.weight:lr=1;blocks.*:lr=1;*:lr=1", "*:lr=0.5",
                                        "*embedding*:lr=0.5;*:lr=0.5"};
    const char *text = texts[_i / OPTIMIZER_KINDS];
    const double times = strstr(text, "0.5") ? 2 : 1;
    const OptimizerOptions o = each_kind[_i % OPTIMIZER_KINDS](text), plain = each_kind[_i % OPTIMIZER_KINDS](NULL);
    size_t count = after_steps(with, &o, 1e-2 * times);
    ck_assert_uint_eq(after_steps(without, &plain, 1e-2), count);
    ck_assert(memcmp(with, without, count * sizeof *with) == 0);
}

START_TEST(means_of_a_group_are_those_of_a_whole_run)
{
    static float with[MOST], without[MOST];
    static const char *const means[] = {"*:beta1=0.75,beta2=0.875", "*:momentum=0.75",
                                        "*:beta1=0.75,beta2=0.875,momentum=0.75", "*:beta1=0.75,beta2=0.875"};
    const OptimizerOptions o = options_of(_i, 0.5, 0.9, 0.99, 0, means[_i]),
                           plain = options_of(_i, 0.75, 0.75, 0.875, 0, NULL);
    size_t count = after_steps(with, &o, 1e-2);
    ck_assert_uint_eq(after_steps(without, &plain, 1e-2), count);
    ck_assert(memcmp(with, without, count * sizeof *with) == 0);
}

START_TEST(skipped_steps_fade_by_the_means_of_their_group)
{
    const OptimizerOptions options = adam("*embedding*:beta1=0.5,beta2=0.25");
    const Kernels *k = kernels_find("cpu", NUMBER_F32, NULL);
    enum { ROW = 2, SKIPPED = 3 };
    Tiny tiny;
    Stream *s;
    Optimizer o;
    Error e;
    ck_done(tiny_open(&tiny, &tiny_standard, &e) && k->open(&s, 1, &e), e);
    ck_done(optimizer_open(&o, &options, 3, k, s, &tiny.parameters, &e), e);
    const Parameter *table = parameters_find(&tiny.parameters, "token_embedding.weight");
    float *m = parameter_in(table, o.block[0], sizeof *m), *v = parameter_in(table, o.block[1], sizeof *v);
    for (size_t i = 0; i < table->count; i++)
        m[i] = v[i] = 1;
    ((AdamOwn *)o.own)->lazy[ROW].skipped = SKIPPED;
    for (size_t i = 0; i < 2; i++)
        optimizer_flush(&o, s, i, 2);
    for (size_t i = 0; i < table->count; i++) {
        bool faded = i / table->shape[1] == ROW;
        ck_assert(m[i] == (faded ? 0.125F : 1) && v[i] == (faded ? 0.015625F : 1));
    }
    optimizer_close(&o);
    k->close(s);
    tiny_close(&tiny);
}

/* Neither weights nor state, and both of all others do. */
START_TEST(what_is_frozen_does_not_change_by_a_bit)
{
    const OptimizerOptions options = each_kind[_i]("*embedding*:lr=0;*.norm1.*:lr=0");
    static float before[MOST];
    char path[600];
    TinyRun r;
    snprintf(path, sizeof path, "%s/run", test_folder());
    open_run(&r, path, &options);
    const Parameters *p = &r.tiny.parameters;
    memcpy(before, r.trainer.weights.reals, p->size * sizeof *before);
    train(&r, 1, 3, 1e-2);
    update_flush(&r.trainer);
    for (size_t i = 0; i < p->count; i++) {
        const Parameter *one = p->list[i];
        const bool frozen = strstr(one->name, "embedding") || strstr(one->name, ".norm1.");
        const Parameter *kept = r.trainer.optimizer.layout->list[i];
        const float *state = parameter_in(kept, r.trainer.optimizer.block[0], sizeof *state);
        bool moved = memcmp(parameter_in(one, r.trainer.weights.reals, sizeof *before), before + one->offset,
                            one->count * sizeof *before) != 0;
        bool empty = true;
        for (size_t j = 0; j < kept->count; j++)
            empty = empty && state[j] == 0;
        ck_assert_msg(moved != frozen && empty == frozen, "%s", one->name);
    }
    tiny_run_close(&r);
}

START_TEST(a_run_with_groups_goes_on_to_the_bit)
{
    static float straight[MOST];
    const OptimizerOptions options = each_kind[_i]("token*:lr=0.5,decay=0;*.norm1.*:lr=0;blocks.*:lr=2,decay=0.1");
    const Progression at = {.step = 3};
    Progression back;
    char path[600];
    TinyRun r;
    Error e;
    snprintf(path, sizeof path, "%s/run", test_folder());
    open_run(&r, path, &options);
    train(&r, 1, 3, 1e-2);
    ck_done(checkpoint_save(r.run, &r.trainer, &r.loop.note, &at, false, &e), e);
    train(&r, 4, 9, 1e-2);
    size_t bytes = r.trainer.parameters->size * sizeof *straight;
    ck_assert_uint_le(bytes, sizeof straight);
    memcpy(straight, r.trainer.weights.reals, bytes);
    ck_done(checkpoint_load(r.run, &r.trainer, 3, NULL, &back, &e), e);
    ck_assert(memcmp(straight, r.trainer.weights.reals, bytes) != 0);
    train(&r, 4, 9, 1e-2);
    ck_assert(memcmp(straight, r.trainer.weights.reals, bytes) == 0);
    tiny_run_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(the_state_of_one_optimizer_is_refused_by_another)
{
    const OptimizerOptions options = sgd(NULL);
    const Progression at = {.step = 3};
    Progression back;
    char path[600];
    TinyRun r;
    Error e;
    snprintf(path, sizeof path, "%s/run", test_folder());
    open_run(&r, path, &options);
    ck_done(checkpoint_save(r.run, &r.trainer, &r.loop.note, &at, false, &e), e);
    trainer_close(&r.trainer);
    TrainerOptions other = tiny_trainer(2, 1);
    ck_done(trainer_open(&r.trainer, &other, &r.tiny.parameters, &r.tiny.task, &e), e);
    ck_assert(!checkpoint_load(r.run, &r.trainer, 3, NULL, &back, &e));
    ck_assert_msg(strstr(e.text, "holds the state of optimizer sgd, and this run uses adam"), "%s", e.text);
    ck_assert_ptr_null(strchr(e.text, '\n'));
    tiny_run_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* What does not move is a part of the norm. */
START_TEST(a_frozen_gradient_counts_in_the_norm)
{
    StepResult result[2];
    for (int i = 0; i < 2; i++) {
        const OptimizerOptions options = adam(i ? "*embedding*:lr=0" : NULL);
        char path[600];
        TinyRun r;
        Error e;
        snprintf(path, sizeof path, "%s/run%d", test_folder(), i);
        open_run(&r, path, &options);
        ck_done(trainer_step(&r.trainer, 1, 1e-2, &result[i], &e), e);
        tiny_run_close(&r);
    }
    ck_assert(result[0].norm == result[1].norm && result[0].norm > 0);
}

/* ---- what is said */

static const struct {
    int kind;
    const char *text, *words;
} wrong[] = {{OPTIMIZER_ADAM, "blocks", "expected PATTERN:lr=X"},
             {OPTIMIZER_ADAM, ":lr=1", "expected PATTERN:lr=X"},
             {OPTIMIZER_ADAM, "blocks.*:", "and found 'blocks.*'"},
             {OPTIMIZER_ADAM, "*:lr=", "'lr=': expected a number from 0 on"},
             {OPTIMIZER_ADAM, "*:lr=-1", "'lr=-1': expected a number from 0 on"},
             {OPTIMIZER_ADAM, "*:lr=nan", "expected a number"},
             {OPTIMIZER_ADAM, "*:lr=inf", "expected a number"},
             {OPTIMIZER_ADAM, "*:lr=1x,decay=0", "'lr=1x': expected a number"},
             {OPTIMIZER_ADAM, "*:beta1=1", "'beta1=1': expected a number from 0 on and below 1"},
             {OPTIMIZER_ADAM, "*:lr=1,momentum=0", "'momentum=0': expected lr=X, decay=X or beta1=X, beta2=X"},
             {OPTIMIZER_SGD, "*:beta1=0.5", "'beta1=0.5': expected lr=X, decay=X or momentum=X"},
             {OPTIMIZER_ADAFACTOR, "*:beta1=0.5", "'beta1=0.5': expected lr=X, decay=X"},
             {OPTIMIZER_MUON, "*:epsilon=0.5", "expected lr=X, decay=X or beta1=X, beta2=X, momentum=X"},
             {OPTIMIZER_ADAM, "*:rate=1", "'rate=1': expected lr=X"},
             {OPTIMIZER_ADAM, "*:l=1", "'l=1': expected lr=X"}};

START_TEST(what_is_no_list_of_groups_is_refused)
{
    size_t count;
    Error e;
    ck_assert(!groups_read(wrong[_i].text, wrong[_i].kind, &count, &e));
    ck_assert_msg(strstr(e.text, wrong[_i].words), "%s", e.text);
}

START_TEST(a_pattern_without_a_tensor_is_refused_with_the_names_there_are)
{
    static const char *const texts[] = {"encoder.*:lr=1", "*:lr=1;blocks.*:lr=0", "blocks:lr=0"};
    Error e;
    Tiny tiny;
    ck_done(tiny_open(&tiny, &tiny_standard, &e), e);
    const OptimizerOptions o = adam(texts[_i]);
    ck_assert_ptr_null(groups_motions(&o, &tiny.parameters, &(size_t){0}, &e));
    ck_assert_msg(strstr(e.text,
                         "no tensor that an earlier pattern does not take has such a name; there are "
                         "token_embedding.weight, position_embedding.weight, blocks.*.attention.query.weight, "),
                  "%s", e.text);
    tiny_close(&tiny);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(the_report_says_what_matched)
{
    Error e;
    Tiny tiny;
    Buffer report = {0};
    TinyOptions two = tiny_standard;
    two.depth = 2;
    ck_done(tiny_open(&tiny, &two, &e), e);
    OptimizerOptions o = adam("*.norm?.weight:lr=0.1;token*:lr=0,decay=0");
    ck_done(groups_report(&o, &tiny.parameters, &report, &e), e);
    ck_assert_msg(strstr(report.text, "  *.norm?.weight lr=0.1: 4 tensors of 32 numbers: blocks.0.norm1.weight, "
                                      "blocks.0.norm2.weight, blocks.1.norm1.weight, blocks.1.norm2.weight\n"
                                      "  token* lr=0,decay=0: 1 tensor of 216 numbers: token_embedding.weight\n"
                                      "  the rest: ") &&
                      strstr(report.text, ", ..\n"),
                  "%s", report.text);
    buffer_free(&report);
    report = (Buffer){0};
    o.groups = NULL;
    ck_done(groups_report(&o, &tiny.parameters, &report, &e), e);
    ck_assert_uint_eq(report.size, 0);
    tiny_close(&tiny);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static bool report_and_open(void *argument, Error *e)
{
    const Tiny *tiny = argument;
    const OptimizerOptions options = adam("*embedding*:lr=0");
    const Kernels *k = kernels_find("cpu", NUMBER_F32, NULL);
    Optimizer o = {.kind = NULL};
    Buffer report = {0};
    Stream *s = NULL;
    bool fine = k->open(&s, 1, e) && groups_report(&options, &tiny->parameters, &report, e) &&
                optimizer_open(&o, &options, 3, k, s, &tiny->parameters, e);
    optimizer_close(&o);
    buffer_free(&report);
    if (s)
        k->close(s);
    return fine;
}

START_TEST(each_allocation_may_fail)
{
    Error e;
    Tiny tiny;
    ck_done(tiny_open(&tiny, &tiny_standard, &e), e);
    fail_each_allocation(report_and_open, &tiny);
    tiny_close(&tiny);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST(choices_are_the_kinds),
        TEST_LOOP(each_weight_moves_by_the_formula_of_its_group, 6),
        TEST_LOOP(matrices_move_by_newton_and_schulz_and_the_rest_by_adam, 4),
        TEST_LOOP(groups_that_say_the_same_give_the_same_bits, 5 * OPTIMIZER_KINDS),
        TEST_LOOP(means_of_a_group_are_those_of_a_whole_run, OPTIMIZER_ADAFACTOR) /* which has none */,
        TEST(skipped_steps_fade_by_the_means_of_their_group),
        TEST_LOOP(what_is_frozen_does_not_change_by_a_bit, OPTIMIZER_KINDS),
        TEST_LOOP(a_run_with_groups_goes_on_to_the_bit, OPTIMIZER_KINDS),
        TEST(the_state_of_one_optimizer_is_refused_by_another),
        TEST(a_frozen_gradient_counts_in_the_norm),
        TEST_LOOP(what_is_no_list_of_groups_is_refused, sizeof wrong / sizeof *wrong),
        TEST_LOOP(a_pattern_without_a_tensor_is_refused_with_the_names_there_are, 3),
        TEST(the_report_says_what_matched),
        TEST(each_allocation_may_fail)};
    return suite_run("train/optimizer", tests, sizeof tests / sizeof *tests, argc, argv);
}
