/* See used.h. */
#include "core/train/used.h"

#include "base/memory.h"

#include <assert.h>
#include <string.h>

static size_t most_used(const Parameters *p, const BatchSize *size)
{
    size_t positions = 0;
    for (size_t i = 0; i < size->sides; i++)
        positions += size->positions[i];
    return positions < p->longest ? positions : p->longest;
}

bool used_rows_open(UsedRows *u, const Parameters *p, const BatchSize *size, Error *e)
{
    *u = (UsedRows){.parameters = p, .most = most_used(p, size), .rows = p->longest};
    u->slots = memory_get(u->rows, sizeof *u->slots);
    u->ids = memory_get(u->most, sizeof *u->ids);
    if (!u->slots || !u->ids)
        return memory_error(e, "the list of a table's used rows", u->rows, sizeof *u->slots);
    memset(u->slots, -1, u->rows * sizeof *u->slots);
    return true;
}

void used_rows_close(UsedRows *u)
{
    memory_free(u->slots);
    memory_free(u->ids);
    *u = (UsedRows){0};
}

static int32_t slot_of(UsedRows *u, int32_t id)
{
    if (u->slots[id] < 0) {
        u->slots[id] = (int32_t)u->count;
        u->ids[u->count++] = id;
    }
    return u->slots[id];
}

void used_rows_find(UsedRows *u, Batch *b)
{
    for (; u->count; u->count--)
        u->slots[u->ids[u->count - 1]] = -1;
    if (!u->rows)
        return;
    for (size_t i = 0; i < b->size.sides; i++)
        for (size_t n = 0; !b->side[i].among && n < b->side[i].positions; n++) {
            const int32_t id = b->side[i].ids[n];
            assert(id >= 0);
            if ((size_t)id < u->rows) /* otherwise it is of no such table */
                b->side[i].slots[n] = slot_of(u, id);
        }
}

size_t used_rows_count(const UsedRows *u)
{
    size_t count = u->round ? (u->count + u->round - 1) / u->round * u->round : u->count;
    return count < u->most ? count : u->most;
}

size_t used_rows_gradient(const UsedRows *u)
{
    return u->parameters->dense + used_rows_count(u) * u->parameters->lookup;
}

size_t used_rows_capacity(const Parameters *p, const BatchSize *size)
{
    return p->dense + most_used(p, size) * p->lookup;
}
