/* One step of training: batch, forward, backward, reduce, clip, update, zero. Each worker does this for its part. */
#include "core/train/exchange.h"

#include "base/clock.h"
#include "base/ranks.h"
#include "core/tensor/nonfinite.h"

#include <assert.h>
#include <string.h>

/* For the rows of one micro-batch; gradients are added to those of earlier micro-batches. */
static void forward_backward(void *argument)
{
    const Part *part = argument;
    const Trainer *c = part->c;
    Worker *w = part->w;
    c->options.k->copy(w->stream, w->state->first_position, w->rows.first_position, sizeof w->state->first_position);
    w->tape.scored = w->rows.rows[c->task->loss_side[0]].start;
    c->task->loss(c->task->self, &w->tape, w->rows.rows);
    tape_backward(&w->tape);
    tape_reset(&w->tape);
}

static void reduce_clip_update_zero(void *argument)
{
    Part *part = argument;
    if (part->c->division.ranks > 1)
        exchange_sums(part);
    else
        update_sum(part->c, part->w, part->number);
    step_barrier(part);
    if (part->number == 0)
        update_clip(part->c, part->w);
    step_barrier(part);
    update_weights(part->c, part->w, part->number);
    step_barrier(part);
    if (part->c->options.optimizer.parts > 1)
        exchange_weights(part);
    update_zero(part->c, part->w, part->number);
}

/* All ranks give up or none. */
static void agree(Part *part)
{
    if (part->c->division.ranks == 1)
        return;
    if (part->number == 0)
        atomic_store(&part->c->given_up, ranks_any(atomic_load(&part->c->given_up)));
    if (part->number == 0 && atomic_load(&part->c->given_up))
        exchange_give_up(part);
    step_barrier(part);
}

static void step_share(void *argument, size_t number)
{
    const Step *s = argument;
    Part part = {s->trainer, &s->trainer->worker[number], number};
    step_each_micro_batch(s, &part, forward_backward);
    if (part.c->division.ranks > 1)
        exchange_linger(&part);
    step_barrier(&part);
    agree(&part);
    if (!atomic_load(&part.c->given_up)) /* all see it or none: no worker sets it after the barrier */
        step_once(&part, reduce_clip_update_zero);
    part.w->ended = clock_seconds();
}

/* The workers' results, after they have finished; d: of the step, as the trainer's may be the next one's by now; over: the
 * time at which the last one had issued its work. */
static bool collect(Trainer *c, const Division *d, double over, StepResult *result, Error *e)
{
    Sums sums = {0};
    StepState state;
    for (size_t i = 0; i < c->options.workers; i++) {
        size_t first, end;
        Worker *w = &c->worker[i];
        w->waited += over - w->ended;
        if (!c->options.k->finish(w->stream, e))
            return false;
        worker_shares(d, i, &first, &end);
        for (; first < end; first++)
            c->options.k->download(w->stream, &c->ended[first], &w->shares[first], sizeof *c->ended);
    }
    if (d->ranks > 1 && !result->given_up)
        exchange_states(c, d);
    for (size_t i = 0; i < d->shares; i++)
        sums_add(&sums, &c->ended[i]);
    c->options.k->download(c->worker[0].stream, &state, c->worker[0].state, sizeof state);
    result->norm = state.norm, result->finite = state.finite;
    MeanLoss mean = sums_mean(&sums);
    result->targets = mean.targets;
    result->loss = mean.loss;
    result->nll = mean.nll;
    memcpy(result->part, mean.part, sizeof mean.part);
    return true;
}

bool trainer_step(Trainer *c, uint64_t step, double rate, StepResult *result, Error *e)
{
    Step s = step_begin(c, step, rate);
    exchange_begin(c);
    c->began = clock_seconds();
    pool_run(c->pool, step_share, &s);
    double over = clock_seconds();
    const Division division = c->division;
    *result = (StepResult){.tokens = (double)c->batch.side[c->task->token_side].positions,
                           .given_up = atomic_load(&c->given_up)};
    if (!result->given_up)
        step_send_ahead(c, step + 1);
    if (!collect(c, &division, over, result, e))
        return false;
    if (result->finite && !result->given_up)
        moving_follow(c, step);
    return true;
}

void trainer_show(Trainer *c, uint64_t step, Hook *hook)
{
    Step s = step_begin(c, step, 0);
    Part part = {c, &c->worker[0], 0};
    assert(c->options.workers == 1);
    s.hook = hook;
    step_each_micro_batch(&s, &part, forward_backward);
    update_forget(c, &c->worker[0]);
}

void trainer_find_nonfinite(Trainer *c, uint64_t step, Error *e)
{
    char name[NONFINITE_NAME] = "";
    nonfinite_weights(name, &c->weights, c->worker[0].stream);
    Step s = step_begin(c, step, 0);
    s.nonfinite = name;
    c->division.ranks = 1, c->division.rank = 0; /* each process looks at the whole step, and finds the same; */
    c->division.workers = 1;                     /* and its first worker: others may have no gradients of their own */
    if (!name[0]) {
        Part part = {c, &c->worker[0], 0};
        step_each_micro_batch(&s, &part, forward_backward);
        nonfinite_gradients(name, &c->worker[0].tape);
    }
    for (size_t i = 0; i < c->options.workers; i++)
        update_forget(c, &c->worker[i]);
    fail(e, "step %llu: not finite: %s; the step was not applied. A lower --lr, a longer --warmup or --clip 1 may help",
         (unsigned long long)step, name[0] ? name : "the norm of the gradient");
}
