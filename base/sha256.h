/* SHA-256 (FIPS 180-4), to tell whether two data sets or vocabularies are the same, and whether a file is as it was. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct Sha256 {
    char text[65]; /* hexadecimal */
} Sha256;

Sha256 sha256(const void *bytes, size_t size);

/* The same piece by piece. */
typedef struct Sha256Sum {
    uint32_t hash[8];
    unsigned char rest[64]; /* what makes no block yet */
    uint64_t size;
} Sha256Sum;

void sha256_begin(Sha256Sum *s);
void sha256_add(Sha256Sum *s, const void *bytes, size_t size);
Sha256 sha256_end(Sha256Sum *s);

#endif
