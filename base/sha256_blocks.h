/* What a sum spends its time on: blocks of 64 bytes that change the eight words of its hash. */
#ifndef BASE_SHA256_BLOCKS_H
#define BASE_SHA256_BLOCKS_H

#include "base/sha256.h"

#include <stdbool.h>

extern const uint32_t sha256_rounds[64]; /* the constant of each round */

void sha256_plain(uint32_t hash[8], const unsigned char *blocks, size_t count);

/* The same by instructions that some x86 processors have for it, some eight times as fast. False: this one has none. */
bool sha256_x86(uint32_t hash[8], const unsigned char *blocks, size_t count);

#endif
