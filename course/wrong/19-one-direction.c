/* expect hint: the other direction counts, too */
#define permutation_p right_permutation_p
#include "course/solutions/19-seeds.c"
#undef permutation_p

/* Only ways in which the same group is ahead */
double permutation_p(const double *a, size_t n, const double *b, size_t m)
{
    const double found = dealt((1U << n) - 1, a, n, b, m);
    size_t ways = 0, larger = 0;
    for (unsigned i = 0; i < 1U << (n + m); i++) {
        const double difference = dealt(i, a, n, b, m);
        ways += isnan(difference) ? 0 : 1;
        larger += !isnan(difference) && difference * (found < 0 ? -1 : 1) >= fabs(found) - 1e-12 ? 1 : 0;
    }
    return (double)larger / (double)ways;
}
