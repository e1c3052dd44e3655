/* Functions of one number. */
#include "base/thread.h"
#include "tests/kernels/backends.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum { Y, X, DX, DY };

typedef struct Act {
    size_t n;
    Activation function;
} Act;

static const char *const names[] = {"relu", "gelu", "gelu_tanh", "tanh", "sigmoid", "silu", "relu2"};

static void act(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    (void)state;
    const Act *a = c->shape;
    k->activation_forward(s, at[Y], at[X], a->function, a->n);
    k->activation_backward(s, at[DX], c->add, at[DY], at[X], a->function, a->n);
}

static Case act_sized(Act *a, uint32_t seed, double reach)
{
    Case c = case_new(act, a, seed);
    c.add = seed / ACTIVATIONS % 2;
    snprintf(c.words, sizeof c.words, "%s n %d", names[a->function], (int)a->n);
    tensor(&c, Y, "y", NUMBERS, WRITTEN, a->n, 1)->floor = 1; /* of gelu(-5) few digits are right, in f32 */
    Tensor *x = tensor(&c, X, "x", NUMBERS, READ, a->n, 1);
    for (size_t i = 0; i < a->n; i++)
        *element(x, i, 0) *= reach;
    gradient(&c, DX, "dx", NUMBERS, GRADIENT, X)->floor = 1;
    output(&c, Y, DY);
    return c;
}

static Case act_case(Act *a, uint32_t seed)
{
    static const size_t sizes[] = {0, 1, 2, 3, 15, 16, 17, 1000};
    a->function = (Activation)(seed % ACTIVATIONS);
    a->n = sizes[seed / ACTIVATIONS % (sizeof sizes / sizeof *sizes)];
    return act_sized(a, seed, 6);
}

START_TEST(every_backend_agrees_with_f64)
{
    SKIP_IF_FAST(_i);
    Act a;
    case_ask(case_agrees, act_case(&a, (uint32_t)_i));
}

START_TEST(gradients_are_slopes)
{
    Act a = {.n = 60, .function = (Activation)_i};
    case_ask(case_differentiates, act_sized(&a, (uint32_t)_i, 5));
}

START_TEST(gradients_are_added_where_asked)
{
    Act a = {.n = 20, .function = (Activation)_i};
    case_ask(case_adds, act_sized(&a, (uint32_t)_i, 3));
}

/* ---- softcap, of reals */

static const double caps[] = {1, 30, 0.25};

static void softcap(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    (void)state;
    const Act *a = c->shape;
    double cap = caps[a->n % 3];
    k->softcap_forward(s, at[Y], at[X], cap, a->n);
    k->softcap_backward(s, at[DX], c->add, at[DY], at[Y], cap, a->n);
}

static Case softcap_case(Act *a, uint32_t seed)
{
    static const size_t sizes[] = {0, 1, 2, 3, 15, 16, 17, 1000};
    a->n = sizes[seed % 8];
    Case c = act_sized(a, seed, 40);
    c.call = softcap;
    c.add = seed / 8 % 2;
    snprintf(c.words, sizeof c.words, "softcap n %d", (int)a->n);
    c.tensor[X].kind = c.tensor[Y].kind = REALS;
    return c;
}

START_TEST(softcap_agrees_with_f64)
{
    Act a = {0};
    case_ask(case_agrees, softcap_case(&a, (uint32_t)_i));
}

START_TEST(softcap_has_the_slopes_of_its_formula)
{
    Act a = {0};
    case_ask(case_differentiates, softcap_case(&a, 7 + 8 * (uint32_t)_i));
}

START_TEST(softcap_works_in_place_and_its_results_stay_within_the_cap)
{
    static const float far[] = {0, 1e-20f, 29, 3e38f, -3e38f, INFINITY, -INFINITY, 7, -5};
    for (size_t i = 0; backend(i); i++) {
        const Kernels *k = backend(i);
        if (k->type == NUMBER_F64)
            continue;
        Stream *s;
        Error e;
        float *x = k->allocate(sizeof far), y[9];
        ck_done(k->open(&s, 1, &e), e);
        k->upload(s, x, far, sizeof far);
        k->softcap_forward(s, x, x, 30, 9);
        k->download(s, y, x, sizeof y);
        for (size_t n = 0; n < 9; n++)
            ck_assert_double_eq_tol(y[n], 30 * tanh((double)far[n] / 30), 1e-5);
        k->release(x);
        k->close(s);
    }
}

/* What a function gives at one place, forward or backward (dy = 1). */
static double value_at(const Kernels *k, Activation function, double x, bool backward)
{
    Act a = {.n = 1, .function = function};
    Case c = act_sized(&a, 0, 1);
    *element(&c.tensor[X], 0, 0) = x;
    *element(&c.tensor[DY], 0, 0) = 1;
    Result r = case_run(&c, k, NUMBER_F64);
    double y = result_at(&c, &r, backward ? DX : Y, 0, 0);
    result_free(&r);
    case_free(&c);
    return y;
}

/* From tables: Phi(1) = 0.8413447460685429, tanh 1, 1 / (1 + 1/e); gelu_tanh as PyTorch's gelu(approximate='tanh'). */
START_TEST(known_values_come_out)
{
    static const double at_one[] = {
        1, 0.8413447460685429, 0.8411919906082768, 0.7615941559557649, 0.7310585786300049, 0.7310585786300049, 1};
    static const double at_minus_one[] = {
        0, -0.1586552539314571, -0.15880800939172324, -0.7615941559557649, 0.2689414213699951, -0.2689414213699951, 0};
    static const double at_zero[] = {0, 0, 0, 0, 0.5, 0, 0};
    ck_assert_double_eq_tol(value_at(&plain_f64, (Activation)_i, 1, false), at_one[_i], 1e-15);
    ck_assert_double_eq_tol(value_at(&plain_f64, (Activation)_i, -1, false), at_minus_one[_i], 1e-15);
    ck_assert_double_eq_tol(value_at(&plain_f64, (Activation)_i, 0, false), at_zero[_i], 1e-15);
}

/* A number so large as a backend may make it */
static double in_range(const Kernels *k, double x) { return k->type == NUMBER_F64 || x <= FLT_MAX ? x : INFINITY; }

/* Where a function and its slope go for large x, and at -x. */
static double limit_of(Activation function, double x)
{
    return function == ACTIVATION_TANH || function == ACTIVATION_SIGMOID ? 1 : function == ACTIVATION_RELU2 ? x * x : x;
}
static double slope_of(Activation function, double x)
{
    return function == ACTIVATION_TANH || function == ACTIVATION_SIGMOID ? 0 : function == ACTIVATION_RELU2 ? 2 * x : 1;
}

/* Up to the largest numbers there are, where x^3 and x^2 are infinite, and to infinity itself. */
static void check_far(const Kernels *k, Activation function, double x)
{
    double left = function == ACTIVATION_TANH ? -1 : 0, y = value_at(k, function, x, false);
    double limit = in_range(k, limit_of(function, x)), slope = in_range(k, slope_of(function, x));
    ck_assert_msg(y == limit || fabs(y - limit) <= 0x1p-7 * limit, /* a square has the rounding of bf16 three times */
                  "%s(%g) is %g", names[function], x, y);
    y = value_at(k, function, -x, false);
    ck_assert_msg(y == left, "%s(%g) is %g", names[function], -x, y);
    y = value_at(k, function, x, true);
    ck_assert_msg(y == slope || fabs(y - slope) <= 0x1p-8 * slope, "the slope of %s at %g is %g", names[function], x,
                  y);
    y = value_at(k, function, -x, true);
    ck_assert_msg(y == 0, "the slope of %s at %g is %g", names[function], -x, y);
}

START_TEST(far_out_each_function_is_its_limit)
{
    static const double far[] = {100, 1e4, 1e15, 1e19, 1e20, 1e38, 3.38e38, INFINITY};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++)
        for (size_t k = 0; backend(k); k++)
            check_far(backend(k), (Activation)_i, far[i]);
    check_far(&plain_f64, (Activation)_i, 1e160);
    check_far(&plain_f64, (Activation)_i, 1.7e308);
    check_far(&plain_f64, (Activation)_i, INFINITY);
}

START_TEST(nan_stays_nan_and_infinity_is_not_swallowed)
{
    for (size_t k = 0; backend(k); k++) {
        double y = value_at(backend(k), (Activation)_i, INFINITY, false);
        ck_assert(isnan(value_at(backend(k), (Activation)_i, NAN, false)));
        ck_assert(y == limit_of((Activation)_i, INFINITY));
    }
}

START_TEST(a_gradient_that_is_nan_stays_nan)
{
    Act a = {.n = 17, .function = (Activation)_i};
    Case c = act_sized(&a, 3, 1);
    *element(&c.tensor[X], 5, 0) = 0.5;
    *element(&c.tensor[DY], 5, 0) = NAN;
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < a.n; i++)
            ck_assert_int_eq(isnan(result_at(&c, &r, DX, i, 0)), i == 5);
    }
    case_free(&c);
}

START_TEST(denormals_and_negative_zero_pass)
{
    thread_flush(false);
    static const double slope[] = {1, 0.5, 0.5, 1, 0, 0.5, 0};
    for (size_t k = 0; backend(k) && _i != ACTIVATION_SIGMOID; k++) {
        double y = value_at(backend(k), (Activation)_i, 0x1p-130, false);
        if (!flushed(backend(k), 0x1p-130, y))
            ck_assert_double_eq_tol(y * 0x1p130, slope[_i], 1e-6);
        ck_assert(value_at(backend(k), (Activation)_i, -0.0, false) == 0);
    }
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(every_backend_agrees_with_f64, 80),
                                 TEST_LOOP(gradients_are_slopes, ACTIVATIONS),
                                 TEST_LOOP(softcap_agrees_with_f64, 16),
                                 TEST_LOOP(softcap_has_the_slopes_of_its_formula, 2),
                                 TEST(softcap_works_in_place_and_its_results_stay_within_the_cap),
                                 TEST_LOOP(gradients_are_added_where_asked, ACTIVATIONS),
                                 TEST_LOOP(known_values_come_out, ACTIVATIONS),
                                 TEST_LOOP(far_out_each_function_is_its_limit, ACTIVATIONS),
                                 TEST_LOOP(nan_stays_nan_and_infinity_is_not_swallowed, ACTIVATIONS),
                                 TEST_LOOP(a_gradient_that_is_nan_stays_nan, ACTIVATIONS),
                                 TEST_LOOP(denormals_and_negative_zero_pass, ACTIVATIONS)};
    return suite_run("kernels/activation", tests, sizeof tests / sizeof *tests, argc, argv);
}
