/* See update.h. */
#include "core/train/update.h"

#include "base/memory.h"

static size_t chunks_of(size_t numbers) { return (numbers + SQUARES_CHUNK - 1) / SQUARES_CHUNK; }

enum { SLOTS_ROUND = 1024 }; /* where a step of one size is captured */

bool update_open(Trainer *c, Error *e)
{
    const Kernels *k = c->options.k;
    const Parameters *p = c->parameters;
    BatchSize step = plan_size(c->task, c->task->most_rows, false);
    size_t parts = chunks_of(plan_gradient(p, c->task));
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

/* Sums the gradients of all workers over this worker's range, as a tree: (0+1)+(2+3). */
void update_sum(Trainer *c, Worker *w, size_t number)
{
    size_t first, count;
    optimizer_range(used_rows_gradient(&c->used), number, c->options.workers, &first, &count);
    for (size_t gap = 1; gap < c->options.workers; gap *= 2)
        for (size_t i = 0; i + gap < c->options.workers; i += 2 * gap)
            c->options.k->accumulate(w->stream, at(c, c->worker[i].gradient, first),
                                     at(c, c->worker[i + gap].gradient, first), count);
    c->options.k->squares(w->stream, c->parts + first / SQUARES_CHUNK, at(c, c->worker[0].gradient, first), count);
}

void update_clip(Trainer *c, Worker *w)
{
    size_t parts = chunks_of(used_rows_gradient(&c->used));
    c->options.k->clip(w->stream, w->state, c->parts, parts, c->options.clip);
    for (size_t i = 0; i < c->optimizer.groups; i++)
        c->options.k->clip(w->stream, &c->optimizer.states[i], c->parts, parts, c->options.clip);
}

void update_weights(Trainer *c, Worker *w, size_t number)
{
    const OptimizerStep step = {.weights = &c->weights,
                                .gradient = c->worker[0].gradient,
                                .used = used_rows_count(&c->used),
                                .slots = c->slots,
                                .state = c->worker[0].state,
                                .number = number,
                                .workers = c->options.workers};
    c->optimizer.kind->step(&c->optimizer, w->stream, &step);
}

void update_zero(Trainer *c, Worker *w)
{
    c->options.k->zero(w->stream, w->gradient, used_rows_gradient(&c->used) * c->options.k->real);
}

static void flush_work(void *argument, size_t number)
{
    Trainer *c = argument;
    c->optimizer.kind->flush(&c->optimizer, c->worker[number].stream, number, c->options.workers);
}

void update_flush(Trainer *c) { pool_run(c->pool, flush_work, c); }
