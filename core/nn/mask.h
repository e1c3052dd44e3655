/* Masks of attention: which keys each query sees. */
#ifndef CORE_NN_MASK_H
#define CORE_NN_MASK_H

#include "core/nn/cache.h"
#include "core/tensor/rows.h"

/* Which keys of its own row a query sees; all 0: all of them. */
typedef struct KeyMask {
    size_t window;   /* of those up to its own only the last this many, */
    size_t sinks;    /* and always the first this many; */
    Pattern pattern; /* only those that a rule gives it, */
    size_t block;    /* in blocks of this many keys (0: there is no rule), */
    size_t stride;   /* with this stride, a multiple of block */
} KeyMask;

void attend_masked(Attend *how, const KeyMask *mask);

/* Each row sees itself. */
Attend attend_rows(const Rows *rows, bool causal);

/* The same for only some queries. */
Attend attend_only(const Attend *how, const Queries *only);

/* Each row of queries sees the row of keys with its number. */
Attend attend_across(const Rows *queries, const Rows *keys);

/* Each row sees its row of a cache, including what this call appends to it. */
Attend attend_cached(const Rows *rows, const Cache *cache);

/* Each row of queries sees the row key_row[b] (on the device; NULL: its own number) of a cached memory. */
Attend attend_remembered(const Rows *queries, const Cache *memory, const int32_t *key_row);

#endif
