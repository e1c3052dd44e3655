/* charlm as a Task, and as a program. */
#include "charlm/charlm.h"

#include "base/philox.h"
#include "core/nn/loss.h"
#include "core/run/json.h"
#include "core/tensor/sites.h"
#include "core/train/network.h"

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
    const Queries *only = t->training ? NULL : rows_scored(rows);
    Tensor *logits = model_logits(t, &c->model, rows, NULL, only);
    return cross_entropy(t, logits, only ? only->targets : rows->targets,
                         t->training ? c->options->shared.smoothing : 0, 0);
}

static void score_batch(void *self, size_t i, Batch *b)
{
    const Charlm *c = self;
    batch_clear(b);
    for (size_t w = i * c->app.task.score_rows; w < (i + 1) * c->app.task.score_rows && w < c->windows.count; w++)
        windows_row(&c->windows, w, b);
}

void charlm_task(Charlm *c, Part scored, size_t stride)
{
    const SharedOptions *o = &c->options->shared;
    size_t rows = o->micro_batch && o->micro_batch < o->batch ? o->micro_batch : o->batch;
    c->training = text_part(&c->text, SPLIT_TRAIN);
    c->windows = windows_over(scored, c->model.context, stride);
    snprintf(c->app.protocol, sizeof c->app.protocol, "%s, %zu bytes scored, context %zu, stride %zu",
             split_name(c->split), windows_scored(&c->windows), c->windows.context, c->windows.stride);
    c->app.task = (Task){.self = c,
                         .sides = 1,
                         .longest = {c->model.context},
                         .most_rows = o->batch,
                         .batch = batch,
                         .loss = loss,
                         .score_batches = (c->windows.count + rows - 1) / rows,
                         .score_rows = rows,
                         .score_batch = score_batch,
                         .unit = "bits/byte",
                         .per_nat = 1 / log(2),
                         .protocol = c->app.protocol};
}

void charlm_json_protocol(const App *a, Buffer *b)
{
    const Charlm *c = (const Charlm *)a;
    json_add_text(b, "split", split_name(c->split));
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

bool charlm_open_text(Charlm *c, bool to_train, Error *e)
{
    const Run *run = c->app.run;
    bool given = options_source(c->app.command_line, "data") == FROM_COMMAND_LINE;
    if (!text_open(&c->text, c->options->shared.data, e))
        return given || !run
                   ? false
                   : fail(e, "%s; the run %s learnt from it: say with --data where it is now", e->text, run->path);
    return app_same_data(&c->app, c->text.sha256, to_train, e);
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
    if (!charlm_build(c, e) || !charlm_open_text(c, true, e))
        return false;
    Part valid = text_part(&c->text, SPLIT_VALID);
    if (!part_suits(text_part(&c->text, SPLIT_TRAIN), "training", o->context, e) ||
        !part_suits(valid, "validation", 1, e))
        return false;
    c->split = SPLIT_VALID;
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

static void bench_batch(void *app, uint64_t step, Batch *b)
{
    const Charlm *c = app;
    batch_clear(b);
    for (size_t r = 0; r < c->options->shared.batch; r++)
        batch_row(b, 0, c->model.context);
    for (size_t at = 0; at < b->side[0].positions; at++) {
        b->side[0].ids[at] = (int32_t)philox_below(BYTES, 1, (uint32_t)step, 2 * at, SITE_DATA);
        b->side[0].targets[at] = (int32_t)philox_below(BYTES, 1, (uint32_t)step, 2 * at + 1, SITE_DATA);
    }
}

const AppKind charlm_kind = {.name = "charlm",
                             .program = &charlm_program,
                             .aliases = aliases,
                             .built_in = "built-in text",
                             .measure = "bytes",
                             .open = open_all,
                             .open_model = open_model,
                             .close = close_all,
                             .data = data,
                             .epoch = epoch,
                             .step_tokens = step_tokens,
                             .protocol = charlm_json_protocol,
                             .bench_batch = bench_batch};
