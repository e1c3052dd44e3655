/* One step of training: batch, forward, backward, reduce, clip, update, zero. Each worker does this for its share. */
#include "core/train/step.h"

#include "base/clock.h"
#include "core/tensor/nonfinite.h"

#include <assert.h>
#include <string.h>

/* For the rows of one micro-batch; gradients are added to those of earlier micro-batches. */
static void forward_backward(void *argument)
{
    const Share *share = argument;
    const Trainer *c = share->c;
    Worker *w = share->w;
    c->options.k->copy(w->stream, w->state->first_position, w->rows.first_position, sizeof w->state->first_position);
    c->task->loss(c->task->self, &w->tape, w->rows.rows);
    tape_backward(&w->tape);
    tape_reset(&w->tape);
}

static void reduce_clip_update_zero(void *argument)
{
    Share *share = argument;
    update_sum(share->c, share->w, share->number);
    step_barrier(share);
    if (share->number == 0)
        update_clip(share->c, share->w);
    step_barrier(share);
    update_weights(share->c, share->w, share->number);
    step_barrier(share);
    update_zero(share->c, share->w);
}

static void step_share(void *argument, size_t number)
{
    const Step *s = argument;
    Share share = {s->trainer, &s->trainer->worker[number], number};
    step_each_micro_batch(s, &share, forward_backward);
    step_barrier(&share);
    if (!atomic_load(&share.c->given_up)) /* all see it or none: no worker sets it after the barrier */
        step_once(&share, reduce_clip_update_zero);
    share.w->ended = clock_seconds();
}

/* The workers' results, after they have finished; over: the time at which the last one had issued its work. */
static bool collect(Trainer *c, double over, StepResult *result, Error *e)
{
    Sums sums = {0};
    for (size_t i = 0; i < c->options.workers; i++) {
        StepState state;
        c->worker[i].waited += over - c->worker[i].ended;
        if (!c->options.k->finish(c->worker[i].stream, e))
            return false;
        c->options.k->download(c->worker[i].stream, &state, c->worker[i].state, sizeof state);
        sums_add(&sums, &state);
        if (i == 0)
            result->norm = state.norm, result->finite = state.finite;
    }
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
    c->began = clock_seconds();
    pool_run(c->pool, step_share, &s);
    double over = clock_seconds();
    *result = (StepResult){.tokens = (double)c->batch.side[c->task->token_side].positions,
                           .given_up = atomic_load(&c->given_up)};
    if (!result->given_up)
        step_send_ahead(c, step + 1);
    if (!collect(c, over, result, e))
        return false;
    if (result->finite && !result->given_up)
        moving_follow(c, step);
    return true;
}

void trainer_show(Trainer *c, uint64_t step, Hook *hook)
{
    Step s = step_begin(c, step, 0);
    Share share = {c, &c->worker[0], 0};
    assert(c->options.workers == 1);
    s.hook = hook;
    step_each_micro_batch(&s, &share, forward_backward);
    update_zero(c, &c->worker[0]);
}

void trainer_find_nonfinite(Trainer *c, uint64_t step, Error *e)
{
    char name[NONFINITE_NAME] = "";
    nonfinite_weights(name, &c->weights, c->worker[0].stream);
    Step s = step_begin(c, step, 0);
    s.nonfinite = name;
    for (size_t i = 0; i < c->options.workers && !name[0]; i++) {
        Share share = {c, &c->worker[i], i};
        step_each_micro_batch(&s, &share, forward_backward);
        nonfinite_gradients(name, &c->worker[i].tape);
    }
    for (size_t i = 0; i < c->options.workers; i++)
        update_zero(c, &c->worker[i]);
    fail(e, "step %llu: not finite: %s; the step was not applied. A lower --lr, a longer --warmup or --clip 1 may help",
         (unsigned long long)step, name[0] ? name : "the norm of the gradient");
}
