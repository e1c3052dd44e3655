/* Lesson 9: what is graded. */
#include "course/09-block/exercise.h"
#include "course/frame/grade.h"

#include <math.h>
#include <string.h>

enum { N = 4, D = 6 };

/* ---- 1. add_forward */

static void sums(Grade *g, bool with_x, Dropout drop, const StepState *state)
{
    float *x = grade_input(g, "x", N * D, 1), *f = grade_input(g, "f", N * D, 2), *y = grade_output(g, "y", N * D);
    double expected[N * D], undropped[N * D], all_dropped[N * D];
    for (size_t e = 0; e < N * D; e++) {
        double factor = dropout_factor(drop, state, e / D, 0, e % D), old = with_x ? (double)x[e] : 0;
        expected[e] = old + factor * (double)f[e];
        undropped[e] = old + (double)f[e];
        all_dropped[e] = factor * (old + (double)f[e]);
    }
    mine_add_forward(NULL, y, with_x ? x : NULL, f, drop, state, N, D);
    const Suspect suspects[] = {{undropped, "each number of f is multiplied by its dropout_factor"},
                                {all_dropped, "dropout is for f alone: x goes on as it is"},
                                {NULL, NULL}};
    expect_numbers(g, "y", y, expected, N * D, D, 1e-5, drop.rate > 0 ? suspects : NULL,
                   with_x ? "x + f, number by number" : "x is NULL: y is f alone");
}

static const StepState dropping = {.seed = 7, .step = 3, .first_position = {11, 5}};

static void sums_plain(Grade *g) { sums(g, true, (Dropout){0}, NULL); }
static void sums_without_x(Grade *g) { sums(g, false, (Dropout){0}, NULL); }

static void sums_and_drops(Grade *g)
{
    sums(g, true, (Dropout){.rate = 0.4, .site = 2, .side = 1}, &dropping);
    sums(g, false, (Dropout){.rate = 0.4, .site = 2, .side = 1}, &dropping);
}

/* ---- 2. add_backward */

/* What add_backward leaves where `there` was, by whether it was to be added; a gradient may be unwanted. */
static void sums_back_into(Grade *g, bool want_x, bool add_x, bool want_f, bool add_f)
{
    const Dropout drop = {.rate = 0.4, .site = 2, .side = 1};
    float *dy = grade_input(g, "dy", N * D, 14), *dx = grade_output(g, "dx", N * D), *df = grade_output(g, "df", N * D);
    double of_x[N * D], of_f[N * D], undropped[N * D], unscaled[N * D];
    for (size_t e = 0; e < N * D; e++) {
        double factor = dropout_factor(drop, &dropping, e / D, 0, e % D), there = add_f ? -2 : 0;
        dx[e] = 3, df[e] = -2;
        of_x[e] = (double)dy[e] + (add_x ? 3 : 0);
        of_f[e] = (double)dy[e] * factor + there;
        undropped[e] = (double)dy[e] + there;
        unscaled[e] = (double)dy[e] * (factor > 0) + there;
    }
    mine_add_backward(NULL, want_x ? dx : NULL, add_x, want_f ? df : NULL, add_f, dy, drop, &dropping, N, D);
    const Suspect suspects[] = {{undropped, "what was dropped had no part in y: each number of dy is multiplied by the "
                                            "dropout_factor that f was multiplied by"},
                                {unscaled, "dropout_factor is more than a yes or no: multiply by it"},
                                {NULL, NULL}};
    if (want_x)
        expect_numbers(g, "dx", dx, of_x, N * D, D, 1e-5, NULL,
                       add_x ? "with add_x, dy is added to what is there" : "without add_x, dx is dy");
    if (want_f)
        expect_numbers(g, "df", df, of_f, N * D, D, 1e-5, suspects,
                       add_f ? "with add_f, the gradient is added to what is there"
                             : "without add_f, df is written over");
}

static void sums_back(Grade *g) { sums_back_into(g, true, false, true, false); }

static void sums_back_added(Grade *g)
{
    sums_back_into(g, true, true, true, false);
    sums_back_into(g, true, false, true, true);
    sums_back_into(g, false, false, true, true);
    sums_back_into(g, true, true, false, false);
}

/* ---- 3. norm_forward */

typedef struct Normed {
    double *y, *mean, *rstd;
} Normed;

typedef enum Mistake { NONE, UNBIASED, OUTSIDE, NO_ROOT } Mistake;

/* What comes out for x [n,d], in doubles */
static Normed normalise(const double *x, const float *gain, const float *bias, double epsilon, size_t n, size_t d,
                        Mistake mistake)
{
    Normed r = {grade_doubles(n * d), grade_doubles(n), grade_doubles(n)};
    for (size_t i = 0; i < n; i++) {
        double squared = 0;
        for (size_t j = 0; j < d; j++)
            r.mean[i] += x[i * d + j] / (double)d;
        for (size_t j = 0; j < d; j++)
            squared += (x[i * d + j] - r.mean[i]) * (x[i * d + j] - r.mean[i]);
        double variance = squared / (mistake == UNBIASED ? (double)d - 1 : (double)d);
        r.rstd[i] = mistake == OUTSIDE   ? 1 / (sqrt(variance) + epsilon)
                    : mistake == NO_ROOT ? 1 / (variance + epsilon)
                                         : 1 / sqrt(variance + epsilon);
        for (size_t j = 0; j < d; j++)
            r.y[i * d + j] = (x[i * d + j] - r.mean[i]) * r.rstd[i] * (double)gain[j] + (double)bias[j];
    }
    return r;
}

static double *in_doubles(const float *x, size_t n)
{
    double *y = grade_doubles(n);
    for (size_t i = 0; i < n; i++)
        y[i] = (double)x[i];
    return y;
}

/* The mean of each column, or 0 where there are fewer columns than vectors: what batch norm would subtract */
static double *means_of_columns(const double *x, size_t n, size_t d)
{
    double *mean = grade_doubles(n);
    for (size_t e = 0; e < n * d; e++)
        if (e % d < n)
            mean[e % d] += x[e] / (double)n;
    return mean;
}

/* x is uniform numbers times `size`, plus `far` */
static void norms(Grade *g, size_t n, size_t d, float size, float far, double epsilon, double tolerance,
                  const char *hint)
{
    float *x = grade_input(g, "x", n * d, 3), *gain = grade_input(g, "gain", d, 4);
    float *bias = grade_input(g, "bias", d, 5), *y = grade_output(g, "y", n * d);
    float *mean = grade_output(g, "mean", n), *rstd = grade_output(g, "rstd", n);
    for (size_t i = 0; i < n * d; i++)
        x[i] = x[i] * size + far;
    grade_seal(g);
    double *in = in_doubles(x, n * d);
    Normed right = normalise(in, gain, bias, epsilon, n, d, NONE),
           root = normalise(in, gain, bias, epsilon, n, d, NO_ROOT);
    Normed unbiased = normalise(in, gain, bias, epsilon, n, d, UNBIASED);
    Normed outside = normalise(in, gain, bias, epsilon, n, d, OUTSIDE);
    double *swapped = grade_doubles(n * d), *bare = grade_doubles(n * d);
    for (size_t e = 0; e < n * d; e++) {
        bare[e] = (in[e] - right.mean[e / d]) * right.rstd[e / d];
        swapped[e] = (bare[e] + (double)bias[e % d]) * (double)gain[e % d];
    }
    mine_norm_forward(NULL, y, mean, rstd, x, gain, bias, epsilon, n, d);
    const Suspect of_mean[] = {{means_of_columns(in, n, d),
                                "this is the mean of a column, batch norm's: a vector has its own, over its d numbers"},
                               {NULL, NULL}};
    const Suspect of_rstd[] = {{unbiased.rstd, "the sum of squares is divided by d, not by d - 1"},
                               {outside.rstd, "epsilon is added to the variance, inside the root"},
                               {root.rstd, "rstd is 1 / the root of the variance and epsilon"},
                               {NULL, NULL}};
    const Suspect of_y[] = {{bare, "each column is multiplied by its gain, and its bias added"},
                            {swapped, "first gain, then bias: the bias is not multiplied"},
                            {NULL, NULL}};
    expect_numbers(g, "mean", mean, right.mean, n, 0, fmin(tolerance, 1e-5), of_mean,
                   "the mean of the d numbers of each vector");
    expect_numbers(g, "rstd", rstd, right.rstd, n, 0, tolerance, d > 1 ? of_rstd : NULL, hint);
    expect_numbers(g, "y", y, right.y, n * d, d, tolerance, of_y, "(x - mean) * rstd * gain + bias");
}

static const char for_rstd[] = "1 / sqrt(variance + epsilon), the variance of each vector's d numbers";

static void norms_some(Grade *g) { norms(g, 5, 7, 1, 0, 1e-5, 1e-5, for_rstd); }
static void norms_small(Grade *g) { norms(g, 3, 6, 0.01f, 0, 1e-2, 1e-5, for_rstd); }

static void norms_far(Grade *g)
{
    norms(g, 3, 64, 1, 1000, 1e-5, 1e-2,
          "two large numbers cancel: not the mean of the squares less the square of the mean, but the mean of the "
          "squared differences from the mean, in a second pass");
}

static void norms_flat(Grade *g)
{
    norms(g, 2, 4, 0, 0.5f, 0.25, 1e-5, "equal numbers have variance 0: rstd is 1 / sqrt(epsilon)");
    norms(g, 3, 1, 1, 0, 0.25, 1e-5, "one number has variance 0: rstd is 1 / sqrt(epsilon)");
    float *x = grade_input(g, "x", 2, 3), *y = grade_output(g, "y", 2), *s = grade_output(g, "mean and rstd", 2);
    memset(s, 0, 2 * sizeof *s), memset(y, 0, 2 * sizeof *y);
    static const double zeros[2];
    mine_norm_forward(NULL, y, s, s + 1, x, x, x, 1e-5, 0, 2);
    expect_numbers(g, "y", y, zeros, 2, 0, 0, NULL, "there are no vectors: nothing is written");
}

/* ---- 4. norm_backward */

/* The slopes of sum(dy y) by each number of x, found by moving it a little */
static double *slopes(const float *x, const float *gain, const float *dy, double epsilon)
{
    double *dx = grade_doubles(N * D), *moved = in_doubles(x, N * D);
    static const float no_bias[D];
    for (size_t e = 0; e < N * D; e++) {
        const double step = 1e-5, was = moved[e];
        for (int side = -1; side <= 1; side += 2) {
            moved[e] = was + side * step;
            double *y = normalise(moved, gain, no_bias, epsilon, N, D, NONE).y;
            for (size_t i = 0; i < N * D; i++)
                dx[e] += side * y[i] * (double)dy[i] / (2 * step);
        }
        moved[e] = was;
    }
    return dx;
}

typedef struct Back {
    float *x, *gain, *dy, *mean, *rstd, *dx, *dgain, *dbias;
    double *slope, *half, *constant, *bare; /* dx as it should be, and as mistakes make it */
    double dgain_more[D], dbias_more[D];
} Back;

static Back back(Grade *g)
{
    Back b = {.x = grade_input(g, "x", N * D, 6), .gain = grade_input(g, "gain", D, 7)};
    b.dy = grade_input(g, "dy", N * D, 8), b.mean = grade_input(g, "mean", N, 9);
    b.rstd = grade_input(g, "rstd", N, 10), b.dx = grade_output(g, "dx", N * D);
    b.dgain = grade_output(g, "dgain", D), b.dbias = grade_output(g, "dbias", D);
    Normed r = normalise(in_doubles(b.x, N * D), b.gain, b.gain, 1e-3, N, D, NONE);
    for (size_t i = 0; i < N; i++)
        b.mean[i] = (float)r.mean[i], b.rstd[i] = (float)r.rstd[i];
    grade_seal(g);
    b.slope = slopes(b.x, b.gain, b.dy, 1e-3);
    b.constant = grade_doubles(N * D), b.half = grade_doubles(N * D), b.bare = grade_doubles(N * D);
    for (size_t i = 0; i < N; i++) {
        double mean_g = 0, mean_dy = 0, mean_dyx = 0;
        for (size_t j = 0; j < D; j++) {
            double dy = (double)b.dy[i * D + j], xhat = ((double)b.x[i * D + j] - r.mean[i]) * r.rstd[i];
            mean_g += dy * (double)b.gain[j] / D;
            mean_dy += dy / D, mean_dyx += dy * xhat / D;
            b.dgain_more[j] += dy * xhat, b.dbias_more[j] += dy;
        }
        for (size_t j = 0; j < D; j++) {
            size_t e = i * D + j;
            double dy = (double)b.dy[e], own = dy * (double)b.gain[j];
            b.constant[e] = r.rstd[i] * own;
            b.half[e] = r.rstd[i] * (own - mean_g);
            b.bare[e] = r.rstd[i] * (dy - mean_dy - ((double)b.x[e] - r.mean[i]) * r.rstd[i] * mean_dyx);
        }
    }
    for (size_t j = 0; j < D; j++)
        b.dgain[j] = 2, b.dbias[j] = -3;
    return b;
}

static void way_back(Grade *g, bool add)
{
    Back b = back(g);
    double *expected = grade_doubles(N * D), *other = grade_doubles(N * D);
    double *constant = grade_doubles(N * D), *half = grade_doubles(N * D), *bare = grade_doubles(N * D);
    for (size_t e = 0; e < N * D; e++) {
        double there = add ? 5 : 0;
        b.dx[e] = 5;
        expected[e] = b.slope[e] + there, other[e] = b.slope[e] + 5 - there;
        constant[e] = b.constant[e] + there, half[e] = b.half[e] + there, bare[e] = b.bare[e] + there;
    }
    mine_norm_backward(NULL, b.dx, add, b.dgain, b.dbias, b.dy, b.mean, b.rstd, b.x, b.gain, N, D);
    const Suspect suspects[] = {
        {constant, "mean and rstd are no constants: each x moves the mean and the variance of its vector"},
        {half, "the variance moves, too: less xhat * mean(g xhat)"},
        {bare, "the gradient passes the gain first: g = gain dy"},
        {other, add ? "with `add`, the gradient is added to what is there" : "without `add`, dx is written over"},
        {NULL, NULL}};
    expect_numbers(g, "dx", b.dx, expected, N * D, D, 1e-5, suspects,
                   "should be the slope found by moving each number: rstd (g - mean(g) - xhat mean(g xhat))");
}

static void way_back_over(Grade *g) { way_back(g, false); }
static void way_back_added(Grade *g) { way_back(g, true); }

/* dgain and dbias, with dx and without */
static void of_parameters(Grade *g)
{
    for (int with = 1; with >= 0; with--) {
        Back b = back(g);
        double gain[D], bias[D];
        for (size_t j = 0; j < D; j++)
            gain[j] = 2 + b.dgain_more[j], bias[j] = -3 + b.dbias_more[j];
        mine_norm_backward(NULL, with ? b.dx : NULL, false, b.dgain, b.dbias, b.dy, b.mean, b.rstd, b.x, b.gain, N, D);
        const Suspect of_gain[] = {{b.dgain_more, "parameter gradients are added to what is there, always"},
                                   {NULL, NULL}};
        const Suspect of_bias[] = {{b.dbias_more, "parameter gradients are added to what is there, always"},
                                   {NULL, NULL}};
        expect_numbers(g, "dbias", b.dbias, bias, D, 0, 1e-5, of_bias, "dbias gains dy, summed over the vectors");
        expect_numbers(g, "dgain", b.dgain, gain, D, 0, 1e-5, of_gain,
                       "dgain gains dy xhat, xhat = (x - mean) rstd, summed over the vectors");
    }
}

/* ---- 5. add_norm_forward and add_norm_backward */

static const Dropout half = {.rate = 0.5, .site = 3, .side = 1};

/* x + dropped f, in doubles */
static double *sum_of(const float *x, const float *f)
{
    double *sum = grade_doubles(N * D);
    for (size_t e = 0; e < N * D; e++)
        sum[e] = (double)x[e] + (double)f[e] * dropout_factor(half, &dropping, e / D, 0, e % D);
    return sum;
}

static void sums_and_norms(Grade *g)
{
    float *x = grade_input(g, "x", N * D, 15), *f = grade_input(g, "f", N * D, 16),
          *gain = grade_input(g, "gain", D, 17);
    float *bias = grade_input(g, "bias", D, 18), *y = grade_output(g, "y", N * D), *sum = grade_output(g, "sum", N * D);
    float *mean = grade_output(g, "mean", N), *rstd = grade_output(g, "rstd", N);
    double *all = sum_of(x, f);
    Normed r = normalise(all, gain, bias, 1e-3, N, D, NONE);
    mine_add_norm_forward(NULL, y, sum, mean, rstd, x, f, half, &dropping, gain, bias, 1e-3, N, D);
    expect_numbers(g, "sum", sum, all, N * D, D, 1e-5, NULL, "sum = x + f, with dropout on f: what add_forward does");
    expect_numbers(g, "mean", mean, r.mean, N, 0, 1e-5, NULL, "the norm is that of sum");
    expect_numbers(g, "rstd", rstd, r.rstd, N, 0, 1e-5, NULL, "the norm is that of sum");
    expect_numbers(g, "y", y, r.y, N * D, D, 1e-5, NULL, "y is the norm of sum");
}

static void norms_and_sums_back(Grade *g)
{
    for (int turn = 0; turn < 4; turn++) {
        bool add_x = turn == 1, add_f = turn == 2, want_x = turn != 3;
        Back b = back(g);
        float *df = grade_output(g, "df", N * D);
        double *of_x = grade_doubles(N * D), *of_f = grade_doubles(N * D), gain[D], bias[D];
        for (size_t e = 0; e < N * D; e++) {
            b.dx[e] = 5, df[e] = 7;
            of_x[e] = b.slope[e] + (add_x ? 5 : 0);
            of_f[e] = b.slope[e] * dropout_factor(half, &dropping, e / D, 0, e % D) + (add_f ? 7 : 0);
        }
        for (size_t j = 0; j < D; j++)
            gain[j] = 2 + b.dgain_more[j], bias[j] = -3 + b.dbias_more[j];
        mine_add_norm_backward(NULL, want_x ? b.dx : NULL, add_x, df, add_f, b.dgain, b.dbias, b.dy, b.x, b.mean,
                               b.rstd, half, &dropping, b.gain, N, D);
        if (want_x)
            expect_numbers(g, "dx", b.dx, of_x, N * D, D, 1e-5, NULL,
                           "what norm_backward makes of dy is the gradient of sum; dx is that");
        expect_numbers(g, "df", df, of_f, N * D, D, 1e-5, NULL, "the gradient of sum, times the dropout_factor");
        expect_numbers(g, "dgain", b.dgain, gain, D, 0, 1e-5, NULL,
                       "dgain and dbias gain what they gain in norm_backward");
        expect_numbers(g, "dbias", b.dbias, bias, D, 0, 1e-5, NULL,
                       "dgain and dbias gain what they gain in norm_backward");
    }
}

/* ---- 6. convolve */

static void convolves(Grade *g, size_t n, size_t width, size_t in, size_t out)
{
    float *x = grade_input(g, "x", n * in, 11), *w = grade_input(g, "w", width * out * in, 12);
    float *bias = grade_input(g, "bias", out, 13), *y = grade_output(g, "y", n * out);
    double *expected = grade_doubles(n * out), *turned = grade_doubles(n * out), *late = grade_doubles(n * out);
    for (size_t e = 0; e < n * out; e++) {
        size_t i = e / out, o = e % out;
        expected[e] = turned[e] = late[e] = (double)bias[o];
        for (size_t t = 0; t < width; t++)
            for (size_t l = 0; l < in; l++) {
                double weight = (double)w[(t * out + o) * in + l];
                size_t ahead = i + t, back = i + width - 1 - t; /* each width/2 too large */
                if (ahead >= width / 2 && ahead - width / 2 < n)
                    expected[e] += weight * (double)x[(ahead - width / 2) * in + l];
                if (back >= width / 2 && back - width / 2 < n)
                    turned[e] += weight * (double)x[(back - width / 2) * in + l];
                if (ahead < n)
                    late[e] += weight * (double)x[ahead * in + l];
            }
    }
    convolve(y, x, w, bias, n, width, in, out);
    const Suspect suspects[] = {{turned, "w[0] belongs to the neighbour before, not to the one after"},
                                {late, "the middle of the width is at i: x[i + t - width/2]"},
                                {NULL, NULL}};
    expect_numbers(g, "y", y, expected, n * out, out, 1e-5, width > 1 ? suspects : NULL,
                   width > 1 ? "bias + the sum over t of w[t] x[i + t - width/2], zeros beyond the ends"
                             : "of width 1 it is the linear map w[0] x[i] + bias of each vector");
}

static void of_width_1(Grade *g) { convolves(g, 5, 1, 4, 3); }

static void of_width_5(Grade *g)
{
    convolves(g, 7, 3, 2, 3);
    convolves(g, 7, 5, 3, 2);
    convolves(g, 1, 5, 3, 2);
}

/* ---- */

static void mine(Kernels *k)
{
    k->add_forward = mine_add_forward;
    k->norm_forward = mine_norm_forward;
    k->norm_backward = mine_norm_backward;
    k->add_backward = mine_add_backward;
    k->add_norm_forward = mine_add_norm_forward;
    k->add_norm_backward = mine_add_norm_backward;
}

enum { MANY = 2048, WIDE = 128 };

static void time_add(Grade *g, const Kernels *k, Stream *s)
{
    float *x = grade_input(g, "x", MANY * WIDE, 1), *f = grade_input(g, "f", MANY * WIDE, 2);
    float *y = grade_output(g, "y", MANY * WIDE);
    while (grade_again(g))
        k->add_forward(s, y, x, f, (Dropout){0}, NULL, MANY, WIDE);
}

static void time_norm(Grade *g, const Kernels *k, Stream *s)
{
    float *x = grade_input(g, "x", MANY * WIDE, 1), *gain = grade_input(g, "gain", WIDE, 2);
    float *y = grade_output(g, "y", MANY * WIDE), *mean = grade_output(g, "mean", MANY);
    float *rstd = grade_output(g, "rstd", MANY);
    while (grade_again(g))
        k->norm_forward(s, y, mean, rstd, x, gain, gain, 1e-5, MANY, WIDE);
}

static void time_norm_back(Grade *g, const Kernels *k, Stream *s)
{
    float *x = grade_input(g, "x", MANY * WIDE, 1), *dy = grade_input(g, "dy", MANY * WIDE, 2);
    float *gain = grade_input(g, "gain", WIDE, 3), *mean = grade_input(g, "mean", MANY, 4);
    float *dx = grade_output(g, "dx", MANY * WIDE), *dgain = grade_output(g, "dgain", WIDE);
    float *dbias = grade_output(g, "dbias", WIDE);
    memset(dgain, 0, WIDE * sizeof *dgain), memset(dbias, 0, WIDE * sizeof *dbias);
    while (grade_again(g))
        k->norm_backward(s, dx, false, dgain, dbias, dy, mean, mean, x, gain, MANY, WIDE);
}

static void time_add_back(Grade *g, const Kernels *k, Stream *s)
{
    float *dy = grade_input(g, "dy", MANY * WIDE, 1), *dx = grade_output(g, "dx", MANY * WIDE);
    float *df = grade_output(g, "df", MANY * WIDE);
    while (grade_again(g))
        k->add_backward(s, dx, false, df, false, dy, (Dropout){0}, NULL, MANY, WIDE);
}

static void time_add_norm(Grade *g, const Kernels *k, Stream *s)
{
    float *x = grade_input(g, "x", MANY * WIDE, 1), *gain = grade_input(g, "gain", WIDE, 2);
    float *y = grade_output(g, "y", MANY * WIDE), *sum = grade_output(g, "sum", MANY * WIDE);
    float *mean = grade_output(g, "mean", MANY), *rstd = grade_output(g, "rstd", MANY);
    while (grade_again(g))
        k->add_norm_forward(s, y, sum, mean, rstd, x, x, (Dropout){0}, NULL, gain, gain, 1e-5, MANY, WIDE);
}

static void time_add_norm_back(Grade *g, const Kernels *k, Stream *s)
{
    float *x = grade_input(g, "x", MANY * WIDE, 1), *dy = grade_input(g, "dy", MANY * WIDE, 2);
    float *gain = grade_input(g, "gain", WIDE, 3), *mean = grade_input(g, "mean", MANY, 4);
    float *dx = grade_output(g, "dx", MANY * WIDE), *df = grade_output(g, "df", MANY * WIDE);
    float *dgain = grade_output(g, "dgain", WIDE), *dbias = grade_output(g, "dbias", WIDE);
    memset(dgain, 0, WIDE * sizeof *dgain), memset(dbias, 0, WIDE * sizeof *dbias);
    while (grade_again(g))
        k->add_norm_backward(s, dx, false, df, false, dgain, dbias, dy, x, mean, mean, (Dropout){0}, NULL, gain, MANY,
                             WIDE);
}

int main(int argc, char **argv)
{
    static const Check checks[] = {
        {"add_forward", "x and what a part adds", 1, sums_plain, 0},
        {"add_forward", "without x", 1, sums_without_x, 0},
        {"add_forward", "dropout", 1, sums_and_drops, 0},
        {"add_backward", "the gradients of both", 1, sums_back, 0},
        {"add_backward", "added to what is there, or not wanted", 1, sums_back_added, 0},
        {"norm_forward", "mean, rstd, and what comes out", 1, norms_some, 0},
        {"norm_forward", "small numbers, and an epsilon that counts", 1, norms_small, 0},
        {"norm_forward", "vectors far from 0", 1, norms_far, 0},
        {"norm_forward", "equal numbers, one number, no vector", 1, norms_flat, 0},
        {"norm_backward", "gradients of gain and bias", 2, of_parameters, 0},
        {"norm_backward", "the gradient of x", 2, way_back_over, 0},
        {"norm_backward", "the gradient of x, added", 1, way_back_added, 0},
        {"add_norm_forward", "a sum and its norm", 1, sums_and_norms, 0},
        {"add_norm_backward", "through the norm, then to both", 1, norms_and_sums_back, 0},
        {"convolve", "of width 1", 1, of_width_1, 0},
        {"convolve", "of width 3 and 5", 2, of_width_5, 0},
    };
    static const Timed timed[] = {{"add_forward", time_add},           {"add_backward", time_add_back},
                                  {"norm_forward", time_norm},         {"norm_backward", time_norm_back},
                                  {"add_norm_forward", time_add_norm}, {"add_norm_backward", time_add_norm_back}};
    const Lesson lesson = {"Lesson 09: the block",      checks, sizeof checks / sizeof *checks, mine, timed,
                           sizeof timed / sizeof *timed};
    return grade_main(&lesson, argc, argv);
}
