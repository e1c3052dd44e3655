/* Lesson 6, exercises: fill in the functions; exercise.h says what each does. `make grade-06` grades them. */
#include "course/06-masks/exercise.h"

#include <math.h>
#include <string.h>

/* 1. Packed rows, each in a block of t vectors */
void mine_pad(Stream *s, void *y_, Strided x, const int32_t *start, const int32_t *row, size_t b, size_t t, size_t d)
{
    float *y = y_;
    (void)s, (void)y, (void)x, (void)start, (void)row, (void)b, (void)t, (void)d;
}

/* 2. And back */
void mine_unpad(Stream *s, Strided y, bool add, const void *x_, const int32_t *start, const int32_t *row, size_t b,
                size_t n, size_t t, size_t d)
{
    const float *x = x_;
    (void)s, (void)y, (void)add, (void)x, (void)start, (void)row, (void)b, (void)n, (void)t, (void)d;
}

/* 3. One question after the other. Sizes have no sign: write j + window > p, not j > p - window. */
bool sees(const Attend *how, size_t b, size_t i, size_t j)
{
    (void)how, (void)b, (void)i, (void)j;
    return true;
}

/* 4. Four loops */
void mine_mask(Stream *s, void *scores_, const Attend *how)
{
    float *scores = scores_;
    (void)s, (void)scores, (void)how;
}

/* 5. No mask at all: the loops end where the row does. */
void packed_attention(float *y, const float *x, const int32_t *start, bool causal, size_t b, size_t n, size_t d)
{
    (void)y, (void)x, (void)start, (void)causal, (void)b, (void)n, (void)d;
}
