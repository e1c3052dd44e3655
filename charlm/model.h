/* The network: tokens in, at each position the logits of the next token out. */
#ifndef CHARLM_MODEL_H
#define CHARLM_MODEL_H

#include "core/nn/embedding.h"
#include "core/nn/stack.h"
#include "core/program/shared.h"
#include "core/train/ngrams.h"

enum { BYTES = 256 }; /* the vocabulary, unless --tokens names another */

typedef struct Model {
    size_t vocabulary, depth, context;
    Ngrams ngrams;       /* whose vectors are added to those of tokens */
    size_t memory;       /* positions before these that a row of a batch has on a side of its own */
    Registers registers; /* at the beginning of each row, of its `context` positions */
    Parameters parameters;
    Embedding embedding, of_ngrams;
    Dropout drop; /* of the sum of both; without n-grams embedding has it */
    Stack stack;
    Linear logits;
} Model;

bool model_open(Model *m, const SharedOptions *o, size_t vocabulary, Error *e);
void model_close(Model *m);

/* Sides of a batch: MEMORY, or those of n-grams. */
enum { WINDOW, MEMORY, NGRAMS = MEMORY };
static inline size_t model_sides(const Model *m) { return 1 + (m->memory ? 1 : ngrams_sides(&m->ngrams)); }

/* Tokens of a window, after the registers; tokens of a text that it reads at once; and positions of both. */
static inline size_t model_window(const Model *m) { return m->context - m->registers.count; }
static inline size_t model_reads(const Model *m) { return m->memory + model_window(m); }
static inline size_t model_positions(const Model *m) { return m->memory + m->context; }

/* logits [N, vocabulary] as reals; with a cache, of the positions after those it holds. only: the positions whose logits are
 * wanted (NULL: all; never while training). Without a cache the last block and what is after it compute just these. */
Tensor *model_logits(Tape *t, const Model *m, const Rows *rows, const Cache *cache, const Queries *only);

/* The same of a batch's sides: windows, each after its memory where the model has one. only: in training, too. */
Tensor *model_windows(Tape *t, const Model *m, const Rows *rows, const Queries *only);

#endif
