/* Pairs of ids, numbered as they come: what a merge of two subwords is looked up by. */
#ifndef CORE_TEXT_PAIRS_H
#define CORE_TEXT_PAIRS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct Pair {
    int32_t left, right;
} Pair;

/* Begins as (Pairs){0}. */
typedef struct Pairs {
    size_t count, capacity;
    Pair *pair;        /* [count] */
    uint32_t *slots;   /* [slot_count] a hash table: number + 1, or 0 */
    size_t slot_count; /* a power of two, at least twice the count */
} Pairs;

/* The number of a pair: a new one is count - 1 afterwards. */
bool pairs_add(Pairs *p, Pair pair, size_t *number, Error *e);

/* Its number; PAIR_NONE when it is not there. */
#define PAIR_NONE SIZE_MAX
size_t pairs_find(const Pairs *p, Pair pair);

void pairs_close(Pairs *p);

#endif
