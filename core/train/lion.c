/* Lion (Chen et al. 2023): each weight moves by the same distance, and a mean of gradients says only in which direction.
 *
 *     w = w - lr (sign(beta1 m + (1 - beta1) g) + decay w)        m = beta2 m + (1 - beta2) g
 *
 * One block of state, half of Adam's. Steps are larger than Adam's at the same rate, which should be 3 to 10 times as
 * small, with as much more decay. All rows of a table move in each step, because m never becomes 0. */
#include "core/tensor/tape.h"
#include "core/train/optimizer.h"

static void configure(OptimizerOptions *o) { (void)o; }
static bool open_nothing(Optimizer *o, Stream *s, Error *e) { return (void)o, (void)s, (void)e, true; }
static void nothing(Optimizer *o) { (void)o; }
static void begin(const Adam *adam, StepState *state, uint64_t step) { (void)adam, (void)state, (void)step; }
static void flush(Optimizer *o, Stream *s, size_t number, size_t workers)
{
    (void)o, (void)s, (void)number, (void)workers;
}

/* A worker's rows of each parameter; a vector's rows are its numbers. */
static void lion_step(Optimizer *o, Stream *s, const OptimizerStep *step)
{
    const Kernels *k = o->k;
    const Weights *w = step->weights;
    for (size_t i = 0; i < o->parameters->count; i++) {
        const Parameter *p = o->parameters->list[i];
        const Motion *m = &o->motions[i];
        const size_t rows = p->shape[0], first = rows * step->number / step->workers,
                     end = rows * (step->number + 1) / step->workers;
        if (p->role == ROLE_CONSTANT || !(m->rate > 0) || first == end)
            continue;
        const bool looked_up = p->role == ROLE_LOOKUP;
        k->lion(s, parameter_in(p, w->reals, k->real),
                looked_up || w->numbers == w->reals ? NULL : parameter_in(p, w->numbers, k->number),
                parameter_in(p, o->block[0], k->real),
                (const char *)step->gradient + gradient_offset(o->parameters, p, step->used) * k->real,
                looked_up ? step->slots : NULL, optimizer_state(o, step, m), m->adam, m->decay, first, end - first,
                p->count / rows);
    }
}

const OptimizerKind lion_optimizer = {.name = "lion",
                                      .holds = "Lion's momentum",
                                      .blocks = 1,
                                      .saved = {"lion.m."},
                                      .traffic = 4,
                                      .configure = configure,
                                      .open = open_nothing,
                                      .close = nothing,
                                      .begin = begin,
                                      .step = lion_step,
                                      .flush = flush,
                                      .after_load = nothing};
