/* expect hint: divided by n - 1 */
#define moments right_moments
#include "course/solutions/19-seeds.c"
#undef moments

/* The deviation of these numbers, not that of all that there could be. */
Moments moments(const double *x, size_t n)
{
    Moments m = right_moments(x, n);
    m.sd *= sqrt((double)(n - 1) / (double)n);
    return m;
}
