/* What an Attend means, in one place for all backends: which keys a query sees, how far away they are, and which head
 * of them it reads.
 *
 * Query i of row b stands at position p = i + query_offset[b]. It sees keys first <= j < end of its row
 *
 *     end   = length, or min(length, p + 1) when causal
 *     first = 0,      or max(0, p + 1 - window) with a window
 *
 * and where there are blocks, of those the keys in blocks that are listed for block p / block. Entry e of a table of
 * distances is p - j + ahead, kept within 0 .. distances-1. */
#ifndef KERNELS_ATTEND_H
#define KERNELS_ATTEND_H

#include "kernels/kernels.h"

#ifndef ATTEND_INLINE /* code for a GPU defines it */
#define ATTEND_INLINE static inline
#endif

typedef struct Range {
    size_t from, to; /* from .. to-1 */
} Range;

typedef struct Keys {
    size_t start;  /* position of the row's key 0 */
    size_t length; /* valid keys of the row */
    size_t offset; /* position of the row's query 0 among them */
} Keys;

/* Grouped-query attention (Ainslie et al. 2023): keys and values have G heads, and H/G heads of queries share each. */
ATTEND_INLINE size_t kv_heads(const Attend *how) { return how->kv_heads ? how->kv_heads : how->heads; }
ATTEND_INLINE size_t heads_per_kv(const Attend *how) { return how->kv_heads ? how->heads / how->kv_heads : 1; }

/* The head of keys and values that a head of queries reads. */
ATTEND_INLINE size_t kv_head(const Attend *how, size_t head) { return how->kv_heads ? head / heads_per_kv(how) : head; }

ATTEND_INLINE Keys keys_of_row(const Attend *how, size_t b)
{
    size_t row = how->key_row ? (size_t)how->key_row[b] : b;
    size_t whole = (size_t)(how->key_start[row + 1] - how->key_start[row]);
    size_t valid = how->key_length ? (size_t)how->key_length[row] : whole;
    Keys keys = {(size_t)how->key_start[row], valid < whole ? valid : whole,
                 how->query_offset ? (size_t)how->query_offset[b] : 0};
    return keys;
}

ATTEND_INLINE size_t keys_end(const Attend *how, Keys keys, size_t i)
{
    size_t position = i + keys.offset;
    return how->causal && position + 1 < keys.length ? position + 1 : keys.length;
}

ATTEND_INLINE size_t keys_first(const Attend *how, Keys keys, size_t i)
{
    size_t position = i + keys.offset;
    return how->window && position + 1 > how->window ? position + 1 - how->window : 0;
}

/* The next keys that query i sees, at j or after it, as far as they follow one another without a gap (of blocks: one
 * block's). Where there are none: from = to = length. */
ATTEND_INLINE Range keys_run(const Attend *how, Keys keys, size_t i, size_t j)
{
    Range run = {keys_first(how, keys, i), keys_end(how, keys, i)};
    run.from = run.from > j ? run.from : j;
    if (how->block) {
        const int32_t *list = how->block_start + (i + keys.offset) / how->block;
        int32_t low = list[0], high = list[1]; /* in search of the first block that ends after run.from */
        while (low < high) {
            int32_t middle = low + (high - low) / 2;
            if (((size_t)how->block_index[middle] + 1) * how->block <= run.from)
                low = middle + 1;
            else
                high = middle;
        }
        size_t first = low < list[1] ? (size_t)how->block_index[low] * how->block : run.to;
        run.from = run.from > first ? run.from : first;
        run.to = run.to < first + how->block ? run.to : first + how->block;
    }
    if (run.from >= run.to)
        run.from = run.to = keys.length;
    return run;
}

/* The first key at j or after it that query i sees; length: there is none. */
ATTEND_INLINE size_t keys_next(const Attend *how, Keys keys, size_t i, size_t j)
{
    return keys_run(how, keys, i, j).from;
}

ATTEND_INLINE size_t distance_entry(const Attend *how, Keys keys, size_t i, size_t j)
{
    size_t position = i + keys.offset + how->ahead;
    size_t entry = position > j ? position - j : 0;
    return entry < how->distances ? entry : how->distances - 1;
}

#endif
