/* Keys and values of what was read before, so that a new token costs one token's work.
 *
 *     cache_begin(&cache, stream, rows->start, rows);     how long each row is with the new positions
 *     ... every layer appends its keys and values and attends over all of them ...
 *     cache_end(&cache, stream);                            they count from now on
 *
 * Row r of the cache belongs to row r of each call. The memory is the caller's to open and close; its addresses and all
 * call arguments stay the same from token to token, so that such a step can be captured. */
#ifndef CORE_NN_CACHE_H
#define CORE_NN_CACHE_H

#include "kernels/kernels.h"

typedef struct Cache Cache;

typedef struct CacheLayer {
    const Cache *cache;
    void *keys, *values; /* [heads, rows, capacity, columns / heads] of numbers */
} CacheLayer;

struct Cache {
    const Kernels *k;
    size_t layers, heads, rows, capacity, key_columns, value_columns;
    size_t most_rows, positions; /* for which there is memory */
    CacheLayer *layer;
    int32_t *starts; /* [rows+1] r * capacity */
    int32_t *start;  /* the same on the device */
    int32_t *length; /* [rows] positions that count */
    int32_t *valid;  /* [rows] the same with those of the running call */
};

/* heads: columns are stored in this many parts, each with all its positions; 1: each position is stored whole. */
bool cache_open(Cache *c, const Kernels *k, Stream *s, size_t layers, size_t heads, size_t rows, size_t capacity,
                size_t key_columns, size_t value_columns, Error *e);
void cache_close(Cache *c);

/* Writes x's rows after what a layer's keys, or its values, hold. */
void cache_append(const Cache *c, Stream *s, void *memory, Strided x, size_t columns, const int32_t *start,
                  size_t rows);

void cache_begin(Cache *c, Stream *s, const int32_t *start, size_t rows);
void cache_end(Cache *c, Stream *s, size_t rows);

/* Empties every row; or cuts each back to an earlier length (length [rows], on the device), because appending does not
 * change what was there. */
void cache_reset(Cache *c, Stream *s);
void cache_rewind(Cache *c, Stream *s, const int32_t *length);

/* Divides the same memory into other rows, all empty: at most as many, with as many positions in all, as it had first. */
void cache_lay(Cache *c, Stream *s, size_t rows, size_t capacity);

/* Copies the first `count` positions of row `from` to row `to`; lengths do not change. For beams, most of whose rows
 * can stay where they are. */
void cache_copy_row(Cache *c, Stream *s, size_t to, size_t from, size_t count);

static inline const CacheLayer *cache_layer(const Cache *c, size_t layer) { return c ? &c->layer[layer] : NULL; }

#endif
