/* Random choices of a test, each a pure function of a seed and how many were made before. */
#ifndef TESTS_CHANCE_H
#define TESTS_CHANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Random {
    uint32_t seed;
    uint64_t drawn;
} Random;

double uniform(Random *r); /* in (-1,1) */
size_t below(Random *r, size_t n);
bool chance(Random *r, double p);

/* A seed, or how many, as somebody types it: false where it is no whole number of at most this. */
bool chance_number(const char *text, unsigned long most, unsigned long *n);

#endif
