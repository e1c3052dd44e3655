/* See parameters.h. */
#include "core/tensor/parameters.h"

#include "base/memory.h"
#include "base/philox.h"
#include "core/tensor/arena.h"
#include "core/tensor/sites.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool is_alike(const Parameter *a, const Parameter *b)
{
    return a->role == b->role && a->rank == b->rank && a->shape[0] == b->shape[0] && a->shape[1] == b->shape[1];
}

Parameter *parameters_add(Parameters *p, Role role, size_t rows, size_t columns, const char *format, ...)
{
    Parameter one = {.role = role,
                     .rank = columns ? 2 : 1,
                     .shape = {rows, columns ? columns : 1},
                     .count = rows * (columns ? columns : 1),
                     .fan_in = columns,
                     .wider = 1};
    va_list list;
    va_start(list, format);
    vsnprintf(one.name, sizeof one.name, format, list);
    va_end(list);
    p->asked++;
    p->asked_rows += rows;
    Parameter *new = p->again ? parameters_find(p, one.name) : NULL;
    assert(!new || is_alike(new, &one));
    if (new)
        return new;
    bool fits = memory_grow(&p->list, &p->capacity, p->count + 1, sizeof *p->list, "", NULL);
    new = fits ? memory_get(1, sizeof *new) : NULL;
    if (!new) {
        p->failed = true;
        return NULL;
    }
    *new = one;
    new->number = p->count;
    p->list[p->count++] = new;
    return new;
}

Parameter *parameters_constant(Parameters *p, size_t rows, size_t columns,
                               double (*value)(const Parameter *, size_t, size_t), const char *prefix, const char *name)
{
    Parameter *constant = parameters_add(p, ROLE_CONSTANT, rows, columns, "%s.%s", prefix, name);
    if (constant)
        constant->constant = value;
    return constant;
}

double always_one(const Parameter *p, size_t row, size_t column) { return (void)p, (void)row, (void)column, 1; }
double always_zero(const Parameter *p, size_t row, size_t column) { return (void)p, (void)row, (void)column, 0; }

Dropout parameters_dropout(Parameters *p, double rate)
{
    return (Dropout){.rate = rate, .site = SITE_LAYERS + p->sites++, .side = p->side};
}

/* Positions of the last side are counted from 0 in each micro-batch, because no batch has that many sides. */
Dropout parameters_dropout_of_step(Parameters *p, double rate)
{
    Dropout drop = parameters_dropout(p, rate);
    drop.side = SIDES - 1;
    return drop;
}

size_t parameters_largest(const Parameters *p)
{
    size_t largest = 0;
    for (size_t i = 0; i < p->count; i++)
        largest = p->list[i]->count > largest ? p->list[i]->count : largest;
    return largest;
}

/* Which part of the block a role is in. */
static int part_of(Role role) { return role == ROLE_CONSTANT ? 2 : role == ROLE_LOOKUP ? 1 : 0; }

static void add_lookup(Parameters *p, Parameter *table)
{
    table->before = p->lookup;
    p->lookup += table->shape[1];
    p->longest = table->shape[0] > p->longest ? table->shape[0] : p->longest;
}

/* muP: what grows inside learns more slowly; all else begins as in the base model. */
static void suit_width(const Parameters *p)
{
    for (size_t i = 0; i < p->count; i++) {
        Parameter *one = p->list[i];
        if (one->role == ROLE_WEIGHT && one->edge == EDGE_NONE)
            one->wider = p->wider;
        else if (one->edge != EDGE_IN)
            one->fan_in = (size_t)((double)one->fan_in / p->wider + 0.5);
    }
}

bool parameters_finish(Parameters *p, Error *e)
{
    if (p->failed)
        return fail(e, "out of memory while the model was built: %zu parameters so far", p->count);
    size_t gap = ALIGNMENT / sizeof(float), end = 0;
    size_t *const ends[] = {&p->dense, &p->size, &p->whole};
    p->numbers = p->lookup = p->longest = 0;
    if (p->wider > 0)
        suit_width(p);
    for (int part = 0; part < 3; part++) {
        for (size_t i = 0; i < p->count; i++) {
            Parameter *one = p->list[i];
            if (part_of(one->role) != part)
                continue;
            if (!one->joined)
                end = (end + gap - 1) / gap * gap;
            one->offset = end;
            end += one->count;
            p->numbers += one->role == ROLE_CONSTANT ? 0 : one->count;
            if (one->role == ROLE_LOOKUP)
                add_lookup(p, one);
        }
        end = (end + gap - 1) / gap * gap;
        *ends[part] = end;
    }
    return true;
}

void parameters_close(Parameters *p)
{
    for (size_t i = 0; i < p->count; i++)
        memory_free(p->list[i]);
    memory_free(p->list);
    *p = (Parameters){0};
}

Parameter *parameters_find(const Parameters *p, const char *name)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->list[i]->name, name) == 0)
            return p->list[i];
    return NULL;
}

static double times_of(const Parameter *p) { return p->times > 0 ? p->times : 1; }

static double computed(const Parameter *p, size_t i)
{
    return times_of(p) * p->constant(p, i / p->shape[1], i % p->shape[1]);
}

static bool weights_constants(Weights *w, Stream *s, Error *e)
{
    const Parameters *p = w->parameters;
    for (size_t i = 0; i < p->count; i++) {
        const Parameter *one = p->list[i];
        if (one->role != ROLE_CONSTANT)
            continue;
        void *values = memory_get(one->count, w->k->real);
        if (!values)
            return memory_error(e, one->name, one->count, w->k->real);
        for (size_t j = 0; j < one->count; j++)
            real_put(w->k, values, j, computed(one, j));
        weights_set(w, s, one, values);
        memory_free(values);
    }
    return true;
}

bool weights_open(Weights *w, const Kernels *k, Stream *s, const Parameters *p, Error *e)
{
    *w = (Weights){.k = k, .parameters = p};
    w->reals = k->allocate(p->whole * k->real);
    w->numbers = k->type == NUMBER_BF16 ? k->allocate(p->whole * k->number) : w->reals;
    if (w->reals && w->numbers && weights_constants(w, s, e))
        return true;
    if (!w->reals || !w->numbers)
        memory_error(e, "the weights", p->whole, k->real);
    weights_close(w);
    return false;
}

void weights_close(Weights *w)
{
    if (w->k && w->numbers != w->reals)
        w->k->release(w->numbers);
    if (w->k)
        w->k->release(w->reals);
    *w = (Weights){0};
}

/* Value i of a parameter that is drawn: uniform in (-spread, spread), or normal with that deviation. */
typedef struct Draw {
    bool normal;
    double spread, constant;
} Draw;

static Draw parameter_draw(const Parameter *p, Init init, size_t depth)
{
    bool table = p->role == ROLE_TABLE || p->role == ROLE_LOOKUP;
    double in = (double)p->fan_in, out = (double)p->shape[0];
    if (p->role == ROLE_GAIN)
        return (Draw){.constant = 1};
    if (p->role == ROLE_BIAS)
        return (Draw){.spread = init == INIT_PYTORCH && p->fan_in ? 1 / sqrt(in) : 0};
    switch (init) {
    case INIT_GPT2:
        return (Draw){.normal = true, .spread = 0.02 / sqrt((p->residual ? 2 * (double)depth : 1) * p->wider)};
    case INIT_XAVIER:
        return table ? (Draw){.normal = true, .spread = 1 / sqrt(in)} : (Draw){.spread = sqrt(6 / (in + out))};
    case INIT_PYTORCH: break;
    }
    return table ? (Draw){.normal = true, .spread = 1} : (Draw){.spread = 1 / sqrt(in)};
}

/* A number for a name (FNV-1a). */
static uint32_t stream_of(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

static double branch_times(const Parameters *p, const Parameter *one, Init init, size_t depth)
{
    if (!one->residual || p->branch_init == BRANCH_SAME)
        return 1;
    return p->branch_init == BRANCH_ZERO ? 0 : init == INIT_GPT2 ? 1 : 1 / sqrt(2 * (double)depth);
}

bool weights_init(Weights *w, Stream *s, Init init, size_t depth, uint32_t seed, Error *e)
{
    const Parameters *p = w->parameters;
    size_t largest = parameters_largest(p);
    char *values = memory_get(largest, w->k->real);
    if (!values)
        return memory_error(e, "initial weights", largest, w->k->real);
    for (size_t i = 0; i < p->count; i++) {
        const Parameter *one = p->list[i];
        if (one->role == ROLE_CONSTANT)
            continue;
        Draw draw = parameter_draw(one, init, depth);
        double times = branch_times(p, one, init, depth) * (one->constant ? 1 : times_of(one));
        uint32_t stream = stream_of(one->name); /* where other draws have the step */
        for (size_t j = 0; j < one->count; j++) {
            double value = one->constant ? computed(one, j) : draw.constant;
            if (draw.normal)
                value += draw.spread * philox_normal(seed, stream, j, SITE_INIT);
            else if (draw.spread > 0)
                value += draw.spread * (2 * philox_uniform(seed, stream, j, SITE_INIT) - 1);
            real_put(w->k, values, j, times * value);
        }
        weights_set(w, s, one, values);
    }
    memory_free(values);
    return true;
}

void weights_set(Weights *w, Stream *s, const Parameter *p, const void *reals)
{
    void *to = parameter_in(p, w->reals, w->k->real);
    w->k->upload(s, to, reals, p->count * w->k->real);
    if (w->numbers != w->reals)
        w->k->convert(s, parameter_in(p, w->numbers, w->k->number), to, p->count);
}

void weights_get(const Weights *w, Stream *s, const Parameter *p, void *reals)
{
    w->k->download(s, reals, parameter_in(p, w->reals, w->k->real), p->count * w->k->real);
}
