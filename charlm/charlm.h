/* What the commands of charlm share: options, text, model, and the Task that the training loop runs. */
#ifndef CHARLM_CHARLM_H
#define CHARLM_CHARLM_H

#include "charlm/data.h"
#include "charlm/model.h"
#include "core/program/app.h"

typedef struct Charlm {
    App app; /* first: what core/program hands back as an App is one of these */
    CharlmOptions *options;
    Text text;
    Tokenizer tokenizer;
    Model model;
    Part training;
    Windows windows; /* what is scored */
} Charlm;

extern const AppKind charlm_kind; /* model and data; main adds what else there is */

/* Fills the Task: batches of the training part, and windows of `scored` bytes, of app.data.scored, to score. */
void charlm_task(Charlm *c, Part scored, size_t stride);

/* Bytes that the task scores. */
size_t charlm_scored_bytes(const Charlm *c);

/* The tokens that the options ask for. */
TokenizerOptions charlm_tokens(const Charlm *c);

/* Makes the model that the options describe, with a run's tokens or as many as there will be. */
bool charlm_build(Charlm *c, Error *e);

/* Opens --run to be read; then its model. */
bool charlm_open_run(Charlm *c, Error *e);

/* As AppKind has it: without data. */
bool charlm_open_model(App *a, Error *e);

/* A sample now and then, so that one can read how the model learns. */
bool charlm_show_sample(App *a, Trainer *trainer, uint64_t step, Error *e);

/* What the model looks at while it reads a text. */
bool charlm_inspect(App *a, Inspection *l, Error *e);

/* What plot draws of data and model. */
bool charlm_texts(App *a, TextSet *t, Error *e);
bool charlm_name_token(const App *a, const char *table, int32_t id, Labels *names, Error *e);

/* The commands that only charlm has: main has a table of them. */
bool charlm_eval(App *a, Error *e);
bool charlm_baseline(App *a, Error *e);
bool charlm_sample(App *a, Error *e);
bool charlm_import(App *a, Error *e);
bool charlm_export(App *a, Error *e);
bool charlm_bench(App *a, Error *e); /* with --sample; else the common one */

#endif
