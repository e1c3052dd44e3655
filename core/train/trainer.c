/* See trainer.h. */
#include "core/train/trainer.h"

#include "base/memory.h"
#include "base/units.h"
#include "core/train/update.h"

#include <stdlib.h>
#include <string.h>

static bool open_worker(Trainer *c, Worker *w, Error *e)
{
    const Kernels *k = c->options.k;
    BatchSize size = plan_size(c->task, plan_rows(&c->options, c->task), true);
    if (!k->open(&w->stream, c->options.team, e) || !tape_open(&w->tape, k, w->stream, &c->weights, &c->plan.tape, e) ||
        !device_rows_open(&w->rows, k, &size, e))
        return false;
    w->state = k->allocate(sizeof *w->state);
    size_t capacity = plan_gradient(c->parameters, c->task);
    w->gradient = c->options.training ? k->allocate(capacity * k->real) : NULL;
    if (!w->state || (c->options.training && !w->gradient))
        return memory_error(e, "a worker's gradients", capacity, k->real);
    w->replay = (Replay){.k = k};
    w->tape.keep = c->options.keep;
    w->tape.state = w->state;
    w->tape.gradient = w->gradient;
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
    k->release(w->gradient);
    if (w->stream)
        k->close(w->stream);
}

bool trainer_open(Trainer *c, const TrainerOptions *o, const Parameters *p, const Task *task, Error *e)
{
    *c = (Trainer){.options = *o, .parameters = p, .task = task};
    BatchSize size = plan_size(task, plan_step_rows(o, task), false);
    bool fine = plan_make(&c->plan, &c->takes, o, p, task, e) && pool_open(&c->pool, o->workers, o->workers > 1, e) &&
                batch_open(&c->batch, &size, e);
    size_t most = fine && o->training ? plan_parts(o, task, task->most_rows) : 0;
    c->cut = fine ? memory_get(most + 1, sizeof *c->cut) : NULL;
    if (fine && !c->cut)
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
        fine = open_worker(c, &c->worker[i], e);
    fine = fine && (!o->training || (update_open(c, e) && moving_open(c, e)));
    if (!fine && c->plan.total)
        fail(e, "%s; training needs %s in all%s", e->text, bytes_text(c->plan.total).text,
             o->training ? ", less with a smaller --micro-batch, fewer --workers or --recompute" : "");
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
    memory_free(c->cut);
    weights_close(&c->weights);
    batch_close(&c->batch);
    pool_close(c->pool);
    takes_close(&c->takes);
    *c = (Trainer){0};
}
