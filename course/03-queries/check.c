/* Lesson 3: what is graded. */
#include "course/03-queries/exercise.h"
#include "course/frame/grade.h"
#include "course/frame/matrix.h"

#include <math.h>
#include <string.h>

/* ---- 1. linear_forward */

/* y [n,out] = x w^T + bias; `turned`: with w read as [in,out] instead */
static void map(double *y, const float *x, const float *w, const float *bias, bool turned_w, size_t n, size_t in,
                size_t out)
{
    for (size_t i = 0; i < n; i++)
        for (size_t o = 0; o < out; o++) {
            double sum = bias ? (double)bias[o] : 0;
            for (size_t j = 0; j < in; j++)
                sum += (double)x[i * in + j] * (double)(turned_w ? w[j * out + o] : w[o * in + j]);
            y[i * out + o] = sum;
        }
}

static void linear(Grade *g, bool with_bias, bool relu)
{
    enum { N = 5, IN = 7, OUT = 4 };
    float *x = grade_input(g, "x", N * IN, 1), *w = grade_input(g, "w", IN * OUT, 2);
    float *bias = grade_input(g, "bias", OUT, 3), *y = grade_output(g, "y", N * OUT);
    double expected[N * OUT], other[N * OUT], without[N * OUT];
    const float *b = with_bias ? bias : NULL;
    map(expected, x, w, b, false, N, IN, OUT);
    map(other, x, w, b, true, N, IN, OUT);
    map(without, x, w, NULL, false, N, IN, OUT);
    for (size_t i = 0; relu && i < N * OUT; i++)
        expected[i] = fmax(expected[i], 0);
    mine_linear_forward(NULL, y, false, x, w, b, relu, N, IN, OUT);
    const Suspect suspects[] = {
        {other, "w is [out,in], as PyTorch stores it: output o is the dot product of x[i] with row o of w"},
        {with_bias ? without : NULL, "the bias is missing"},
        {NULL, NULL}};
    expect_numbers(g, "y", y, expected, N * OUT, OUT, 1e-5, suspects,
                   relu ? "what is below 0 becomes 0, after the bias was added" : "x[i] . w[o] + bias[o]");
}

static void without_bias(Grade *g) { linear(g, false, false); }
static void with_bias(Grade *g) { linear(g, true, false); }

static void with_relu(Grade *g)
{
    const float x[1] = {NAN}, w[1] = {1};
    float y[1] = {1};
    linear(g, true, true);
    mine_linear_forward(NULL, y, false, x, w, NULL, true, 1, 1, 1);
    expect(g, isnan(y[0]),
           "write `sum < 0 ? 0 : sum`: NaN is not below 0 and stays, while `sum > 0 ? sum : 0` hides it",
           "relu of NaN is %g: where a number has been lost, it must show", (double)y[0]);
}

/* ---- 2. product */

/* c [2,3] = a [2,4] b [4,3] of matrices one after another */
static void multiplies(Grade *g)
{
    float *a = grade_input(g, "a", 8, 4), *b = grade_input(g, "b", 12, 5), *c = grade_output(g, "c", 6);
    double expected[6] = {0}, plain[6] = {0};
    for (size_t i = 0; i < 24; i++)
        plain[i / 12 * 3 + i % 3] += (double)a[i / 12 * 4 + i / 3 % 4] * (double)b[i / 3 % 4 * 3 + i % 3];
    for (size_t i = 0; i < 6; i++)
        expected[i] = 0.25 * plain[i];
    mine_product(NULL, matrix(c, 3), false, matrix(a, 4), matrix(b, 3), 0.25, 1, 1, 2, 3, 4);
    const Suspect suspects[] = {{plain, "alpha is missing"}, {NULL, NULL}};
    expect_numbers(g, "c", c, expected, 6, 3, 1e-5, suspects, "c(i,j) = alpha * sum over l of a(i,l) b(l,j)");
}

static void turned_and_added(Grade *g)
{
    float *a = grade_input(g, "a", 15, 6), *b = grade_input(g, "b", 10, 7), *c = grade_output(g, "c", 6);
    double expected[6], over[6], before[6];
    for (size_t i = 0; i < 6; i++) { /* c [3,2] = a^T b^T; a [5,3], b [2,5] */
        c[i] = (float)i, before[i] = (double)i, over[i] = 0;
        for (size_t l = 0; l < 5; l++)
            over[i] += 2 * (double)a[l * 3 + i / 2] * (double)b[i % 2 * 5 + l];
        expected[i] = (double)i + over[i];
    }
    mine_product(NULL, matrix(c, 2), true, transposed(matrix(a, 3)), transposed(matrix(b, 5)), 2, 1, 1, 3, 2, 5);
    const Suspect suspects[] = {{over, "with `add`, what is there stays, and the product is added to it"},
                                {before, "nothing was written: is the function still empty?"},
                                {NULL, NULL}};
    expect_numbers(
        g, "c", c, expected, 6, 2, 1e-5, suspects,
        "a transposed matrix has row and column of its Operand exchanged: use both, never a width of your own");
}

/* Two rows of two heads: matrices [2,3] are parts of the columns of a wider one, [2*2, 2*3]. */
static void of_heads(Grade *g)
{
    enum { ROWS = 2, HEADS = 2, T = 2, DK = 3, W = HEADS * DK };
    float *q = grade_input(g, "a", ROWS * T * W, 8), *keys = grade_input(g, "b", ROWS * T * W, 9);
    float *s = grade_output(g, "c", ROWS * HEADS * T * T);
    double expected[ROWS * HEADS * T * T];
    for (size_t at = 0; at < ROWS * HEADS * T * T; at++) {
        size_t b = at / (HEADS * T * T), h = at / (T * T) % HEADS, i = at / T % T, j = at % T;
        expected[at] = 0;
        for (size_t l = 0; l < DK; l++)
            expected[at] += (double)q[(b * T + i) * W + h * DK + l] * (double)keys[(b * T + j) * W + h * DK + l];
    }
    mine_product(NULL, (Operand){s, HEADS * T * T, T * T, T, 1}, false, (Operand){q, T * W, DK, W, 1},
                 (Operand){keys, T * W, DK, 1, W}, 1, ROWS, HEADS, T, T, DK);
    expect_numbers(
        g, "c", s, expected, ROWS * HEADS * T * T, T, 1e-5, NULL,
        "for each o < outer and p < inner, a matrix begins at data + o * outer + p * inner of its own Operand");
}

/* ---- 3. attention_head */

/* What comes out if scores are divided by `divisor` */
static void head(double *weights, double *y, const double *q, const double *k, const double *v, double divisor,
                 size_t n, size_t dk, size_t dv)
{
    for (size_t i = 0; i < n; i++) {
        double sum = 0, *w = weights + i * n;
        for (size_t j = 0; j < n; j++) {
            double s = 0;
            for (size_t l = 0; l < dk; l++)
                s += q[i * dk + l] * k[j * dk + l];
            sum += w[j] = exp(s / divisor);
        }
        for (size_t j = 0; j < n; j++)
            w[j] /= sum;
        for (size_t l = 0; l < dv; l++) {
            y[i * dv + l] = 0;
            for (size_t j = 0; j < n; j++)
                y[i * dv + l] += w[j] * v[j * dv + l];
        }
    }
}

static void attends(Grade *g)
{
    enum { N = 4, D = 9, DK = 5, DV = 3, WAYS = 4 };
    static const char *const hints[WAYS] = {
        "", "the scores were not divided at all", "they were divided by dk, not by its root",
        "they were divided by the root of d: what counts is the width of a query, dk"};
    const double divisors[WAYS] = {sqrt(DK), 1, DK, sqrt(D)};
    float *x = grade_input(g, "x", N * D, 10), *wq = grade_input(g, "wq", DK * D, 11);
    float *wk = grade_input(g, "wk", DK * D, 12), *wv = grade_input(g, "wv", DV * D, 13);
    float *weights = grade_output(g, "weights", N * N), *y = grade_output(g, "y", N * DV);
    double q[N * DK], k[N * DK], v[N * DV], w[WAYS][N * N], result[WAYS][N * DV];
    Suspect suspects[WAYS] = {{0}};
    map(q, x, wq, NULL, false, N, D, DK), map(k, x, wk, NULL, false, N, D, DK), map(v, x, wv, NULL, false, N, D, DV);
    for (int way = 0; way < WAYS; way++) {
        head(w[way], result[way], q, k, v, divisors[way], N, DK, DV);
        if (way > 0)
            suspects[way - 1] = (Suspect){w[way], hints[way]};
    }
    attention_head(y, weights, x, wq, wk, wv, N, D, DK, DV);
    expect_numbers(g, "weights", weights, w[0], N * N, N, 1e-5, suspects, "softmax of each row of q k^T / sqrt(dk)");
    expect_numbers(g, "y", y, result[0], N * DV, DV, 1e-5, NULL, "weights v: values are averaged, not x");
}

/* ---- 4. softmax_slopes */

static void slopes_of_softmax(Grade *g)
{
    enum { N = 5 };
    const double step = 1e-5;
    float *scores = grade_input(g, "scores", N, 14), *w = grade_input(g, "w", N, 15);
    float *slopes = grade_output(g, "slopes", N * N);
    double expected[N * N], transposed[N * N], sum = 0, moved[2][N];
    for (size_t i = 0; i < N; i++)
        sum += exp(2 * (double)scores[i]);
    for (size_t i = 0; i < N; i++)
        w[i] = (float)(exp(2 * (double)scores[i]) / sum);
    grade_seal(g);
    for (size_t j = 0; j < N; j++) {
        for (int side = 0; side < 2; side++) {
            double all = 0;
            for (size_t i = 0; i < N; i++)
                all += moved[side][i] = exp(2 * (double)scores[i] + (i == j) * (side ? step : -step));
            for (size_t i = 0; i < N; i++)
                moved[side][i] /= all;
        }
        for (size_t i = 0; i < N; i++)
            expected[i * N + j] = (moved[1][i] - moved[0][i]) / (2 * step);
    }
    for (size_t i = 0; i < N * N; i++) /* only the diagonal, as if a score moved its own weight alone */
        transposed[i] = i / N == i % N ? expected[i] : 0;
    softmax_slopes(slopes, w, N);
    const Suspect suspects[] = {
        {transposed, "a score moves all weights of its row, because it is in the sum: w[i] (0 - w[j])"}, {NULL, NULL}};
    expect_numbers(g, "slopes", slopes, expected, N * N, N, 1e-4, suspects,
                   "w[i] (1 - w[i]) on the diagonal, -w[i] w[j] beside it");
}

static void mine(Kernels *k) { k->linear_forward = mine_linear_forward, k->product = mine_product; }

static void time_linear(Grade *g, const Kernels *k, Stream *s)
{
    float *x = grade_input(g, "x", 128 * 256, 1), *w = grade_input(g, "w", 256 * 256, 2),
          *y = grade_output(g, "y", 128 * 256);
    while (grade_again(g))
        k->linear_forward(s, y, false, x, w, NULL, false, 128, 256, 256);
}

static void time_product(Grade *g, const Kernels *k, Stream *s)
{
    float *a = grade_input(g, "a", 128 * 128, 1), *b = grade_input(g, "b", 128 * 128, 2),
          *c = grade_output(g, "c", 128 * 128);
    while (grade_again(g))
        k->product(s, matrix(c, 128), false, matrix(a, 128), transposed(matrix(b, 128)), 1, 1, 1, 128, 128, 128);
}

int main(int argc, char **argv)
{
    static const Check checks[] = {
        {"linear_forward", "x w^T", 1, without_bias, 0},
        {"linear_forward", "and a bias", 1, with_bias, 0},
        {"linear_forward", "and a ReLU, which does not hide NaN", 1, with_relu, 0},
        {"product", "alpha a b", 1, multiplies, 0},
        {"product", "of transposed matrices, added to what is there", 1, turned_and_added, 0},
        {"product", "of many matrices at once, whatever their layout", 2, of_heads, 0},
        {"attention_head", "weights are softmax(q k^T / sqrt(dk)), and y averages values", 3, attends, 0},
        {"softmax_slopes", "what each score does to each weight", 2, slopes_of_softmax, 0},
    };
    static const Timed timed[] = {{"linear_forward", time_linear}, {"product", time_product}};
    const Lesson lesson = {"Lesson 03: queries, keys, values", checks, sizeof checks / sizeof *checks, mine, timed, 2};
    return grade_main(&lesson, argc, argv);
}
