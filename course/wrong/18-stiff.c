/* expect hint: y follows the largest score as the sum does */
#define merge_parts right_merge_parts
#include "course/solutions/18-kernel.c"
#undef merge_parts

/* The sum follows the largest score, and y does not. */
void merge_parts(Part *all, const Part *other, size_t d)
{
    float largest = fmaxf(all->largest, other->largest);
    if (largest == -INFINITY)
        return;
    all->sum = all->sum * expf(all->largest - largest) + other->sum * expf(other->largest - largest);
    all->largest = largest;
    for (size_t c = 0; c < d; c++)
        all->y[c] += other->y[c];
}
