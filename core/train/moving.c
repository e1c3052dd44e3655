/* A moving average of the weights (Polyak, Juditsky 1992), what --ema keeps beside them:
 *
 *     a = keep a + (1 - keep) w        keep = min(decay, (1 + step) / (10 + step))
 *
 * It wanders less than the weights do and often scores better. The first steps have a smaller `keep`, so that what the
 * weights began as is soon forgotten. It is what is scored, sampled from and saved as the model; the weights that
 * training continues from are in the checkpoint's state.
 *
 * That is the first moment of an Adam whose gradients are the weights and whose rate is 0, so each backend has it. */
#include "core/train/update.h"

#include "base/memory.h"

#include <math.h>

bool moving_open(Trainer *c, Error *e)
{
    const Kernels *k = c->options.k;
    const StepState state = {.finite = 1, .clip = 1, .correction1 = 1, .correction2 = 1};
    if (!(c->options.ema > 0))
        return true;
    c->average = k->allocate(c->parameters->whole * k->real);
    c->averaging = k->allocate(sizeof state);
    if (!c->average || !c->averaging)
        return memory_error(e, "the average of the weights", c->parameters->whole, k->real);
    k->upload(c->worker[0].stream, c->averaging, &state, sizeof state);
    return true;
}

void moving_close(Trainer *c)
{
    c->options.k->release(c->average);
    c->options.k->release(c->averaging);
}

void trainer_average_begins(Trainer *c)
{
    if (c->average)
        c->options.k->copy(c->worker[0].stream, c->average, c->weights.reals,
                           c->parameters->whole * c->options.k->real);
}

typedef struct Follow {
    Trainer *c;
    double keep;
} Follow;

static void follow(void *argument, size_t number)
{
    const Follow *f = argument;
    Trainer *c = f->c;
    size_t first, count;
    optimizer_range(c->parameters->size, number, c->options.workers, &first, &count);
    c->options.k->adam(c->worker[number].stream, c->weights.reals, NULL, c->average, NULL, c->weights.reals,
                       c->averaging, (Adam){.beta1 = f->keep, .beta2 = 1, .epsilon = 1}, NULL, 0, first, count);
}

void moving_follow(Trainer *c, uint64_t step)
{
    Follow f = {c, fmin(c->options.ema, (1 + (double)step) / (10 + (double)step))};
    if (c->average)
        pool_run(c->pool, follow, &f);
}

void trainer_exchange(Trainer *c)
{
    const Kernels *k = c->options.k;
    Weights *w = &c->weights;
    if (!c->average)
        return;
    for (size_t i = 0; i < c->options.workers; i++)
        k->finish(c->worker[i].stream, NULL); /* nothing is to be read in its new place by what was asked for before */
    void *average = w->reals;
    w->reals = c->average;
    c->average = average;
    if (w->numbers == average)
        w->numbers = w->reals;
    else
        k->convert(c->worker[0].stream, w->numbers, w->reals, c->parameters->whole);
    k->finish(c->worker[0].stream, NULL);
}
