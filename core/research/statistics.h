/* Is A better than B, or is that noise? Means, intervals and tests for groups of a few numbers, such as the results of
 * several seeds. All tests are two-sided; what cannot be computed (one number, or no variation) is NaN. */
#ifndef CORE_RESEARCH_STATISTICS_H
#define CORE_RESEARCH_STATISTICS_H

#include <stddef.h>

/* P(T > |t|) + P(T < -|t|) of Student's t distribution, and the t at which it is p. */
double student_p(double t, double df);
double student_t(double p, double df);

typedef struct Moments {
    size_t count;
    double mean, sd; /* sd with count - 1 */
} Moments;

Moments moments_of(const double *x, size_t count);

/* Half of the mean's 95 % interval. */
double moments_margin(const Moments *m);

typedef struct Difference {
    double mean, low, high; /* a - b, and its 95 % interval */
    double t, df, p;
} Difference;

/* Of two groups, whose variances may differ (Welch 1947). */
Difference difference_welch(const Moments *a, const Moments *b);

/* Of pairs: a[i] and b[i] share a cause of their variation, such as a seed. */
Difference difference_paired(const double *a, const double *b, size_t count);

/* Corrects the p of several comparisons, so that with probability 0.95 none is below 0.05 by chance alone (Holm 1979).
 * NaN stays NaN, and does not count as a comparison. */
void holm_correct(double *corrected, const double *p, size_t count);

/* How many numbers per group a test at 0.05 needs to find this difference with probability 0.8, if both groups have
 * this standard deviation; 0: more than a million, or there is no difference. */
size_t count_needed(double difference, double sd);

/* McNemar's exact test of two classifiers on the same texts: on how many is only a right, and only b? */
double mcnemar_p(size_t only_a, size_t only_b);

#endif
