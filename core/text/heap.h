/* A binary heap: what goes in in any order comes out in order. */
#ifndef CORE_TEXT_HEAP_H
#define CORE_TEXT_HEAP_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* A smaller `first` comes out first; of equal ones, a smaller `second`. */
typedef struct Rank {
    uint64_t first, second;
} Rank;

/* Begins as (Heap){0}. */
typedef struct Heap {
    Rank *ranks; /* [count] */
    size_t count, capacity;
} Heap;

bool heap_push(Heap *h, Rank rank, Error *e);
Rank heap_pop(Heap *h); /* of a heap that is not empty */
void heap_close(Heap *h);

#endif
