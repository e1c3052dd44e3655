/* Lesson 5: what is graded. */
#include "course/05-backward/exercise.h"
#include "course/frame/grade.h"

#include <math.h>
#include <string.h>

/* ---- 1. central_difference */

static double cube(const float *x, const void *context)
{
    (void)context;
    return (double)x[0] + (double)x[1] * (double)x[1] * (double)x[1];
}

static double twice(const float *x, const void *context) { return (void)context, 2 * (double)x[0]; }

static void from_both_sides(Grade *g)
{
    const float h = 0.25f; /* all of these are numbers that float has */
    float x[3] = {5, 2, 7};
    double slope = central_difference(cube, NULL, x, 1, h);
    expect(g, fabs(slope - 13.5625) > 1e-6, "that is from one side: take x - h as well", "of x^3 at 2 it is %g", slope);
    expect(g, fabs(slope - 24.125) > 1e-6, "the two points are 2h apart, not h", "of x^3 at 2 it is %g", slope);
    expect(g, fabs(slope - 12.0625) < 1e-6,
           "(f with x[i] + h, minus f with x[i] - h) / 2h: with h = 0.25 that is 12.0625", "of x^3 at 2 it is %g",
           slope);
    expect(g, x[0] == 5 && x[1] == 2 && x[2] == 7, "keep x[i] before you change it, and put it back",
           "x was 5, 2, 7 and is now %g, %g, %g", (double)x[0], (double)x[1], (double)x[2]);
}

static void step_as_it_was(Grade *g)
{
    float x[1] = {1000.1f}, before = x[0];
    double slope = central_difference(twice, NULL, x, 0, 0.001f);
    expect(g, fabs(slope - 2) < 1e-9,
           "x + h is rounded to a number that float has: divide by the distance of the two that x[i] really was, in "
           "double",
           "of 2x at 1000.1 with h = 0.001 it is %.6f", slope);
    expect(g, x[0] == before, "(x + h) - h need not be x: keep x[i] in a variable", "x was %.7g and is now %.7g",
           (double)before, (double)x[0]);
}

/* ---- 2. softmax_backward */

static void softmax_of(double *y, const double *x, size_t n, size_t columns)
{
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < columns; j++)
            sum += exp(x[i * columns + j]);
        for (size_t j = 0; j < columns; j++)
            y[i * columns + j] = exp(x[i * columns + j]) / sum;
    }
}

/* A softmax y [n,columns] of random scores, and the gradient by these, from dy, with the whole matrix of slopes */
static void softmax_case(float *y, double *dx, double *diagonal, double *unsummed, const float *dy, const float *x,
                         size_t n, size_t columns)
{
    double *scores = grade_doubles(n * columns + 1), *w = grade_doubles(n * columns + 1);
    for (size_t i = 0; i < n * columns; i++)
        scores[i] = 2 * (double)x[i];
    softmax_of(w, scores, n, columns);
    for (size_t at = 0; at < n * columns; at++) {
        size_t i = at / columns * columns, j = at % columns;
        dx[at] = 0;
        for (size_t l = 0; l < columns; l++)
            dx[at] += (double)dy[i + l] * w[i + l] * ((l == j) - w[at]);
        y[at] = (float)w[at];
        diagonal[at] = (double)dy[at] * w[at] * (1 - w[at]);
        unsummed[at] = (double)dy[at] * w[at];
    }
}

enum { SN = 3, SC = 7 };

static void softmax_back(Grade *g)
{
    float *x = grade_input(g, "x", SN * SC, 1), *dy = grade_input(g, "dy", SN * SC, 2);
    float *y = grade_input(g, "y", SN * SC, 3), *dx = grade_output(g, "dx", SN * SC);
    double expected[SN * SC], diagonal[SN * SC], unsummed[SN * SC];
    softmax_case(y, expected, diagonal, unsummed, dy, x, SN, SC);
    grade_seal(g);
    mine_softmax_backward(NULL, dx, false, dy, y, SN, SC);
    const Suspect suspects[] = {
        {diagonal, "only the diagonal of the slopes was used: a score moves every weight of its row"},
        {unsummed, "the sum of y dy over the row has to be taken from each dy"},
        {NULL, NULL}};
    expect_numbers(g, "dx", dx, expected, SN * SC, SC, 1e-5, suspects, "y (dy - sum of y dy), row by row");
}

static void softmax_added(Grade *g)
{
    float *x = grade_input(g, "x", SN * SC, 4), *dy = grade_input(g, "dy", SN * SC, 5);
    float *y = grade_input(g, "y", SN * SC, 6), *dx = grade_output(g, "dx", SN * SC);
    double expected[SN * SC], over[SN * SC], diagonal[SN * SC], unsummed[SN * SC];
    softmax_case(y, over, diagonal, unsummed, dy, x, SN, SC);
    for (size_t i = 0; i < SN * SC; i++)
        dx[i] = (float)i, expected[i] = (double)i + over[i];
    grade_seal(g);
    mine_softmax_backward(NULL, dx, true, dy, y, SN, SC);
    const Suspect suspects[] = {{over, "with `add`, what is there stays, and the gradient is added to it"},
                                {NULL, NULL}};
    expect_numbers(g, "dx", dx, expected, SN * SC, SC, 1e-5, suspects, "the same, added to what dx held");
}

static void softmax_odd(Grade *g)
{
    float y[4] = {1, 0, 0, 0}, dy[4] = {3, -2, 1, 5}, dx[4] = {9, 9, 9, 9};
    float *x = grade_input(g, "x", SN * SC, 7), *w = grade_input(g, "y", SN * SC, 8);
    float *both = grade_output(g, "dx", SN * SC);
    double expected[SN * SC], diagonal[SN * SC], unsummed[SN * SC];
    mine_softmax_backward(NULL, dx, false, dy, y, 1, 4);
    for (size_t j = 0; j < 4; j++)
        expect(g, dx[j] == 0, "where one has all the weight, no score can change anything",
               "of weights 1, 0, 0, 0 the gradient is %g", (double)dx[j]);
    mine_softmax_backward(NULL, dx, false, dy, y, 0, 4);
    for (size_t i = 0; i < SN * SC; i++)
        both[i] = sinf((float)i);
    softmax_case(w, expected, diagonal, unsummed, both, x, SN, SC);
    grade_seal(g);
    mine_softmax_backward(NULL, both, false, both, w, SN, SC);
    expect_numbers(g, "dx", both, expected, SN * SC, SC, 1e-5, NULL,
                   "dx may be dy: read the whole row for the sum before you write the first number of it");
}

/* ---- 3. linear_backward */

enum { LN = 5, IN = 7, OUT = 4 };

typedef struct Linears {
    float *dx, *dw, *dbias, *dy, *y, *x, *w;
    double by_x[LN * IN], by_w[OUT * IN], by_bias[OUT]; /* what is expected */
    double fresh_w[OUT * IN], fresh_bias[OUT];          /* without what was there */
} Linears;

/* y is below 0, 0 or above; dx begins as 3, dw as 1, dbias as 2 */
static Linears linears(Grade *g, bool add, bool relu)
{
    Linears c = {grade_output(g, "dx", LN * IN),
                 grade_output(g, "dw", OUT * IN),
                 grade_output(g, "dbias", OUT),
                 relu ? grade_output(g, "dy", LN * OUT) : grade_input(g, "dy", LN * OUT, 9),
                 grade_input(g, "y", LN * OUT, 10),
                 grade_input(g, "x", LN * IN, 11),
                 grade_input(g, "w", OUT * IN, 12),
                 {0},
                 {0},
                 {0},
                 {0},
                 {0}};
    for (size_t i = 0; i < LN * OUT; i++) {
        c.dy[i] = relu ? sinf((float)(3 * i + 1)) : c.dy[i];
        c.y[i] = i % 3 == 0 ? 0 : fabsf(c.y[i]) + 0.01f;
        double dy = relu && !(c.y[i] > 0) ? 0 : (double)c.dy[i];
        for (size_t j = 0; j < IN; j++) {
            c.by_x[i / OUT * IN + j] += dy * (double)c.w[i % OUT * IN + j];
            c.fresh_w[i % OUT * IN + j] += dy * (double)c.x[i / OUT * IN + j];
        }
        c.fresh_bias[i % OUT] += dy;
    }
    for (size_t i = 0; add && i < LN * IN; i++)
        c.dx[i] = 3, c.by_x[i] += 3;
    for (size_t i = 0; i < OUT * IN; i++)
        c.dw[i] = 1, c.by_w[i] = 1 + c.fresh_w[i];
    for (size_t i = 0; i < OUT; i++)
        c.dbias[i] = 2, c.by_bias[i] = 2 + c.fresh_bias[i];
    grade_seal(g);
    return c;
}

static void expect_parameters(Grade *g, const Linears *c)
{
    static const char *const hint = "gradients of parameters are always added to what is there: `add` is about dx";
    const Suspect of_w[] = {{c->fresh_w, hint}, {NULL, NULL}}, of_bias[] = {{c->fresh_bias, hint}, {NULL, NULL}};
    expect_numbers(g, "dw", c->dw, c->by_w, OUT * IN, IN, 1e-5, of_w, "dw += dy^T x, summed over all n vectors");
    expect_numbers(g, "dbias", c->dbias, c->by_bias, OUT, 0, 1e-5, of_bias, "the bias is used by each vector: sum dy");
}

static void linear_input(Grade *g)
{
    Linears c = linears(g, false, false);
    double turned[LN * IN] = {0};
    for (size_t i = 0; i < LN * IN; i++)
        for (size_t o = 0; o < OUT; o++)
            turned[i] += (double)c.dy[i / IN * OUT + o] * (double)c.w[i % IN * OUT + o];
    mine_linear_backward(NULL, c.dx, false, NULL, NULL, c.dy, NULL, c.x, c.w, false, LN, IN, OUT);
    const Suspect suspects[] = {{turned, "w is [out,in]: row o of it, times dy[o], and summed over o"}, {NULL, NULL}};
    expect_numbers(g, "dx", c.dx, c.by_x, LN * IN, IN, 1e-5, suspects, "dx = dy w");
}

static void linear_parameters(Grade *g)
{
    Linears c = linears(g, false, false);
    mine_linear_backward(NULL, NULL, false, c.dw, c.dbias, c.dy, NULL, c.x, c.w, false, LN, IN, OUT);
    expect_parameters(g, &c);
}

static void linear_added(Grade *g)
{
    Linears c = linears(g, true, false);
    double over[LN * IN];
    for (size_t i = 0; i < LN * IN; i++)
        over[i] = c.by_x[i] - 3;
    mine_linear_backward(NULL, c.dx, true, c.dw, NULL, c.dy, NULL, c.x, c.w, false, LN, IN, OUT);
    const Suspect suspects[] = {{over, "with `add`, what is there stays, and the gradient is added to it"},
                                {NULL, NULL}};
    expect_numbers(g, "dx", c.dx, c.by_x, LN * IN, IN, 1e-5, suspects, "dx += dy w");
    mine_linear_backward(NULL, c.dx, false, c.dw, c.dbias, c.dy, NULL, c.x, c.w, false, 0, IN, OUT);
}

static void linear_relu(Grade *g)
{
    Linears c = linears(g, false, true);
    mine_linear_backward(NULL, c.dx, false, c.dw, c.dbias, c.dy, c.y, c.x, c.w, true, LN, IN, OUT);
    expect_numbers(g, "dx", c.dx, c.by_x, LN * IN, IN, 1e-5, NULL,
                   "where the ReLU made y 0, no gradient comes through: set dy to 0 there before all else");
    expect_parameters(g, &c);
}

/* ---- 4., 5. attention */

enum { N = 4, D = 5, DK = 3, DV = 2, PARTS = 7 };

/* x, wq, wk, wv, q, k, v: where each begins in one list, and how long it is */
static const size_t size_of[PARTS] = {N * D, DK *D, DK *D, DV *D, N *DK, N *DK, N *DV};
enum { MOST = N * D };

typedef struct Case {
    double part[PARTS][MOST], weights[N * N];
    float *given[PARTS], *kept, *dy;
    Head head;
} Case;

static void map(double *y, const double *x, const double *w, size_t out)
{
    for (size_t at = 0; at < N * out; at++) {
        y[at] = 0;
        for (size_t j = 0; j < D; j++)
            y[at] += x[at / out * D + j] * w[at % out * D + j];
    }
}

static void project(Case *c)
{
    for (size_t i = 0; i < 3; i++)
        map(c->part[4 + i], c->part[0], c->part[1 + i], i == 2 ? DV : DK);
}

/* The sum of y dy: what has dy as its gradient by y */
static double value_of(Case *c)
{
    double sum = 0, scores[N * N];
    for (size_t at = 0; at < N * N; at++) {
        scores[at] = 0;
        for (size_t l = 0; l < DK; l++)
            scores[at] += c->part[4][at / N * DK + l] * c->part[5][at % N * DK + l] / sqrt(DK);
    }
    softmax_of(c->weights, scores, N, N);
    for (size_t at = 0; at < N * N; at++)
        for (size_t l = 0; l < DV; l++)
            sum += c->weights[at] * c->part[6][at % N * DV + l] * (double)c->dy[at / N * DV + l];
    return sum;
}

/* By differences, in double: through the projections, or (for q, k, v) after them */
static void slopes_of(double *slopes, Case *c, size_t part)
{
    const double h = 1e-5;
    for (size_t i = 0; i < size_of[part]; i++) {
        double *at = &c->part[part][i], before = *at, value[2];
        for (int side = 0; side < 2; side++) {
            *at = before + (side ? h : -h);
            if (part < 4)
                project(c);
            value[side] = value_of(c);
        }
        *at = before;
        slopes[i] = (value[1] - value[0]) / (2 * h);
    }
    project(c);
    value_of(c);
}

static Case *attention_case(Grade *g)
{
    static const char *const names[PARTS] = {"x", "wq", "wk", "wv", "q", "k", "v"};
    static Case c;
    c.dy = grade_input(g, "dy", N * DV, 13);
    c.kept = grade_input(g, "weights", N * N, 14);
    for (unsigned p = 0; p < PARTS; p++) {
        c.given[p] = grade_input(g, names[p], size_of[p], 15 + p);
        for (size_t i = 0; p < 4 && i < size_of[p]; i++)
            c.part[p][i] = (double)(c.given[p][i] *= 1.5f);
    }
    project(&c);
    value_of(&c);
    for (size_t p = 4; p < PARTS; p++)
        for (size_t i = 0; i < size_of[p]; i++)
            c.given[p][i] = (float)c.part[p][i];
    for (size_t i = 0; i < N * N; i++)
        c.kept[i] = (float)c.weights[i];
    grade_seal(g);
    c.head = (Head){c.given[0], c.given[1], c.given[2], c.given[3], c.given[4], c.given[5],
                    c.given[6], c.kept,     N,          D,          DK,         DV};
    return &c;
}

static void times(double *y, const double *x, double factor, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = factor * x[i];
}

/* What by_k would be with ds for ds^T */
static void keys_unturned(double *y, const Case *c)
{
    for (size_t at = 0; at < N * DK; at++)
        y[at] = 0;
    for (size_t i = 0; i < N; i++) {
        double dw[N], mean = 0;
        for (size_t j = 0; j < N; j++) {
            dw[j] = 0;
            for (size_t l = 0; l < DV; l++)
                dw[j] += (double)c->dy[i * DV + l] * c->part[6][j * DV + l];
            mean += c->weights[i * N + j] * dw[j];
        }
        for (size_t j = 0; j < N; j++)
            for (size_t l = 0; l < DK; l++)
                y[i * DK + l] += c->weights[i * N + j] * (dw[j] - mean) * c->part[4][j * DK + l] / sqrt(DK);
    }
}

static void attention_back(Grade *g)
{
    Case *c = attention_case(g);
    float *by_q = grade_output(g, "by_q", N * DK), *by_k = grade_output(g, "by_k", N * DK);
    float *by_v = grade_output(g, "by_v", N * DV);
    double q[N * DK], k[N * DK], v[N * DV], unscaled[N * DK], unturned[N * DK], straight[N * DV] = {0};
    slopes_of(q, c, 4), slopes_of(k, c, 5), slopes_of(v, c, 6);
    times(unscaled, q, sqrt(DK), N * DK);
    keys_unturned(unturned, c);
    for (size_t at = 0; at < N * DV; at++)
        for (size_t j = 0; j < N; j++)
            straight[at] += c->weights[at / DV * N + j] * (double)c->dy[j * DV + at % DV];
    attention_backward(by_q, by_k, by_v, c->dy, &c->head);
    const Suspect of_v[] = {{straight, "weights^T dy, not weights dy: value j was heard by all i, column j"},
                            {NULL, NULL}};
    expect_numbers(g, "by_v", by_v, v, N * DV, DV, 1e-5, of_v, "weights^T dy");
    const Suspect of_q[] = {
        {unscaled, "scores were divided by sqrt(dk), and so is their gradient on its way to q and k"}, {NULL, NULL}};
    expect_numbers(g, "by_q", by_q, q, N * DK, DK, 1e-5, of_q,
                   "ds k / sqrt(dk), where ds is the gradient of the scores");
    const Suspect of_k[] = {{unturned, "ds^T q, not ds q: key j was compared with all i, column j"}, {NULL, NULL}};
    expect_numbers(g, "by_k", by_k, k, N * DK, DK, 1e-5, of_k, "ds^T q / sqrt(dk)");
}

/* What dx would be by one use of x alone: as what q (0), k (1) or v (2) is made of */
static void one_use(double *dx, Case *c, size_t use)
{
    double by[MOST];
    size_t width = use == 2 ? DV : DK;
    slopes_of(by, c, 4 + use);
    for (size_t at = 0; at < N * D; at++) {
        dx[at] = 0;
        for (size_t o = 0; o < width; o++)
            dx[at] += by[at / D * width + o] * c->part[1 + use][o * D + at % D];
    }
}

static void head_back(Grade *g)
{
    static const char *const hint = "only one of the three uses of x is in it: gradients of one value add up";
    Case *c = attention_case(g);
    float *dx = grade_output(g, "dx", N * D), *dwq = grade_output(g, "dwq", DK * D);
    float *dwk = grade_output(g, "dwk", DK * D), *dwv = grade_output(g, "dwv", DV * D);
    double slopes[4][MOST], use[3][MOST];
    for (size_t p = 0; p < 4; p++)
        slopes_of(slopes[p], c, p);
    for (size_t u = 0; u < 3; u++)
        one_use(use[u], c, u);
    head_backward(dx, dwq, dwk, dwv, c->dy, &c->head);
    const Suspect suspects[] = {{use[0], hint}, {use[1], hint}, {use[2], hint}, {NULL, NULL}};
    expect_numbers(g, "dwq", dwq, slopes[1], DK * D, D, 1e-5, NULL, "by_q^T x: written, so begin with 0");
    expect_numbers(g, "dwk", dwk, slopes[2], DK * D, D, 1e-5, NULL, "by_k^T x: written, so begin with 0");
    expect_numbers(g, "dwv", dwv, slopes[3], DV * D, D, 1e-5, NULL, "by_v^T x: written, so begin with 0");
    expect_numbers(g, "dx", dx, slopes[0], N * D, D, 1e-5, suspects, "by_q wq + by_k wk + by_v wv");
}

static void mine(Kernels *k) { k->softmax_backward = mine_softmax_backward, k->linear_backward = mine_linear_backward; }

static void time_softmax(Grade *g, const Kernels *k, Stream *s)
{
    float *dy = grade_input(g, "dy", 1024 * 256, 1), *y = grade_input(g, "y", 1024 * 256, 2),
          *dx = grade_output(g, "dx", 1024 * 256);
    while (grade_again(g))
        k->softmax_backward(s, dx, false, dy, y, 1024, 256);
}

static void time_linear(Grade *g, const Kernels *k, Stream *s)
{
    float *x = grade_input(g, "x", 64 * 256, 1), *w = grade_input(g, "w", 256 * 256, 2),
          *dy = grade_input(g, "dy", 64 * 256, 3), *dx = grade_output(g, "dx", 64 * 256),
          *dw = grade_output(g, "dw", 256 * 256);
    while (grade_again(g))
        k->linear_backward(s, dx, false, dw, NULL, dy, NULL, x, w, false, 64, 256, 256);
}

int main(int argc, char **argv)
{
    static const Check checks[] = {
        {"central_difference", "the slope, from both sides", 1, from_both_sides, 0},
        {"central_difference", "divided by the step that was taken", 1, step_as_it_was, 0},
        {"softmax_backward", "y (dy - sum of y dy)", 2, softmax_back, 0},
        {"softmax_backward", "added to what is there", 1, softmax_added, 0},
        {"softmax_backward", "of sharp weights, of no rows, and in place", 1, softmax_odd, 0},
        {"linear_backward", "dx = dy w", 1, linear_input, 0},
        {"linear_backward", "dw += dy^T x, dbias += dy", 1, linear_parameters, 0},
        {"linear_backward", "dx added to what is there", 1, linear_added, 0},
        {"linear_backward", "through a ReLU", 1, linear_relu, 0},
        {"attention_backward", "by v, by q and by k, as differences say", 3, attention_back, 0},
        {"head_backward", "by x, which is used three times, and by the matrices", 3, head_back, 0},
    };
    static const Timed timed[] = {{"softmax_backward", time_softmax}, {"linear_backward", time_linear}};
    const Lesson lesson = {"Lesson 05: backward", checks, sizeof checks / sizeof *checks, mine, timed, 2};
    return grade_main(&lesson, argc, argv);
}
