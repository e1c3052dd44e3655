/* Runs that are to be the same, whoever computes their parts: each is small and has something that could depend on that. */
#ifndef TESTS_RANKS_SAME_H
#define TESTS_RANKS_SAME_H

#include <stddef.h>

enum { SAME_STEPS = 9, SAME_CASES = 7 };

/* A program, and the words of a run of it. */
typedef struct SameCase {
    const char *program, *words;
} SameCase;

extern const SameCase same_cases[SAME_CASES];

#endif
