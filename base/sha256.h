/* SHA-256 (FIPS 180-4), to tell whether two data sets or vocabularies are the same. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>

typedef struct Sha256 {
    char text[65]; /* hexadecimal */
} Sha256;

Sha256 sha256(const void *bytes, size_t size);

#endif
