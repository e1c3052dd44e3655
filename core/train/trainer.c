/* See trainer.h. */
#include "core/train/trainer.h"

#include "base/memory.h"
#include "base/units.h"
#include "core/train/exchange.h"

#include <stdlib.h>
#include <string.h>

/* What a worker sums up in training. */
static bool open_sums(Trainer *c, Worker *w, size_t number, Error *e)
{
    const Kernels *k = c->options.k;
    const size_t capacity = plan_gradient(c->parameters, c->task),
                 shares = plan_shares(&c->options, c->task, c->task->most_rows);
    const Division division = plan_division(&c->options, c->task, c->task->most_rows);
    w->shares = k->allocate(shares * sizeof *w->shares);
    w->blocks = tree_blocks(&division, number);
    bool fine = w->shares;
    for (size_t i = 0; fine && i < w->blocks; i++) {
        w->gradient[i] = k->allocate(capacity * k->real);
        fine = w->gradient[i];
    }
    return fine || memory_error(e, "a worker's gradients", capacity, k->real);
}

static bool open_worker(Trainer *c, size_t number, Error *e)
{
    Worker *w = &c->worker[number];
    const Kernels *k = c->options.k;
    BatchSize size = plan_size(c->task, plan_rows(&c->options, c->task), true);
    if (!k->open(&w->stream, c->options.team, e) || !tape_open(&w->tape, k, w->stream, &c->weights, &c->plan.tape, e) ||
        !device_rows_open(&w->rows, k, &size, e))
        return false;
    w->state = k->allocate(sizeof *w->state);
    if (!w->state)
        return memory_error(e, "a worker's state", 1, sizeof *w->state);
    if (c->options.training && !open_sums(c, w, number, e))
        return false;
    w->replay = (Replay){.k = k};
    w->tape.keep = c->options.keep;
    w->tape.state = w->state;
    w->tape.gradient = w->gradient[0];
    w->tape.used_rows = true;
    w->tape.gradients.plan = &c->takes;
    return true;
}

static void close_worker(const Kernels *k, Worker *w)
{
    if (w->stream && k->capture)
        k->finish(w->stream, NULL); /* nothing is to continue reading what is released now */
    replay_close(&w->replay);
    device_rows_close(&w->rows);
    tape_close(&w->tape);
    k->release(w->state);
    k->release(w->shares);
    for (size_t i = 0; i < w->blocks; i++)
        k->release(w->gradient[i]);
    if (w->stream)
        k->close(w->stream);
}

bool trainer_open(Trainer *c, const TrainerOptions *o, const Parameters *p, const Task *task, Error *e)
{
    *c = (Trainer){.options = *o, .parameters = p, .task = task};
    BatchSize size = plan_size(task, plan_step_rows(o, task), false);
    bool fine = plan_make(&c->plan, &c->takes, o, p, task, e) &&
                pool_open(&c->pool, o->workers, o->workers > 1 && o->ranks < 2, e) && batch_open(&c->batch, &size, e);
    size_t most = fine && o->training ? plan_parts(o, task, task->most_rows) : 0;
    c->cut = fine ? memory_get(most + 1, sizeof *c->cut) : NULL;
    c->ended = fine ? memory_get(most + 1, sizeof *c->ended) : NULL;
    if (fine && !(c->cut && c->ended))
        fine = memory_error(e, "micro-batches", most + 1, sizeof *c->cut);
    c->worker = fine ? memory_get(o->workers, sizeof *c->worker) : NULL;
    if (fine && !c->worker)
        fine = memory_error(e, "workers", o->workers, sizeof *c->worker);
    fine = fine && o->k->open(&c->worker[0].stream, 1, e);
    if (fine) { /* the weights need a stream to be filled from: borrow one for a moment */
        fine = weights_open(&c->weights, o->k, c->worker[0].stream, p, e);
        o->k->close(c->worker[0].stream);
        c->worker[0].stream = NULL;
    }
    for (size_t i = 0; fine && i < o->workers; i++)
        fine = open_worker(c, i, e);
    fine = fine && (!o->training || (update_open(c, e) && moving_open(c, e) && exchange_open(c, e)));
    if (!fine && c->plan.total && o->training)
        fail(e, "%s; it takes %s in all, less with a smaller %s, fewer --workers or --shares, or --recompute", e->text,
             bytes_text(c->plan.total).text, task->micro_positions ? "--micro-tokens" : "--micro-batch");
    else if (!fine && c->plan.total)
        fail(e, "%s; it takes %s in all", e->text, bytes_text(c->plan.total).text);
    if (!fine)
        trainer_close(c);
    return fine;
}

void trainer_close(Trainer *c)
{
    const Kernels *k = c->options.k;
    if (!k)
        return;
    for (size_t i = 0; c->worker && i < c->options.workers; i++)
        close_worker(k, &c->worker[i]);
    memory_free(c->worker);
    update_close(c);
    moving_close(c);
    exchange_close(c);
    memory_free(c->cut);
    memory_free(c->ended);
    weights_close(&c->weights);
    batch_close(&c->batch);
    pool_close(c->pool);
    takes_close(&c->takes);
    *c = (Trainer){0};
}
