/* Rows of vectors as one vector each. */
#include "tests/kernels/backends.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { Y, WHICH, X, START, DX, DY };

enum { ROWS = 8 };

typedef struct Pooled {
    Pooling how;
    size_t b, n, d; /* n: positions after the last row are of none */
    int32_t start[ROWS + 1];
} Pooled;

static void pool(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    (void)state;
    const Pooled *p = c->shape;
    k->pool_forward(s, at[Y], at[WHICH], at[X], p->how, at[START], p->b, p->d);
    k->pool_backward(s, at[DX], c->add, at[DY], at[WHICH], p->how, at[START], p->b, p->n, p->d);
}

/* Rows of these lengths, with `after` positions after them. */
static Case pool_sized(Pooled *p, Pooling how, const int32_t *lengths, size_t b, size_t after, size_t d, uint32_t seed)
{
    Case c = case_new(pool, p, seed);
    int32_t longest = 1;
    *p = (Pooled){.how = how, .b = b, .d = d};
    for (size_t r = 0; r < b; r++) {
        p->start[r + 1] = p->start[r] + lengths[r];
        longest = lengths[r] > longest ? lengths[r] : longest;
    }
    p->n = (size_t)p->start[b] + after;
    snprintf(c.words, sizeof c.words, "pooling %d, %d rows, n %d, d %d", (int)how, (int)b, (int)p->n, (int)d);
    Tensor *y = tensor(&c, Y, "y", NUMBERS, WRITTEN, b, d);
    tensor(&c, WHICH, "which", INTEGERS, how == POOLING_MAX ? WRITTEN : ABSENT, b, d);
    tensor(&c, X, "x", NUMBERS, READ, p->n, d);
    tensor_integers(tensor(&c, START, "start", INTEGERS, READ, b + 1, 1), p->start);
    gradient(&c, DX, "dx", NUMBERS, GRADIENT, X);
    output(&c, Y, DY);
    y->terms = (size_t)longest;
    y->floor = 1;
    return c;
}

static Case pool_case(Pooled *p, uint32_t seed)
{
    static const size_t widths[] = {1, 2, 7, 8, 15, 16, 17, 33, 300};
    Random random = {.seed = seed + 500};
    int32_t lengths[ROWS];
    size_t b = seed < 3 ? 0 : 1 + below(&random, ROWS);
    for (size_t r = 0; r < ROWS; r++)
        lengths[r] = chance(&random, 0.3) ? (int32_t)below(&random, 2) : (int32_t)below(&random, 12);
    return pool_sized(p, (Pooling)(seed % POOLINGS), lengths, b, below(&random, 3), widths[below(&random, 9)], seed);
}

START_TEST(every_backend_agrees_with_f64)
{
    SKIP_IF_FAST(_i);
    Pooled p;
    case_ask(case_agrees, pool_case(&p, (uint32_t)_i));
}

START_TEST(gradients_are_slopes)
{
    SKIP_IF_FAST(_i);
    Pooled p;
    case_ask(case_differentiates, pool_case(&p, (uint32_t)_i));
}

START_TEST(gradients_are_added_where_asked)
{
    Pooled p;
    case_ask(case_adds, pool_case(&p, (uint32_t)_i));
}

/* By the definition, in f64. */
START_TEST(a_row_gives_its_first_its_mean_and_its_largest)
{
    static const int32_t lengths[] = {3, 1, 5};
    for (int how = 0; how < POOLINGS; how++) {
        Pooled p;
        Case c = pool_sized(&p, (Pooling)how, lengths, 3, 2, 5, 7);
        Result r = case_run(&c, &plain_f64, NUMBER_F64);
        for (size_t b = 0; b < p.b; b++)
            for (size_t j = 0; j < p.d; j++) {
                double first = *element(&c.tensor[X], (size_t)p.start[b], j), sum = 0, largest = first;
                for (int32_t i = p.start[b]; i < p.start[b + 1]; i++) {
                    double x = *element(&c.tensor[X], (size_t)i, j);
                    sum += x;
                    largest = x > largest ? x : largest;
                }
                const double wanted[POOLINGS] = {first, sum / lengths[b], largest};
                ck_assert_double_eq_tol(result_at(&c, &r, Y, b, j), wanted[how], 1e-15);
            }
        result_free(&r);
        case_free(&c);
    }
}

START_TEST(an_empty_row_gives_zeros_and_no_gradient)
{
    static const int32_t lengths[] = {0, 2, 0, 0, 1, 0};
    for (int how = 0; how < POOLINGS; how++) {
        Pooled p;
        Case c = pool_sized(&p, (Pooling)how, lengths, 6, 3, 19, 7);
        c.add = false;
        for (size_t j = 0; j < p.d; j++) /* what arrives for an empty row must reach no row */
            for (size_t b = 0; b < p.b; b++)
                *element(&c.tensor[DY], b, j) = lengths[b] ? 1 : NAN;
        EACH_BACKEND(r, &c) {
            for (size_t j = 0; j < p.d; j++) {
                double sum = 0;
                for (size_t b = 0; b < p.b; b++) {
                    ck_assert(lengths[b] || result_at(&c, &r, Y, b, j) == 0);
                    ck_assert(lengths[b] || how != POOLING_MAX || result_at(&c, &r, WHICH, b, j) == -1);
                }
                for (size_t i = 0; i < p.n; i++) {
                    ck_assert(i < 3 || result_at(&c, &r, DX, i, j) == 0); /* of no row */
                    sum += result_at(&c, &r, DX, i, j);
                }
                ck_assert(sum == 2);
            }
        }
        case_free(&c);
    }
}

/* Beginning, middle and end of a row; -0 and 0 are equal, and so are infinities. */
START_TEST(the_first_of_equal_ones_is_the_largest_and_takes_the_gradient)
{
    static const int32_t lengths[] = {2, 4};
    static const double values[][4] = {{1, 1, 1, 1},
                                       {-2, 3, 3, -5},
                                       {-1, -2, -0.0, 0},
                                       {-INFINITY, -INFINITY, -INFINITY, -INFINITY},
                                       {0, INFINITY, 4, INFINITY}};
    static const size_t first[] = {0, 1, 2, 0, 1};
    for (size_t v = 0; v < 5; v++) {
        Pooled p;
        Case c = pool_sized(&p, POOLING_MAX, lengths, 2, 0, 18, 7);
        c.add = false;
        for (size_t j = 0; j < p.d; j++)
            for (size_t i = 0; i < 4; i++)
                *element(&c.tensor[X], 2 + i, j) = values[v][i];
        EACH_BACKEND(r, &c) {
            for (size_t j = 0; j < p.d; j++) {
                ck_assert(result_at(&c, &r, Y, 1, j) == values[v][first[v]]);
                ck_assert(result_at(&c, &r, WHICH, 1, j) == (double)(2 + first[v]));
                for (size_t i = 0; i < 4; i++)
                    ck_assert((result_at(&c, &r, DX, 2 + i, j) != 0) == (i == first[v]));
            }
        }
        case_free(&c);
    }
}

START_TEST(nan_comes_through_wherever_it_stands)
{
    static const int32_t lengths[] = {5};
    for (int how = 0; how < POOLINGS; how++)
        for (size_t at = 0; at < 5; at++) {
            Pooled p;
            Case c = pool_sized(&p, (Pooling)how, lengths, 1, 0, 17, 7);
            *element(&c.tensor[X], at, 16) = *element(&c.tensor[X], at, 0) = NAN;
            EACH_BACKEND(r, &c) {
                for (size_t j = 0; j < p.d; j++) {
                    bool wanted = j % 16 == 0 && (how != POOLING_FIRST || at == 0);
                    ck_assert_int_eq(!!isnan(result_at(&c, &r, Y, 0, j)), wanted);
                    ck_assert(how != POOLING_MAX || !wanted || result_at(&c, &r, WHICH, 0, j) == (double)at);
                }
            }
            case_free(&c);
        }
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(every_backend_agrees_with_f64, 48),
                                 TEST_LOOP(gradients_are_slopes, 24),
                                 TEST_LOOP(gradients_are_added_where_asked, 12),
                                 TEST(a_row_gives_its_first_its_mean_and_its_largest),
                                 TEST(an_empty_row_gives_zeros_and_no_gradient),
                                 TEST(the_first_of_equal_ones_is_the_largest_and_takes_the_gradient),
                                 TEST(nan_comes_through_wherever_it_stands)};
    return suite_run("kernels/pool", tests, sizeof tests / sizeof *tests, argc, argv);
}
