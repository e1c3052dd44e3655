/* Lesson 1: what is graded. */
#include "course/01-average/exercise.h"
#include "course/frame/grade.h"

#include <math.h>
#include <string.h>

/* ---- what should come out, in doubles */

/* y [columns] = softmax(x), for finite numbers */
static void softmax(double *y, const double *x, size_t columns)
{
    double largest = x[0], sum = 0;
    for (size_t j = 0; j < columns; j++)
        largest = fmax(largest, x[j]);
    for (size_t j = 0; j < columns; j++)
        sum += exp(x[j] - largest);
    for (size_t j = 0; j < columns; j++)
        y[j] = exp(x[j] - largest) / sum;
}

/* y [dv] = softmax(beta keys query) values, and the weights [n] */
static void answer(double *y, double *weights, const float *query, const float *keys, const float *values, double beta,
                   size_t n, size_t dk, size_t dv)
{
    for (size_t i = 0; i < n; i++) {
        weights[i] = 0;
        for (size_t j = 0; j < dk; j++)
            weights[i] += beta * (double)query[j] * (double)keys[i * dk + j];
    }
    softmax(weights, weights, n);
    for (size_t j = 0; j < dv; j++) {
        y[j] = 0;
        for (size_t i = 0; i < n; i++)
            y[j] += weights[i] * (double)values[i * dv + j];
    }
}

/* ---- 1. average */

static void chooses_one(Grade *g)
{
    float *weights = grade_input(g, "weights", 3, 1), *x = grade_input(g, "x", 6, 2), *y = grade_output(g, "y", 2);
    double expected[2];
    weights[0] = 0, weights[1] = 1, weights[2] = 0;
    grade_seal(g);
    average(y, weights, x, 3, 2);
    expected[0] = (double)x[2], expected[1] = (double)x[3];
    expect_numbers(g, "y", y, expected, 2, 0, 1e-6, NULL, "x[i * d + j] is number j of vector i");
}

static void averages(Grade *g)
{
    enum { N = 5, D = 7 };
    float *weights = grade_input(g, "weights", N, 3), *x = grade_input(g, "x", N * D, 4), *y = grade_output(g, "y", D);
    double expected[D] = {0}, divided[D];
    for (size_t i = 0; i < N; i++) {
        weights[i] = fabsf(weights[i]);
        for (size_t j = 0; j < D; j++)
            expected[j] += (double)weights[i] * (double)x[i * D + j];
    }
    for (size_t j = 0; j < D; j++)
        divided[j] = expected[j] / N;
    grade_seal(g);
    average(y, weights, x, N, D);
    const Suspect suspects[] = {{divided, "weights are all there is: nothing is divided by n"}, {NULL, NULL}};
    expect_numbers(g, "y", y, expected, D, 0, 1e-5, suspects, "one sum over i for each j");
}

/* ---- 2. softmax_forward */

static void of_equal_numbers(Grade *g)
{
    float *x = grade_input(g, "x", 4, 1), *y = grade_output(g, "y", 4);
    double expected[4], unnormalised[4];
    for (int j = 0; j < 4; j++)
        x[j] = 0.5f, expected[j] = 0.25, unnormalised[j] = exp(0.5);
    grade_seal(g);
    mine_softmax_forward(NULL, y, x, 1, 4);
    const Suspect suspects[] = {{unnormalised, "divide each exp by the sum of all of its row"}, {NULL, NULL}};
    expect_numbers(g, "y", y, expected, 4, 0, 1e-6, suspects, "equal scores share alike");
}

static void of_rows(Grade *g)
{
    enum { N = 6, COLUMNS = 11 };
    float *x = grade_input(g, "x", N * COLUMNS, 5), *y = grade_output(g, "y", N * COLUMNS);
    double *in = grade_doubles(N * COLUMNS), *expected = grade_doubles(N * COLUMNS);
    double *whole = grade_doubles(N * COLUMNS), *down = grade_doubles(N * COLUMNS);
    for (size_t i = 0; i < N * COLUMNS; i++)
        in[i] = (double)(x[i] *= 3);
    for (size_t i = 0; i < N; i++)
        softmax(expected + i * COLUMNS, in + i * COLUMNS, COLUMNS);
    softmax(whole, in, N * COLUMNS);
    for (size_t j = 0; j < COLUMNS; j++) {
        double sum = 0;
        for (size_t i = 0; i < N; i++)
            sum += exp(in[i * COLUMNS + j]);
        for (size_t i = 0; i < N; i++)
            down[i * COLUMNS + j] = exp(in[i * COLUMNS + j]) / sum;
    }
    grade_seal(g);
    mine_softmax_forward(NULL, y, x, N, COLUMNS);
    const Suspect suspects[] = {{whole, "each row has a sum of its own: set it to 0 where a row begins"},
                                {down, "here each column sums to 1: the sum goes over the columns of each row"},
                                {NULL, NULL}};
    expect_numbers(g, "y", y, expected, N * COLUMNS, COLUMNS, 1e-5, suspects, "exp(x) / sum of exp(x) over the row");
}

static void of_large_numbers(Grade *g)
{
    static const float rows[2][3] = {{1000, 1001, 999}, {-1000, -1001, -999}};
    float *x = grade_input(g, "x", 6, 1), *y = grade_output(g, "y", 6);
    double expected[6], in[6];
    memcpy(x, rows, sizeof rows);
    for (size_t i = 0; i < 6; i++)
        in[i] = (double)x[i];
    softmax(expected, in, 3);
    softmax(expected + 3, in + 3, 3);
    grade_seal(g);
    mine_softmax_forward(NULL, y, x, 2, 3);
    for (size_t i = 0; i < 6; i++)
        expect(g, !isnan(y[i]),
               "exp(89) is infinity in float, and exp(-104) is 0: take the row's largest number off before exp, which "
               "changes nothing else",
               "softmax of %g, %g, %g has NaN in it", (double)x[i / 3 * 3], (double)x[i / 3 * 3 + 1],
               (double)x[i / 3 * 3 + 2]);
    expect_numbers(g, "y", y, expected, 6, 3, 1e-5, NULL,
                   "start the search for the largest with -INFINITY, not with 0: all numbers may be below 0");
}

/* Rows that masks make: some of it -infinity, or all; in place, as attention has it; NaN is not hidden. */
static void of_masked_rows(Grade *g)
{
    const float out = -INFINITY;
    const float rows[4][3] = {{1, out, 1}, {out, out, out}, {out, NAN, out}, {out, out, 5}};
    static const double expected[12] = {0.5, 0, 0.5, 0, 0, 0, NAN, NAN, NAN, 0, 0, 1};
    float *y = grade_output(g, "y", 12);
    memcpy(y, rows, sizeof rows);
    mine_softmax_forward(NULL, y, y, 4, 3);
    expect(g, memcmp(y, rows, sizeof rows) != 0, "nothing was written: is the function still empty?",
           "y is what it was");
    expect(g, !isnan(y[3]), "-infinity less -infinity is NaN: look for this row before exp, and write zeros",
           "softmax of -inf, -inf, -inf is NaN, and should be 0, 0, 0");
    expect(g, isnan(y[6]) || isnan(y[7]),
           "NaN > largest never holds, so the search does not see it: a row is all "
           "-infinity if each number is",
           "softmax of -inf, nan, -inf is %g, %g, %g: the NaN is hidden", (double)y[6], (double)y[7], (double)y[8]);
    y[6] = y[7] = y[8] = NAN;
    expect_numbers(g, "y", y, expected, 12, 3, 1e-6, NULL, "y may be x: read a number before you write over it");
}

/* ---- 3. attend_to_itself */

static void attends(Grade *g)
{
    enum { N = 5, D = 3 };
    float *x = grade_input(g, "x", N * D, 6), *weights = grade_output(g, "weights", N * N);
    float *y = grade_output(g, "y", N * D);
    double *expected = grade_doubles(N * D), *shares = grade_doubles(N * N), *turned = grade_doubles(N * N);
    for (size_t i = 0; i < N * D; i++)
        x[i] *= 2;
    grade_seal(g);
    for (size_t i = 0; i < N; i++)
        answer(expected + i * D, shares + i * N, x + i * D, x, x, 1, N, D, D);
    for (size_t i = 0; i < N * N; i++)
        turned[i] = shares[i % N * N + i / N];
    attend_to_itself(y, weights, x, N, D);
    const Suspect suspects[] = {{turned, "these are the weights transposed: row i belongs to the vector that listens"},
                                {NULL, NULL}};
    expect_numbers(g, "weights", weights, shares, N * N, N, 1e-5, suspects,
                   "the score of i and j is the dot product of vectors i and j; then a softmax of each row");
    expect_numbers(g, "y", y, expected, N * D, D, 1e-5, NULL, "row i of y is the average of x with row i of weights");
}

static void order_does_not_count(Grade *g)
{
    enum { N = 6, D = 4 };
    float *x = grade_input(g, "x", N * D, 7), *back = grade_input(g, "x backwards", N * D, 7);
    float *weights = grade_output(g, "weights", N * N), *y = grade_output(g, "y of x backwards", N * D);
    double expected[N * D], shares[N];
    for (size_t i = 0; i < N; i++)
        memcpy(back + i * D, x + (N - 1 - i) * D, D * sizeof *x);
    grade_seal(g);
    for (size_t i = 0; i < N; i++)
        answer(expected + i * D, shares, x + (N - 1 - i) * D, x, x, 1, N, D, D);
    attend_to_itself(y, weights, back, N, D);
    expect_numbers(g, "y of x backwards", y, expected, N * D, D, 1e-5, NULL,
                   "vectors in another order must give the same averages in that order: nothing may depend on i alone");
}

/* ---- 4. look_up */

static void finds(Grade *g)
{
    enum { N = 4, DK = 3, DV = 5 };
    float *query = grade_input(g, "query", DK, 8), *keys = grade_input(g, "keys", N * DK, 9);
    float *values = grade_input(g, "values", N * DV, 10), *y = grade_output(g, "y", DV);
    double expected[DV], unscaled[DV], weights[N];
    answer(unscaled, weights, query, keys, values, 1, N, DK, DV);
    answer(expected, weights, query, keys, values, 2.5, N, DK, DV);
    look_up(y, query, keys, values, 2.5, N, DK, DV);
    const Suspect suspects[] = {{unscaled, "beta multiplies the scores, before the softmax"}, {NULL, NULL}};
    expect_numbers(g, "y", y, expected, DV, 0, 1e-5, suspects, "keys make the weights, values are averaged");
}

static void becomes_hard(Grade *g)
{
    enum { N = 40, DK = 6 };
    float *keys = grade_input(g, "keys", N * DK, 11), *values = grade_input(g, "values", N, 12);
    float *query = grade_input(g, "query", DK, 13), *y = grade_output(g, "y", 1);
    double expected, weights[N];
    memcpy(query, keys + 17 * DK, DK * sizeof *query);
    for (size_t j = 0; j < DK; j++)
        query[j] = keys[17 * DK + j] *= 4;
    grade_seal(g);
    answer(&expected, weights, query, keys, values, 1000, N, DK, 1);
    look_up(y, query, keys, values, 1000, N, DK, 1);
    expect_numbers(g, "y", y, &expected, 1, 0, 1e-4, NULL, "a large beta gives the value of the best key, number 17");
}

static void mine(Kernels *k) { k->softmax_forward = mine_softmax_forward; }

static void time_softmax(Grade *g, const Kernels *k, Stream *s)
{
    float *x = grade_input(g, "x", 256 * 256, 1), *y = grade_output(g, "y", 256 * 256);
    while (grade_again(g))
        k->softmax_forward(s, y, x, 256, 256);
}

int main(int argc, char **argv)
{
    static const Check checks[] = {
        {"average", "weights 0, 1, 0 choose the second of three vectors", 1, chooses_one, 0},
        {"average", "any weights are applied as they are", 1, averages, 0},
        {"softmax_forward", "equal scores share alike", 1, of_equal_numbers, 0},
        {"softmax_forward", "each row is the softmax of that row", 2, of_rows, 0},
        {"softmax_forward", "large numbers do not overflow", 1, of_large_numbers, 0},
        {"softmax_forward", "rows with -infinity in them, in place", 1, of_masked_rows, 0},
        {"attend_to_itself", "weights are softmax(x x^T), and y the averages", 2, attends, 0},
        {"attend_to_itself", "the order of the vectors does not count", 1, order_does_not_count, 0},
        {"look_up", "the answer is an average of values, by keys", 1, finds, 0},
        {"look_up", "a large beta makes it an ordinary dictionary", 1, becomes_hard, 0},
    };
    static const Timed timed[] = {{"softmax_forward", time_softmax}};
    const Lesson lesson = {"Lesson 01: a weighted average", checks, sizeof checks / sizeof *checks, mine, timed, 1};
    return grade_main(&lesson, argc, argv);
}
