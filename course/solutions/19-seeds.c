/* Lesson 19: one way to do the exercises. */
#include "course/19-seeds/exercise.h"

#include <math.h>
#include <stdlib.h>

Moments moments(const double *x, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    const double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    return (Moments){mean, n > 1 ? sqrt(squares / (double)(n - 1)) : NAN};
}

Test welch(const double *a, size_t n, const double *b, size_t m)
{
    const Moments of_a = moments(a, n), of_b = moments(b, m);
    const double difference = of_a.mean - of_b.mean;
    const double u = of_a.sd * of_a.sd / (double)n, v = of_b.sd * of_b.sd / (double)m;
    return (Test){difference, difference / sqrt(u + v),
                  (u + v) * (u + v) / (u * u / (double)(n - 1) + v * v / (double)(m - 1))};
}

Test paired(const double *a, const double *b, size_t n)
{
    double *d = malloc(n * sizeof *d);
    Test test = {NAN, NAN, (double)(n - 1)};
    for (size_t i = 0; d && i < n; i++)
        d[i] = a[i] - b[i];
    if (d) {
        const Moments m = moments(d, n);
        test.difference = m.mean;
        test.t = m.mean / (m.sd / sqrt((double)n));
    }
    free(d);
    return test;
}

/* The difference of the means where bit i says that number i is in the first group; NaN: other sizes */
static double dealt(unsigned ways, const double *a, size_t n, const double *b, size_t m)
{
    double sum[2] = {0, 0};
    size_t count = 0;
    for (size_t i = 0; i < n + m; i++) {
        const size_t first = ways >> i & 1;
        sum[first] += i < n ? a[i] : b[i - n];
        count += first;
    }
    return count == n ? sum[1] / (double)n - sum[0] / (double)m : NAN;
}

double permutation_p(const double *a, size_t n, const double *b, size_t m)
{
    const double found = fabs(dealt((1U << n) - 1, a, n, b, m));
    size_t ways = 0, larger = 0;
    for (unsigned i = 0; i < 1U << (n + m); i++) {
        const double difference = dealt(i, a, n, b, m);
        ways += isnan(difference) ? 0 : 1;
        larger += !isnan(difference) && fabs(difference) >= found - 1e-12 ? 1 : 0;
    }
    return (double)larger / (double)ways;
}

void holm(double *corrected, const double *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        corrected[i] = 0;
        for (size_t j = 0; j < n; j++) {
            size_t rest = 0; /* that are no smaller than p[j] */
            for (size_t k = 0; k < n; k++)
                rest += p[k] >= p[j] ? 1 : 0;
            if (p[j] <= p[i])
                corrected[i] = fmin(1, fmax(corrected[i], p[j] * (double)rest));
        }
    }
}
