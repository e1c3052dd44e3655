/* See update.h. */
#include "core/train/update.h"

#include "base/memory.h"

enum { SLOTS_ROUND = 1024 }; /* where a step of one size is captured */

bool update_open(Trainer *c, Error *e)
{
    const Kernels *k = c->options.k;
    const Parameters *p = c->parameters;
    BatchSize step = plan_size(c->task, c->task->most_rows, false);
    size_t parts = squares_chunks(plan_gradient(p, c->task));
    c->parts = k->allocate(parts * sizeof *c->parts);
    c->slots = k->allocate(p->longest * sizeof *c->slots);
    if (!c->parts || !c->slots)
        return memory_error(e, "a gradient's partial sums", parts, sizeof *c->parts);
    c->used.round = k->capture ? SLOTS_ROUND : 0;
    return used_rows_open(&c->used, p, &step, e) &&
           optimizer_open(&c->optimizer, &c->options.optimizer, c->options.workers, k, c->worker[0].stream, p, e);
}

void update_close(Trainer *c)
{
    optimizer_close(&c->optimizer);
    c->options.k->release(c->parts);
    c->options.k->release(c->slots);
    used_rows_close(&c->used);
}

static void *at(const Trainer *c, void *block, size_t offset) { return (char *)block + offset * c->options.k->real; }

/* Numbers that are summed, and then become zeros, while they are in a core's cache; a GPU does all at once. */
static size_t piece_of(const Trainer *c, size_t left)
{
    return c->options.k->on_host && left > SQUARES_CHUNK ? SQUARES_CHUNK : left;
}

static void add_and_zero(const Trainer *c, Worker *w, void *to, void *from, size_t first, size_t count)
{
    c->options.k->accumulate(w->stream, at(c, to, first), at(c, from, first), count);
    c->options.k->zero(w->stream, at(c, from, first), count * c->options.k->real);
}

void update_share(Trainer *c, Worker *w, size_t share)
{
    const size_t all = used_rows_gradient(&c->used);
    void *to, *from;
    while (tree_join(&w->sums, &to, &from))
        for (size_t first = 0, count; first < all; first += count) {
            count = piece_of(c, all - first);
            add_and_zero(c, w, to, from, first, count);
        }
    w->tape.gradient = w->gradient[w->sums.count];
    tree_push(&w->sums, (PartialSum){0, share, w->tape.gradient});
}

void update_squares(const Trainer *c, Worker *w, size_t first, size_t count)
{
    c->options.k->squares(w->stream, c->parts + first / SQUARES_CHUNK, at(c, c->worker[0].gradient[0], first), count);
}

static void add_piece(const Trainer *c, Worker *w, size_t first, size_t count)
{
    void *to, *from;
    SumTree *all = &w->left;
    *all = (SumTree){.leaves = c->division.shares};
    for (size_t i = 0; i < c->options.workers; i++)
        for (size_t j = 0; j < c->worker[i].sums.count; j++) {
            tree_push(all, c->worker[i].sums.sum[j]);
            while (tree_join(all, &to, &from))
                add_and_zero(c, w, to, from, first, count);
        }
}

void update_add(const Trainer *c, Worker *w, size_t first, size_t all)
{
    for (size_t end = first + all, count; first < end; first += count) {
        count = piece_of(c, end - first);
        add_piece(c, w, first, count);
        if (c->division.ranks == 1)
            update_squares(c, w, first, count);
    }
    if (!all)
        add_piece(c, w, 0, 0);
}

void update_sum(const Trainer *c, Worker *w, size_t number)
{
    size_t first, count;
    optimizer_range(used_rows_gradient(&c->used), number, c->options.workers, &first, &count);
    update_add(c, w, first, count);
}

/* What is to stay within 0 .. 1 may have been moved out of it by the step before. */
static void put_back(const Trainer *c, Worker *w)
{
    for (size_t i = 0; i < c->parameters->count; i++) {
        const Parameter *p = c->parameters->list[i];
        if (p->unit)
            c->options.k->clamp(w->stream, at(c, c->weights.reals, p->offset), 0, 1, p->count);
    }
}

void update_clip(Trainer *c, Worker *w)
{
    put_back(c, w);
    size_t parts = squares_chunks(used_rows_gradient(&c->used));
    c->options.k->clip(w->stream, w->state, c->parts, parts, c->options.clip);
    for (size_t i = 0; i < c->optimizer.groups; i++)
        c->options.k->clip(w->stream, &c->optimizer.states[i], c->parts, parts, c->options.clip);
}

void update_weights(Trainer *c, Worker *w, size_t number)
{
    const OptimizerStep step = {.weights = &c->weights,
                                .gradient = c->worker[0].gradient[0],
                                .used = used_rows_count(&c->used),
                                .slots = c->slots,
                                .state = c->worker[0].state,
                                .number = number,
                                .workers = c->options.workers};
    c->optimizer.kind->step(&c->optimizer, w->stream, &step);
}

void update_zero(Trainer *c, Worker *w, size_t number)
{
    size_t first, count;
    optimizer_range(used_rows_gradient(&c->used), number, c->options.workers, &first, &count);
    c->options.k->zero(w->stream, at(c, c->worker[0].gradient[0], first), count * c->options.k->real);
}

void update_forget(Trainer *c, Worker *w)
{
    if (w->blocks)
        c->options.k->zero(w->stream, w->gradient[0], used_rows_gradient(&c->used) * c->options.k->real);
}

static void flush_work(void *argument, size_t number)
{
    Trainer *c = argument;
    optimizer_flush(&c->optimizer, c->worker[number].stream, number, c->options.workers);
}

void update_flush(Trainer *c) { pool_run(c->pool, flush_work, c); }
