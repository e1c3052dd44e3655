/* charlm as a Task, and how its commands open a run. */
#include "charlm/charlm.h"

#include "core/nn/loss.h"
#include "core/run/json.h"
#include "core/train/network.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const charlm_aliases[][2] = {{"token_embedding.weight", "logits.weight"}, {NULL, NULL}};

static void batch(void *self, uint64_t step, Batch *b)
{
    const Charlm *c = self;
    const SharedValues *o = &c->v->shared;
    training_batch(c->training, c->model.context, o->batch, (uint32_t)o->seed, step, b);
}

static Tensor *loss(void *self, Tape *t, const Rows *rows)
{
    const Charlm *c = self;
    const Queries *only = t->training ? NULL : rows_scored(rows);
    Tensor *logits = model_logits(t, &c->model, rows, NULL, only);
    return cross_entropy(t, logits, only ? only->targets : rows->targets, t->training ? c->v->shared.smoothing : 0, 0);
}

static void score_batch(void *self, size_t i, Batch *b)
{
    const Charlm *c = self;
    batch_clear(b);
    for (size_t w = i * c->task.score_rows; w < (i + 1) * c->task.score_rows && w < c->windows.count; w++)
        windows_row(&c->windows, w, b);
}

void charlm_task(Charlm *c, Part scored, size_t stride)
{
    const SharedValues *o = &c->v->shared;
    size_t rows = o->micro_batch && o->micro_batch < o->batch ? o->micro_batch : o->batch;
    c->training = text_part(&c->text, SPLIT_TRAIN);
    c->windows = windows_over(scored, c->model.context, stride);
    snprintf(c->protocol, sizeof c->protocol, "%s, %zu bytes scored, context %zu, stride %zu", split_name(c->split),
             windows_scored(&c->windows), c->windows.context, c->windows.stride);
    c->task = (Task){.self = c,
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
                     .protocol = c->protocol};
}

void charlm_json_protocol(const Charlm *c, Buffer *b)
{
    json_add_text(b, "split", split_name(c->split));
    json_add_member(b, "bytes", (double)windows_scored(&c->windows));
    json_add_member(b, "context", (double)c->windows.context);
    json_add_member(b, "stride", (double)c->windows.stride);
}

bool charlm_build(Charlm *c, Error *e)
{
    const SharedValues *o = &c->v->shared;
    return network_suits(o, e) ? model_open(&c->model, o, e) : charlm_misused(c);
}

bool charlm_open_run(Charlm *c, const char *path, bool to_write, Error *e)
{
    if (!path)
        return fail(e, "--run DIR is missing: which run?") || charlm_misused(c);
    return run_open(&c->run, path, to_write, e) && settings_load(c->run, c->options, c->learnt, e) &&
           model_open(&c->model, &c->v->shared, e);
}

/* The run's own text has another content than when it was made. */
static bool changed(const Charlm *c, const char *name, bool to_train, Error *e)
{
    if (to_train)
        return fail(e,
                    "the run %s learnt from other data than %s (sha256 %.12s..., not %.12s...): say with --data where "
                    "its text is, or start a new run",
                    c->run->path, name, c->learnt, c->text.sha256);
    fprintf(stderr, "charlm: %s has changed since the run %s learnt from it (sha256 %.12s..., not %.12s...)\n", name,
            c->run->path, c->text.sha256, c->learnt);
    return true;
}

bool charlm_open_text(Charlm *c, bool to_train, Error *e)
{
    const char *path = c->v->shared.data;
    bool given = options_source(c->options, "data") == FROM_COMMAND_LINE;
    if (!text_open(&c->text, path, e))
        return given || !c->run
                   ? false
                   : fail(e, "%s; the run %s learnt from it: say with --data where it is now", e->text, c->run->path);
    if (!c->run || strcmp(c->learnt, c->text.sha256) == 0 || (given && !to_train))
        return true;
    return changed(c, path ? path : "the built-in text", to_train, e);
}

void charlm_close(Charlm *c)
{
    model_close(&c->model);
    text_close(&c->text);
    run_close(c->run);
    c->run = NULL;
}

bool charlm_crew_options(const Charlm *c, CrewOptions *options, bool training, Error *e)
{
    if (!setup_crew(options, &c->v->shared, training, e))
        return false;
    const char *note = options->k->note ? options->k->note() : NULL;
    if (note && !c->v->shared.quiet)
        fprintf(stderr, "charlm: %s\n", note);
    return true;
}

bool charlm_open_crew(Charlm *c, Crew *crew, Error *e)
{
    const SharedValues *o = &c->v->shared;
    CrewOptions options;
    if (charlm_crew_options(c, &options, false, e) && crew_open(crew, &options, &c->model.parameters, &c->task, e) &&
        setup_stored_weights(crew, c->run, o->weights, o->tie ? charlm_aliases : NULL, e))
        return true;
    crew_close(crew);
    return false;
}
