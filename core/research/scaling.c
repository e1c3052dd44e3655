/* See scaling.h. What is varied is theta = (log E, log A', log B', alpha, beta), where sizes are relative to their geometric
 * means over the runs: then sizes and exponents hardly depend on each other.
 *
 *     log L = log(exp(theta0) + exp(theta1 - alpha x) + exp(theta2 - beta y)),    x = log(N / mean), y = log(D / mean)
 *
 * Levenberg-Marquardt steps for weighted least squares: an error r > 0.001 has the weight 0.001 / r, which gives the sum of
 * squares the gradient of Huber's function. */
#include "core/research/scaling.h"

#include "base/memory.h"
#include "base/philox.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 5, LEAST_RUNS = 7, LEAST_KINDS = 3, ITERATIONS = 400 };

static const double huber = 1e-3;

/* A run: x, y, log L. */
typedef struct Point {
    double at[2], loss;
} Point;

/* Normal equations: J'WJ, and in the last column -J'Wr. */
typedef double System[SIZE][SIZE + 1];

/* Of log L; and what it grows by with each number of theta. */
static double error_of(const Point *p, const double *theta, double *by)
{
    const double e = exp(theta[0]), a = exp(theta[1] - theta[3] * p->at[0]), b = exp(theta[2] - theta[4] * p->at[1]),
                 sum = e + a + b;
    by[0] = e / sum;
    by[1] = a / sum;
    by[2] = b / sum;
    by[3] = -p->at[0] * by[1];
    by[4] = -p->at[1] * by[2];
    return log(sum) - p->loss;
}

/* In units of huber squared. */
static double huber_sum(const Point *point, size_t count, const double *theta, System s)
{
    double sum = 0;
    memset(s, 0, sizeof(System));
    for (size_t i = 0; i < count; i++) {
        double by[SIZE + 1];
        const double r = error_of(&point[i], theta, by) / huber, size = fabs(r), weight = 1 / fmax(size, 1);
        by[SIZE] = -r * huber;
        sum += size <= 1 ? r * r / 2 : size - 0.5;
        for (int j = 0; j < SIZE; j++)
            for (int k = 0; k <= SIZE; k++)
                s[j][k] += weight * by[j] * by[k];
    }
    return sum;
}

/* By elimination; s is positive definite. */
static void solve(System s, double *x)
{
    for (int i = 0; i < SIZE; i++)
        for (int j = i + 1; j < SIZE; j++)
            for (int k = SIZE; k >= i; k--)
                s[j][k] -= s[j][i] / s[i][i] * s[i][k];
    for (int i = SIZE - 1; i >= 0; i--) {
        x[i] = s[i][SIZE];
        for (int k = i + 1; k < SIZE; k++)
            x[i] -= s[i][k] * x[k];
        x[i] /= s[i][i];
    }
}

static double minimize(const Point *point, size_t count, double *theta)
{
    System now, next;
    double damping = 1e-3, value = huber_sum(point, count, theta, now);
    for (int i = 0; i < ITERATIONS && damping < 1e9; i++) {
        double step[SIZE], to[SIZE];
        memcpy(next, now, sizeof next);
        for (int j = 0; j < SIZE; j++)
            next[j][j] += damping * (next[j][j] + 1e-6);
        solve(next, step);
        for (int j = 0; j < SIZE; j++)
            to[j] = theta[j] + step[j];
        const double there = huber_sum(point, count, to, next);
        if (there < value) {
            memcpy(theta, to, sizeof to);
            memcpy(now, next, sizeof now);
            value = there;
            damping = fmax(damping / 5, 1e-9);
        } else {
            damping *= 5;
        }
    }
    return value;
}

/* The best of many starts: each term is a larger or smaller part of the least loss. */
static void best_of_all(const Point *point, size_t count, double *theta)
{
    static const double exponent[] = {0.1, 0.4, 1}, part[] = {-0.3, -1, -2.5};
    double best = INFINITY, least = INFINITY;
    for (size_t i = 0; i < count; i++)
        least = fmin(least, point[i].loss);
    for (int i = 0; i < 3 * 3 * 3 * 3 * 3; i++) {
        double one[SIZE] = {least + part[i % 3], least + part[i / 3 % 3], least + part[i / 9 % 3], exponent[i / 27 % 3],
                            exponent[i / 81]};
        const double value = minimize(point, count, one);
        if (value < best) {
            best = value;
            memcpy(theta, one, sizeof one);
        }
    }
}

/* How many different x (axis 0) or y there are. */
static size_t kinds_of(const Point *point, size_t count, int axis)
{
    size_t kinds = 0;
    for (size_t i = 0, j; i < count; i++) {
        for (j = 0; j < i && fabs(point[j].at[axis] - point[i].at[axis]) > 0; j++)
            ;
        kinds += j == i;
    }
    return kinds;
}

static bool suit(const Point *point, size_t count, Error *e)
{
    const size_t sizes = kinds_of(point, count, 0), amounts = kinds_of(point, count, 1);
    return (count >= LEAST_RUNS && sizes >= LEAST_KINDS && amounts >= LEAST_KINDS) ||
           fail(e,
                "--fit scaling fits five numbers: it takes %d runs or more, of %d sizes and %d amounts of data or "
                "more; here are %zu, of %zu sizes and %zu amounts",
                LEAST_RUNS, LEAST_KINDS, LEAST_KINDS, count, sizes, amounts);
}

/* mean: of log N and log D */
static void take(double *value, const double *theta, const double *mean)
{
    value[SCALING_E] = exp(theta[0]);
    value[SCALING_A] = exp(theta[1] + theta[3] * mean[0]);
    value[SCALING_B] = exp(theta[2] + theta[4] * mean[1]);
    value[SCALING_ALPHA] = theta[3];
    value[SCALING_BETA] = theta[4];
    value[SCALING_EXPONENT] = theta[4] / (theta[3] + theta[4]);
}

/* From the optimum of all runs, and from where each term is at least a third of the least loss: a term that is 0 there
 * has no slope along which it could come back. */
static void minimize_again(const Point *point, size_t count, const double *from, double *theta)
{
    double raised[SIZE], least = INFINITY;
    for (size_t i = 0; i < count; i++)
        least = fmin(least, point[i].loss);
    memcpy(theta, from, sizeof raised);
    memcpy(raised, from, sizeof raised);
    for (int i = 0; i < 3; i++)
        raised[i] = fmax(raised[i], least - 1);
    const double value = minimize(point, count, theta);
    if (minimize(point, count, raised) < value)
        memcpy(theta, raised, sizeof raised);
}

/* From runs drawn with replacement, as many as there are. */
static void intervals(ScalingFit *f, const Point *point, Point *drawn, size_t count, const double *theta,
                      const double *mean)
{
    double found[SCALING_NUMBERS][SCALING_RESAMPLES], value[SCALING_NUMBERS];
    uint64_t random = 0;
    for (int k = 0; k < SCALING_RESAMPLES; k++) {
        do
            for (size_t i = 0; i < count; i++)
                drawn[i] = point[philox_below(count, 1, 0, random++, 0)];
        while (!suit(drawn, count, NULL));
        double one[SIZE];
        minimize_again(drawn, count, theta, one);
        take(value, one, mean);
        for (int i = 0; i < SCALING_NUMBERS; i++)
            found[i][k] = value[i];
    }
    for (int i = 0; i < SCALING_NUMBERS; i++) {
        qsort(found[i], SCALING_RESAMPLES, sizeof(double), ascending);
        f->low[i] = found[i][SCALING_RESAMPLES / 40];
        f->high[i] = found[i][SCALING_RESAMPLES - 1 - SCALING_RESAMPLES / 40];
    }
}

bool scaling_fit(ScalingFit *f, const ScalingRun *run, size_t count, Error *e)
{
    Point *point = memory_get(2 * count, sizeof *point);
    double theta[SIZE] = {0}, by[SIZE], mean[2] = {0, 0}, flop = 0, square = 0;
    if (!point)
        return memory_error(e, "resampled runs", 2 * count, sizeof *point);
    for (size_t i = 0; i < count; i++) {
        point[i] = (Point){{log(run[i].parameters), log(run[i].tokens)}, log(run[i].loss)};
        flop += log(run[i].flop) / (double)count;
        for (int k = 0; k < 2; k++)
            mean[k] += point[i].at[k] / (double)count;
    }
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < 2; k++)
            point[i].at[k] -= mean[k];
    const bool fine = suit(point, count, e);
    if (fine) {
        best_of_all(point, count, theta);
        for (size_t i = 0; i < count; i++)
            square += pow(error_of(&point[i], theta, by), 2);
        *f = (ScalingFit){.error = sqrt(square / (double)count), .k = exp(flop - mean[0] - mean[1])};
        take(f->value, theta, mean);
        intervals(f, point, point + count, count, theta, mean);
    }
    memory_free(point);
    return fine;
}

double scaling_loss(const ScalingFit *f, double parameters, double tokens)
{
    return f->value[SCALING_E] + f->value[SCALING_A] * pow(parameters, -f->value[SCALING_ALPHA]) +
           f->value[SCALING_B] * pow(tokens, -f->value[SCALING_BETA]);
}

/* d/dN of A N^-a + B (C / k N)^-b is 0 */
double scaling_best(const ScalingFit *f, double flop)
{
    const double a = f->value[SCALING_ALPHA], b = f->value[SCALING_BETA];
    return pow(a * f->value[SCALING_A] / (b * f->value[SCALING_B]) * pow(flop / f->k, b), 1 / (a + b));
}
