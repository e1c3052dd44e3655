/* Dropout's factors for a run of columns, WIDTH Philox counters at a time. The same numbers as kernels/dropout.h. */
#ifndef KERNELS_CPU_RANDOM_H
#define KERNELS_CPU_RANDOM_H

#include "kernels/cpu/vector.h"
#include "kernels/dropout.h"

enum { FACTORS = 4 * WIDTH }; /* that one call makes */

typedef uint64_t U64Vec __attribute__((vector_size(8 * WIDTH)));

/* The high and low words of a product of 32-bit words. */
INLINE UVec multiply(UVec a, uint32_t factor, UVec *high)
{
    U64Vec product = __builtin_convertvector(a, U64Vec) * factor;
    *high = __builtin_convertvector(product >> 32, UVec);
    return __builtin_convertvector(product, UVec);
}

/* Philox4x32-10 for counters (column4 + lane, position, head, site): word w of lane i goes to words[4 i + w]. */
static inline void philox_vector(uint32_t words[FACTORS], uint32_t seed, uint32_t step, uint32_t column4,
                                 uint32_t position, uint32_t head, uint32_t site)
{
    UVec c0, zero = {0}, c1 = zero + position, c2 = zero + head, c3 = zero + site;
    for (uint32_t i = 0; i < WIDTH; i++)
        c0[i] = column4 + i;
    for (int round = 0; round < 10; round++) {
        UVec high0, high1, low0 = multiply(c0, 0xD2511F53u, &high0), low1 = multiply(c2, 0xCD9E8D57u, &high1);
        c0 = high1 ^ c1 ^ seed;
        c1 = low1;
        c2 = high0 ^ c3 ^ step;
        c3 = low0;
        seed += 0x9E3779B9u;
        step += 0xBB67AE85u;
    }
    for (size_t i = 0; i < WIDTH; i++) {
        words[4 * i] = c0[i];
        words[4 * i + 1] = c1[i];
        words[4 * i + 2] = c2[i];
        words[4 * i + 3] = c3[i];
    }
}

/* factors[j], j < FACTORS, of columns first + j; first is a multiple of 4. */
static inline void dropout_factors(float factors[FACTORS], Dropout drop, const StepState *state, size_t position,
                                   size_t head, size_t first)
{
    uint32_t words[FACTORS];
    float kept = (float)(1 / (1 - drop.rate));
    philox_vector(words, state->seed, state->step, (uint32_t)(first / 4),
                  state->first_position[drop.side] + (uint32_t)position, (uint32_t)head, drop.site);
    for (size_t j = 0; j < FACTORS; j++)
        factors[j] = philox_float(words[j]) < drop.rate ? 0 : kept;
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
