/* See update.h. */
#include "core/train/update.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static size_t chunks_of(size_t numbers) { return (numbers + SQUARES_CHUNK - 1) / SQUARES_CHUNK; }

/* Matrices decay; biases, gains and positions' neighbours in rank 1 do not. */
static bool decays(const Parameter *p) { return p->role != ROLE_CONSTANT && p->rank == 2; }

static int by_begin(const void *a, const void *b)
{
    const Span *left = a, *right = b;
    return left->begin < right->begin ? -1 : left->begin > right->begin;
}

enum { SLOTS_ROUND = 1024 }; /* where a step of one size is captured */

/* Of all tables that are only looked up */
static size_t lookup_rows(const Parameters *p)
{
    size_t rows = 0;
    for (size_t i = 0; i < p->count; i++)
        rows += p->list[i]->role == ROLE_LOOKUP ? p->list[i]->shape[0] : 0;
    return rows;
}

bool update_open(Trainer *c, Error *e)
{
    const Kernels *k = c->options.k;
    const Parameters *p = c->parameters;
    BatchSize step = plan_size(c->task, c->task->most_rows, false);
    Span *spans = memory_get(p->count, sizeof *spans);
    c->m = k->allocate(p->size * k->real);
    c->v = k->allocate(p->size * k->real);
    c->parts = k->allocate(chunks_of(plan_gradient(p, c->task)) * sizeof *c->parts);
    c->spans = k->allocate(p->count * sizeof *c->spans);
    c->slots = k->allocate(p->longest * sizeof *c->slots);
    c->rest = k->adam_settle ? k->allocate(lookup_rows(p) * sizeof *c->rest) : NULL;
    bool fine = spans && c->m && c->v && c->parts && c->spans && c->slots && (c->rest || !k->adam_settle) &&
                used_rows_open(&c->used, p, &step, e);
    for (size_t i = 0; fine && c->options.decay > 0 && i < p->count; i++)
        if (decays(p->list[i]) && p->list[i]->role != ROLE_LOOKUP)
            spans[c->span_count++] = (Span){p->list[i]->offset, p->list[i]->offset + p->list[i]->count,
                                            c->options.decay};
    c->used.round = k->capture ? SLOTS_ROUND : 0;
    if (fine) {
        update_awake(c);
        qsort(spans, c->span_count, sizeof *spans, by_begin);
        k->upload(c->worker[0].stream, c->spans, spans, c->span_count * sizeof *spans);
    }
    memory_free(spans);
    return fine || memory_error(e, "Adam's moments", p->size, 2 * k->real);
}

void update_close(Trainer *c)
{
    const Kernels *k = c->options.k;
    k->release(c->m);
    k->release(c->v);
    k->release(c->parts);
    k->release(c->spans);
    k->release(c->slots);
    k->release(c->rest);
    used_rows_close(&c->used);
}

/* This worker's range of the first `numbers` of a block: whole chunks, so that partial sums do not depend on how many
 * workers there are. */
static void range_of(const Trainer *c, size_t number, size_t numbers, size_t *first, size_t *count)
{
    size_t chunks = chunks_of(numbers), from = chunks * number / c->options.workers,
           to = chunks * (number + 1) / c->options.workers;
    size_t end = to * SQUARES_CHUNK < numbers ? to * SQUARES_CHUNK : numbers;
    *first = from * SQUARES_CHUNK;
    *count = end > *first ? end - *first : 0;
}

static void *at(const Trainer *c, void *block, size_t offset) { return (char *)block + offset * c->options.k->real; }

/* Sums the gradients of all workers over this worker's range, as a tree: (0+1)+(2+3). */
void update_sum(Trainer *c, Worker *w, size_t number)
{
    size_t first, count;
    range_of(c, number, used_rows_gradient(&c->used), &first, &count);
    for (size_t gap = 1; gap < c->options.workers; gap *= 2)
        for (size_t i = 0; i + gap < c->options.workers; i += 2 * gap)
            c->options.k->accumulate(w->stream, at(c, c->worker[i].gradient, first),
                                     at(c, c->worker[i + gap].gradient, first), count);
    c->options.k->squares(w->stream, c->parts + first / SQUARES_CHUNK, at(c, c->worker[0].gradient, first), count);
}

void update_clip(Trainer *c, Worker *w)
{
    c->options.k->clip(w->stream, w->state, c->parts, chunks_of(used_rows_gradient(&c->used)), c->options.clip);
}

/* Rows of a looked-up table that a worker takes before the next worker's turn: an even share, or, where rows rest, few,
 * since those of frequent words, which rest least, lie together. */
static size_t rows_a_turn(const Trainer *c, const Parameter *p)
{
    return c->rest ? 256 : (p->shape[0] + c->options.workers - 1) / c->options.workers;
}

/* What is done with each table that is only looked up; rest: of its rows, or NULL where none rest. */
typedef void TableWork(Trainer *c, Worker *w, size_t number, const Parameter *p, RowRest *rest);

static void each_table(Trainer *c, Worker *w, size_t number, TableWork *work)
{
    RowRest *rest = c->rest;
    for (size_t i = 0; i < c->parameters->count; i++) {
        const Parameter *p = c->parameters->list[i];
        if (p->role != ROLE_LOOKUP)
            continue;
        work(c, w, number, p, rest);
        rest = rest ? rest + p->shape[0] : NULL;
    }
}

/* All rows move, since moments do, or rest. */
static void update_table(Trainer *c, Worker *w, size_t number, const Parameter *p, RowRest *rest)
{
    const void *g = at(c, c->worker[0].gradient, gradient_offset(c->parameters, p, used_rows_count(&c->used)));
    size_t rows = p->shape[0], turn = rows_a_turn(c, p);
    for (size_t first = number * turn; first < rows; first += c->options.workers * turn)
        c->options.k->adam_rows(w->stream, at(c, c->weights.reals, p->offset), at(c, c->m, p->offset),
                                at(c, c->v, p->offset), rest, g, c->slots, c->worker[0].state, c->options.adam,
                                decays(p) ? c->options.decay : 0, first, rows - first < turn ? rows - first : turn,
                                p->shape[1]);
}

void update_weights(Trainer *c, Worker *w, size_t number)
{
    size_t first, count;
    range_of(c, number, c->parameters->dense, &first, &count);
    void *copy = c->weights.numbers == c->weights.reals ? NULL : c->weights.numbers;
    c->options.k->adam(w->stream, c->weights.reals, copy, c->m, c->v, c->worker[0].gradient, c->worker[0].state,
                       c->options.adam, c->spans, c->span_count, first, count);
    each_table(c, w, number, update_table);
}

static void settle_table(Trainer *c, Worker *w, size_t number, const Parameter *p, RowRest *rest)
{
    size_t first = p->shape[0] * number / c->options.workers, end = p->shape[0] * (number + 1) / c->options.workers;
    c->options.k->adam_settle(w->stream, at(c, c->m, p->offset), at(c, c->v, p->offset), rest, c->options.adam, first,
                              end - first, p->shape[1]);
}

static void settle_work(void *argument, size_t number)
{
    Trainer *c = argument;
    each_table(c, &c->worker[number], number, settle_table);
}

void update_settle(Trainer *c)
{
    if (c->rest)
        pool_run(c->pool, settle_work, c);
}

void update_awake(Trainer *c)
{
    if (c->rest)
        memset(c->rest, 0, lookup_rows(c->parameters) * sizeof *c->rest);
}

void update_zero(Trainer *c, Worker *w)
{
    c->options.k->zero(w->stream, w->gradient, used_rows_gradient(&c->used) * c->options.k->real);
}
