/* The network: bytes in, at each position the logits of the next byte out. */
#ifndef CHARLM_MODEL_H
#define CHARLM_MODEL_H

#include "core/cli/shared.h"
#include "core/nn/block.h"
#include "core/nn/embedding.h"

enum { BYTES = 256 }; /* the vocabulary */

typedef struct Model {
    size_t depth, context, window;
    NormPlace place;
    Parameters parameters;
    Embedding embedding;
    Block *blocks; /* [depth] */
    Norm norm;     /* after the last block, pre-norm only */
    Linear logits;
} Model;

/* Whether the options go together. */
bool model_suits(const SharedValues *o, Error *e);

bool model_open(Model *m, const SharedValues *o, Error *e);
void model_close(Model *m);

/* logits [N, 256] as reals; with a cache, of the positions behind those it holds. only: the positions whose logits are
 * wanted (NULL: all; never while training). Without a cache the last block and what is behind it compute just these. */
Tensor *model_logits(Tape *t, const Model *m, const Rows *rows, const Cache *cache, const Queries *only);

/* The columns of keys and of values in one layer, for opening a cache. */
size_t model_key_columns(const Model *m);
size_t model_value_columns(const Model *m);

#endif
