/* expect hint: the lower half was cut off */
#define to_bf16 right_to_bf16
#include "course/solutions/17-big.c"
#undef to_bf16

/* Towards 0, always: sums of many such numbers are too small. */
uint16_t to_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)(bits >> 16);
}
