/* See cache.h. */
#include "core/nn/cache.h"

#include "base/memory.h"

#include <assert.h>

static void lay(Cache *c, Stream *s)
{
    for (size_t r = 0; r <= c->rows; r++)
        c->starts[r] = (int32_t)(r * c->capacity);
    c->k->upload(s, c->start, c->starts, (c->rows + 1) * sizeof *c->starts);
}

static bool cache_allocate(Cache *c, Stream *s)
{
    const Kernels *k = c->k;
    size_t positions = c->rows * c->capacity;
    c->layer = memory_get(c->layers, sizeof *c->layer);
    c->starts = memory_get(c->rows + 1, sizeof *c->starts);
    c->start = k->allocate((c->rows + 1) * sizeof *c->start);
    c->length = k->allocate(c->rows * sizeof *c->length);
    c->valid = k->allocate(c->rows * sizeof *c->valid);
    bool fine = c->starts && c->layer && c->start && c->length && c->valid;
    for (size_t i = 0; fine && i < c->layers; i++) {
        c->layer[i] = (CacheLayer){c, k->allocate(positions * c->key_columns * k->number),
                                   k->allocate(positions * c->value_columns * k->number)};
        fine = c->layer[i].keys && c->layer[i].values;
    }
    if (fine)
        lay(c, s);
    return fine;
}

bool cache_open(Cache *c, const Kernels *k, Stream *s, size_t layers, size_t heads, size_t rows, size_t capacity,
                size_t key_columns, size_t value_columns, Error *e)
{
    assert(key_columns % heads == 0 && value_columns % heads == 0);
    *c = (Cache){.k = k,
                 .layers = layers,
                 .heads = heads,
                 .rows = rows,
                 .capacity = capacity,
                 .most_rows = rows,
                 .positions = rows * capacity,
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
    c->k->release(c->start);
    c->k->release(c->length);
    c->k->release(c->valid);
    memory_free(c->starts);
    memory_free(c->layer);
    *c = (Cache){0};
}

/* Where a head's positions begin. */
static void *head_of(const Cache *c, void *memory, size_t head, size_t columns)
{
    return (char *)memory + head * c->rows * c->capacity * (columns / c->heads) * c->k->number;
}

void cache_append(const Cache *c, Stream *s, void *memory, Strided x, size_t columns, const int32_t *start, size_t rows)
{
    size_t part = columns / c->heads;
    for (size_t h = 0; h < c->heads; h++)
        c->k->cache_append(s, head_of(c, memory, h, columns), c->length, c->capacity,
                           (Strided){(char *)x.data + h * part * c->k->number, x.stride}, start, rows, part);
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

void cache_lay(Cache *c, Stream *s, size_t rows, size_t capacity)
{
    assert(rows <= c->most_rows && rows * capacity <= c->positions);
    c->rows = rows;
    c->capacity = capacity;
    lay(c, s);
    cache_reset(c, s);
}

/* Positions of a row follow one another. */
static void copy_row(const Cache *c, Stream *s, void *memory, size_t columns, size_t to, size_t from, size_t count)
{
    const size_t position = columns / c->heads * c->k->number, row = c->capacity * position;
    for (size_t h = 0; h < c->heads; h++) {
        char *head = head_of(c, memory, h, columns);
        c->k->copy(s, head + to * row, head + from * row, count * position);
    }
}

void cache_copy_row(Cache *c, Stream *s, size_t to, size_t from, size_t count)
{
    assert(to < c->rows && from < c->rows && count <= c->capacity);
    for (size_t i = 0; i < c->layers; i++) {
        copy_row(c, s, c->layer[i].keys, c->key_columns, to, from, count);
        copy_row(c, s, c->layer[i].values, c->value_columns, to, from, count);
    }
}
