/* Adafactor (Shazeer, Stern 2018): second moments of a matrix [V,D] as V means of rows and D means of columns, no first
 * moments, and steps in proportion to the weights. The formulas are in kernels/plain/optimizer.c; the share of this step's
 * gradient in the means is step^-0.8, so that they reach back further and further.
 *
 * Its state is negligible beside the weights. --lr is a share of a tensor's root mean square, or of 0.001 if that is
 * smaller: 0.01 with --schedule rsqrt is the paper's. What is called weight decay is that of torch.optim.Adafactor,
 * lr decay w.
 *
 * A tensor is moved as a whole, by one worker. */
#include "base/memory.h"
#include "core/tensor/tape.h"
#include "core/train/optimizer.h"

#include <math.h>

static const double tiny = 1e-30, least = 1e-3;

/* Partial sums of squares of weights and of updates. */
static size_t sums_of(const Parameters *p) { return 2 * squares_chunks(parameters_largest(p)); }

static size_t numbers(const Parameter *p) { return p->shape[0] + p->shape[1]; }

static size_t beside(const Parameters *p, const Kernels *k, size_t workers)
{
    (void)k;
    return workers * sums_of(p) * sizeof(double);
}

static bool adafactor_open(Optimizer *o, Stream *s, Error *e)
{
    (void)s;
    o->own = o->k->allocate(beside(o->parameters, o->k, o->workers));
    return o->own || memory_error(e, "sums of squares", o->workers * sums_of(o->parameters), sizeof(double));
}

static void adafactor_close(Optimizer *o) { o->k->release(o->own); }

static void begin(const Adam *adam, StepState *state, uint64_t step)
{
    (void)adam;
    state->correction2 = pow((double)step, -0.8);
}

static void move(const Optimizer *o, Stream *s, const OptimizerStep *step, size_t i)
{
    const Kernels *k = o->k;
    const Weights *w = step->weights;
    const Parameter *p = o->parameters->list[i];
    const Motion *m = &o->motions[i];
    const StepState *state = optimizer_state(o, step, m);
    const bool looked_up = p->role == ROLE_LOOKUP;
    const int32_t *slots = looked_up ? step->slots : NULL;
    const size_t rows = p->shape[0], d = p->shape[1], used = looked_up ? step->used : rows,
                 sums = sums_of(o->parameters);
    double *weights = (double *)o->own + step->number * sums, *updates = weights + sums / 2;
    void *reals = parameter_in(p, w->reals, k->real),
         *g = (char *)step->gradient + gradient_offset(o->parameters, p, step->used) * k->real;

    k->squares(s, weights, reals, p->count);
    k->factors(s, parameter_in(o->layout->list[i], o->block[0], k->real), g, slots, state, tiny, rows, used, d);
    k->squares(s, updates, g, used * d);
    k->adafactor(s, reals, looked_up || w->numbers == w->reals ? NULL : parameter_in(p, w->numbers, k->number), g,
                 weights, updates, slots, state, least, m->decay, rows, used, d);
}

/* A worker takes the tensors whose middle is in its part of all numbers. */
static void adafactor_step(Optimizer *o, Stream *s, const OptimizerStep *step)
{
    size_t before = 0;
    for (size_t i = 0; i < o->parameters->count; i++) {
        const Parameter *p = o->parameters->list[i];
        if (p->role == ROLE_CONSTANT)
            continue;
        if ((before + p->count / 2) * step->workers / o->parameters->numbers == step->number && o->motions[i].rate > 0)
            move(o, s, step, i);
        before += p->count;
    }
}

const OptimizerKind adafactor_optimizer = {.name = "adafactor",
                                           .holds = "factored moments",
                                           .blocks = 1,
                                           .saved = {"adafactor.v."},
                                           .of_weights = true,
                                           .traffic = 8,
                                           .numbers = numbers,
                                           .beside = beside,
                                           .open = adafactor_open,
                                           .close = adafactor_close,
                                           .begin = begin,
                                           .step = adafactor_step};
