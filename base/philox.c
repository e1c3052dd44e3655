/* Philox4x32-10: ten rounds of two 32x32 -> 64 bit products on a counter, with a key that grows by Weyl's constants. */
#include "base/philox.h"

#include <math.h>

Philox philox(uint32_t seed, uint32_t step, uint32_t column4, uint32_t position, uint32_t head, uint32_t site)
{
    uint32_t c0 = column4, c1 = position, c2 = head, c3 = site;
    for (int round = 0; round < 10; round++) {
        uint64_t even = (uint64_t)0xD2511F53u * c0;
        uint64_t odd = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(odd >> 32) ^ c1 ^ seed;
        c1 = (uint32_t)odd;
        c2 = (uint32_t)(even >> 32) ^ c3 ^ step;
        c3 = (uint32_t)even;
        seed += 0x9E3779B9u; /* golden ratio */
        step += 0xBB67AE85u; /* sqrt(3) - 1 */
    }
    return (Philox){{c0, c1, c2, c3}};
}

static Philox stream(uint32_t seed, uint32_t step, uint64_t counter, uint32_t site)
{
    return philox(seed, step, (uint32_t)counter, (uint32_t)(counter >> 32), 0, site);
}

double philox_normal(uint32_t seed, uint32_t step, uint64_t index, uint32_t site)
{
    const double two_pi = 6.283185307179586476925;
    Philox r = stream(seed, step, index / 2, site);
    double radius = sqrt(-2 * log(philox_double(r.word[0], r.word[1])));
    double angle = two_pi * philox_double(r.word[2], r.word[3]);
    return radius * (index % 2 ? sin(angle) : cos(angle));
}

double philox_uniform(uint32_t seed, uint32_t step, uint64_t index, uint32_t site)
{
    Philox r = stream(seed, step, index / 2, site);
    const uint32_t *pair = r.word + 2 * (index % 2);
    return philox_double(pair[0], pair[1]);
}

/* The upper 64 bits of the product of x (64 bits) and n: x * n / 2^64. */
static uint64_t multiply_high(uint64_t x, uint64_t n)
{
    uint64_t x1 = x >> 32, x0 = x & 0xffffffffu, n1 = n >> 32, n0 = n & 0xffffffffu;
    uint64_t middle = x1 * n0 + (x0 * n0 >> 32);
    uint64_t low = x0 * n1 + (middle & 0xffffffffu);
    return x1 * n1 + (middle >> 32) + (low >> 32);
}

uint64_t philox_below(uint64_t n, uint32_t seed, uint32_t step, uint64_t index, uint32_t site)
{
    Philox r = stream(seed, step, index / 2, site);
    const uint32_t *pair = r.word + 2 * (index % 2);
    return multiply_high((uint64_t)pair[0] << 32 | pair[1], n);
}
