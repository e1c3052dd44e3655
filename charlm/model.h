/* The network: tokens in, at each position the logits of the next token out. */
#ifndef CHARLM_MODEL_H
#define CHARLM_MODEL_H

#include "core/nn/embedding.h"
#include "core/nn/stack.h"
#include "core/program/shared.h"

enum { BYTES = 256 }; /* the vocabulary, unless --tokens names another */

typedef struct Model {
    size_t vocabulary, depth, context;
    Parameters parameters;
    Embedding embedding;
    Stack stack;
    Linear logits;
} Model;

bool model_open(Model *m, const SharedOptions *o, size_t vocabulary, Error *e);
void model_close(Model *m);

/* logits [N, vocabulary] as reals; with a cache, of the positions after those it holds. only: the positions whose logits are
 * wanted (NULL: all; never while training). Without a cache the last block and what is after it compute just these. */
Tensor *model_logits(Tape *t, const Model *m, const Rows *rows, const Cache *cache, const Queries *only);

#endif
