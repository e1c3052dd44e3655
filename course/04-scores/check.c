/* Lesson 4: what is graded. */
#include "course/04-scores/exercise.h"
#include "course/frame/grade.h"

#include <math.h>
#include <string.h>

enum { T = 3, N = 4, DQ = 5, DK = 2, F = 6 };

static double dot(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* ---- 1. bilinear_scores */

static void bilinear(Grade *g)
{
    float *q = grade_input(g, "q", T * DQ, 1), *k = grade_input(g, "k", N * DK, 2),
          *w = grade_input(g, "w", DK * DQ, 3);
    float *s = grade_output(g, "s", T * N);
    double expected[T * N] = {0}, other[T * N] = {0};
    for (size_t i = 0; i < T * N * DK; i++) {
        size_t at = i / DK, l = i % DK;
        expected[at] += dot(w + l * DQ, q + at / N * DQ, DQ) * (double)k[at % N * DK + l];
        for (size_t c = 0; c < DQ; c++)
            other[at] += (double)w[c * DK + l] * (double)q[at / N * DQ + c] * (double)k[at % N * DK + l];
    }
    bilinear_scores(s, q, k, w, T, N, DQ, DK);
    const Suspect suspects[] = {{other, "w is [dk,dq]: row l of it makes number l of w q"}, {NULL, NULL}};
    expect_numbers(g, "s", s, expected, T * N, N, 1e-5, suspects, "the dot product of w q[i] with k[j]");
}

/* ---- 2. activation_forward */

static double exact(Activation function, double x)
{
    switch (function) {
    case ACTIVATION_RELU: return fmax(x, 0);
    case ACTIVATION_GELU: return x * erfc(-x / sqrt(2)) / 2;
    case ACTIVATION_GELU_TANH: return x / (1 + exp(-2 * sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    case ACTIVATION_TANH: return tanh(x);
    default: return 1 / (1 + exp(-x));
    }
}

static void activate(Grade *g, Activation function)
{
    enum { M = 41 };
    static const double limits[ACTIVATIONS][2] = {{0, INFINITY}, {0, INFINITY}, {0, INFINITY}, {-1, 1}, {0, 1}};
    float *x = grade_input(g, "x", M, 4), *y = grade_output(g, "y", M);
    float far[3] = {-INFINITY, INFINITY, NAN};
    double expected[M];
    for (size_t i = 0; i < M; i++)
        x[i] = (float)i / 4 - 5, expected[i] = exact(function, (double)x[i]);
    grade_seal(g);
    mine_activation_forward(NULL, y, x, function, M);
    expect_numbers(g, "y", y, expected, M, 0, 1e-6, NULL,
                   "x begins at -5 and grows by 1/4; the formulas are at the top of kernels/plain/activation.c");
    mine_activation_forward(NULL, far, far, function, 3);
    for (int side = 0; side < 2; side++)
        expect(g, (double)far[side] == limits[function][side],
               "infinity * 0 is NaN: far from 0 (beyond 40, say) a GELU is the ReLU to the last bit",
               "at %sinfinity it is %g, and should be %g", side ? "" : "-", (double)far[side], limits[function][side]);
    expect(g, isnan(far[2]), "`x > 0 ? x : 0` is 0 for NaN, which hides NaN; `x < 0 ? 0 : x` keeps it",
           "of NaN it makes %g", (double)far[2]);
}

static void relu(Grade *g) { activate(g, ACTIVATION_RELU); }
static void tanh_and_sigmoid(Grade *g) { activate(g, ACTIVATION_TANH), activate(g, ACTIVATION_SIGMOID); }
static void gelus(Grade *g) { activate(g, ACTIVATION_GELU), activate(g, ACTIVATION_GELU_TANH); }

/* ---- 3. additive_scores */

static void additive(Grade *g)
{
    float *q = grade_input(g, "q", T * DQ, 5), *k = grade_input(g, "k", N * DK, 6);
    float *wq = grade_input(g, "wq", F * DQ, 7), *wk = grade_input(g, "wk", F * DK, 8);
    float *b = grade_input(g, "b", F, 9), *v = grade_input(g, "v", F, 10), *s = grade_output(g, "s", T * N);
    double expected[T * N] = {0}, outside[T * N] = {0}, without[T * N] = {0}, flat[T * N] = {0};
    for (size_t i = 0; i < T * N * F; i++) {
        size_t at = i / F, l = i % F;
        double sum = dot(wq + l * DQ, q + at / N * DQ, DQ) + dot(wk + l * DK, k + at % N * DK, DK);
        expected[at] += (double)v[l] * tanh(sum + (double)b[l]);
        without[at] += (double)v[l] * tanh(sum);
        flat[at] += (double)v[l] * (sum + (double)b[l]);
    }
    for (size_t i = 0; i < T * N; i++)
        outside[i] = tanh(flat[i]);
    additive_scores(s, q, k, wq, wk, b, v, T, N, DQ, DK, F);
    const Suspect suspects[] = {
        {outside, "tanh of each of the F sums, before v: outside it would only bend the score"},
        {flat, "tanh is missing: without it the query adds the same to all scores, which softmax ignores"},
        {without, "b is missing"},
        {NULL, NULL}};
    expect_numbers(g, "s", s, expected, T * N, N, 1e-5, suspects, "v . tanh(wq q[i] + wk k[j] + b)");
}

static void mine(Kernels *k) { k->activation_forward = mine_activation_forward; }

static void time_activation(Grade *g, const Kernels *k, Stream *s)
{
    float *x = grade_input(g, "x", 65536, 1), *y = grade_output(g, "y", 65536);
    while (grade_again(g))
        k->activation_forward(s, y, x, ACTIVATION_GELU_TANH, 65536);
}

int main(int argc, char **argv)
{
    static const Check checks[] = {
        {"bilinear_scores", "(w q) . k for each pair", 2, bilinear, 0},
        {"activation_forward", "ReLU, and NaN stays", 1, relu, 0},
        {"activation_forward", "tanh and the sigmoid, as far as infinity", 1, tanh_and_sigmoid, 0},
        {"activation_forward", "both GELUs, as far as infinity", 2, gelus, 0},
        {"additive_scores", "v . tanh(wq q + wk k + b) for each pair", 3, additive, 0},
    };
    static const Timed timed[] = {{"activation_forward", time_activation}};
    const Lesson lesson = {"Lesson 04: other scores", checks, sizeof checks / sizeof *checks, mine, timed, 1};
    return grade_main(&lesson, argc, argv);
}
