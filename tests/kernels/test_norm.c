/* Layer and RMS normalisation. */
#include "tests/kernels/backends.h"

#include <math.h>
#include <stdio.h>

enum { Y, MEAN, RSTD, X, GAIN, BIAS, DX, DGAIN, DBIAS, DY };

typedef struct Norm {
    size_t n, d;
    bool rms;
} Norm;

static void norm(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    (void)state;
    const Norm *shape = c->shape;
    k->norm_forward(s, at[Y], at[MEAN], at[RSTD], at[X], at[GAIN], at[BIAS], 1e-5, shape->n, shape->d);
    k->norm_backward(s, at[DX], c->add, at[DGAIN], at[DBIAS], at[DY], at[MEAN], at[RSTD], at[X], at[GAIN], shape->n,
                     shape->d);
}

/* Neighbours in a vector differ by about 2, so that no vector is nearly constant and blown up by its rstd. */
static Case norm_case(Norm *shape, uint32_t seed)
{
    static const size_t sizes[][2] = {{0, 5}, {1, 1}, {1, 2}, {3, 1}, {7, 3}, {2, 257}, {33, 64}, {4, 1000}};
    Case c = case_new(norm, shape, seed);
    if (seed < 8)
        shape->n = sizes[seed][0], shape->d = sizes[seed][1];
    else if (!shape->n)
        shape->n = below(&c.random, 9), shape->d = 1 + below(&c.random, 70);
    size_t n = shape->n, d = shape->d;
    snprintf(c.words, sizeof c.words, "n %d d %d%s", (int)n, (int)d, shape->rms ? " rms" : "");
    Tensor *y = tensor(&c, Y, "y", NUMBERS, WRITTEN, n, d);
    Tensor *mean = tensor(&c, MEAN, "mean", REALS, shape->rms ? ABSENT : WRITTEN, n, 1);
    Tensor *rstd = tensor(&c, RSTD, "rstd", REALS, WRITTEN, n, 1);
    Tensor *x = tensor(&c, X, "x", NUMBERS, READ, n, d);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            *element(x, i, j) += j % 2 ? 1 : -1;
    tensor(&c, GAIN, "gain", REALS, READ, 1, d);
    tensor(&c, BIAS, "bias", REALS, shape->rms ? ABSENT : READ, 1, d);
    Tensor *dx = gradient(&c, DX, "dx", NUMBERS, GRADIENT, X);
    Tensor *dgain = gradient(&c, DGAIN, "dgain", REALS, ADDED, GAIN);
    Tensor *dbias = gradient(&c, DBIAS, "dbias", REALS, shape->rms ? ABSENT : ADDED, BIAS);
    output(&c, Y, DY);
    dx->optional = true;
    y->terms = mean->terms = rstd->terms = dx->terms = d;
    dgain->terms = shape->rms ? n + d : n; /* rstd holds the rounding of a sum of d squares, all of one sign */
    dbias->terms = n;
    y->floor = mean->floor = rstd->floor = dx->floor = dgain->floor = dbias->floor = 1;
    dx->floor = d == 1 ? 316 : 1; /* a single value has variance 0 and rstd 1 / sqrt(1e-5) times what cancels */
    return c;
}

START_TEST(every_backend_agrees_with_f64)
{
    SKIP_IF_FAST(_i);
    Norm shape = {.rms = _i % 2};
    case_ask(case_agrees, norm_case(&shape, (uint32_t)_i / 2));
}

/* More than a sum down columns takes in one piece; columns that end within a block, and rows within a piece. */
START_TEST(many_vectors_agree_with_f64)
{
    static const size_t sizes[][2] = {{65, 16}, {200, 33}, {4097, 3}, {130, 80}};
    Norm shape = {sizes[_i / 2][0], sizes[_i / 2][1], _i % 2};
    Case c = norm_case(&shape, 9 + 4 * ((uint32_t)_i / 2)); /* never the first version */
    case_ask(case_agrees, c);
}

START_TEST(gradients_are_slopes)
{
    SKIP_IF_FAST(_i);
    Norm shape = {.rms = _i % 2};
    case_ask(case_differentiates, norm_case(&shape, (uint32_t)_i / 2));
}

START_TEST(gradients_are_added_where_asked)
{
    Norm shape = {.rms = _i % 2};
    case_ask(case_adds, norm_case(&shape, (uint32_t)_i));
}

START_TEST(an_input_gradient_need_not_be_wanted)
{
    Norm shape = {.rms = _i % 2};
    case_ask(case_spares, norm_case(&shape, 9));
}

START_TEST(vectors_come_out_with_mean_0_and_variance_1)
{
    Norm shape = {0};
    Case c = norm_case(&shape, 6);
    tensor_fill(&c.tensor[GAIN], 1);
    tensor_fill(&c.tensor[BIAS], 0);
    Result r = case_run(&c, &plain_f64, NUMBER_F64);
    for (size_t i = 0; i < shape.n; i++) {
        double mean = 0, squares = 0, variance = 0;
        for (size_t j = 0; j < shape.d; j++) {
            double y = result_at(&c, &r, Y, i, j);
            mean += y / (double)shape.d;
            squares += y * y / (double)shape.d;
            variance += pow(*element(&c.tensor[X], i, j) - result_at(&c, &r, MEAN, i, 0), 2) / (double)shape.d;
        }
        ck_assert_double_eq_tol(mean, 0, 1e-14);
        ck_assert_double_eq_tol(squares, variance / (variance + 1e-5), 1e-12); /* epsilon stands inside the root */
    }
    result_free(&r);
    case_free(&c);
}

START_TEST(rms_divides_by_the_root_of_the_mean_square)
{
    Norm shape = {.rms = true};
    Case c = norm_case(&shape, 4);
    Result r = case_run(&c, &plain_f64, NUMBER_F64);
    for (size_t i = 0; i < shape.n; i++) {
        double squares = 0;
        for (size_t j = 0; j < shape.d; j++)
            squares += pow(*element(&c.tensor[X], i, j), 2) / (double)shape.d;
        for (size_t j = 0; j < shape.d; j++)
            ck_assert_double_eq_tol(
                result_at(&c, &r, Y, i, j),
                *element(&c.tensor[X], i, j) / sqrt(squares + 1e-5) * *element(&c.tensor[GAIN], 0, j), 1e-14);
    }
    result_free(&r);
    case_free(&c);
}

/* A constant vector has no direction: its xhat is 0, not a division by zero. */
START_TEST(a_constant_vector_gives_the_bias)
{
    Norm shape = {0};
    Case c = norm_case(&shape, 4);
    tensor_fill(&c.tensor[X], 0.75);
    Result r = case_run(&c, &plain_f32, NUMBER_F32);
    for (size_t j = 0; j < shape.d; j++)
        ck_assert_double_eq_tol(result_at(&c, &r, Y, 2, j), *element(&c.tensor[BIAS], 0, j), 1e-6);
    result_free(&r);
    case_ask(case_agrees, c);
}

/* Far from zero the variance must not be the difference of two large sums. */
START_TEST(vectors_far_from_zero_keep_their_variance)
{
    Norm shape = {0};
    Case c = norm_case(&shape, 5);
    for (size_t j = 0; j < shape.d; j++)
        *element(&c.tensor[X], 0, j) += 4096;
    c.tensor[MEAN].floor = 4096;
    for (size_t i = 0; backend(i); i++) {
        if (backend(i)->type != NUMBER_F32)
            continue;
        Result f64 = case_run(&c, &plain_f64, NUMBER_F32), r = case_run(&c, backend(i), NUMBER_F32);
        for (size_t j = 0; j < shape.d; j++)
            ck_assert_double_eq_tol(result_at(&c, &r, Y, 0, j), result_at(&c, &f64, Y, 0, j), 4096 * 0x1p-20);
        result_free(&f64);
        result_free(&r);
    }
    case_free(&c);
}

START_TEST(what_is_not_finite_shows_in_its_own_vector_only)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    Norm shape = {0};
    Case c = norm_case(&shape, 4);
    *element(&c.tensor[X], 3, 1) = bad[_i];
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < shape.n; i++)
            for (size_t j = 0; j < shape.d; j++) {
                ck_assert_int_eq(!isfinite(result_at(&c, &r, Y, i, j)), i == 3);
                ck_assert_int_eq(!isfinite(result_at(&c, &r, DX, i, j)), i == 3);
            }
        ck_assert(isnan(result_at(&c, &r, DGAIN, 0, 0)));
    }
    case_free(&c);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(every_backend_agrees_with_f64, 60),
                                 TEST_LOOP(many_vectors_agree_with_f64, 8),
                                 TEST_LOOP(gradients_are_slopes, 24),
                                 TEST_LOOP(gradients_are_added_where_asked, 4),
                                 TEST_LOOP(an_input_gradient_need_not_be_wanted, 2),
                                 TEST(vectors_come_out_with_mean_0_and_variance_1),
                                 TEST(rms_divides_by_the_root_of_the_mean_square),
                                 TEST(a_constant_vector_gives_the_bias),
                                 TEST(vectors_far_from_zero_keep_their_variance),
                                 TEST_LOOP(what_is_not_finite_shows_in_its_own_vector_only, 3)};
    return suite_run("kernels/norm", tests, sizeof tests / sizeof *tests, argc, argv);
}
