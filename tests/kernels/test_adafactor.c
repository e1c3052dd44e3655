/* Adafactor's two operations, for a parameter whose gradient is all there, and for a table of which few rows were read. */
#include "tests/kernels/backends.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { W, COPY, U, WEIGHTS, UPDATES, V, G, SLOTS, ROWS = 7, USED = 3 };

static const double tiny = 1e-6, least = 0.125, decay = 0.25;

typedef struct Shape {
    size_t rows, d;
    bool table;
    double large; /* the sum of squares of updates */
} Shape;

static size_t used(const Shape *a) { return a->table ? USED : a->rows; }

static void step(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    const Shape *a = c->shape;
    const int32_t *slots = a->table ? at[SLOTS] : NULL;
    k->factors(s, at[V], at[G], slots, state, tiny, a->rows, used(a), a->d);
    k->adafactor(s, at[W], at[COPY], at[U], at[WEIGHTS], at[UPDATES], slots, state, least, decay, a->rows, used(a),
                 a->d);
}

static Case step_case(const Shape *a)
{
    static const int32_t slots[ROWS] = {-1, 2, -1, 0, 1, -1, -1};
    Case c = case_new(step, a, 3);
    snprintf(c.words, sizeof c.words, "rows %d d %d", (int)a->rows, (int)a->d);
    tensor(&c, W, "w", REALS, ADDED, a->rows, a->d)->floor = 1;
    tensor(&c, COPY, "copy", NUMBERS, ADDED, a->rows, a->d)->floor = 1;
    c.tensor[COPY].optional = true;
    tensor(&c, U, "u", REALS, READ, used(a), a->d);
    tensor(&c, WEIGHTS, "weights", DOUBLES, READ, 1, 1);
    tensor(&c, UPDATES, "updates", DOUBLES, READ, 1, 1);
    tensor(&c, V, "v", REALS, ADDED, a->rows + a->d, 1)->terms = a->rows + a->d;
    Tensor *g = tensor(&c, G, "g", REALS, ADDED, used(a), a->d);
    g->terms = a->rows + a->d, g->floor = 1;
    tensor_integers(tensor(&c, SLOTS, "slots", INTEGERS, READ, ROWS, 1), slots);
    for (size_t i = 0; i < a->rows + a->d; i++) /* means of squares */
        *element(&c.tensor[V], i, 0) = 0.25 + fabs(*element(&c.tensor[V], i, 0));
    *element(&c.tensor[WEIGHTS], 0, 0) = (double)(a->rows * a->d) * (a->table ? 1e-6 : 0.25);
    *element(&c.tensor[UPDATES], 0, 0) = a->large * (double)(a->rows * a->d);
    c.state.learning_rate = 0.125;
    c.state.correction2 = 0.75;
    c.state.clip = 0.5;
    return c;
}

static double squared(const Case *c, size_t slot, size_t j) { return pow(0.5 * *element(&c->tensor[G], slot, j), 2); }

START_TEST(a_step_is_what_the_paper_says)
{
    static const Shape shapes[] = {{ROWS, 5, false, 0.5}, {ROWS, 40, true, 4}, {1, 9, false, 4},
                                   {ROWS, 1, false, 1},   {ROWS, 1, true, 9},  {300, 70, false, 2}};
    const Shape *a = &shapes[_i];
    Case c = step_case(a);
    case_agrees(&c);
    Result r = case_run(&c, &plain_f64, NUMBER_F64);
    const double limit = sqrt(a->large > 1 ? a->large : 1), move = 0.125 * (a->table ? least : 0.5) / limit;
    double mean = 0;
    for (size_t j = 0; j < a->d; j++)
        mean += result_at(&c, &r, V, a->rows + j, 0) / (double)a->d;
    for (size_t i = 0; i < a->rows; i++) {
        const int slot = a->table ? (int)*element(&c.tensor[SLOTS], i, 0) : (int)i;
        double sum = 0;
        for (size_t j = 0; slot >= 0 && j < a->d; j++)
            sum += squared(&c, (size_t)slot, j);
        const double row = 0.25 * *element(&c.tensor[V], i, 0) + 0.75 * (sum / (double)a->d + tiny);
        ck_assert_double_eq_tol(result_at(&c, &r, V, i, 0), row, 1e-13);
    }
    for (size_t j = 0; j < a->d; j++) {
        double sum = 0;
        for (size_t i = 0; i < used(a); i++)
            sum += squared(&c, i, j);
        const double column = 0.25 * *element(&c.tensor[V], a->rows + j, 0) + 0.75 * (sum / (double)a->rows + tiny);
        ck_assert_double_eq_tol(result_at(&c, &r, V, a->rows + j, 0), column, 1e-13);
    }
    for (size_t i = 0; i < a->rows; i++)
        for (size_t j = 0; j < a->d; j++) {
            const int slot = a->table ? (int)*element(&c.tensor[SLOTS], i, 0) : (int)i;
            const double moment = result_at(&c, &r, V, i, 0) * result_at(&c, &r, V, a->rows + j, 0) / mean,
                         w = *element(&c.tensor[W], i, j), u = slot < 0 ? 0 : *element(&c.tensor[U], (size_t)slot, j);
            if (slot >= 0)
                ck_assert_double_eq_tol(result_at(&c, &r, G, (size_t)slot, j),
                                        0.5 * *element(&c.tensor[G], (size_t)slot, j) / sqrt(moment), 1e-13);
            ck_assert_double_eq_tol(result_at(&c, &r, W, i, j), w - move * u - 0.125 * decay * w, 1e-13);
            ck_assert(result_at(&c, &r, COPY, i, j) == result_at(&c, &r, W, i, j));
        }
    result_free(&r);
    case_free(&c);
}

START_TEST(nothing_moves_when_the_gradient_is_not_finite)
{
    const Shape a = {ROWS, 5, _i, 1};
    Case c = step_case(&a);
    c.state.finite = 0;
    c.state.clip = NAN;
    tensor_fill(&c.tensor[G], NAN);
    c.tensor[W].use = c.tensor[COPY].use = c.tensor[V].use = READ; /* to the bit */
    c.tensor[G].use = SPOILED;
    EACH_BACKEND(r, &c) {
    }
    case_free(&c);
}

START_TEST(the_copy_need_not_be_wanted)
{
    const Shape a = {ROWS, 5, false, 1};
    case_ask(case_spares, step_case(&a));
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(a_step_is_what_the_paper_says, 6),
                                 TEST_LOOP(nothing_moves_when_the_gradient_is_not_finite, 2),
                                 TEST(the_copy_need_not_be_wanted)};
    return suite_run("kernels/adafactor", tests, sizeof tests / sizeof *tests, argc, argv);
}
