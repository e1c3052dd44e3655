/* expect hint: both groups have the same deviation */
#define welch right_welch
#include "course/solutions/19-seeds.c"
#undef welch

/* Student's test of 1908 */
Test welch(const double *a, size_t n, const double *b, size_t m)
{
    const Moments of_a = moments(a, n), of_b = moments(b, m);
    const double difference = of_a.mean - of_b.mean, df = (double)(n + m - 2);
    const double variance = (of_a.sd * of_a.sd * (double)(n - 1) + of_b.sd * of_b.sd * (double)(m - 1)) / df;
    return (Test){difference, difference / sqrt(variance * (1 / (double)n + 1 / (double)m)), df};
}
