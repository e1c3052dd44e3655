/* Lesson 13, exercises: fill in the functions; exercise.h says what each does. `make grade-13` grades them. */
#include "course/13-training/exercise.h"

#include <math.h>
#include <stdlib.h>

/* 1. Slow is fine: for each position, count the positions that hold the same pair. */
bool most_frequent_pair(int32_t pair[2], const int32_t *symbol, const int32_t *start, const uint32_t *count,
                        size_t words)
{
    (void)pair, (void)symbol, (void)start, (void)count, (void)words;
    return false;
}

/* 2. Read at one position, write at another that is never farther on. */
size_t merge_pair(int32_t *symbol, size_t n, const int32_t pair[2], int32_t whole)
{
    (void)symbol, (void)pair, (void)whole;
    return n;
}

/* 3. A batch ends where the next text would be too much. */
size_t cut_batches(size_t *cut, const size_t *length, size_t n, size_t tokens)
{
    (void)cut, (void)length, (void)n, (void)tokens;
    return 0;
}

/* 4. The smaller of a line that rises and a curve that falls. */
double noam_rate(size_t step, size_t d, size_t warmup)
{
    (void)step, (void)d, (void)warmup;
    return 0;
}

/* 5. How long is the gradient, and what makes it short enough? */
void mine_squares(Stream *s, double *parts, const void *g_, size_t n)
{
    const float *g = g_;
    (void)s, (void)parts, (void)g, (void)n;
}

void mine_clip(Stream *s, StepState *state, const double *parts, size_t count, double max_norm)
{
    (void)s, (void)state, (void)parts, (void)count, (void)max_norm;
}

/* 6. Moments, then the step; only numbers first .. first+n-1. */
void mine_adam(Stream *s, void *w_, void *copy_, void *m_, void *v_, const void *g_, const StepState *state, Adam adam,
               const Span *spans, size_t span_count, size_t first, size_t n)
{
    float *w = w_, *copy = copy_, *m = m_, *v = v_;
    const float *g = g_;
    (void)s, (void)w, (void)copy, (void)m, (void)v, (void)g, (void)state, (void)adam;
    (void)spans, (void)span_count, (void)first, (void)n;
}

/* 7. Four loops, and the position of a query among packed rows. */
void mine_dropout_weights(Stream *s, void *y_, bool add, const void *x_, const Attend *how, const StepState *state)
{
    float *y = y_;
    const float *x = x_;
    (void)s, (void)y, (void)add, (void)x, (void)how, (void)state;
}
