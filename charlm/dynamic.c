/* See dynamic.h. */
#include "charlm/dynamic.h"

#include "base/clock.h"

static int sgd(void)
{
    int kind = 0;
    while (optimizer_kind(kind) != &sgd_optimizer)
        kind++;
    return kind;
}

void dynamic_prepare(CharlmOptions *v)
{
    SharedOptions *o = &v->shared;
    o->batch = o->micro_batch = o->workers = 1;
    o->optimizer = sgd();
    o->groups = NULL;
    o->momentum = o->decay = o->clip = o->ema = o->ngram_dropout = o->smoothing = o->z_loss = 0;
    o->span_loss = o->load_loss = 0;
    o->dropout = o->attention_dropout = o->ff_dropout = o->branch_dropout = 0;
}

/* The window of a step, which counts from 1; after the last, a device that reads ahead gets it again. */
static void window_batch(void *self, uint64_t step, Batch *b)
{
    const Charlm *c = self;
    const size_t window = (size_t)step - 1, count = c->windows.count;
    dataset_score_batch(self, window < count ? window : count - 1, b);
}

static void show(const Watch *watch, const Charlm *c, const MeanLoss *sum, size_t done, double began)
{
    const double seconds = clock_seconds() - began;
    const Report report = {.counted = "scored",
                           .step = done,
                           .total = c->windows.count,
                           .loss = sum->loss / sum->targets * c->app.task.per_nat,
                           .unit = c->app.task.unit,
                           .norm = -1,
                           .rate = -1,
                           .tokens_per_second = seconds > 0 ? sum->targets / seconds : -1,
                           .seconds_left = seconds / (double)done * (double)(c->windows.count - done)};
    watch_report(watch, &report, false);
}

static bool score_windows(Charlm *c, Trainer *trainer, const Watch *watch, MeanLoss *score, Error *e)
{
    const double began = clock_seconds();
    *score = (MeanLoss){.loss = 0};
    for (size_t i = 1; i <= c->windows.count; i++) {
        StepResult result;
        if (!trainer_step(trainer, i, c->options->dynamic, &result, e))
            return false;
        if (!result.finite)
            return fail(e, "window %zu: the gradient is not finite; a smaller --dynamic may help", i);
        score->loss += result.loss * result.targets;
        score->targets += result.targets;
        show(watch, c, score, i, began);
    }
    score->loss /= score->targets > 0 ? score->targets : 1;
    return true;
}

bool dynamic_score(Charlm *c, const Watch *watch, MeanLoss *score, Error *e)
{
    App *a = &c->app;
    TrainerOptions options;
    Trainer trainer = {0};
    a->task.batch = window_batch;
    bool fine = app_trainer_options(a, &options, true, e) &&
                trainer_open(&trainer, &options, a->parameters, &a->task, e) &&
                app_stored_weights(a, &trainer.weights, trainer.worker[0].stream, e) &&
                score_windows(c, &trainer, watch, score, e);
    trainer_close(&trainer);
    return fine;
}
