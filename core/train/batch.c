/* See batch.h. */
#include "core/train/batch.h"

#include "base/memory.h"

#include <assert.h>
#include <string.h>

bool batch_open(Batch *b, const BatchSize *size, Error *e)
{
    *b = (Batch){.size = *size};
    for (size_t i = 0; i < size->sides; i++) {
        Side *side = &b->side[i];
        size_t positions = size->positions[i];
        side->ids = memory_get(positions, sizeof *side->ids);
        side->slots = memory_get(positions, sizeof *side->slots);
        side->targets = memory_get(positions, sizeof *side->targets);
        side->position = memory_get(positions, sizeof *side->position);
        side->start = memory_get(size->rows + 1, sizeof *side->start);
        if (!side->ids || !side->slots || !side->targets || !side->position || !side->start) {
            batch_close(b);
            return memory_error(e, "a batch", positions, 4 * sizeof(int32_t));
        }
    }
    return true;
}

void batch_close(Batch *b)
{
    for (size_t i = 0; i < b->size.sides; i++) {
        memory_free(b->side[i].ids);
        memory_free(b->side[i].slots);
        memory_free(b->side[i].targets);
        memory_free(b->side[i].position);
        memory_free(b->side[i].start);
    }
    *b = (Batch){0};
}

void batch_clear(Batch *b)
{
    for (size_t i = 0; i < b->size.sides; i++)
        b->side[i].rows = b->side[i].positions = 0;
}

size_t batch_row(Batch *b, size_t side, size_t length)
{
    Side *s = &b->side[side];
    size_t first = s->positions;
    assert(s->rows < b->size.rows && length <= b->size.positions[side] - first);
    for (size_t i = 0; i < length; i++)
        s->position[first + i] = (int32_t)i;
    s->positions += length;
    s->start[s->rows++] = (int32_t)first;
    s->start[s->rows] = (int32_t)s->positions;
    return first;
}

size_t batch_row_after(Batch *b, size_t side, Registers registers, size_t length)
{
    const size_t at = batch_row(b, side, registers.count + length);
    for (size_t i = 0; i < registers.count; i++) {
        b->side[side].ids[at + i] = registers.first + (int32_t)i;
        b->side[side].targets[at + i] = -1;
    }
    return at + registers.count;
}

size_t batch_length(const Batch *b, size_t row)
{
    size_t longest = 1;
    for (size_t i = 0; i < b->size.sides; i++) {
        size_t length = (size_t)(b->side[i].start[row + 1] - b->side[i].start[row]);
        longest = length > longest ? length : longest;
    }
    return longest;
}

size_t batch_lengths(const Batch *b)
{
    size_t sum = 0;
    for (size_t r = 0; r < b->side[0].rows; r++)
        sum += batch_length(b, r);
    return sum;
}

/* A row belongs to the part in whose share it begins. */
void batch_cut(const Batch *b, size_t parts, size_t *cut)
{
    size_t all = batch_lengths(b), before = 0, next = 0;
    for (size_t r = 0; r < b->side[0].rows; r++) {
        while (next < parts && next * all <= before * parts)
            cut[next++] = r;
        before += batch_length(b, r);
    }
    while (next <= parts)
        cut[next++] = b->side[0].rows;
}

size_t batch_targets(const Batch *b, size_t side)
{
    size_t count = 0;
    for (size_t i = 0; i < b->side[side].positions; i++)
        count += b->side[side].targets[i] >= 0;
    return count;
}

static size_t round_up(size_t positions, size_t round)
{
    return round ? (positions + round - 1) / round * round : positions;
}

/* One piece after another: the first positions, then ids, slots, targets, position and start of each side, and of what is
 * scored start, offset, index and targets. */
size_t device_rows_bytes(const BatchSize *size)
{
    size_t numbers = SIDES;
    for (size_t i = 0; i < size->sides; i++)
        numbers += 4 * round_up(size->positions[i], size->round) + 2 * size->positions[i] + 3 * size->rows + 2;
    if (size->before)
        numbers += 4 * size->positions[0] + 3 * size->positions[size->before - 1] + 2 * size->rows + 1;
    return numbers * sizeof(int32_t);
}

bool device_rows_open(DeviceRows *d, const Kernels *k, const BatchSize *size, Error *e)
{
    size_t bytes = device_rows_bytes(size);
    *d = (DeviceRows){.k = k, .size = *size, .memory = k->allocate(bytes), .staged = memory_get(bytes, 1)};
    d->there = k->send ? k->allocate(bytes) : NULL;
    if (d->memory && d->staged && (d->there || !k->send)) {
        d->first_position = (const uint32_t *)(const void *)d->memory;
        return true;
    }
    device_rows_close(d);
    return memory_error(e, "a micro-batch", bytes, 1);
}

void device_rows_close(DeviceRows *d)
{
    if (d->k)
        d->k->release(d->memory);
    if (d->there)
        d->k->release(d->there);
    memory_free(d->staged);
    *d = (DeviceRows){0};
}

static int32_t *staged(const DeviceRows *d, size_t at) { return (int32_t *)(void *)(d->staged + at); }

/* So many numbers are staged; returns where they will be on the device. */
static const int32_t *pass(const DeviceRows *d, size_t *at, size_t count)
{
    const int32_t *there = (const int32_t *)(const void *)(d->memory + *at);
    *at += count * sizeof *there;
    return there;
}

static const int32_t *stage(const DeviceRows *d, size_t *at, const int32_t *from, size_t count)
{
    if (count)
        memcpy(staged(d, *at), from, count * sizeof *from);
    return pass(d, at, count);
}

/* Nothing is staged where all is scored, as in most training. */
static Queries stage_scored(const DeviceRows *d, size_t *at, const Side *side, size_t first, size_t count)
{
    Queries q = {0};
    int32_t *start = staged(d, *at), *offset = start + count + 1, *index = offset + count;
    const int32_t from = side->start[first];
    *start = 0;
    for (size_t r = 0; r < count; r++) {
        int32_t row = side->start[first + r], end = side->start[first + r + 1], i = row;
        while (i < end && side->targets[i] < 0)
            i++;
        offset[r] = i - row;
        q.longest = (size_t)(end - i) > q.longest ? (size_t)(end - i) : q.longest;
        for (; i < end; i++)
            index[q.positions++] = i - from;
        start[r + 1] = (int32_t)q.positions;
    }
    if (q.positions == (size_t)(side->start[first + count] - from))
        return q;
    int32_t *targets = index + q.positions;
    for (size_t i = 0; i < q.positions; i++)
        targets[i] = side->targets[from + index[i]];
    q.start = pass(d, at, count + 1);
    q.offset = pass(d, at, count);
    q.index = pass(d, at, q.positions);
    q.targets = pass(d, at, q.positions);
    return q;
}

/* Numbers of positions, and `none` for those that belong to no row. */
static const int32_t *stage_rounded(const DeviceRows *d, size_t *at, const int32_t *from, size_t count, size_t rounded,
                                    int32_t none)
{
    const int32_t *there = stage(d, at, from, count);
    for (size_t i = count; i < rounded; i++) {
        *staged(d, *at) = none;
        pass(d, at, 1);
    }
    return there;
}

/* Ids that are positions in the rows of another side become positions of the micro-batch. */
static void place_ids(const DeviceRows *d, size_t at, const Side *side, const Side *among, size_t first, size_t count)
{
    int32_t *id = staged(d, at);
    for (size_t r = first; r < first + count; r++)
        for (int32_t i = side->start[r]; i < side->start[r + 1]; i++, id++) {
            assert(*id >= 0 && *id < among->start[r + 1] - among->start[r]);
            *id += among->start[r] - among->start[first];
        }
}

static Rows stage_side(const DeviceRows *d, size_t *at, const Batch *b, size_t number, size_t first, size_t count)
{
    const Side *side = &b->side[number];
    const size_t ids = *at;
    size_t from = (size_t)side->start[first], positions = (size_t)side->start[first + count] - from;
    size_t rounded = round_up(positions, d->size.round);
    Rows rows = {.positions = rounded, .rows = count};
    rows.ids = stage_rounded(d, at, side->ids + from, positions, rounded, side->among ? -1 : 0);
    if (side->among)
        place_ids(d, ids, side, &b->side[side->among - 1], first, count);
    rows.slots = stage_rounded(d, at, side->slots + from, positions, rounded, 0);
    rows.targets = stage_rounded(d, at, side->targets + from, positions, rounded, -1);
    rows.position = stage_rounded(d, at, side->position + from, positions, rounded, -1);
    int32_t *start = staged(d, *at);
    rows.start = stage(d, at, side->start + first, count + 1);
    for (size_t r = 0; r <= count; r++) {
        start[r] -= (int32_t)from; /* counted from the micro-batch's first position */
        size_t length = r ? (size_t)(start[r] - start[r - 1]) : 0;
        rows.longest = length > rows.longest ? length : rows.longest;
    }
    rows.scored = stage_scored(d, at, side, first, count);
    return rows;
}

/* Rows of a side that come after those of another. */
static Joined stage_joined(const DeviceRows *d, size_t *at, const Side *own, const Side *before, const Rows *rows,
                           size_t first)
{
    const size_t count = rows->rows, n_own = (size_t)(own->start[first + count] - own->start[first]),
                 n = n_own + (size_t)(before->start[first + count] - before->start[first]);
    int32_t *start = staged(d, *at), *position = start + count + 1, *from_before = position + n,
            *from_own = from_before + n, *index = from_own + n, *offset = index + n_own, i = 0, of_before = 0,
            of_own = 0;
    Joined j = {.positions = n, .own = {.positions = n_own, .longest = rows->longest, .start = rows->start}};
    for (size_t r = first; r < first + count; r++) {
        const int32_t lead = before->start[r + 1] - before->start[r], length = own->start[r + 1] - own->start[r];
        *start++ = i;
        *offset++ = lead;
        for (int32_t p = 0; p < lead + length; p++, i++) {
            *position++ = p;
            *from_before++ = p < lead ? of_before++ : -1;
            *from_own++ = p < lead ? -1 : of_own++;
            if (p >= lead)
                *index++ = i;
        }
        j.longest = (size_t)(lead + length) > j.longest ? (size_t)(lead + length) : j.longest;
    }
    *start = i;
    j.start = pass(d, at, count + 1);
    j.position = pass(d, at, n);
    j.from_before = pass(d, at, n);
    j.from_own = pass(d, at, n);
    j.own.index = pass(d, at, n_own);
    j.own.offset = pass(d, at, count);
    return j;
}

/* Where the rows will be; returns how many bytes they are. */
static size_t stage_rows(DeviceRows *d, Rows *rows, const Batch *b, size_t first, size_t count)
{
    int32_t first_position[SIDES] = {0};
    size_t at = 0;
    for (size_t i = 0; i < d->size.sides; i++) {
        first_position[i] = b->side[i].start[first];
        assert(count <= d->size.rows &&
               (size_t)(b->side[i].start[first + count] - first_position[i]) <= d->size.positions[i]);
    }
    stage(d, &at, first_position, SIDES);
    for (size_t i = 0; i < d->size.sides; i++)
        rows[i] = stage_side(d, &at, b, i, first, count);
    if (d->size.before)
        rows[0].joined = stage_joined(d, &at, &b->side[0], &b->side[d->size.before - 1], &rows[0], first);
    return at;
}

void device_rows_upload(DeviceRows *d, Stream *s, const Batch *b, size_t first, size_t count)
{
    size_t bytes = stage_rows(d, d->rows, b, first, count);
    d->k->upload(s, d->memory, d->staged, bytes);
}

void device_rows_send(DeviceRows *d, Stream *s, const Batch *b, size_t first, size_t count)
{
    d->next_bytes = stage_rows(d, d->next, b, first, count);
    d->k->send(s, d->there, d->staged, d->next_bytes);
}

bool device_rows_fetch(DeviceRows *d, Stream *s)
{
    if (!d->next_bytes)
        return false;
    d->k->fetch(s, d->memory, d->there, d->next_bytes);
    memcpy(d->rows, d->next, sizeof d->rows);
    d->next_bytes = 0;
    return true;
}
