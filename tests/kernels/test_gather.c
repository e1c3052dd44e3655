/* Vectors by number. */
#include "tests/kernels/backends.h"

#include <math.h>
#include <stdio.h>

enum { Y, X, INDEX, DX, DY };

typedef struct Gather {
    size_t from, n, d;
} Gather;

static void gather(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    (void)state;
    const Gather *g = c->shape;
    k->gather_forward(s, at[Y], at[X], at[INDEX], g->n, g->d);
    k->gather_backward(s, at[DX], c->add, at[DY], at[INDEX], g->n, g->from, g->d);
}

static Case gather_sized(const Gather *g, uint32_t seed)
{
    Case c = case_new(gather, g, seed);
    snprintf(c.words, sizeof c.words, "%d of %d, d %d", (int)g->n, (int)g->from, (int)g->d);
    tensor(&c, Y, "y", NUMBERS, WRITTEN, g->n, g->d);
    tensor(&c, X, "x", NUMBERS, READ, g->from, g->d);
    Tensor *index = tensor(&c, INDEX, "index", INTEGERS, READ, g->n, 1);
    for (size_t i = 0; i < g->n; i++) /* any, several times, and none */
        *element(index, i, 0) = !g->from || chance(&c.random, 0.2) ? -1 : (double)below(&c.random, g->from);
    Tensor *dx = gradient(&c, DX, "dx", NUMBERS, GRADIENT, X);
    output(&c, Y, DY);
    dx->floor = 1;
    dx->terms = g->n;
    return c;
}

static Case gather_case(Gather *g, uint32_t seed)
{
    static const size_t sizes[][3] = {{4, 0, 3},    {1, 1, 1},    {1, 9, 2}, {11, 30, 65}, {30, 5, 7},
                                      {2, 3, 1000}, {3, 400, 17}, {0, 0, 4}, {0, 3, 5},    {9, 9, 0}};
    Random r = {.seed = seed + 1000};
    *g = (Gather){1 + below(&r, 6), below(&r, 20), 1 + below(&r, 40)};
    if (seed < sizeof sizes / sizeof *sizes)
        *g = (Gather){sizes[seed][0], sizes[seed][1], sizes[seed][2]};
    return gather_sized(g, seed);
}

START_TEST(every_backend_agrees_with_f64)
{
    Gather g;
    case_ask(case_agrees, gather_case(&g, (uint32_t)_i));
}

START_TEST(gradients_are_slopes)
{
    SKIP_IF_FAST(_i);
    Gather g;
    case_ask(case_differentiates, gather_case(&g, (uint32_t)_i));
}

START_TEST(gradients_are_added_where_asked)
{
    Gather g;
    case_ask(case_adds, gather_case(&g, 3 + (uint32_t)_i));
}

/* In bf16, too: 1000 ones, one by one, would stop at 256. */
START_TEST(a_sum_is_rounded_once)
{
    enum { MANY = 1000 };
    Gather g = {.from = 3, .n = MANY, .d = 9};
    Case c = gather_sized(&g, (uint32_t)_i);
    for (size_t i = 0; i < MANY; i++)
        *element(&c.tensor[INDEX], i, 0) = 1;
    tensor_fill(&c.tensor[DY], 1);
    tensor_fill(&c.tensor[DX], 24);
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < g.from; i++)
            for (size_t j = 0; j < g.d; j++)
                ck_assert_double_eq(result_at(&c, &r, DX, i, j), (i == 1 ? MANY : 0) + (c.add ? 24 : 0));
    }
    case_free(&c);
}

/* 2^24 and ones: their sum depends on the order. */
START_TEST(what_several_read_is_summed_in_their_order)
{
    Gather g = {.from = 2, .n = 8, .d = 3};
    Case c = gather_sized(&g, 2);
    for (size_t i = 0; i < g.n; i++) {
        *element(&c.tensor[INDEX], i, 0) = 1;
        for (size_t j = 0; j < g.d; j++)
            *element(&c.tensor[DY], i, j) = i == 1 ? 0x1p24 : 1; /* what is added to that is lost */
    }
    EACH_BACKEND(r, &c) {
        for (size_t j = 0; j < g.d; j++)
            ck_assert_double_eq(result_at(&c, &r, DX, 1, j), 0x1p24);
    }
    case_free(&c);
}

START_TEST(y_is_a_copy_to_the_bit_and_0_for_a_negative_index)
{
    Gather g;
    Case c = gather_case(&g, 3);
    *element(&c.tensor[X], 0, 0) = NAN;
    *element(&c.tensor[X], 1, 0) = -0.0;
    *element(&c.tensor[X], 2, 0) = -INFINITY;
    *element(&c.tensor[INDEX], 4, 0) = -2147483648.0;
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < g.n; i++)
            for (size_t j = 0; j < g.d; j++) {
                double index = *element(&c.tensor[INDEX], i, 0), y = result_at(&c, &r, Y, i, j);
                double x = index < 0 ? 0 : result_at(&c, &r, X, (size_t)index, j);
                ck_assert(isnan(x) ? isnan(y) : x == y && signbit(x) == signbit(y));
            }
    }
    case_free(&c);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(every_backend_agrees_with_f64, 30),     TEST_LOOP(gradients_are_slopes, 20),
        TEST_LOOP(gradients_are_added_where_asked, 6),    TEST_LOOP(a_sum_is_rounded_once, 2),
        TEST(what_several_read_is_summed_in_their_order), TEST(y_is_a_copy_to_the_bit_and_0_for_a_negative_index)};
    return suite_run("kernels/gather", tests, sizeof tests / sizeof *tests, argc, argv);
}
