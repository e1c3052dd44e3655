/* Lesson 17, exercises: fill in the functions; exercise.h says what each does. `make grade-17` grades them. */
#include "course/17-big/exercise.h"

#include <math.h>
#include <string.h>

/* 1. memcpy between a float and a uint32_t shows its bits. Half of a step of the upper 16 is 0x8000. */
uint16_t to_bf16(float x)
{
    (void)x;
    return 0x1234;
}

float from_bf16(uint16_t bits)
{
    (void)bits;
    return -1;
}

/* 2. Count. */
size_t state_bytes(size_t parameters, size_t workers, bool bf16)
{
    (void)parameters, (void)workers, (void)bf16;
    return 0;
}

/* 3. One line */
void mine_accumulate(Stream *s, void *to_, const void *from_, size_t n)
{
    float *to = to_;
    const float *from = from_;
    (void)s, (void)to, (void)from, (void)n;
}

/* 4. A mean of means is no mean, unless all have as many rows. */
float accumulated(float *gradient, float *own, size_t size, Mean mean, const void *context, const size_t *cut,
                  size_t micros)
{
    (void)gradient, (void)own, (void)size, (void)mean, (void)context, (void)cut, (void)micros;
    return -1;
}

/* 5. Two loops over workers: how far neighbours are apart, and who is the left one */
void tree_sum(float *const *g, size_t workers, size_t n) { (void)g, (void)workers, (void)n; }

/* 6. Forward once, keeping what segments read; then segment by segment, from the last */
void recomputed(float *dx, const float *dy, const float *x0, float *room, const Chain *c)
{
    (void)dx, (void)dy, (void)x0, (void)room, (void)c;
}
