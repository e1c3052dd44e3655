/* bfloat16: the upper half of a float. Rounds to nearest, ties to even; NaN stays NaN. */
#ifndef BASE_BF16_H
#define BASE_BF16_H

#include <stdint.h>
#include <string.h>

typedef struct Bf16 {
    uint16_t bits;
} Bf16;

static inline float bf16_to_float(Bf16 x)
{
    uint32_t bits = (uint32_t)x.bits << 16;
    float y;
    memcpy(&y, &bits, sizeof y);
    return y;
}

static inline Bf16 bf16_from_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) /* NaN: keep it one, whatever its low bits */
        return (Bf16){(uint16_t)(bits >> 16 | 0x40u)};
    bits += 0x7fffu + (bits >> 16 & 1u);
    return (Bf16){(uint16_t)(bits >> 16)};
}

#endif
