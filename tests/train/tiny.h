/* A small causal model for the tests of core/train, and a task that it can learn: to copy.
 *
 *     a row      l1 l2 .. ln | l1 l2 .. ln         n random letters, a separator, the same letters
 *     targets    the second half only
 *
 * A string to score is drawn with another seed than those to train on; of 26^16 strings none comes twice. */
#ifndef TESTS_TRAIN_TINY_H
#define TESTS_TRAIN_TINY_H

#include "core/nn/block.h"
#include "core/nn/embedding.h"
#include "core/train/loop.h"
#include "tests/suite.h"

enum { LETTERS = 26, SEPARATOR = LETTERS, TINY_DEPTH = 2 };

typedef struct TinyOptions {
    size_t letters; /* n */
    size_t dim, heads, depth, rows, score_rows, score_batches;
    bool tied;
    double dropout;
} TinyOptions;

typedef struct Tiny {
    TinyOptions options;
    Parameters parameters;
    Embedding embedding;
    Block blocks[TINY_DEPTH];
    Linear logits;
    Task task;
    uint64_t stop_at; /* the step whose batch asks the run to stop; 0: none */
} Tiny;

/* Small enough for a run in milliseconds. */
extern const TinyOptions tiny_standard;

bool tiny_open(Tiny *tiny, const TinyOptions *o, Error *e);
void tiny_close(Tiny *tiny);

/* What a trainer needs for it; plain, f32. */
TrainerOptions tiny_trainer(size_t workers, size_t micro_rows);

/* A model, a trainer with fresh weights, a run and a loop over them. */
typedef struct TinyRun {
    Tiny tiny;
    Trainer trainer;
    Run *run;
    Loop loop;
} TinyRun;

/* Opens the run at `path`, which is made if it is not there; asserts that all went well. */
void tiny_run_open(TinyRun *r, const char *path, const TinyOptions *o, const LoopOptions *loop);
void tiny_run_close(TinyRun *r);

/* The text of a file in the run, to be freed with memory_free. */
char *tiny_run_text(const TinyRun *r, const char *name, size_t *size);

#endif
