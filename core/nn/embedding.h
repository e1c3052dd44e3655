/* From token ids to vectors: dropout(scale * table[id] + positions[position in the row]). */
#ifndef CORE_NN_EMBEDDING_H
#define CORE_NN_EMBEDDING_H

#include "core/nn/positions.h"
#include "core/tensor/rows.h"
#include "core/tensor/tape.h"

typedef struct Embedding {
    Parameter *table;     /* [V,D] */
    Parameter *positions; /* [C,D] learned or computed; NULL: none */
    double scale;
    Dropout drop;
    size_t dim;
} Embedding;

typedef struct EmbeddingOptions {
    size_t vocabulary, context, dim;
    Positions positions;
    bool tied;  /* the table makes logits, too */
    bool words; /* of a vocabulary that a run keeps: see Parameter */
    double scale, dropout;
    const struct Embedding *shared; /* whose table (and sinusoids, if as long) this one reads; NULL: its own */
} EmbeddingOptions;

/* names: of the table (unless it is shared) and of positions */
Embedding embedding_new(Parameters *p, const EmbeddingOptions *o, const char *table, const char *positions);

Tensor *embed(Tape *t, const Embedding *e, const Rows *rows);

/* Of n-grams (core/train/ngrams.h) of up to `longest` tokens: one table, of zeros at first, for all lengths. It is multiplied
 * by 1 / longest, so that its vectors learn more slowly than a token's, which are read far more often. */
Embedding embedding_of_ngrams(Parameters *p, size_t rows, size_t longest, size_t dim);

/* Adds the vectors of n-grams to those of tokens: of one side for each length. */
Tensor *embed_ngrams(Tape *t, Tensor *tokens, const Embedding *e, const Rows *sides, size_t lengths);

#endif
