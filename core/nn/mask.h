/* Masks of attention: which keys each query sees. */
#ifndef CORE_NN_MASK_H
#define CORE_NN_MASK_H

#include "core/nn/cache.h"
#include "core/tensor/rows.h"

/* Each row sees itself. */
Attend attend_rows(const Rows *rows, bool causal);

/* The same for some queries alone. */
Attend attend_only(const Attend *how, const Queries *only);

/* Each row of queries sees the row of keys with its number. */
Attend attend_across(const Rows *queries, const Rows *keys);

/* The same over what a cache holds and will hold once this call has appended to it. */
Attend attend_cached(const Rows *rows, const Cache *cache);

/* Each row of queries sees the row key_row[b] (on the device; NULL: its own number) of what a cache remembers. */
Attend attend_remembered(const Rows *queries, const Cache *memory, const int32_t *key_row);

#endif
