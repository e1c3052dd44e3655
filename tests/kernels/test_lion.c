/* Lion's step, for a parameter whose gradient is all there, and for a table of which few rows were read. */
#include "tests/kernels/backends.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { W, COPY, M, G, SLOTS, ROWS = 7, USED = 3 };

static const Adam recipe = {0.75, 0.875, 0};
static const double decay = 0.25;

typedef struct Part {
    size_t first, n, d;
    bool table;
} Part;

static void step(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    const Part *a = c->shape;
    k->lion(s, at[W], at[COPY], at[M], at[G], a->table ? at[SLOTS] : NULL, state, recipe, decay, a->first, a->n, a->d);
}

static Case step_case(const Part *a)
{
    static const int32_t slots[ROWS] = {-1, 2, -1, 0, 1, -1, -1};
    Case c = case_new(step, a, 3);
    snprintf(c.words, sizeof c.words, "rows %d n %d d %d", (int)a->first, (int)a->n, (int)a->d);
    tensor(&c, W, "w", REALS, ADDED, ROWS, a->d)->floor = 1;
    tensor(&c, COPY, "copy", NUMBERS, ADDED, ROWS, a->d)->floor = 1;
    c.tensor[COPY].optional = true;
    tensor(&c, M, "m", REALS, ADDED, ROWS, a->d)->floor = 1;
    tensor(&c, G, "g", REALS, READ, a->table ? USED : ROWS, a->d);
    tensor_integers(tensor(&c, SLOTS, "slots", INTEGERS, READ, ROWS, 1), slots);
    c.state.learning_rate = 0.125;
    c.state.clip = 0.5;
    return c;
}

START_TEST(a_step_is_what_the_paper_says)
{
    static const Part parts[] = {{0, ROWS, 5, false}, {0, ROWS, 5, true},  {2, 3, 9, false},
                                 {1, 4, 16, true},    {0, ROWS, 1, false}, {3, 0, 4, true}};
    const Part *a = &parts[_i];
    Case c = step_case(a);
    *element(&c.tensor[M], 3, 0) = 0;
    *element(&c.tensor[G], a->table ? 0 : 3, 0) = 0; /* no direction */
    case_agrees(&c);
    Result r = case_run(&c, &plain_f64, NUMBER_F64);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < a->d; j++) {
            const double row = a->table ? *element(&c.tensor[SLOTS], i, 0) : (double)i;
            const double g = row < 0 ? 0 : 0.5 * *element(&c.tensor[G], (size_t)row, j);
            const double w = *element(&c.tensor[W], i, j), m = *element(&c.tensor[M], i, j), way = 0.75 * m + 0.25 * g;
            const bool inside = i >= a->first && i < a->first + a->n;
            const double moved = w - 0.125 * ((way > 0) - (way < 0) + decay * w), mean = 0.875 * m + 0.125 * g;
            ck_assert_double_eq_tol(result_at(&c, &r, W, i, j), inside ? moved : w, 1e-14);
            ck_assert_double_eq_tol(result_at(&c, &r, M, i, j), inside ? mean : m, 1e-14);
            ck_assert(!inside || result_at(&c, &r, COPY, i, j) == result_at(&c, &r, W, i, j));
        }
    result_free(&r);
    case_free(&c);
}

START_TEST(nothing_moves_when_the_gradient_is_not_finite)
{
    const Part a = {0, ROWS, 5, _i};
    Case c = step_case(&a);
    c.state.finite = 0;
    c.state.clip = NAN;
    tensor_fill(&c.tensor[G], NAN);
    for (size_t t = W; t <= M; t++)
        c.tensor[t].use = READ; /* to the bit */
    EACH_BACKEND(r, &c) {
    }
    case_free(&c);
}

START_TEST(the_copy_need_not_be_wanted)
{
    const Part a = {0, ROWS, 5, false};
    case_ask(case_spares, step_case(&a));
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(a_step_is_what_the_paper_says, 6),
                                 TEST_LOOP(nothing_moves_when_the_gradient_is_not_finite, 2),
                                 TEST(the_copy_need_not_be_wanted)};
    return suite_run("kernels/lion", tests, sizeof tests / sizeof *tests, argc, argv);
}
