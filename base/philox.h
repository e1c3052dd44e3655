/* Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011): random numbers without state, as a function of a key and a counter.
 *
 * The whole suite draws with key (seed, step) and counter (column / 4, position, head, site). A site belongs to a
 * layer, to initialisation, to the data or to the sampler; so a number is the same however the work was split. */
#ifndef BASE_PHILOX_H
#define BASE_PHILOX_H

#include <stdint.h>

typedef struct Philox {
    uint32_t word[4];
} Philox;

Philox philox(uint32_t seed, uint32_t step, uint32_t column4, uint32_t position, uint32_t head, uint32_t site);

/* In [0,1), 24 bits; and in (0,1), 52 bits made of two words (a 53rd would leave no room for the half, and round to 1).
 */
static inline float philox_float(uint32_t word) { return (float)(word >> 8) * 0x1p-24f; }
static inline double philox_double(uint32_t high, uint32_t low)
{
    return ((double)(high >> 6) * 0x1p26 + (double)(low >> 6) + 0.5) * 0x1p-52;
}

/* The standard normal value number `index` of a stream (Box-Muller on the words of counter index / 2). */
double philox_normal(uint32_t seed, uint32_t step, uint64_t index, uint32_t site);

/* The uniform value in (0,1) number `index` of a stream. */
double philox_uniform(uint32_t seed, uint32_t step, uint64_t index, uint32_t site);

/* A whole number in [0,n), n > 0, without bias worth speaking of (64 random bits scaled). */
uint64_t philox_below(uint64_t n, uint32_t seed, uint32_t step, uint64_t index, uint32_t site);

#endif
