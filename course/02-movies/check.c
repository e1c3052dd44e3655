/* Lesson 2: what is graded. */
#include "course/02-movies/exercise.h"
#include "course/frame/grade.h"

#include <math.h>
#include <string.h>

enum { VIEWERS = 6, FILMS = 7, D = 3 };

static double dot(const float *a, const float *b, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += (double)a[j] * (double)b[j];
    return sum;
}

/* ---- 1. dot_product */

static void of_vectors(Grade *g)
{
    float *u = grade_input(g, "u", 37, 1), *m = grade_input(g, "m", 37, 2);
    float none = dot_product(u, m, 0), found = dot_product(u, m, 37);
    double expected = dot(u, m, 37);
    expect(g, fabs((double)found - expected) < 1e-5, "the sum of u[j] * m[j]: begin with 0, and go on to d - 1",
           "u . m is %g and should be %g", (double)found, expected);
    expect(g, none > -1e-9f && none < 1e-9f, "a sum of nothing is 0", "vectors of no numbers have the product %g",
           (double)none);
}

/* ---- 2. and 4. gather */

static void gathers(Grade *g)
{
    enum { N = 6, M = 4 };
    static const int32_t index[N] = {2, 0, -1, 2, 3, -7};
    float *x = grade_input(g, "x", M * D, 3), *y = grade_output(g, "y", N * D);
    double expected[N * D], scattered[N * D] = {0};
    for (size_t i = 0; i < N * D; i++)
        expected[i] = index[i / D] < 0 ? 0 : (double)x[(size_t)index[i / D] * D + i % D];
    mine_gather_forward(NULL, y, x, index, N, D);
    const Suspect suspects[] = {{scattered, "all of it is 0: is the test for a negative index the wrong way round?"},
                                {NULL, NULL}};
    expect_numbers(g, "y", y, expected, N * D, D, 0, suspects,
                   "vector n of y is vector index[n] of x, and zeros where the index is negative");
}

/* index, and dx as it should be; `begin` was there before. once: if the last reader's gradient stood alone */
static void gradient_of_gather(double *dx, double *once, const float *dy, const int32_t *index, size_t n, size_t m,
                               const float *begin)
{
    for (size_t i = 0; i < m * D; i++)
        dx[i] = once[i] = begin ? (double)begin[i] : 0;
    for (size_t i = 0; i < n * D; i++)
        if (index[i / D] >= 0) {
            dx[(size_t)index[i / D] * D + i % D] += (double)dy[i];
            once[(size_t)index[i / D] * D + i % D] = (double)dy[i];
        }
}

static void way_back(Grade *g, bool add)
{
    enum { N = 7, M = 5 };
    static const int32_t index[N] = {1, 4, 1, -1, 0, 1, 4};
    float *dy = grade_input(g, "dy", N * D, 4), *before = grade_input(g, "what was there", M * D, 5);
    float *dx = grade_output(g, "dx", M * D);
    double expected[M * D], once[M * D], fresh[M * D], other[M * D];
    gradient_of_gather(expected, once, dy, index, N, M, add ? before : NULL);
    gradient_of_gather(fresh, other, dy, index, N, M, add ? NULL : before);
    memcpy(dx, before, M * D * sizeof *dx);
    mine_gather_backward(NULL, dx, add, dy, index, N, M, D);
    const Suspect suspects[] = {
        {once, "a vector that was read twice has two gradients, and gets their sum"},
        {fresh, add ? "with `add`, what is there stays, and the gradient is added to it"
                    : "without `add`, what was there counts as 0: dx is set to 0 before anything is added"},
        {NULL, NULL}};
    expect_numbers(g, "dx", dx, expected, M * D, D, 1e-6, suspects, "dx[index[n]] gains dy[n]");
}

static void way_back_over(Grade *g) { way_back(g, false); }
static void way_back_added(Grade *g) { way_back(g, true); }

/* ---- 3. score_gradient */

static double loss(const float *u, const float *m, double value, double lambda, size_t d)
{
    double e = dot(u, m, d) - value;
    return e * e / 2 + lambda / 2 * (dot(u, u, d) + dot(m, m, d));
}

static void gradients(Grade *g, float lambda)
{
    enum { N = 5 };
    const float value = 1.5f;
    float *u = grade_input(g, "u", N, 6), *m = grade_input(g, "m", N, 7);
    float *du = grade_output(g, "du", N), *dm = grade_output(g, "dm", N);
    double expected[2][N], turned[2][N], doubled[2][N], e = dot(u, m, N) - (double)value;
    for (size_t j = 0; j < N; j++)
        for (int side = 0; side < 2; side++) {
            float *x = side ? m : u, was = x[j];
            double step = 1.0 / 64, up, down;
            x[j] = was + (float)step, up = loss(u, m, (double)value, (double)lambda, N);
            x[j] = was - (float)step, down = loss(u, m, (double)value, (double)lambda, N);
            x[j] = was;
            expected[side][j] = (up - down) / (2 * step);
            turned[side][j] = -e * (double)(side ? u[j] : m[j]) + (double)(lambda * was);
            doubled[side][j] = 2 * e * (double)(side ? u[j] : m[j]) + 2 * (double)(lambda * was);
        }
    score_gradient(du, dm, u, m, value, lambda, N);
    for (int side = 0; side < 2; side++) {
        const Suspect suspects[] = {
            {turned[side], "e has the other sign: it is the prediction less the value, and a step goes against du"},
            {doubled[side], "twice too much: the loss is half of a square"},
            {NULL, NULL}};
        expect_numbers(g, side ? "dm" : "du", side ? dm : du, expected[side], N, 0, 1e-4, suspects,
                       "should be the loss's slope, found by moving each number a little: e m + lambda u");
    }
}

static void of_the_square(Grade *g) { gradients(g, 0); }
static void with_lambda(Grade *g) { gradients(g, 0.3f); }

/* ---- 5. factorise */

static void one_step(Grade *g)
{
    const Score score = {1, 0, 2};
    float u[4], m[2], *first_u = grade_input(g, "u", 4, 8), *first_m = grade_input(g, "m", 2, 9);
    double e = dot(first_u + 2, first_m, 2) - 2, expected[6], moved[6];
    memcpy(u, first_u, sizeof u), memcpy(m, first_m, sizeof m);
    for (int j = 0; j < 2; j++) {
        expected[j] = moved[j] = (double)u[j];
        expected[2 + j] = moved[2 + j] = (double)u[2 + j] - 0.5 * (e * (double)m[j] + 0.1 * (double)u[2 + j]);
        expected[4 + j] = (double)m[j] - 0.5 * (e * (double)u[2 + j] + 0.1 * (double)m[j]);
        moved[4 + j] = (double)m[j] - 0.5 * (e * moved[2 + j] + 0.1 * (double)m[j]);
    }
    factorise(u, m, &score, 1, 2, 1, 0.5f, 0.1f);
    const float found[6] = {u[0], u[1], u[2], u[3], m[0], m[1]};
    const Suspect suspects[] = {
        {moved, "m moved by a gradient for which u had moved already: compute both gradients, then move both"},
        {NULL, NULL}};
    expect_numbers(
        g, "u, m", found, expected, 6, 2, 1e-5, suspects,
        "after one score, viewer 1 and film 0 have each moved by -rate times their gradient, and nobody else");
}

static void finds_the_features(Grade *g)
{
    Score scores[VIEWERS * FILMS];
    float *u = grade_output(g, "u", VIEWERS * D), *m = grade_output(g, "m", FILMS * D);
    float *true_u = grade_input(g, "likes", VIEWERS * 2, 10), *true_m = grade_input(g, "features", FILMS * 2, 11);
    float *begin = grade_input(g, "beginning", (VIEWERS + FILMS) * D, 12);
    size_t n = 0, hidden = VIEWERS * FILMS;
    double known_error = 0, kept_back_error = 0;
    for (size_t v = 0; v < VIEWERS; v++)
        for (size_t f = 0; f < FILMS; f++) {
            bool keep_back = (v + 2 * f) % 5 == 0;
            scores[keep_back ? --hidden : n++] = (Score){v, f, 3 * (float)dot(true_u + v * 2, true_m + f * 2, 2)};
        }
    memcpy(u, begin, VIEWERS * D * sizeof *u), memcpy(m, begin + VIEWERS * D, FILMS * D * sizeof *m);
    factorise(u, m, scores, n, D, 300, 0.05f, 0.03f);
    for (size_t i = 0; i < VIEWERS * FILMS; i++) {
        const Score *s = &scores[i];
        double e = dot(u + s->viewer * D, m + s->film * D, D) - (double)s->value;
        *(i < n ? &known_error : &kept_back_error) += e * e / (double)(i < n ? n : VIEWERS * FILMS - n);
    }
    expect(g, sqrt(known_error) < 0.06, "each epoch goes through all scores; NaN: is a step taken uphill?",
           "after 300 epochs the typical error on what is known is %g, and should be below 0.06", sqrt(known_error));
    expect(g, sqrt(kept_back_error) < 0.15, "without its price, lambda, on large numbers it learns the scores by heart",
           "the typical error on scores that were kept back is %g, and should be below 0.15", sqrt(kept_back_error));
}

static void mine(Kernels *k) { k->gather_forward = mine_gather_forward, k->gather_backward = mine_gather_backward; }

enum { MANY = 512, WIDE = 256 };

static const int32_t *some_index(void)
{
    static int32_t index[MANY];
    for (int i = 0; i < MANY; i++)
        index[i] = (i * 37) % MANY / 2;
    return index;
}

static void time_gather(Grade *g, const Kernels *k, Stream *s)
{
    float *x = grade_input(g, "x", MANY * WIDE, 1), *y = grade_output(g, "y", MANY * WIDE);
    const int32_t *index = some_index();
    while (grade_again(g))
        k->gather_forward(s, y, x, index, MANY, WIDE);
}

static void time_back(Grade *g, const Kernels *k, Stream *s)
{
    float *dy = grade_input(g, "dy", MANY * WIDE, 1), *dx = grade_output(g, "dx", MANY * WIDE);
    const int32_t *index = some_index();
    while (grade_again(g))
        k->gather_backward(s, dx, false, dy, index, MANY, MANY, WIDE);
}

int main(int argc, char **argv)
{
    static const Check checks[] = {
        {"dot_product", "the sum of products", 1, of_vectors, 0},
        {"gather_forward", "vectors by number, zeros for negative numbers", 2, gathers, 0},
        {"score_gradient", "without lambda it is the slope of half the squared error", 2, of_the_square, 0},
        {"score_gradient", "and with lambda", 1, with_lambda, 0},
        {"gather_backward", "each vector gets the gradients of all that read it", 2, way_back_over, 0},
        {"gather_backward", "with add, they are added to what is there", 1, way_back_added, 0},
        {"factorise", "one score moves its viewer and its film", 2, one_step, 0},
        {"factorise", "the features that it finds predict scores that were kept back", 1, finds_the_features, 0},
    };
    static const Timed timed[] = {{"gather_forward", time_gather}, {"gather_backward", time_back}};
    const Lesson lesson = {"Lesson 02: why dot products", checks, sizeof checks / sizeof *checks, mine, timed, 2};
    return grade_main(&lesson, argc, argv);
}
