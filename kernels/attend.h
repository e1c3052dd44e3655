/* What an Attend means, in one place for all backends: which keys a query sees, how far away they are, and which head
 * of them it reads.
 *
 * Query i of row b stands at position p = i + query_offset[b]. It sees keys first <= j < end of its row
 *
 *     end   = length, or min(length, p + 1) when causal
 *     first = 0,      or max(0, p + 1 - window) with a window
 *
 * With blocks it sees, of those, only keys in blocks that block p / block sees. It always sees the first `sinks` keys
 * before `end`. Entry e of a table of distances is p - j + ahead, kept within 0 .. distances-1. */
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

/* Whether some queries see keys with gaps between them. */
ATTEND_INLINE bool keys_have_gaps(const Attend *how) { return how->block || (how->window && how->sinks); }

/* Where the window of a position begins. */
ATTEND_INLINE size_t window_first(const Attend *how, size_t position)
{
    return how->window && position + 1 > how->window ? position + 1 - how->window : 0;
}

/* The first key that query i may see. */
ATTEND_INLINE size_t keys_first(const Attend *how, Keys keys, size_t i)
{
    return how->sinks ? 0 : window_first(how, i + keys.offset);
}

/* The next blocks, at block `at` or after it, that block `own` has in its list, one at a time; 0 .. -1: none. */
ATTEND_INLINE Range blocks_listed(const Attend *how, size_t own, size_t at)
{
    const int32_t *list = how->block_start + own;
    int32_t low = list[0], high = list[1]; /* in search of the first block that is not before `at` */
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if ((size_t)how->block_index[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    size_t block = low < list[1] ? (size_t)how->block_index[low] : 0;
    Range run = {block, low < list[1] ? block + 1 : 0};
    return run;
}

/* The next blocks, at block `at` or after it, that block `own` sees, as far as they follow one another; 0 .. -1: none. */
ATTEND_INLINE Range blocks_run(const Attend *how, size_t own, size_t at)
{
    const size_t stride = how->stride;
    if (how->pattern == PATTERN_LISTS)
        return blocks_listed(how, own, at);
    Range near = {own + 1 > stride ? own + 1 - stride : 0, own + stride};
    if (how->pattern == PATTERN_FIXED) {
        near.from = own / stride * stride;
        near.to = near.from + stride;
    }
    if (at >= near.from && at < near.to)
        near.from = at;
    else if (how->pattern == PATTERN_LOCAL && at >= near.to)
        near.from = near.to = 0;
    else if (how->pattern == PATTERN_STRIDED) {
        near.from = at + (own % stride + stride - at % stride) % stride;
        near.to = near.from + 1;
    } else if (how->pattern == PATTERN_FIXED) {
        near.from = at / stride * stride + stride - 1;
        near.to = near.from + 1;
    }
    return near;
}

/* The next keys that query i sees, at j or after it, as far as they follow one another without a gap (or as far as a
 * list's block or the sinks go). Where there are none: from = to = length. */
ATTEND_INLINE Range keys_run(const Attend *how, Keys keys, size_t i, size_t j)
{
    const size_t position = i + keys.offset, block = how->block;
    Range run = {window_first(how, position), keys_end(how, keys, i)};
    run.from = run.from > j ? run.from : j;
    if (j < how->sinks) {
        run.from = j;
        run.to = run.to < how->sinks ? run.to : how->sinks;
    } else if (block && !(how->pattern == PATTERN_LOCAL && position < how->sinks)) {
        Range seen = blocks_run(how, position / block, run.from / block);
        run.from = run.from > seen.from * block ? run.from : seen.from * block;
        run.to = run.to < seen.to * block ? run.to : seen.to * block;
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
