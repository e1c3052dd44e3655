/* Lesson 19: what exercise.c holds. A group is the figures of one recipe, one for each seed. What cannot be computed,
 * such as the deviation of one number, is NaN. */
#ifndef COURSE_19_EXERCISE_H
#define COURSE_19_EXERCISE_H

#include <stddef.h>

typedef struct Moments {
    double mean, sd; /* sd: how far numbers are from the mean of all numbers that there could be */
} Moments;

/* 1. Of n > 0 numbers: sd^2 = sum over (x[i] - mean)^2 / (n - 1); NaN for n = 1. */
Moments moments(const double *x, size_t n);

typedef struct Test {
    double difference, t, df; /* t: the difference divided by its standard error */
} Test;

/* 2. Of two groups, a - b, whose deviations may differ (Welch): with u = sd(a)^2 / n and v = sd(b)^2 / m,
 *     t = difference / sqrt(u + v)        df = (u + v)^2 / (u^2 / (n - 1) + v^2 / (m - 1))
 * n, m > 1. */
Test welch(const double *a, size_t n, const double *b, size_t m);

/* 3. Of n > 1 pairs: a[i] and b[i] have the same seed. A test of the n differences: their mean, divided by their sd over
 * the root of n, with n - 1 degrees of freedom. */
Test paired(const double *a, const double *b, size_t n);

/* 4. Without any formula for chance: if the names of the groups mean nothing, each way to deal the n + m numbers out to
 * groups of n and of m is as likely as the one that was found. The share of these ways (the found one among them) in
 * which the means differ by as much or more, in either direction. Allow 1e-12 for rounding. n, m > 0, n + m <= 16. */
double permutation_p(const double *a, size_t n, const double *b, size_t m);

/* 5. corrected [n] of p [n]: Holm. The smallest p times n, the next one times n - 1, ..., the largest times 1; none above
 * 1, and none below the corrected value of a smaller p. Each stays in its place; equal p get the same. */
void holm(double *corrected, const double *p, size_t n);

#endif
