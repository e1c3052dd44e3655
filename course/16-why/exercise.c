/* Lesson 16, exercises: fill in the functions; exercise.h says what each does. `make grade-16` grades them. */
#include "course/16-why/exercise.h"

#include <math.h>
#include <stdlib.h>

/* 1. The column "all" of the lesson's first table */
size_t multiply_adds(LayerKind kind, size_t n, size_t d, size_t width)
{
    (void)kind, (void)n, (void)d, (void)width;
    return 0;
}

/* 2. Sizes have no sign: write t >= tap * step, not t - tap * step >= 0. */
void convolution(float *y, const float *x, const float *w, const float *bias, size_t n, size_t d, size_t out,
                 size_t taps, size_t step)
{
    (void)y, (void)x, (void)w, (void)bias, (void)n, (void)d, (void)out, (void)taps, (void)step;
}

/* 3. Each column for itself, then all columns for each vector */
void separable(float *y, const float *x, const float *depth, const float *point, size_t n, size_t d, size_t out,
               size_t taps)
{
    (void)y, (void)x, (void)depth, (void)point, (void)n, (void)d, (void)out, (void)taps;
}

/* 4. One after another */
void recurrence(float *y, const float *x, const float *wx, const float *wh, const float *bias, size_t n, size_t d)
{
    (void)y, (void)x, (void)wx, (void)wh, (void)bias, (void)n, (void)d;
}

/* 5. No mask: the loop over keys begins where the window does. */
void local_attention(float *y, const float *q, const float *k, const float *v, size_t window, size_t n, size_t d)
{
    (void)y, (void)q, (void)k, (void)v, (void)window, (void)n, (void)d;
}

/* 6. Who has heard of whom after one layer, after two, ... until nothing changes */
size_t layers_needed(const bool *sees, size_t n)
{
    (void)sees, (void)n;
    return (size_t)-1;
}
