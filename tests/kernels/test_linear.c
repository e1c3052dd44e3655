/* Linear maps, with bias and ReLU. */
#include "base/thread.h"
#include "tests/kernels/backends.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { Y, X, W, BIAS, DX, DW, DBIAS, DY };

typedef struct Linear {
    size_t n, in, out;
    bool relu, real_output;
    bool hold; /* weights do not change */
} Linear;

static void forward(const Kernels *k, Stream *s, void *const *at, const Linear *shape, size_t n)
{
    k->linear_forward(s, at[Y], shape->real_output, at[X], at[W], at[BIAS], shape->relu, n, shape->in, shape->out);
}

static void linear(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    (void)state;
    const Linear *shape = c->shape;
    if (shape->hold && k->hold) { /* what a product has kept serves others, too */
        k->hold(s, at[W], shape->in * shape->out * k->number);
        forward(k, s, at, shape, shape->n);
        forward(k, s, at, shape, shape->n / 2);
    }
    forward(k, s, at, shape, shape->n);
    if (at[DY])
        k->linear_backward(s, at[DX], c->add, at[DW], at[DBIAS], at[DY], shape->relu ? at[Y] : NULL, at[X], at[W],
                           shape->relu, shape->n, shape->in, shape->out);
}

static Case linear_sized(Linear *shape, uint32_t seed, bool bias)
{
    Case c = case_new(linear, shape, seed);
    snprintf(c.words, sizeof c.words, "n %d in %d out %d%s%s%s", (int)shape->n, (int)shape->in, (int)shape->out,
             bias ? " bias" : "", shape->relu ? " relu" : "", shape->real_output ? " real" : "");
    Tensor *y = tensor(&c, Y, "y", shape->real_output ? REALS : NUMBERS, WRITTEN, shape->n, shape->out);
    tensor(&c, X, "x", NUMBERS, READ, shape->n, shape->in);
    tensor(&c, W, "w", NUMBERS, READ, shape->out, shape->in);
    tensor(&c, BIAS, "bias", REALS, bias ? READ : ABSENT, 1, shape->out);
    Tensor *dx = gradient(&c, DX, "dx", NUMBERS, GRADIENT, X);
    Tensor *dw = gradient(&c, DW, "dw", REALS, ADDED, W);
    Tensor *dbias = gradient(&c, DBIAS, "dbias", REALS, bias ? ADDED : ABSENT, BIAS);
    output(&c, Y, DY);
    if (shape->relu)
        c.tensor[DY].use = SPOILED;
    dx->optional = dw->optional = dbias->optional = true;
    y->terms = shape->in;
    dx->terms = shape->out;
    dw->terms = dbias->terms = shape->n;
    y->floor = dx->floor = dw->floor = dbias->floor = 1;
    y->product = dx->product = dw->product = true;
    return c;
}

static Case linear_case(Linear *shape, uint32_t seed)
{
    static const size_t sizes[][3] = {{0, 3, 5},    {1, 1, 1},     {1, 64, 64},  {5, 1, 7},
                                      {5, 7, 1},    {13, 31, 33},  {64, 32, 96}, {3, 500, 17},
                                      {17, 3, 300}, {130, 17, 19}, {2, 129, 65}, {4200, 2, 3}};
    Random random = {.seed = seed + 1000};
    if (seed < sizeof sizes / sizeof *sizes)
        *shape = (Linear){.n = sizes[seed][0], .in = sizes[seed][1], .out = sizes[seed][2]};
    else
        *shape = (Linear){.n = below(&random, 20), .in = 1 + below(&random, 40), .out = 1 + below(&random, 40)};
    shape->relu = chance(&random, 0.4);
    shape->real_output = !shape->relu && chance(&random, 0.3);
    Case c = linear_sized(shape, seed, chance(&random, 0.7));
    for (size_t i = DX; i <= DBIAS; i++)
        if (chance(&random, 0.15))
            c.tensor[i].use = ABSENT;
    return c;
}

START_TEST(every_backend_agrees_with_f64)
{
    SKIP_IF_FAST(_i);
    Linear shape;
    case_ask(case_agrees, linear_case(&shape, (uint32_t)_i));
}

/* --- few positions, which a fast backend computes in another way than many --- */

static Case forward_case(Linear *shape, uint32_t seed, bool bias)
{
    Case c = linear_sized(shape, seed, bias);
    c.tensor[DY].use = c.tensor[DX].use = c.tensor[DW].use = c.tensor[DBIAS].use = ABSENT;
    return c;
}

START_TEST(few_positions_agree_with_f64_at_odd_sizes)
{
    static const size_t sizes[][2] = {{1, 1},    {15, 17},  {31, 16},  {33, 47},  {64, 15},  {65, 5},
                                      {127, 31}, {129, 33}, {257, 96}, {300, 65}, {512, 18}, {4, 200}};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Linear shape = {(size_t)_i + 1, sizes[i][0], sizes[i][1], .relu = i % 3 == 1, .real_output = i % 3 == 2};
        Case c = forward_case(&shape, 7 * (uint32_t)_i + i, i % 2);
        case_agrees(&c);
        case_free(&c);
    }
}

START_TEST(weights_that_do_not_change_agree_with_f64)
{
    static const size_t sizes[][3] = {{9, 128, 384}, {64, 128, 128}, {200, 128, 500}, {100, 256, 130}, {130, 17, 19},
                                      {72, 33, 257}, {1, 64, 64},    {16, 1, 1},      {257, 64, 1000}};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Linear shape = {sizes[i][0], sizes[i][1], sizes[i][2], .relu = i % 3 == 1, .real_output = i % 3 == 2,
                        .hold = true};
        Case c = forward_case(&shape, 60 + i, i % 2);
        case_agrees(&c);
        case_teams(&c);
        case_free(&c);
    }
}

/* 200 outputs are more than each member takes at once. */
START_TEST(the_team_changes_no_bit)
{
    static const size_t positions[] = {1, 2, 8, 9, 40, 130};
    Linear shape = {positions[_i], 77, 200, .relu = _i % 2};
    case_ask(case_teams, forward_case(&shape, 3, true));
}

/* But for a GPU's: cuBLAS chooses by all sizes how it sums. */
START_TEST(a_position_gets_the_same_bits_in_any_company)
{
    Linear shape = {8, 131, 50, .relu = true};
    Case c = forward_case(&shape, 4, true);
    for (size_t k = 0; backend(k); k++) {
        if (!strcmp(backend(k)->backend, "cuda"))
            continue;
        shape.n = 8;
        Result eight = case_run(&c, backend(k), backend(k)->type);
        for (shape.n = 1; shape.n < 8; shape.n++) {
            Result r = case_run(&c, backend(k), backend(k)->type);
            for (size_t i = 0; i < shape.n; i++)
                for (size_t o = 0; o < shape.out; o++)
                    ck_assert(result_at(&c, &r, Y, i, o) == result_at(&c, &eight, Y, i, o));
            result_free(&r);
        }
        result_free(&eight);
    }
    case_free(&c);
}

/* dbias of more positions than a sum takes in one piece, and columns that end within a block; with ReLU, whose gradient
 * may be taken on the way. */
START_TEST(many_positions_agree_with_f64)
{
    static const size_t sizes[][2] = {{65, 33}, {200, 64}, {4097, 5}, {129, 1}};
    Linear shape = {.n = sizes[_i / 2][0], .in = 3, .out = sizes[_i / 2][1], .relu = _i % 2};
    Case c = linear_sized(&shape, 1 + 4 * (uint32_t)_i, true); /* never the first version */
    case_ask(case_agrees, c);
}

START_TEST(gradients_are_slopes)
{
    SKIP_IF_FAST(_i);
    Linear shape;
    case_ask(case_differentiates, linear_case(&shape, (uint32_t)_i));
}

START_TEST(gradients_are_added_where_asked)
{
    Linear shape;
    case_ask(case_adds, linear_case(&shape, 11 + (uint32_t)_i));
}

START_TEST(gradients_need_not_be_wanted)
{
    Linear shape = {.n = 6, .in = 5, .out = 9, .relu = _i};
    case_ask(case_spares, linear_sized(&shape, (uint32_t)_i, true));
}

START_TEST(y_is_the_sum_of_products_and_the_bias)
{
    Linear shape = {.n = 4, .in = 37, .out = 5, .relu = _i % 2, .real_output = _i / 2};
    Case c = linear_sized(&shape, 3, true);
    c.tensor[DY].use = ABSENT;
    c.tensor[DX].use = c.tensor[DW].use = c.tensor[DBIAS].use = ABSENT;
    Result r = case_run(&c, &plain_f64, NUMBER_F64);
    for (size_t i = 0; i < shape.n; i++)
        for (size_t o = 0; o < shape.out; o++) {
            double sum = *element(&c.tensor[BIAS], 0, o);
            for (size_t j = 0; j < shape.in; j++)
                sum += *element(&c.tensor[X], i, j) * *element(&c.tensor[W], o, j);
            ck_assert_double_eq_tol(result_at(&c, &r, Y, i, o), shape.relu && sum < 0 ? 0 : sum, 1e-14);
        }
    result_free(&r);
    case_free(&c);
}

START_TEST(logits_are_not_rounded_to_bf16)
{
    Linear shape = {.n = 3, .in = 20, .out = 11, .real_output = true};
    Case c = linear_sized(&shape, 3, true);
    c.tensor[DY].use = ABSENT;
    c.tensor[DX].use = c.tensor[DW].use = c.tensor[DBIAS].use = ABSENT;
    case_agrees(&c); /* REALS: to the precision of a float */
    case_free(&c);
}

START_TEST(relu_may_end_in_logits)
{
    Linear shape = {.n = 3, .in = 20, .out = 11, .real_output = true, .relu = true};
    Case c = linear_sized(&shape, 4, true);
    c.tensor[DY].use = ABSENT;
    c.tensor[DX].use = c.tensor[DW].use = c.tensor[DBIAS].use = ABSENT;
    case_ask(case_agrees, c);
}

/* Also through ReLU, where `y > 0 ? y : 0` would make NaN a clean 0. */
START_TEST(what_is_not_finite_shows_in_its_row_only)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    Linear shape = {.n = 5, .in = 33, .out = 18, .relu = _i == 0};
    Case c = linear_sized(&shape, 5, true);
    *element(&c.tensor[X], 2, 32) = bad[_i];
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < shape.n; i++)
            for (size_t o = 0; o < shape.out; o++)
                ck_assert_int_eq(!isfinite(result_at(&c, &r, Y, i, o)), i == 2);
    }
    case_free(&c);
}

START_TEST(a_weight_that_is_not_a_number_shows_in_its_column_only)
{
    Linear shape = {.n = 5, .in = 33, .out = 18, .relu = true};
    Case c = linear_sized(&shape, 6, false);
    *element(&c.tensor[W], 7, 3) = NAN;
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < shape.n; i++)
            for (size_t o = 0; o < shape.out; o++)
                ck_assert_int_eq(isnan(result_at(&c, &r, Y, i, o)), o == 7);
    }
    case_free(&c);
}

/* With one term there is nothing to round but the product. */
START_TEST(zeros_denormals_and_large_values_pass)
{
    thread_flush(false);
    static const double x[] = {0.0, -0.0, FLT_MIN / 8, -FLT_MIN / 8, 1e30, -1e30};
    Linear shape = {.n = 6, .in = 1, .out = 1};
    Case c = linear_sized(&shape, 6, false);
    *element(&c.tensor[W], 0, 0) = 1;
    for (size_t i = 0; i < shape.n; i++)
        *element(&c.tensor[X], i, 0) = x[i];
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < shape.n; i++) {
            double y = result_at(&c, &r, Y, i, 0), unit = r.k->type == NUMBER_BF16 ? 0x1p-8 : 0x1p-23;
            ck_assert_msg(flushed(r.k, x[i], y) || fabs(y - x[i]) <= fabs(x[i]) * unit, "%g became %g", x[i], y);
        }
    }
    case_free(&c);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(every_backend_agrees_with_f64, 60),
                                 TEST_LOOP(few_positions_agree_with_f64_at_odd_sizes, 8),
                                 TEST(weights_that_do_not_change_agree_with_f64),
                                 TEST_LOOP(the_team_changes_no_bit, 6),
                                 TEST(a_position_gets_the_same_bits_in_any_company),
                                 TEST_LOOP(many_positions_agree_with_f64, 8),
                                 TEST_LOOP(gradients_are_slopes, 24),
                                 TEST_LOOP(gradients_are_added_where_asked, 6),
                                 TEST_LOOP(gradients_need_not_be_wanted, 2),
                                 TEST_LOOP(y_is_the_sum_of_products_and_the_bias, 4),
                                 TEST(logits_are_not_rounded_to_bf16),
                                 TEST(relu_may_end_in_logits),
                                 TEST_LOOP(what_is_not_finite_shows_in_its_row_only, 3),
                                 TEST(a_weight_that_is_not_a_number_shows_in_its_column_only),
                                 TEST(zeros_denormals_and_large_values_pass)};
    return suite_run("kernels/linear", tests, sizeof tests / sizeof *tests, argc, argv);
}
