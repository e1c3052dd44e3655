/* expect hint: Bonferroni */
#define holm right_holm
#include "course/solutions/19-seeds.c"
#undef holm

/* All of them times n: safe, and more than it takes */
void holm(double *corrected, const double *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        corrected[i] = fmin(1, p[i] * (double)n);
}
