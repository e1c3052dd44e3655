/* See optimizer.h. */
#include "core/train/optimizer.h"

#include "base/memory.h"
#include "core/tensor/arena.h"
#include "core/train/groups.h"

#define OPTIMIZER_ROW(NUMBER, NAME) &NAME##_optimizer,
static const OptimizerKind *const kinds[] = {OPTIMIZERS(OPTIMIZER_ROW)};

const OptimizerKind *optimizer_kind(int kind) { return kinds[kind]; }

void optimizer_configure(OptimizerOptions *o)
{
    if (kinds[o->kind]->configure)
        kinds[o->kind]->configure(o);
}

/* Where part `number` begins, of `parts`: near to its share of all numbers. */
static size_t begin_of(const OptimizerKind *kind, const Parameters *p, size_t number, size_t parts)
{
    enum { LINE = ALIGNMENT / sizeof(float) };
    const size_t wanted = p->size / parts * number + p->size % parts * number / parts;
    for (size_t i = 0; i < p->count && number < parts; i++) {
        const Parameter *one = p->list[i];
        if (one->role == ROLE_CONSTANT || wanted < one->offset || wanted >= one->offset + one->count)
            continue;
        if (kind->is_whole && kind->is_whole(one))
            return wanted - one->offset < one->count / 2 ? one->offset : one->offset + one->count;
        const size_t unit = one->role == ROLE_LOOKUP ? one->shape[1] : LINE;
        return one->offset + (wanted - one->offset) / unit * unit;
    }
    return number < parts ? wanted : p->size;
}

void optimizer_part(const OptimizerOptions *o, const Parameters *p, size_t number, size_t *first, size_t *end)
{
    const size_t parts = o->parts ? o->parts : 1;
    *first = begin_of(optimizer_kind(o->kind), p, number, parts);
    *end = begin_of(optimizer_kind(o->kind), p, number + 1, parts);
}

size_t optimizer_bytes(const OptimizerOptions *o, const Parameters *p, const Kernels *k, size_t workers)
{
    const OptimizerKind *kind = optimizer_kind(o->kind);
    const size_t gap = ALIGNMENT / sizeof(float), beside = kind->beside ? kind->beside(p, k, workers) : 0;
    size_t first, end, size = 0;
    optimizer_part(o, p, o->part, &first, &end);
    for (size_t i = 0; kind->numbers && i < p->count; i++)
        size += p->list[i]->role == ROLE_CONSTANT ? 0 : (kind->numbers(p->list[i]) + gap - 1) / gap * gap;
    size = kind->numbers ? size : end - first;
    return kind->blocks * size * k->real + (kind->numbers ? p->count * sizeof(Parameter) : 0) + beside;
}

void optimizer_own(const Optimizer *o, const Parameter *p, size_t *from, size_t *end)
{
    *from = o->first > p->offset ? o->first - p->offset : 0;
    *end = o->end > p->offset ? o->end - p->offset : 0;
    *end = *end < p->count ? *end : p->count;
    *from = *from < *end ? *from : *end;
}

void *optimizer_at(const Optimizer *o, size_t block, size_t number)
{
    return o->block[block] ? (char *)o->block[block] + (number - o->first) * o->k->real : NULL;
}

/* Where in a block of state each parameter's is. */
static bool lay_out(Optimizer *o, Error *e)
{
    o->layout = o->kind->numbers ? &o->other : o->parameters;
    for (size_t i = 0; o->kind->numbers && i < o->parameters->count; i++) {
        const Parameter *p = o->parameters->list[i];
        parameters_add(&o->other, p->role == ROLE_CONSTANT ? ROLE_CONSTANT : ROLE_BIAS, o->kind->numbers(p), 0, "%s",
                       p->name);
    }
    return !o->kind->numbers || parameters_finish(&o->other, e);
}

bool optimizer_open(Optimizer *o, const OptimizerOptions *options, size_t workers, const Kernels *k, Stream *s,
                    const Parameters *p, Error *e)
{
    *o = (Optimizer){
        .options = *options, .kind = optimizer_kind(options->kind), .k = k, .parameters = p, .workers = workers};
    o->motions = groups_motions(options, p, &o->groups, e);
    if (!o->motions || !lay_out(o, e))
        return false;
    optimizer_part(options, p, options->part, &o->first, &o->end);
    const size_t numbers = o->kind->numbers ? o->layout->size : o->end - o->first;
    o->begins = memory_get(o->groups, sizeof *o->begins);
    o->states = k->allocate(o->groups * sizeof *o->states);
    bool fine = o->begins && o->states;
    for (size_t i = 0; fine && i < o->kind->blocks; i++) {
        o->block[i] = k->allocate(numbers * k->real);
        fine = o->block[i];
    }
    return (fine || memory_error(e, o->kind->holds, numbers, o->kind->blocks * k->real)) &&
           (!o->kind->open || o->kind->open(o, s, e));
}

void optimizer_close(Optimizer *o)
{
    if (!o->kind)
        return;
    if (o->kind->close)
        o->kind->close(o);
    memory_free(o->motions);
    memory_free(o->begins);
    o->k->release(o->states);
    for (size_t i = 0; i < o->kind->blocks; i++)
        o->k->release(o->block[i]);
    parameters_close(&o->other);
    *o = (Optimizer){.kind = NULL};
}

void optimizer_begin(const Optimizer *o, Stream *s, StepState *state, uint64_t step)
{
    o->kind->begin(&o->options.adam, state, step);
    for (size_t i = 0; o->groups && i < o->parameters->count; i++) {
        const Motion *m = &o->motions[i];
        if (!m->group)
            continue;
        o->begins[m->group - 1] = *state;
        o->begins[m->group - 1].learning_rate *= m->rate;
        o->kind->begin(&m->adam, &o->begins[m->group - 1], step);
    }
    o->k->upload(s, o->states, o->begins, o->groups * sizeof *o->states);
}

const StepState *optimizer_state(const Optimizer *o, const OptimizerStep *step, const Motion *m)
{
    return m->group ? &o->states[m->group - 1] : step->state;
}

void optimizer_flush(Optimizer *o, Stream *s, size_t number, size_t workers)
{
    if (o->kind->flush)
        o->kind->flush(o, s, number, workers);
}

void optimizer_after_load(Optimizer *o)
{
    if (o->kind->after_load)
        o->kind->after_load(o);
}

bool optimizer_keeps(const Optimizer *o, size_t block, size_t i) { return block != 1 || !o->motions[i].whole; }

void optimizer_range(size_t numbers, size_t number, size_t workers, size_t *first, size_t *count)
{
    size_t chunks = squares_chunks(numbers), from = chunks * number / workers, to = chunks * (number + 1) / workers;
    size_t end = to * SQUARES_CHUNK < numbers ? to * SQUARES_CHUNK : numbers;
    *first = from * SQUARES_CHUNK;
    *count = end > *first ? end - *first : 0;
}

size_t range_capacity(size_t numbers, size_t workers)
{
    size_t chunks = squares_chunks(numbers), most = (chunks + workers - 1) / workers * SQUARES_CHUNK;
    return most < numbers ? most : numbers;
}
