/* charlm as a Task, and as a program. */
#include "charlm/charlm.h"

#include "base/file.h"
#include "base/philox.h"
#include "core/nn/loss.h"
#include "core/program/network.h"
#include "core/run/json.h"
#include "core/tensor/sites.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const aliases[][2] = {{"token_embedding.weight", "logits.weight"}, {NULL, NULL}};

static Lead lead_of(const Model *m) { return (Lead){m->registers, m->memory, m->ngrams}; }

static void batch(void *self, uint64_t step, Batch *b)
{
    const Charlm *c = self;
    const SharedOptions *o = &c->options->shared;
    training_batch(c->training, lead_of(&c->model), model_window(&c->model), o->batch, (uint32_t)o->seed, step, b);
}

static Tensor *loss(void *self, Tape *t, const Rows *rows)
{
    const Charlm *c = self;
    const SharedOptions *o = &c->options->shared;
    const Queries *only = t->training ? NULL : rows_scored(rows);
    Tensor *logits = model_windows(t, &c->model, rows, only);
    return cross_entropy_z(t, logits, only ? only->targets : rows->targets, t->training ? o->smoothing : 0,
                           t->training ? o->z_loss : 0, 0);
}

/* Windows are over what is scored alone. */
static void row(const App *a, Split split, size_t i, Batch *b)
{
    (void)split;
    windows_row(&((const Charlm *)a)->windows, i, b);
}

size_t charlm_scored_bytes(const Charlm *c)
{
    return part_bytes(&c->windows.part, &c->tokenizer, c->windows.part.size ? 1 : 0, windows_scored(&c->windows));
}

void charlm_task(Charlm *c, Part scored, size_t stride)
{
    const SharedOptions *o = &c->options->shared;
    size_t rows = o->micro_batch && o->micro_batch < o->batch ? o->micro_batch : o->batch;
    c->training = text_part(&c->text, SPLIT_TRAIN);
    c->windows = windows_over(scored, model_window(&c->model), stride);
    c->windows.lead = lead_of(&c->model);
    c->app.data.score_count = c->windows.count;
    const size_t tokens = windows_scored(&c->windows), bytes = charlm_scored_bytes(c);
    char of_tokens[48] = "", after[48] = "";
    if (c->model.memory)
        snprintf(after, sizeof after, " after a memory of %zu", c->model.memory);
    if (scored.ids)
        snprintf(of_tokens, sizeof of_tokens, " as %zu tokens", tokens);
    snprintf(c->app.protocol, sizeof c->app.protocol, "%s, %zu bytes scored%s, context %zu%s, stride %zu",
             split_name(c->app.data.scored), bytes, of_tokens, c->windows.context, after, c->windows.stride);
    c->app.task = (Task){.self = c,
                         .sides = model_sides(&c->model),
                         .before = c->model.memory ? 1 + MEMORY : 0,
                         .most_rows = o->batch,
                         .batch = batch,
                         .loss = loss,
                         .score_batches = (c->windows.count + rows - 1) / rows,
                         .score_rows = rows,
                         .score_batch = dataset_score_batch,
                         .unit = "bits/byte",
                         .per_nat = bytes ? (double)tokens / (double)bytes / log(2) : 1 / log(2),
                         .protocol = c->app.protocol};
    ngrams_drop(&c->model.ngrams, &c->app.task, o->ngram_dropout);
    for (size_t side = 0; side < c->app.task.sides; side++)
        c->app.task.longest[side] = c->model.memory && side == MEMORY ? c->model.memory : c->model.context;
}

static void protocol(const App *a, Buffer *b)
{
    const Charlm *c = (const Charlm *)a;
    json_add_member(b, "bytes", (double)charlm_scored_bytes(c));
    if (c->windows.part.ids)
        json_add_member(b, "tokens", (double)windows_scored(&c->windows));
    json_add_member(b, "context", (double)c->windows.context);
    if (c->model.memory)
        json_add_member(b, "memory", (double)c->model.memory);
    json_add_member(b, "stride", (double)c->windows.stride);
    if (c->options->dynamic > 0)
        json_add_member(b, "dynamic", c->options->dynamic);
}

/* ---- the model, and what its tokens are */

TokenizerOptions charlm_tokens(const Charlm *c)
{
    const CharlmOptions *v = c->options;
    return (TokenizerOptions){(TokenKind)v->tokens, v->merges ? v->merges : STANDARD_MERGES, v->vocabulary, v->codes};
}

static bool suits(Charlm *c, Error *e)
{
    const TokenizerOptions o = charlm_tokens(c);
    const SharedOptions *s = &c->options->shared;
    return (network_suits(s, e) && network_can_skip(s, s->depth, e) && tokenizer_suits(&o, e)) || app_misused(&c->app);
}

static bool build(Charlm *c, size_t vocabulary, Error *e)
{
    c->app.parameters = &c->model.parameters;
    c->app.sample_every = c->options->sample_every;
    return model_open(&c->model, &c->options->shared, vocabulary, e);
}

/* A run's tokens are its own: files that are given again would not be read. */
static bool read_tokenizer(Charlm *c, Error *e)
{
    const char *given = options_first_given(c->app.command_line, (const char *const[]){"vocabulary", "codes", NULL});
    if (given)
        return fail(e, "--%s: the run %s already has its tokens, in its folder", given, c->app.run->path) ||
               app_misused(&c->app);
    return tokenizer_read(&c->tokenizer, (TokenKind)c->options->tokens, c->app.run->path, e);
}

/* Whether each row of their tables stands for the same bytes; tables of other sizes are not read. */
static bool tokens_agree(const Charlm *c, const Charlm *other, Error *e)
{
    const Tokenizer *ours = &c->tokenizer, *theirs = &other->tokenizer;
    const size_t mine = c->options->shared.registers, others = other->options->shared.registers;
    const bool fit = ours->count + mine == theirs->count + others;
    bool agree = !fit || ours->count == theirs->count;
    Buffer text[2] = {{0}, {0}};
    for (size_t id = 0; fit && agree && id < ours->count; id++) {
        text[0].size = text[1].size = 0;
        tokenizer_bytes(ours, (int32_t)id, &text[0]);
        tokenizer_bytes(theirs, (int32_t)id, &text[1]);
        agree = text[0].size == text[1].size && (!text[0].size || !memcmp(text[0].text, text[1].text, text[0].size));
    }
    const bool failed = text[0].failed || text[1].failed;
    buffer_free(&text[0]);
    buffer_free(&text[1]);
    if (failed)
        return fail(e, "out of memory for tokens");
    return agree || settings_other_tokens(c->options->shared.from, e);
}

/* Weights of another run are read by name and shape, which do not say what a row is of. */
static bool begin_suits(const Charlm *c, Error *e)
{
    const char *from = c->options->shared.from;
    if (c->app.run || !from || !folder_exists(from))
        return true;
    CharlmOptions values = {0};
    Options options = {0};
    Charlm other = {.options = &values};
    const OptionTable tables[] = {{shared_options, shared_option_count, &values.shared},
                                  {charlm_options, charlm_option_count, &values}};
    bool ours = false; /* a run of charlm: those of others cannot be read here */
    bool fine = options_open(&options, &charlm_program, tables, sizeof tables / sizeof *tables, e) &&
                settings_of_run(from, &options, &ours, e);
    fine = fine && (!ours || (tokenizer_read(&other.tokenizer, (TokenKind)values.tokens, from, e) &&
                              tokens_agree(c, &other, e)));
    tokenizer_close(&other.tokenizer);
    options_close(&options);
    return fine;
}

/* Of a run, or of the training text. */
static bool open_tokenizer(Charlm *c, Error *e)
{
    const TokenizerOptions o = charlm_tokens(c);
    if (c->app.run)
        return read_tokenizer(c, e);
    const Part training = text_bytes(&c->text, SPLIT_TRAIN);
    return tokenizer_learn(&c->tokenizer, &o, (const char *)training.bytes, training.size, e);
}

bool charlm_build(Charlm *c, Error *e)
{
    const TokenizerOptions o = charlm_tokens(c);
    size_t vocabulary;
    if (!suits(c, e))
        return false;
    if (c->app.run)
        return read_tokenizer(c, e) && build(c, c->tokenizer.count, e);
    return tokenizer_planned(&o, &vocabulary, e) && build(c, vocabulary, e);
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

bool charlm_open_model(App *a, Error *e)
{
    Charlm *c = (Charlm *)a;
    if (!charlm_build(c, e))
        return false;
    charlm_task(c, (Part){NULL, 0, NULL}, model_window(&c->model));
    return true;
}

static bool open_all(App *a, Error *e)
{
    Charlm *c = (Charlm *)a;
    const SharedOptions *o = &c->options->shared;
    if (!suits(c, e) || !app_open_data(a, true, e) || !open_tokenizer(c, e) || !begin_suits(c, e) ||
        !build(c, c->tokenizer.count, e) || !text_tokenize(&c->text, SPLIT_TRAIN, &c->tokenizer, e) ||
        !text_tokenize(&c->text, SPLIT_VALID, &c->tokenizer, e))
        return false;
    Part valid = text_part(&c->text, SPLIT_VALID);
    if (!text_part_suits(&c->text, SPLIT_TRAIN, model_window(&c->model), e) ||
        !text_part_suits(&c->text, SPLIT_VALID, 1, e))
        return false;
    a->data.scored = SPLIT_VALID;
    if (c->options->eval_bytes) {
        valid = part_head(valid, &c->tokenizer, c->options->eval_bytes);
        if (valid.size < 2)
            return fail(e, "--eval-bytes %zu: the first token that would be scored is longer; give more, or 0 for all",
                        c->options->eval_bytes);
    }
    charlm_task(c, valid, model_window(&c->model));
    if (valid.ids && !o->quiet)
        fprintf(stderr, "%zu different tokens, %.2f bytes each in the validation part\n", c->tokenizer.count,
                (double)charlm_scored_bytes(c) / (double)windows_scored(&c->windows));
    return true;
}

static void close_all(App *a)
{
    Charlm *c = (Charlm *)a;
    model_close(&c->model);
    tokenizer_close(&c->tokenizer);
    text_close(&c->text);
}

static DataNote data(const App *a)
{
    const Charlm *c = (const Charlm *)a;
    return (DataNote){a->options->data, c->text.size, c->text.sha256};
}

static double step_tokens(const App *a)
{
    return (double)(a->options->batch * model_window(&((const Charlm *)a)->model));
}

static size_t epoch(const App *a)
{
    size_t tokens = a->options->batch * model_window(&((const Charlm *)a)->model);
    return (((const Charlm *)a)->training.size + tokens - 1) / tokens;
}

static size_t vocabulary(const App *a, size_t side, size_t *targets)
{
    const Model *m = &((const Charlm *)a)->model;
    const bool ngrams = m->ngrams.longest && side >= NGRAMS;
    *targets = ngrams ? 0 : m->vocabulary;
    return ngrams ? m->ngrams.rows : m->vocabulary;
}

static bool begin(App *a, Error *e) { return tokenizer_write(&((Charlm *)a)->tokenizer, a->run->path, e); }

/* Each letter of a sample depends on those before it, and with --dynamic each window on what was learned from those
 * before. */
static bool alone(const App *a)
{
    const size_t command = a->command_line->command->bit;
    return command & COMMAND_WRITE || (command & COMMAND_EVAL && ((const Charlm *)a)->options->dynamic > 0);
}

static const char *const whole[] = {"data", NULL};

const AppKind charlm_kind = {.name = "charlm",
                             .files = tokenizer_files,
                             .program = &charlm_program,
                             .aliases = aliases,
                             .whole = whole,
                             .built_in = "built-in text",
                             .built_in_preset = "prose",
                             .measure = "bytes",
                             .open = open_all,
                             .open_model = charlm_open_model,
                             .close = close_all,
                             .open_data = open_data,
                             .data = data,
                             .row = row,
                             .epoch = epoch,
                             .alone = alone,
                             .step_tokens = step_tokens,
                             .protocol = protocol,
                             .begin = begin,
                             .vocabulary = vocabulary};
