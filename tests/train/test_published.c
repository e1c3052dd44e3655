/* Optimizers are those of torch.optim and other packages (tests/fixtures/optimizers.py), in double, whoever moves which
 * tensor. */
#include "base/memory.h"
#include "core/tensor/tape.h"
#include "core/train/optimizer.h"
#include "tests/cases.h"
#include "tests/suite.h"

#include <math.h>
#include <string.h>

enum { STEPS = 5, MOST_ROWS = 64, MOST_WORKERS = 4 };

static const double rate = 0.125;

static const OptimizerOptions published[] = {{.kind = OPTIMIZER_SGD, .momentum = 0.75},
                                             {.kind = OPTIMIZER_MUON, .momentum = 0.75, .decay = 0.25},
                                             {.kind = OPTIMIZER_LION, .adam = {0.9, 0.99, 0}, .decay = 0.25},
                                             {.kind = OPTIMIZER_ADAFACTOR, .decay = 0.25}};

enum { PUBLISHED = sizeof published / sizeof *published };

static double value(size_t i, double number, double scale) { return scale * sin(0.5 + 1.75 * (double)i + number); }

/* Rows that are multiples of this have a gradient. */
static size_t every(const Json *one) { return (size_t)case_value(one, 2)->number; }

/* The cases of an optimizer, which stand one after another. */
static Json cases_of(const Json *all, const char *name)
{
    Json found = {0};
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(case_value(&all->items[i], 0)->text, name) == 0)
            found.items = found.count++ ? found.items : &all->items[i];
    ck_assert_uint_ge(found.count, 3);
    return found;
}

static Parameters parameters_of(const Json *list)
{
    Parameters p = {0};
    Error e;
    for (size_t i = 0; i < list->count; i++) {
        const Json *shape = case_value(&list->items[i], 1);
        parameters_add(&p, every(&list->items[i]) > 1 ? ROLE_LOOKUP : ROLE_WEIGHT, (size_t)shape->items[0].number,
                       shape->count > 1 ? (size_t)shape->items[1].number : 0, "p%zu", i);
    }
    ck_done(parameters_finish(&p, &e), e);
    return p;
}

/* A table's rows with a gradient have it in the reverse order. */
static size_t rows_with_gradient(const Parameter *p, size_t each) { return (p->shape[0] + each - 1) / each; }

static void fill_gradient(double *g, int32_t *slots, const Parameters *p, const Json *list, size_t used, uint64_t step)
{
    for (size_t i = 0; i < p->count; i++) {
        const Parameter *one = p->list[i];
        const size_t each = every(&list->items[i]), d = one->shape[1], at = gradient_offset(p, one, used);
        for (size_t j = 0; j < one->count; j++) {
            const double now = value(j, 10.0 * (double)step + (double)i, 0.01 * pow(4, (double)step));
            const size_t slot = rows_with_gradient(one, each) - 1 - j / d / each;
            if (one->role != ROLE_LOOKUP)
                g[at + j] = now;
            else if (j / d % each == 0)
                g[at + slot * d + j % d] = now, slots[j / d] = (int32_t)slot;
        }
    }
}

static void check(const Json *wanted, const double *found, const char *name, const char *what)
{
    for (size_t j = 0; j < wanted->count; j++) {
        const double right = wanted->items[j].number;
        ck_assert_msg(fabs(found[j] - right) <= 1e-12 * fabs(right) + 1e-18, "%s: %s %zu is %.17g, not %.17g", name,
                      what, j, found[j], right);
    }
}

START_TEST(five_steps_are_the_published_ones)
{
    const size_t workers = (size_t)_i % MOST_WORKERS + 1;
    OptimizerOptions options = published[_i / MOST_WORKERS];
    const OptimizerKind *kind = optimizer_kind(options.kind);
    Cases cases = cases_open("optimizers");
    const Json list = cases_of(cases.list, kind->name);
    Parameters p = parameters_of(&list);
    const Kernels *k = kernels_find("plain", NUMBER_F64, NULL);
    Weights weights;
    Optimizer o;
    Stream *s;
    Error e;
    optimizer_configure(&options);
    ck_done(k->open(&s, 1, &e) && weights_open(&weights, k, s, &p, &e), e);
    ck_done(optimizer_open(&o, &options, workers, k, s, &p, &e), e);
    for (size_t i = 0; i < p.count; i++)
        for (size_t j = 0; j < p.list[i]->count; j++)
            ((double *)weights.reals)[p.list[i]->offset + j] = value(j, (double)i,
                                                                     case_value(&list.items[i], 3)->number);
    double *g = memory_get(p.size, sizeof *g);
    for (uint64_t step = 1; step <= STEPS; step++) {
        int32_t slots[MOST_ROWS];
        StepState state = {.learning_rate = rate, .clip = step == 3 ? 0.5 : 1, .finite = 1};
        for (size_t i = 0; i < MOST_ROWS; i++)
            slots[i] = -1;
        fill_gradient(g, slots, &p, &list, p.longest, step);
        for (size_t i = 0; i < p.size; i++)
            g[i] /= state.clip;
        optimizer_begin(&o, s, &state, step);
        for (size_t i = 0; i < workers; i++)
            kind->step(&o, s, &(OptimizerStep){&weights, g, p.longest, slots, &state, i, workers});
        for (size_t i = 0; i < p.size; i++)
            g[i] = 0;
    }
    for (size_t i = 0; i < p.count; i++) {
        const Json *one = &list.items[i];
        const double *held = parameter_in(o.layout->list[i], o.block[0], sizeof *held);
        check(case_value(one, 4), parameter_in(p.list[i], weights.reals, sizeof(double)), p.list[i]->name, "weight");
        for (size_t at = 5; at < one->count; held += case_value(one, at++)->count)
            check(case_value(one, at), held, p.list[i]->name, "number of state");
    }
    memory_free(g);
    optimizer_close(&o);
    weights_close(&weights);
    k->close(s);
    parameters_close(&p);
    cases_close(&cases);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* The moments of a matrix are its rows and columns. */
START_TEST(the_state_of_adafactor_is_small)
{
    Parameters p = {0};
    Error e;
    parameters_add(&p, ROLE_WEIGHT, 1000, 2000, "matrix");
    parameters_add(&p, ROLE_BIAS, 1000, 0, "vector");
    ck_done(parameters_finish(&p, &e), e);
    const Kernels *k = kernels_find("plain", NUMBER_F32, NULL);
    const size_t adam = optimizer_bytes(&(OptimizerOptions){.kind = 0}, &p, k, 2);
    ck_assert_uint_ge(adam, 2 * 2001000 * sizeof(float));
    ck_assert_uint_le(optimizer_bytes(&(OptimizerOptions){.kind = OPTIMIZER_ADAFACTOR}, &p, k, 2), adam / 500);
    parameters_close(&p);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(five_steps_are_the_published_ones, PUBLISHED * MOST_WORKERS),
                                 TEST(the_state_of_adafactor_is_small)};
    return suite_run("train/published", tests, sizeof tests / sizeof *tests, argc, argv);
}
