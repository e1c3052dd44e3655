/* Lesson 14, exercises: fill in the functions; exercise.h says what each does. `make grade-14` grades them. */
#include "course/14-translating/exercise.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 1. Three short ones. */
void mine_cache_lengths(Stream *s, int32_t *valid, const int32_t *length, const int32_t *start, size_t b)
{
    (void)s, (void)valid, (void)length, (void)start, (void)b;
}

void mine_cache_append(Stream *s, void *cache_, const int32_t *length, size_t capacity, Strided x, const int32_t *start,
                       size_t b, size_t d)
{
    float *cache = cache_;
    (void)s, (void)cache, (void)length, (void)capacity, (void)x, (void)start, (void)b, (void)d;
}

/* 2. A function that finds the likeliest class after a given one is half of it. */
void mine_choices(Stream *s, int32_t *which, void *values_, void *one_, const void *logits_, int32_t wanted, size_t n,
                  size_t v, size_t k)
{
    float *values = values_, *one = one_;
    const float *logits = logits_;
    (void)s, (void)which, (void)values, (void)one, (void)logits, (void)wanted, (void)n, (void)v, (void)k;
}

/* 3. Mind the sign: log p is below 0. */
double hypothesis_score(double log_p, size_t n, double alpha)
{
    (void)log_p, (void)n, (void)alpha;
    return 0;
}

/* 4. Put each continuation in its place among the best so far, as in sorting by insertion. */
size_t beam_step(size_t *parent, int32_t *token, double *sum, const double *log_p, const double *log_next, size_t live,
                 size_t v, size_t beam)
{
    (void)parent, (void)token, (void)sum, (void)log_p, (void)log_next, (void)live, (void)v, (void)beam;
    return 0;
}

/* 5. */
size_t matches(const int32_t *found, size_t size, const int32_t *reference, size_t reference_size, size_t n)
{
    (void)found, (void)size, (void)reference, (void)reference_size, (void)n;
    return 0;
}

/* 6. */
double bleu(const size_t correct[4], const size_t total[4], size_t found, size_t reference)
{
    (void)correct, (void)total, (void)found, (void)reference;
    return 0;
}

/* 7. */
void average_checkpoints(float *mean, const float *const *checkpoint, size_t count, size_t n)
{
    (void)mean, (void)checkpoint, (void)count, (void)n;
}
