/* expect hint: nothing may depend on i alone */
/* expect points: 9 */
#define attend_to_itself right_attend_to_itself
#include "course/solutions/01-average.c"
#undef attend_to_itself

/* The same in any order, and no average at all. */
void attend_to_itself(float *y, float *weights, const float *x, size_t n, size_t d)
{
    right_attend_to_itself(y, weights, x, n, d);
    for (size_t i = 0; i < n * d; i++)
        y[i] = 0;
}
