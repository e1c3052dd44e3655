/* charlm as a Task, and as a program. */
#include "charlm/charlm.h"

#include "base/philox.h"
#include "core/nn/loss.h"
#include "core/program/network.h"
#include "core/run/json.h"
#include "core/tensor/sites.h"

#include <math.h>
#include <stdio.h>

static const char *const aliases[][2] = {{"token_embedding.weight", "logits.weight"}, {NULL, NULL}};

static void batch(void *self, uint64_t step, Batch *b)
{
    const Charlm *c = self;
    const SharedOptions *o = &c->options->shared;
    training_batch(c->training, c->model.context, o->batch, (uint32_t)o->seed, step, b);
}

static Tensor *loss(void *self, Tape *t, const Rows *rows)
{
    const Charlm *c = self;
    const SharedOptions *o = &c->options->shared;
    const Queries *only = t->training ? NULL : rows_scored(rows);
    Tensor *logits = model_logits(t, &c->model, rows, NULL, only);
    return cross_entropy_z(t, logits, only ? only->targets : rows->targets, t->training ? o->smoothing : 0,
                           t->training ? o->z_loss : 0, 0);
}

/* Windows are over what is scored alone. */
static void row(const App *a, Split split, size_t i, Batch *b)
{
    (void)split;
    windows_row(&((const Charlm *)a)->windows, i, b);
}

void charlm_task(Charlm *c, Part scored, size_t stride)
{
    const SharedOptions *o = &c->options->shared;
    size_t rows = o->micro_batch && o->micro_batch < o->batch ? o->micro_batch : o->batch;
    c->training = text_part(&c->text, SPLIT_TRAIN);
    c->windows = windows_over(scored, c->model.context, stride);
    c->app.data.score_count = c->windows.count;
    snprintf(c->app.protocol, sizeof c->app.protocol, "%s, %zu bytes scored, context %zu, stride %zu",
             split_name(c->app.data.scored), windows_scored(&c->windows), c->windows.context, c->windows.stride);
    c->app.task = (Task){.self = c,
                         .sides = 1,
                         .longest = {c->model.context},
                         .most_rows = o->batch,
                         .batch = batch,
                         .loss = loss,
                         .score_batches = (c->windows.count + rows - 1) / rows,
                         .score_rows = rows,
                         .score_batch = dataset_score_batch,
                         .unit = "bits/byte",
                         .per_nat = 1 / log(2),
                         .protocol = c->app.protocol};
}

static void protocol(const App *a, Buffer *b)
{
    const Charlm *c = (const Charlm *)a;
    json_add_member(b, "bytes", (double)windows_scored(&c->windows));
    json_add_member(b, "context", (double)c->windows.context);
    json_add_member(b, "stride", (double)c->windows.stride);
}

bool charlm_build(Charlm *c, Error *e)
{
    const SharedOptions *o = &c->options->shared;
    c->app.parameters = &c->model.parameters;
    c->app.sample_every = c->options->sample_every;
    return network_suits(o, e) ? model_open(&c->model, o, e) : app_misused(&c->app);
}

bool charlm_open_run(Charlm *c, Error *e)
{
    return app_open_run(&c->app, c->options->shared.run, false, e) && charlm_build(c, e);
}

static bool open_data(App *a, bool to_train, Error *e)
{
    (void)to_train;
    return text_open(&((Charlm *)a)->text, a->options->data, e);
}

/* --- the program --- */

static bool open_model(App *a, Error *e)
{
    Charlm *c = (Charlm *)a;
    if (!charlm_build(c, e))
        return false;
    charlm_task(c, (Part){NULL, 0}, c->model.context);
    return true;
}

static bool open_all(App *a, Error *e)
{
    Charlm *c = (Charlm *)a;
    const SharedOptions *o = &c->options->shared;
    if (!charlm_build(c, e) || !app_open_data(a, true, e))
        return false;
    Part valid = text_part(&c->text, SPLIT_VALID);
    if (!part_suits(text_part(&c->text, SPLIT_TRAIN), "training", o->context, e) ||
        !part_suits(valid, "validation", 1, e))
        return false;
    a->data.scored = SPLIT_VALID;
    valid.size = c->options->eval_bytes && c->options->eval_bytes + 1 < valid.size ? c->options->eval_bytes + 1
                                                                                   : valid.size;
    charlm_task(c, valid, o->context);
    return true;
}

static void close_all(App *a)
{
    Charlm *c = (Charlm *)a;
    model_close(&c->model);
    text_close(&c->text);
}

static DataNote data(const App *a)
{
    const Charlm *c = (const Charlm *)a;
    return (DataNote){a->options->data, c->text.size, c->text.sha256};
}

static double step_tokens(const App *a) { return (double)(a->options->batch * a->options->context); }

static size_t epoch(const App *a)
{
    size_t tokens = a->options->batch * a->options->context;
    return (((const Charlm *)a)->training.size + tokens - 1) / tokens;
}

static size_t vocabulary(const App *a, size_t side, size_t *targets)
{
    (void)a, (void)side;
    return *targets = BYTES;
}

const AppKind charlm_kind = {.name = "charlm",
                             .program = &charlm_program,
                             .aliases = aliases,
                             .built_in = "built-in text",
                             .measure = "bytes",
                             .open = open_all,
                             .open_model = open_model,
                             .close = close_all,
                             .open_data = open_data,
                             .data = data,
                             .row = row,
                             .epoch = epoch,
                             .step_tokens = step_tokens,
                             .protocol = protocol,
                             .vocabulary = vocabulary};
