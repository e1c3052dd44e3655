/* See mask.h. */
#include "core/nn/mask.h"

#include <assert.h>

Attend attend_rows(const Rows *rows, bool causal)
{
    Attend how = attend_across(rows, rows);
    how.causal = causal;
    return how;
}

void attend_masked(Attend *how, const KeyMask *mask)
{
    how->window = mask->window;
    how->sinks = mask->sinks;
    how->block = mask->block;
    how->pattern = mask->pattern;
    how->stride = mask->block ? mask->stride / mask->block : 0;
}

Attend attend_only(const Attend *how, const Queries *only)
{
    Attend some = *how;
    assert(!how->query_offset);
    some.queries = only->positions;
    some.longest_query = only->longest;
    some.query_start = only->start;
    some.query_offset = only->offset;
    return some;
}

Attend attend_across(const Rows *queries, const Rows *keys)
{
    return (Attend){.rows = queries->rows,
                    .queries = queries->positions,
                    .longest_query = queries->longest,
                    .keys = keys->positions,
                    .longest_key = keys->longest,
                    .query_start = queries->start,
                    .key_start = keys->start};
}

Attend attend_cached(const Rows *rows, const Cache *cache)
{
    return (Attend){.rows = rows->rows,
                    .queries = rows->positions,
                    .longest_query = rows->longest,
                    .keys = cache->rows * cache->capacity,
                    .longest_key = cache->capacity,
                    .query_start = rows->start,
                    .key_start = cache->start,
                    .key_length = cache->valid,
                    .query_offset = cache->length,
                    .causal = true};
}

Attend attend_remembered(const Rows *queries, const Cache *memory, const int32_t *key_row)
{
    Attend how = attend_cached(queries, memory);
    how.key_length = memory->length;
    how.key_row = key_row;
    how.query_offset = NULL;
    how.causal = false;
    return how;
}
