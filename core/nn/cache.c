/* See cache.h. */
#include "core/nn/cache.h"

#include "base/memory.h"

static bool cache_allocate(Cache *c, Stream *s)
{
    const Kernels *k = c->k;
    size_t positions = c->rows * c->capacity;
    size_t widest = c->key_columns > c->value_columns ? c->key_columns : c->value_columns;
    int32_t *starts = memory_get(c->rows + 1, sizeof *starts);
    c->layer = memory_get(c->layers, sizeof *c->layer);
    c->spare = k->allocate(positions * widest * k->number);
    c->start = k->allocate((c->rows + 1) * sizeof *c->start);
    c->length = k->allocate(c->rows * sizeof *c->length);
    c->valid = k->allocate(c->rows * sizeof *c->valid);
    bool fine = starts && c->layer && c->spare && c->start && c->length && c->valid;
    for (size_t i = 0; fine && i < c->layers; i++) {
        c->layer[i] = (CacheLayer){c, k->allocate(positions * c->key_columns * k->number),
                                   k->allocate(positions * c->value_columns * k->number)};
        fine = c->layer[i].keys && c->layer[i].values;
    }
    for (size_t r = 0; fine && r <= c->rows; r++)
        starts[r] = (int32_t)(r * c->capacity);
    if (fine)
        k->upload(s, c->start, starts, (c->rows + 1) * sizeof *starts);
    memory_free(starts);
    return fine;
}

bool cache_open(Cache *c, const Kernels *k, Stream *s, size_t layers, size_t rows, size_t capacity, size_t key_columns,
                size_t value_columns, Error *e)
{
    *c = (Cache){.k = k,
                 .layers = layers,
                 .rows = rows,
                 .capacity = capacity,
                 .key_columns = key_columns,
                 .value_columns = value_columns};
    if (cache_allocate(c, s))
        return true;
    cache_close(c);
    return memory_error(e, "keys and values of earlier positions", layers * rows * capacity,
                        (key_columns + value_columns) * k->number);
}

void cache_close(Cache *c)
{
    if (!c->k)
        return;
    for (size_t i = 0; c->layer && i < c->layers; i++) {
        c->k->release(c->layer[i].keys);
        c->k->release(c->layer[i].values);
    }
    c->k->release(c->spare);
    c->k->release(c->start);
    c->k->release(c->length);
    c->k->release(c->valid);
    memory_free(c->layer);
    *c = (Cache){0};
}

void cache_begin(Cache *c, Stream *s, const int32_t *start, size_t rows)
{
    c->k->cache_lengths(s, c->valid, c->length, start, rows);
}

void cache_end(Cache *c, Stream *s, size_t rows) { c->k->copy(s, c->length, c->valid, rows * sizeof *c->length); }

void cache_reset(Cache *c, Stream *s) { c->k->zero(s, c->length, c->rows * sizeof *c->length); }

void cache_rewind(Cache *c, Stream *s, const int32_t *length)
{
    c->k->copy(s, c->length, length, c->rows * sizeof *c->length);
}

static void reorder(Cache *c, Stream *s, void *memory, size_t columns, const int32_t *order, size_t rows)
{
    c->k->gather_forward(s, c->spare, memory, order, rows, c->capacity * columns);
    c->k->copy(s, memory, c->spare, rows * c->capacity * columns * c->k->number);
}

void cache_reorder(Cache *c, Stream *s, const int32_t *order, size_t rows)
{
    for (size_t i = 0; i < c->layers; i++) {
        reorder(c, s, c->layer[i].keys, c->key_columns, order, rows);
        reorder(c, s, c->layer[i].values, c->value_columns, order, rows);
    }
    c->k->gather_lengths(s, c->valid, c->length, order, rows);
    c->k->copy(s, c->length, c->valid, rows * sizeof *c->length);
}
