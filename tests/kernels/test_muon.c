/* What Muon does beside its products: momentum with Nesterov's look ahead, a matrix over its norm, and the step. */
#include "tests/kernels/backends.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { W, COPY, M, G, X, PARTS, UNIT, U, MOST_PARTS = 3 };

static const double keep = 0.75, scale = 1.5, decay = 0.25;

/* All three, one after the other; what the last one moves by is given, so that each is seen alone. */
static void step(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    const size_t n = c->tensor[W].rows;
    k->unit(s, at[UNIT], at[U], at[PARTS], c->tensor[PARTS].rows, n);
    k->momentum(s, at[M], at[G], state, keep, n);
    k->descend(s, at[W], at[COPY], at[X], state, scale, decay, n);
}

static Case step_case(size_t n, size_t parts)
{
    Case c = case_new(step, NULL, (uint32_t)n);
    snprintf(c.words, sizeof c.words, "n %d parts %d", (int)n, (int)parts);
    tensor(&c, W, "w", REALS, ADDED, n, 1)->floor = 1;
    tensor(&c, COPY, "copy", NUMBERS, ADDED, n, 1)->floor = 1;
    c.tensor[COPY].optional = true;
    tensor(&c, M, "m", REALS, ADDED, n, 1)->floor = 1;
    tensor(&c, G, "g", REALS, ADDED, n, 1)->floor = 1;
    tensor(&c, X, "x", NUMBERS, READ, n, 1);
    tensor(&c, PARTS, "parts", DOUBLES, READ, parts, 1);
    tensor(&c, UNIT, "unit", NUMBERS, WRITTEN, n, 1);
    tensor(&c, U, "u", REALS, READ, n, 1);
    for (size_t i = 0; i < parts; i++)
        *element(&c.tensor[PARTS], i, 0) = (double)(i + 1);
    c.state.learning_rate = 0.125;
    c.state.clip = 0.5;
    return c;
}

START_TEST(a_step_is_what_the_formulas_say)
{
    static const size_t sizes[] = {0, 1, 2, 15, 17, 1000};
    const size_t n = sizes[_i], parts = 1 + (size_t)_i % MOST_PARTS;
    Case c = step_case(n, parts);
    case_agrees(&c);
    Result r = case_run(&c, &plain_f64, NUMBER_F64);
    for (size_t i = 0; i < n; i++) {
        const double g = 0.5 * *element(&c.tensor[G], i, 0), m = keep * *element(&c.tensor[M], i, 0) + (1 - keep) * g,
                     w = *element(&c.tensor[W], i, 0),
                     moved = w - 0.125 * (scale * *element(&c.tensor[X], i, 0) + decay * w);
        ck_assert_double_eq_tol(result_at(&c, &r, M, i, 0), m, 1e-14);
        ck_assert_double_eq_tol(result_at(&c, &r, G, i, 0), (1 - keep) * g + keep * m, 1e-14);
        ck_assert_double_eq_tol(result_at(&c, &r, W, i, 0), moved, 1e-14);
        ck_assert(result_at(&c, &r, COPY, i, 0) == result_at(&c, &r, W, i, 0));
        ck_assert_double_eq_tol(result_at(&c, &r, UNIT, i, 0),
                                *element(&c.tensor[U], i, 0) / sqrt((double)(parts * (parts + 1)) / 2), 1e-14);
    }
    result_free(&r);
    case_free(&c);
}

START_TEST(nothing_moves_when_the_gradient_is_not_finite)
{
    Case c = step_case(20, 1);
    c.state.finite = 0;
    c.state.clip = NAN;
    tensor_fill(&c.tensor[X], NAN);
    for (size_t t = W; t <= M; t++)
        c.tensor[t].use = READ; /* to the bit */
    c.tensor[G].use = SPOILED;
    EACH_BACKEND(r, &c) {
    }
    case_free(&c);
}

START_TEST(a_matrix_of_zeros_has_no_direction)
{
    Case c = step_case(20, 2);
    tensor_fill(&c.tensor[PARTS], 0);
    tensor_fill(&c.tensor[U], 0);
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < 20; i++)
            ck_assert(result_at(&c, &r, UNIT, i, 0) == 0);
    }
    case_free(&c);
}

START_TEST(the_copy_need_not_be_wanted) { case_ask(case_spares, step_case(20, 1)); }

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(a_step_is_what_the_formulas_say, 6),
                                 TEST(nothing_moves_when_the_gradient_is_not_finite),
                                 TEST(a_matrix_of_zeros_has_no_direction), TEST(the_copy_need_not_be_wanted)};
    return suite_run("kernels/muon", tests, sizeof tests / sizeof *tests, argc, argv);
}
