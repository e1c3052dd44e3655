/* See crc.h. */
#include "base/crc.h"

uint32_t crc_of(uint32_t polynomial, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint32_t after[256], crc = ~0u; /* after[x]: what is left of a byte x */
    for (uint32_t x = 0; x < 256; x++) {
        after[x] = x;
        for (int bit = 0; bit < 8; bit++)
            after[x] = after[x] >> 1 ^ (after[x] & 1 ? polynomial : 0);
    }
    for (size_t i = 0; i < size; i++)
        crc = crc >> 8 ^ after[(crc ^ at[i]) & 0xff];
    return ~crc;
}
