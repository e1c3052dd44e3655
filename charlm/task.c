/* charlm as a Task, and how its commands open a run. */
#include "charlm/charlm.h"

#include "base/memory.h"
#include "core/nn/loss.h"
#include "core/run/json.h"

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
    json_add_key(b, "split");
    json_add_string(b, split_name(c->split));
    buffer_print(b, ", \"bytes\": %zu, \"context\": %zu, \"stride\": %zu", windows_scored(&c->windows),
                 c->windows.context, c->windows.stride);
}

bool charlm_build(Charlm *c, Error *e)
{
    const SharedValues *o = &c->v->shared;
    return model_suits(o, e) ? model_open(&c->model, o, e) : charlm_misused(c);
}

bool charlm_open_run(Charlm *c, Error *e)
{
    const SharedValues *o = &c->v->shared;
    if (!o->run)
        return fail(e, "--run DIR is missing: which run?") || charlm_misused(c);
    return run_open(&c->run, o->run, false, e) && settings_load(c->run, c->options, NULL, e) &&
           model_open(&c->model, o, e);
}

void charlm_close(Charlm *c)
{
    model_close(&c->model);
    text_close(&c->text);
    run_close(c->run);
    c->run = NULL;
}

bool charlm_open_crew(Charlm *c, Crew *crew, Error *e)
{
    const SharedValues *o = &c->v->shared;
    CrewOptions options;
    char *path = NULL;
    bool fine = setup_weights_path(&path, c->run, o->weights, e) && setup_crew(&options, o, false, e) &&
                crew_open(crew, &options, &c->model.parameters, &c->task, e) &&
                weights_read(&crew->weights, crew->worker[0].stream, path, o->tie ? charlm_aliases : NULL, e);
    if (!fine)
        crew_close(crew);
    memory_free(path);
    return fine;
}
