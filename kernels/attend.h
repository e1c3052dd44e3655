/* What an Attend means, in one place for all twins on a CPU: which keys a query sees.
 *
 * Query i of row b sees keys first <= j < end of its row, with p = i + query_offset[b] its own position:
 *
 *     end   = length, or min(length, p + 1) when causal
 *     first = 0,      or max(0, p + 1 - window) with a window */
#ifndef KERNELS_ATTEND_H
#define KERNELS_ATTEND_H

#include "kernels/kernels.h"

typedef struct Keys {
    size_t start;  /* position of the row's key 0 */
    size_t length; /* valid keys of the row */
    size_t offset; /* position of the row's query 0 among them */
} Keys;

static inline Keys keys_of_row(const Attend *how, size_t b)
{
    size_t row = how->key_row ? (size_t)how->key_row[b] : b;
    size_t whole = (size_t)(how->key_start[row + 1] - how->key_start[row]);
    size_t valid = how->key_length ? (size_t)how->key_length[row] : whole;
    return (Keys){.start = (size_t)how->key_start[row],
                  .length = valid < whole ? valid : whole,
                  .offset = how->query_offset ? (size_t)how->query_offset[b] : 0};
}

static inline size_t keys_end(const Attend *how, Keys keys, size_t i)
{
    size_t position = i + keys.offset;
    return how->causal && position + 1 < keys.length ? position + 1 : keys.length;
}

static inline size_t keys_first(const Attend *how, Keys keys, size_t i)
{
    size_t position = i + keys.offset;
    return how->window && position + 1 > how->window ? position + 1 - how->window : 0;
}

#endif
