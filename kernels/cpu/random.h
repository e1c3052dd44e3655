/* Dropout's factors for a run of columns. The same numbers as kernels/dropout.h. */
#ifndef KERNELS_CPU_RANDOM_H
#define KERNELS_CPU_RANDOM_H

#include "kernels/cpu/vector.h"
#include "kernels/dropout.h"

#include <math.h>

enum { FACTORS = 4 * WIDTH }; /* that one call makes */

/* Philox4x32-10 for counters (column4 + lane, position, head, site): word w of lane i goes to the (4 i + w)-th number of
 * 32 bits in words. A lane of 64 bits holds one in its lower half; what is in its upper half does not matter. */
static inline void philox_vector(uint64_t words[WIDTH], uint32_t seed, uint32_t step, uint32_t column4,
                                 uint32_t position, uint32_t head, uint32_t site)
{
    LVec c0, zero = {0}, c1 = zero + position, c2 = zero + head, c3 = zero + site;
    for (uint32_t i = 0; i < WIDTH / 2; i++)
        c0[i] = column4 + i;
    for (int round = 0; round < 10; round++) {
        LVec product0 = vec_multiply_low(c0, 0xD2511F53u), product1 = vec_multiply_low(c2, 0xCD9E8D57u);
        c0 = product1 >> 32 ^ c1 ^ seed;
        c1 = product1;
        c2 = product0 >> 32 ^ c3 ^ step;
        c3 = product0;
        seed += 0x9E3779B9u;
        step += 0xBB67AE85u;
    }
    LVec low = (c0 & UINT32_MAX) | c1 << 32, high = (c2 & UINT32_MAX) | c3 << 32;
    uint64_t pair[2][WIDTH / 2]; /* in memory, so that compilers find the shuffle */
    memcpy(pair[0], &low, sizeof low);
    memcpy(pair[1], &high, sizeof high);
    for (size_t i = 0; i < WIDTH / 2; i++) {
        words[2 * i] = pair[0][i];
        words[2 * i + 1] = pair[1][i];
    }
}

/* factors[j], j < FACTORS, of columns first + j; first is a multiple of 4. */
static inline void dropout_factors(float factors[FACTORS], Dropout drop, const StepState *state, size_t position,
                                   size_t head, size_t first)
{
    uint64_t words[2 * WIDTH];
    for (size_t half = 0; half < 2; half++)
        philox_vector(words + half * WIDTH, state->seed, state->step, (uint32_t)(first / 4 + half * (WIDTH / 2)),
                      state->first_position[drop.side] + (uint32_t)position, (uint32_t)head, drop.site);
    uint32_t dropped = (uint32_t)ceil(drop.rate * 0x1p24); /* philox_float() < rate, in whole numbers */
    Vec kept = vec_set((float)(1 / (1 - drop.rate)));
    for (size_t j = 0; j < FACTORS; j += WIDTH) {
        UVec random;
        memcpy(&random, words + j / 2, sizeof random);
        vec_store(factors + j, (Vec)((UVec)kept & (UVec)(random >> 8 >= dropped)));
    }
}

/* A walk along the columns of one position: the factors of a vector at a time. */
typedef struct Factors {
    Dropout drop;
    const StepState *state;
    size_t position, head;
    float now[FACTORS];
} Factors;

INLINE Vec factors_at(Factors *f, size_t column)
{
    if (f->drop.rate == 0)
        return vec_set(1);
    if (column % FACTORS == 0)
        dropout_factors(f->now, f->drop, f->state, f->position, f->head, column);
    return vec_load(f->now + column % FACTORS);
}

#endif
