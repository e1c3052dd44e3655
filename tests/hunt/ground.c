/* See ground.h. */
#include "tests/hunt/ground.h"

#include "base/philox.h"

#include <string.h>

/* A choice of operation `name` that belongs to a position in a row. */
static size_t choose(const Sketch *s, size_t name, Origin at, size_t n, uint32_t purpose)
{
    return (size_t)philox_below(n, s->seed, (uint32_t)name, at.row * 1000 + at.position, purpose);
}

enum { ID, INDEX, ACROSS, TARGET, SCORED, VALID, STANDS, LISTED, TARGET2, LOOK, LOOKS };

static size_t length_of(const Sketch *s, Domain domain, size_t row)
{
    return domain == POOLED ? 1 : s->length[domain][row];
}

/* One more position, of no row where row is SKETCH_ROWS. */
static void add_position(Ground *g, Domain domain, size_t row, size_t position, size_t stands)
{
    size_t n = g->rows[domain].positions++;
    g->origin[domain][n] = (Origin){row, position};
    g->ids[domain][n] = domain != POOLED && row < SKETCH_ROWS && position < g->s->registers
                            ? (int32_t)(VOCABULARY + position)
                            : (int32_t)choose(g->s, OPS + (size_t)domain, g->origin[domain][n], VOCABULARY, ID);
    g->position[domain][n] = row < SKETCH_ROWS ? (int32_t)stands : -1;
}

static void lay_rows(Ground *g, Domain domain, const Part *part)
{
    Rows *rows = &g->rows[domain];
    for (size_t b = 0; b < part->rows; b++) {
        size_t row = part->row[b], length = length_of(g->s, domain, row);
        size_t all = length + (domain == SIDE_1 ? part->longer : 0);
        for (size_t i = 0; i < all; i++)
            add_position(g, domain, row, part->turned && i < length ? length - 1 - i : i, i);
        g->start[domain][b + 1] = (int32_t)rows->positions;
        rows->longest = all > rows->longest ? all : rows->longest;
    }
    for (size_t i = 0; domain != POOLED && i < g->s->spare[domain]; i++)
        add_position(g, domain, SKETCH_ROWS, i, 0);
    rows->rows = part->rows;
    rows->ids = g->ids[domain];
    rows->position = g->position[domain];
    rows->start = g->start[domain];
}

/* Which position of `from` a position reads; -1: none. */
static int32_t gathered(const Ground *g, const Op *op, Domain from, size_t b, Origin at)
{
    size_t first = op->across ? 0 : (size_t)g->start[from][b];
    size_t end = op->across ? g->rows[from].positions : (size_t)g->start[from][b + 1];
    if (end == first || choose(g->s, op->name, at, 5, ACROSS) == 0)
        return -1;
    return (int32_t)(first + choose(g->s, op->name, at, end - first, INDEX));
}

static void lay_gather(Ground *g, size_t k)
{
    const Op *op = &g->s->op[k];
    Domain from = g->s->op[op->input[0]].domain;
    size_t b = 0;
    for (size_t n = 0; n < g->rows[op->domain].positions; n++) {
        while (b < g->rows[op->domain].rows && n >= (size_t)g->start[op->domain][b + 1])
            b++;
        bool of_row = b < g->rows[op->domain].rows;
        g->lists[k].index[n] = of_row || op->across ? gathered(g, op, from, b, g->origin[op->domain][n]) : -1;
    }
}

static void lay_targets(Ground *g, size_t k)
{
    const Op *op = &g->s->op[k];
    for (size_t n = 0; n < g->rows[op->domain].positions; n++)
        for (size_t i = 0; i < 2; i++) {
            Origin at = g->origin[op->domain][n];
            bool scored = at.row < SKETCH_ROWS && choose(g->s, op->name, at, 5, SCORED) > i;
            g->lists[k].targets[i][n] = scored ? (int32_t)choose(g->s, op->name, at, op->columns, i ? TARGET2 : TARGET)
                                               : -1;
        }
}

/* Lists for all positions that a query may have, of blocks that may be after the last key. */
static void lay_blocks(Ground *g, size_t k, size_t queries, size_t keys)
{
    Lists *l = &g->lists[k];
    const Op *op = &g->s->op[k];
    size_t n = 0, positions = (queries + OFFSET) / op->block + 1, blocks = keys / op->block + 2;
    for (size_t p = 0; p < positions; p++) {
        for (size_t j = 0; j < blocks; j++)
            if (choose(g->s, op->name, (Origin){p, j}, 2, LISTED))
                l->block_index[n++] = (int32_t)j;
        l->block_start[p + 1] = (int32_t)n;
    }
}

static Domain keys_of(const Sketch *s, const Op *op)
{
    return op->inputs > 1 ? s->op[op->input[1]].domain : op->domain;
}

static void lay_attention(Ground *g, size_t k, const Part *part)
{
    const Op *op = &g->s->op[k];
    Domain keys = keys_of(g->s, op);
    for (size_t b = 0; b < part->rows; b++) {
        Origin at = {part->row[b], 0};
        g->lists[k].length[b] = (int32_t)choose(g->s, op->name, at, length_of(g->s, keys, at.row) + 1, VALID);
        g->lists[k].offset[b] = (int32_t)choose(g->s, op->name, at, OFFSET + 1, STANDS);
    }
    for (size_t n = 0; op->guided && n < g->rows[op->domain].positions; n++) {
        const Origin at = g->origin[op->domain][n];
        const size_t of_row = at.row < SKETCH_ROWS ? length_of(g->s, keys, at.row) : 0;
        const bool looks = of_row && choose(g->s, op->name, at, 4, LOOKS);
        g->lists[k].targets[0][n] = looks ? (int32_t)choose(g->s, op->name, at, of_row, LOOK) : -1;
    }
    if (op->block)
        lay_blocks(g, k, g->rows[op->domain].longest, g->rows[keys].longest);
}

/* As core/train/batch.c stages them. */
static void lay_joined(Ground *g)
{
    Rows *own = &g->rows[SIDE_0];
    Joined *j = &own->joined;
    size_t n = 0;
    memset(g->joined.index, 0xff, sizeof g->joined.index); /* -1: of no row */
    *j = (Joined){.start = g->joined.start,
                  .position = g->joined.position,
                  .from_before = g->joined.from_before,
                  .from_own = g->joined.from_own,
                  .own = {own->positions, own->longest, g->joined.index, NULL, own->start, g->joined.offset}};
    for (size_t b = 0; b < own->rows; b++) {
        const int32_t *before = g->start[SIDE_1] + b, *mine = own->start + b, lead = before[1] - before[0];
        const size_t all = (size_t)(lead + mine[1] - mine[0]);
        g->joined.offset[b] = lead;
        for (int32_t p = 0; p < (int32_t)all; p++, n++) {
            g->joined.position[n] = p;
            g->joined.from_before[n] = p < lead ? before[0] + p : -1;
            g->joined.from_own[n] = p < lead ? -1 : mine[0] + p - lead;
            if (p >= lead)
                g->joined.index[mine[0] + p - lead] = (int32_t)n;
        }
        g->joined.start[b + 1] = (int32_t)n;
        j->longest = all > j->longest ? all : j->longest;
    }
    j->positions = n;
}

Ground *ground_new(const Sketch *s, const Part *part)
{
    Ground *g = scene_memory(1, sizeof *g);
    g->s = s;
    for (int domain = 0; domain < DOMAINS; domain++)
        lay_rows(g, (Domain)domain, part);
    lay_joined(g);
    for (size_t k = 0; k < s->count; k++)
        switch (s->op[k].what) {
        case GATHER: lay_gather(g, k); break;
        case LOSS: lay_targets(g, k); break;
        case ATTENTION:
        case BLOCK: lay_attention(g, k, part); break;
        default: break;
        }
    return g;
}

Attend ground_attend(const Ground *g, size_t k)
{
    const Op *op = &g->s->op[k];
    const Lists *l = &g->lists[k];
    Attend how = attend_across(&g->rows[op->domain], &g->rows[keys_of(g->s, op)]);
    how.causal = op->causal;
    how.window = op->window;
    how.key_length = op->lengths ? l->length : NULL;
    how.query_offset = op->offsets ? l->offset : NULL;
    how.block = op->block;
    how.sinks = op->sinks, how.pattern = op->pattern, how.stride = op->stride;
    how.block_start = l->block_start;
    how.block_index = l->block_index;
    return how;
}
