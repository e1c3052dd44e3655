/* The wrong programs of course/sources.md, and that each has the consequence that is told there. The texts are quoted
 * from here: a mistake that somebody mends by accident fails. */
#include "kernels/plain/plain.h"
#include "tests/suite.h"

#include <math.h>

/* ---- 1. */

/* y [n,d] of x [n,d]; in [n,f,d], out [n,d,f] */
static void feed_forward(double *y, const double *x, const double *in, const double *out, size_t n, size_t d, size_t f)
{
    for (size_t i = 0; i < n; i++)
        for (size_t o = 0; o < d; o++) {
            y[i * d + o] = 0;
            for (size_t h = 0; h < f; h++) {
                double sum = 0;
                for (size_t j = 0; j < d; j++)
                    sum += in[(i * f + h) * d + j] * x[i * d + j];
                y[i * d + o] += out[(i * d + o) * f + h] * fmax(sum, 0);
            }
        }
}

/* The same word in two places becomes two things; with one set of weights it does not. */
START_TEST(feed_forward_differs_by_position)
{
    enum { N = 2, D = 2, F = 3 };
    static const double x[N * D] = {1, 2, 1, 2};
    double in[N * F * D], out[N * D * F], y[N * D];
    for (size_t i = 0; i < N * F * D; i++)
        in[i] = out[i] = (double)(i + 1);
    feed_forward(y, x, in, out, N, D, F);
    ck_assert(y[0] != y[2] && y[1] != y[3]);
    for (size_t i = 0; i < F * D; i++)
        in[F * D + i] = in[i], out[D * F + i] = out[i];
    feed_forward(y, x, in, out, N, D, F);
    ck_assert(y[0] == y[2] && y[1] == y[3]);
    ck_assert(2.0 * 512 * 2048 == 2097152 && 512 * 2.0 * 512 * 2048 == 1073741824); /* for 512 places */
}

/* ---- 2. */

/* y [n,d] of x [n,d], w [k,d] */
static size_t convolve(double *y, const double *x, const double *w, size_t n, size_t d, size_t k)
{
    size_t multiplications = 0;
    for (size_t t = 0; t < n; t++)
        for (size_t j = 0; j < d; j++) {
            y[t * d + j] = 0;
            for (size_t tap = 0; tap < k && tap <= t; tap++, multiplications++)
                y[t * d + j] += w[tap * d + j] * x[(t - tap) * d + j];
        }
    return multiplications;
}

/* No column hears of another. */
START_TEST(convolution_is_cheap)
{
    enum { N = 50, D = 8, K = 3 };
    double x[N * D], w[K * D], y[N * D], moved[N * D];
    for (size_t i = 0; i < N * D; i++)
        x[i] = sin((double)i);
    for (size_t i = 0; i < K * D; i++)
        w[i] = cos((double)i);
    ck_assert_uint_eq(convolve(y, x, w, N, D, K), (K * N - 3) * D); /* 2 taps before vector 0, 1 before vector 1 */
    for (size_t t = 0; t < N; t++)
        x[t * D + 5] += 1;
    convolve(moved, x, w, N, D, K);
    for (size_t i = 0; i < N * D; i++)
        ck_assert((moved[i] == y[i]) == (i % D != 5));
}

/* ---- 3. */

/* scores [t,s] of t target words for s source words, of which `length` are not padding */
static void mask_padding(double *scores, size_t t, size_t s, size_t length)
{
    for (size_t i = 0; i < t; i++)
        for (size_t j = 0; j < s; j++)
            if (i >= length)
                scores[i * s + j] = -1e9;
}

/* Padding is heard, and a target longer than its source hears all alike. */
START_TEST(mask_is_on_the_wrong_axis)
{
    enum { T = 3, S = 4, LENGTH = 2 };
    double scores[T * S] = {2, 1, 0, 0, 1, 2, 0, 0, 3, 0, 0, 0}, weights[T * S];
    mask_padding(scores, T, S, LENGTH);
    plain_f64.softmax_forward(NULL, weights, scores, T, S);
    ck_assert_double_eq_tol(weights[2] + weights[3], 0.165, 0.001); /* query 0 gives this to padding */
    for (size_t j = 0; j < S; j++)
        ck_assert_double_eq_tol(weights[2 * S + j], 0.25, 1e-9); /* query 2 had an opinion: 3, 0 */
}

/* ---- 4. */

/* x [d] becomes normal, in place */
static void layer_norm(double *x, size_t d)
{
    double mean = 0, squares = 0;
    for (size_t j = 0; j < d; j++)
        mean += x[j] / (double)d;
    for (size_t j = 0; j < d; j++)
        squares += (x[j] - mean) * (x[j] - mean);
    double std = sqrt(squares / (double)(d - 1));
    for (size_t j = 0; j < d; j++)
        x[j] = (x[j] - mean) / (std + 1e-6);
}

/* What the backend computes with the same epsilon */
static double right_norm(const double *x, size_t d)
{
    double y[4], mean, rstd, gain[4] = {1, 1, 1, 1}, bias[4] = {0};
    plain_f64.norm_forward(NULL, y, &mean, &rstd, x, gain, bias, 1e-6, 1, d);
    return y[0];
}

START_TEST(norm_has_another_deviation)
{
    double four[4] = {1, 0, 0, 0}, one[1] = {3}, small[2] = {1e-6, -1e-6};
    ck_assert_double_eq_tol(right_norm(four, 4), 1.732, 0.0005);
    ck_assert_double_eq_tol(right_norm(small, 2), 0.001, 1e-6);
    layer_norm(four, 4);
    ck_assert_double_eq_tol(four[0], 1.5, 1e-5);
    layer_norm(small, 2);
    ck_assert_double_eq_tol(small[0], 0.414, 0.0005); /* 1e-6 / (1.41e-6 + 1e-6) */
    layer_norm(one, 1);
    ck_assert(isnan(one[0])); /* 0/0 */
    ck_assert_double_eq_tol(sqrt(511.0 / 512), 0.999, 0.0001);
}

/* ---- 5. */

/* scores [h,n,n] of q and k [n, h*dk], h heads side by side */
static void score_heads(double *scores, const double *q, const double *k, size_t n, size_t h, size_t dk)
{
    const size_t d = h * dk;
    for (size_t e = 0; e < h * n * n; e++) {
        size_t head = e / (n * n), i = e / n % n, j = e % n;
        scores[e] = 0;
        for (size_t c = 0; c < dk; c++)
            scores[e] += q[i * d + head * dk + c] * k[j * d + head * dk + c] / sqrt((double)d);
    }
}

/* Scores are smaller by the root of how many heads there are. */
START_TEST(heads_share_one_root)
{
    enum { N = 2, H = 8, DK = 2 };
    double q[N * H * DK], k[N * H * DK], scores[H * N * N];
    for (size_t i = 0; i < N * H * DK; i++)
        q[i] = k[i] = 1;
    score_heads(scores, q, k, N, H, DK);
    for (size_t e = 0; e < H * N * N; e++)
        ck_assert_double_eq_tol(scores[e] * sqrt(H), DK / sqrt(DK), 1e-12);
    ck_assert_double_eq_tol(1 / sqrt(H), 0.354, 0.0005);
}

/* ---- 6. */

/* The same tokens, one after another; `position` says where each is in its sentence. */
static void number_positions(int *position, const int *start, size_t rows)
{
    for (int i = 0; i < start[rows]; i++)
        position[i] = i;
}

/* A sentence means something else after another one. */
START_TEST(positions_go_on)
{
    static const int start[3] = {0, 3, 5};
    int position[5];
    number_positions(position, start, 2);
    ck_assert_int_eq(position[2], 2);
    ck_assert_int_eq(position[3], 3); /* the first word of the second sentence */
}

/* ---- 7. */

/* The mean loss of a batch: losses [b,t], of which row r counts lengths[r] */
static double batch_loss(const double *losses, const size_t *lengths, size_t b, size_t t)
{
    double sum = 0;
    for (size_t r = 0; r < b; r++) {
        double mean = 0;
        for (size_t i = 0; i < lengths[r]; i++)
            mean += losses[r * t + i] / (double)lengths[r];
        sum += mean / (double)b;
    }
    return sum;
}

/* A word of a short sentence counts more than one of a long sentence. */
START_TEST(a_mean_of_means)
{
    static const double losses[6] = {4, 0, 0, 1, 1, 1};
    static const size_t lengths[2] = {1, 3};
    ck_assert_double_eq_tol(batch_loss(losses, lengths, 2, 3), 2.5, 1e-12);
    ck_assert_double_eq_tol((4.0 + 1 + 1 + 1) / 4, 1.75, 1e-12);
}

static const Test tests[] = {TEST(feed_forward_differs_by_position),
                             TEST(convolution_is_cheap),
                             TEST(mask_is_on_the_wrong_axis),
                             TEST(norm_has_another_deviation),
                             TEST(heads_share_one_root),
                             TEST(positions_go_on),
                             TEST(a_mean_of_means)};

int main(int argc, char **argv) { return suite_run("course/sources", tests, sizeof tests / sizeof *tests, argc, argv); }
