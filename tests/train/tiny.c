/* See tiny.h. */
#include "tests/train/tiny.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "core/nn/loss.h"
#include "core/tensor/sites.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const TinyOptions tiny_standard = {
    .letters = 3, .dim = 8, .heads = 2, .depth = 1, .rows = 4, .score_rows = 2, .score_batches = 3, .dropout = 0.1};

static void add_string(const Tiny *t, uint32_t seed, uint64_t step, size_t number, Batch *b)
{
    size_t n = t->options.letters, at = batch_row(b, 0, 2 * n);
    int32_t *ids = b->side[0].ids + at, *targets = b->side[0].targets + at;
    for (size_t i = 0; i < n; i++) {
        ids[i] = (int32_t)philox_below(LETTERS, seed, (uint32_t)step, number * n + i, SITE_DATA);
        targets[i] = -1;
    }
    ids[n] = SEPARATOR;
    for (size_t i = 0; i < n; i++) {
        targets[n + i] = ids[i];
        if (i + 1 < n)
            ids[n + 1 + i] = ids[i];
    }
}

static void train_batch(void *self, uint64_t step, Batch *b)
{
    const Tiny *t = self;
    batch_clear(b);
    for (size_t r = 0; r < t->options.rows; r++)
        add_string(t, 1, step, r, b);
    if (t->stop_at && step == t->stop_at)
        raise(SIGINT);
}

static void score_batch(void *self, size_t i, Batch *b)
{
    const Tiny *t = self;
    batch_clear(b);
    for (size_t r = 0; r < t->options.score_rows; r++)
        add_string(t, 2, i, r, b);
}

static Tensor *loss(void *self, Tape *t, const Rows *rows)
{
    const Tiny *tiny = self;
    AttentionContext how = context_rows(rows, true);
    Tensor *x = embed(t, &tiny->embedding, rows);
    for (size_t i = 0; i < tiny->options.depth; i++)
        x = block(t, &tiny->blocks[i], x, NULL, &how);
    return cross_entropy(t, linear_logits(t, &tiny->logits, x), rows->targets, 0, 0);
}

bool tiny_open(Tiny *t, const TinyOptions *o, Error *e)
{
    *t = (Tiny){.options = *o};
    Parameters *p = &t->parameters;
    const EmbeddingOptions embedding = {.vocabulary = LETTERS + 1,
                                        .context = 2 * o->letters,
                                        .dim = o->dim,
                                        .positions = POSITIONS_LEARNED,
                                        .tied = o->tied,
                                        .scale = 1,
                                        .dropout = o->dropout};
    const size_t size = o->dim / o->heads;
    const BlockOptions options = {
        .attention = {.dim = o->dim, .heads = o->heads, .key_size = size, .value_size = size, .dropout = o->dropout},
        .ff = 2 * o->dim,
        .dropout = o->dropout};
    t->embedding = embedding_new(p, &embedding, "token_embedding.weight", "position_embedding.weight");
    for (size_t i = 0; i < o->depth; i++) {
        char name[32];
        snprintf(name, sizeof name, "blocks.%zu", i);
        t->blocks[i] = block_new(p, &options, name);
    }
    t->logits = o->tied ? linear_tied(t->embedding.table) : linear_new(p, o->dim, LETTERS + 1, true, "logits");
    t->task = (Task){.self = t,
                     .sides = 1,
                     .longest = {2 * o->letters},
                     .most_rows = o->rows,
                     .batch = train_batch,
                     .loss = loss,
                     .score_batches = o->score_batches,
                     .score_rows = o->score_rows,
                     .score_batch = score_batch,
                     .unit = "nats",
                     .per_nat = 1};
    if (parameters_finish(p, e))
        return true;
    tiny_close(t);
    return false;
}

void tiny_close(Tiny *t) { parameters_close(&t->parameters); }

TrainerOptions tiny_trainer(size_t workers, size_t micro_rows)
{
    return (TrainerOptions){.k = kernels_find("plain", NUMBER_F32, NULL),
                            .workers = workers,
                            .micro_rows = micro_rows,
                            .training = true,
                            .optimizer = {.adam = {.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8}, .decay = 0.01},
                            .clip = 1,
                            .seed = 1};
}

void tiny_run_open(TinyRun *r, const char *path, const TinyOptions *o, const LoopOptions *loop)
{
    Error e;
    *r = (TinyRun){.run = NULL};
    TrainerOptions trainer = tiny_trainer(2, 1);
    bool there = folder_exists(path);
    ck_done(tiny_open(&r->tiny, o, &e), e);
    ck_done(trainer_open(&r->trainer, &trainer, &r->tiny.parameters, &r->tiny.task, &e), e);
    ck_done(weights_init(&r->trainer.weights, r->trainer.worker[0].stream, INIT_GPT2, o->depth, 1, &e), e);
    ck_done(there ? run_open(&r->run, path, true, &e) : run_create(&r->run, path, NULL, &e), e);
    r->loop = (Loop){
        .trainer = &r->trainer, .task = &r->tiny.task, .run = r->run, .note = {"tiny", "{}"}, .options = *loop};
    ck_done(there ? loop_resume(&r->loop, &e) : loop_begin(&r->loop, &e), e);
}

void tiny_run_close(TinyRun *r)
{
    trainer_close(&r->trainer);
    tiny_close(&r->tiny);
    run_close(r->run);
    *r = (TinyRun){.run = NULL};
}

char *tiny_run_text(const TinyRun *r, const char *name, size_t *size)
{
    Error e;
    char *path = run_file(r->run, name), *text;
    ck_done(file_read(path, &text, size, &e), e);
    memory_free(path);
    return text;
}
