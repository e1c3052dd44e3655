/* Lion (Chen et al. 2023): each weight moves by the same distance, and a mean of gradients says only in which direction.
 *
 *     w = w - lr (sign(beta1 m + (1 - beta1) g) + decay w)        m = beta2 m + (1 - beta2) g
 *
 * One block of state, half of Adam's. Steps are larger than Adam's at the same rate, which should be 3 to 10 times as
 * small, with as much more decay. All rows of a table move in each step, because m never becomes 0. */
#include "core/tensor/tape.h"
#include "core/train/optimizer.h"

static void begin(const Adam *adam, StepState *state, uint64_t step) { (void)adam, (void)state, (void)step; }

/* A worker's part of each parameter: rows of a table that is looked up, else numbers. */
static void lion_step(Optimizer *o, Stream *s, const OptimizerStep *step)
{
    const Kernels *k = o->k;
    const Weights *w = step->weights;
    for (size_t i = 0; i < o->parameters->count; i++) {
        const Parameter *p = o->parameters->list[i];
        const Motion *m = &o->motions[i];
        const bool looked_up = p->role == ROLE_LOOKUP;
        const size_t columns = looked_up ? p->shape[1] : 1;
        size_t own, own_end;
        optimizer_own(o, p, &own, &own_end);
        const size_t rows = (own_end - own) / columns, first = rows * step->number / step->workers,
                     end = rows * (step->number + 1) / step->workers, at = p->offset + own;
        if (p->role == ROLE_CONSTANT || !(m->rate > 0) || first == end)
            continue;
        k->lion(s, (char *)w->reals + at * k->real,
                looked_up || w->numbers == w->reals ? NULL : (char *)w->numbers + at * k->number,
                optimizer_at(o, 0, at),
                (const char *)step->gradient +
                    (gradient_offset(o->parameters, p, step->used) + (looked_up ? 0 : own)) * k->real,
                looked_up ? step->slots + own / columns : NULL, optimizer_state(o, step, m), m->adam, m->decay, first,
                end - first, columns);
    }
}

const OptimizerKind lion_optimizer = {.name = "lion",
                                      .holds = "Lion's momentum",
                                      .blocks = 1,
                                      .saved = {"lion.m."},
                                      .traffic = 4,
                                      .begin = begin,
                                      .step = lion_step};
