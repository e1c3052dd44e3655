/* See adam.h. */
#include "core/train/adam.h"

#include "base/memory.h"
#include "core/tensor/tape.h"

#include <math.h>
#include <string.h>

/* Rows of a table that the optimizer moves. */
typedef struct OwnRows {
    size_t first, count;
} OwnRows;

static OwnRows own_rows(const Optimizer *o, const Parameter *p)
{
    size_t from, end;
    optimizer_own(o, p, &from, &end);
    return (OwnRows){from / p->shape[1], (end - from) / p->shape[1]};
}

/* Of all tables that are only looked up */
static size_t lookup_rows(const Optimizer *o)
{
    size_t rows = 0;
    for (size_t i = 0; i < o->parameters->count; i++)
        rows += o->parameters->list[i]->role == ROLE_LOOKUP ? own_rows(o, o->parameters->list[i]).count : 0;
    return rows;
}

/* Neighbours of one group are one stretch, and what decays is a span. */
static void list_dense(const Optimizer *o, Stretch *stretch, size_t *stretches, Span *span, size_t *spans)
{
    const Motion *before = NULL;
    for (size_t i = 0; i < o->parameters->count; i++) {
        const Parameter *p = o->parameters->list[i];
        const Motion *m = &o->motions[i];
        size_t begin, end;
        optimizer_own(o, p, &begin, &end);
        if (p->role == ROLE_LOOKUP || p->role == ROLE_CONSTANT || begin == end)
            continue;
        if (m->whole) {
            before = NULL;
            continue;
        }
        begin += p->offset - o->first, end += p->offset - o->first;
        if (m->rate > 0 && (!before || before->group != m->group))
            stretch[(*stretches)++] = (Stretch){begin, 0, m};
        if (m->rate > 0)
            stretch[*stretches - 1].end = end;
        if (m->decay > 0)
            span[(*spans)++] = (Span){begin, end, m->decay};
        before = m;
    }
}

bool adam_open(Optimizer *o, Stream *s, Error *e)
{
    const Kernels *k = o->k;
    const Parameters *p = o->parameters;
    Span *spans = memory_get(p->count, sizeof *spans);
    AdamOwn *own = o->own = memory_get(1, sizeof *own);
    if (own) {
        own->stretches = memory_get(p->count, sizeof *own->stretches);
        own->spans = k->allocate(p->count * sizeof *own->spans);
        own->lazy = k->adam_flush ? k->allocate(lookup_rows(o) * sizeof *own->lazy) : NULL;
    }
    bool fine = (spans && own && own->stretches && own->spans && (own->lazy || !k->adam_flush)) ||
                memory_error(e, "the optimizer's lists of parameters", p->count, sizeof *spans);
    if (fine) {
        adam_after_load(o);
        list_dense(o, own->stretches, &own->stretch_count, spans, &own->span_count);
        k->upload(s, own->spans, spans, own->span_count * sizeof *spans);
    }
    memory_free(spans);
    return fine;
}

void adam_close(Optimizer *o)
{
    AdamOwn *own = o->own;
    if (!own)
        return;
    memory_free(own->stretches);
    o->k->release(own->spans);
    o->k->release(own->lazy);
    memory_free(own);
}

/* Steps are counted from 1, because the moments begin as 0 and that is corrected for. */
void adam_begin(const Adam *adam, StepState *state, uint64_t step)
{
    state->correction1 = 1 - pow(adam->beta1, (double)step);
    state->correction2 = 1 - pow(adam->beta2, (double)step);
}

static void *at(const Kernels *k, void *block, size_t number) { return (char *)block + number * k->real; }

/* All rows of a table move, because moments do, or are skipped. A worker takes some before it is the next worker's turn:
 * an even share, or, where rows are lazy, few, because those of frequent words, which are skipped least, are adjacent. */
static void move_table(Optimizer *o, Stream *s, const OptimizerStep *step, const Parameter *p, const Motion *m,
                       LazyRow *lazy)
{
    const Kernels *k = o->k;
    const OwnRows own = own_rows(o, p);
    const void *g = at(k, step->gradient, gradient_offset(o->parameters, p, step->used));
    const size_t rows = own.count, turn = lazy ? 256 : (rows + step->workers - 1) / step->workers,
                 begin = p->offset + own.first * p->shape[1];
    for (size_t first = step->number * turn; m->rate > 0 && first < rows; first += step->workers * turn)
        k->adam_rows(s, at(k, step->weights->reals, begin), optimizer_at(o, 0, begin), optimizer_at(o, 1, begin), lazy,
                     g, step->slots + own.first, optimizer_state(o, step, m), m->adam, m->decay, first,
                     rows - first < turn ? rows - first : turn, p->shape[1]);
}

/* A worker's range of the dense numbers that the optimizer moves, stretch by stretch. */
static void move_dense(Optimizer *o, Stream *s, const OptimizerStep *step)
{
    const Kernels *k = o->k;
    const AdamOwn *own = o->own;
    const Weights *w = step->weights;
    const size_t dense = o->parameters->dense, all = o->end < dense ? o->end : dense;
    size_t first, count;
    optimizer_range(all > o->first ? all - o->first : 0, step->number, step->workers, &first, &count);
    for (size_t i = 0; i < own->stretch_count; i++) {
        const Stretch *one = &own->stretches[i];
        size_t begin = one->begin > first ? one->begin : first,
               end = one->end < first + count ? one->end : first + count;
        if (begin < end)
            k->adam(s, at(k, w->reals, o->first),
                    w->numbers == w->reals ? NULL : (char *)w->numbers + o->first * k->number, o->block[0], o->block[1],
                    at(k, step->gradient, o->first), optimizer_state(o, step, one->motion), one->motion->adam,
                    own->spans, own->span_count, begin, end - begin);
    }
}

void adam_step(Optimizer *o, Stream *s, const OptimizerStep *step)
{
    const AdamOwn *own = o->own;
    LazyRow *lazy = own->lazy;
    move_dense(o, s, step);
    for (size_t i = 0; i < o->parameters->count; i++) {
        const Parameter *p = o->parameters->list[i];
        if (p->role != ROLE_LOOKUP)
            continue;
        move_table(o, s, step, p, &o->motions[i], lazy);
        lazy = lazy ? lazy + own_rows(o, p).count : NULL;
    }
}

/* Moments of lazy rows catch up on skipped steps. */
void adam_flush(Optimizer *o, Stream *s, size_t number, size_t workers)
{
    LazyRow *lazy = ((const AdamOwn *)o->own)->lazy;
    for (size_t i = 0; lazy && i < o->parameters->count; i++) {
        const Parameter *p = o->parameters->list[i];
        if (p->role != ROLE_LOOKUP)
            continue;
        const OwnRows own = own_rows(o, p);
        const size_t first = own.count * number / workers, end = own.count * (number + 1) / workers,
                     begin = p->offset + own.first * p->shape[1];
        if (own.count)
            o->k->adam_flush(s, optimizer_at(o, 0, begin), optimizer_at(o, 1, begin), lazy, o->motions[i].adam, first,
                             end - first, p->shape[1]);
        lazy += own.count;
    }
}

void adam_after_load(Optimizer *o)
{
    const AdamOwn *own = o->own;
    if (own->lazy)
        memset(own->lazy, 0, lookup_rows(o) * sizeof *own->lazy);
}

const OptimizerKind adam_optimizer = {.name = "adam",
                                      .holds = "Adam's moments",
                                      .blocks = 2,
                                      .saved = {"adam.m.", "adam.v."},
                                      .traffic = 6,
                                      .open = adam_open,
                                      .close = adam_close,
                                      .begin = adam_begin,
                                      .step = adam_step,
                                      .flush = adam_flush,
                                      .after_load = adam_after_load};
