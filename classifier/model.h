/* The network: the tokens of a text in, the logits of its class out; or, while it is pretrained, those of the tokens that
 * are masked. */
#ifndef CLASSIFIER_MODEL_H
#define CLASSIFIER_MODEL_H

#include "classifier/options.h"
#include "core/nn/embedding.h"
#include "core/nn/stack.h"
#include "core/train/ngrams.h"

/* Sides of a batch. */
enum {
    TEXT,
    LABEL,      /* a class for each row */
    MASKED = 1, /* or the positions of TEXT that are predicted; before them that of [CLS] where sentences are paired */
    SEGMENT,    /* for each position of TEXT: 0, or in the second of two parts 1 */
    NEXT,       /* for each row: whether its two parts belong together (0) or not (1) */
    NGRAMS = SEGMENT /* or of TEXT, one side for each length */
};

typedef struct Model {
    size_t context;
    size_t classes; /* or tokens */
    Pooling pool;
    bool masked;         /* it predicts tokens */
    Registers registers; /* at the beginning of each text */
    bool headless;       /* nobody asks for its logits, which are those of the table of tokens */
    Parameters parameters;
    Ngrams ngrams;
    Embedding embedding, segments, of_ngrams; /* segments.table NULL: there are none */
    Dropout drop;                             /* of their sum */
    Stack stack;
    Linear transform; /* of a masked position's vector, before the logits of tokens */
    Activation activation;
    Norm transform_norm;
    Linear pooler; /* of a text's vector, before logits; weight NULL: none */
    Activation pooler_activation;
    Linear logits;
    Linear next; /* weight NULL: sentences are not paired */
} Model;

bool model_open(Model *m, const ClassifierOptions *v, size_t tokens, size_t classes, Error *e);
void model_close(Model *m);

/* The number of sides of its batches. */
size_t model_sides(const Model *m);

/* The vectors [N, dim] of a text's positions. */
Tensor *model_vectors(Tape *t, const Model *m, const Rows *rows);

/* One of them for each text, [B, dim]. */
typedef enum Vector {
    VECTOR_FIRST = POOLING_FIRST,
    VECTOR_MEAN = POOLING_MEAN,
    VECTOR_MAX = POOLING_MAX,
    VECTOR_POOLER /* the pooler's, of the first */
} Vector;

Tensor *model_text_vectors(Tape *t, const Model *m, Vector which, const Rows *rows);

/* logits [B, classes] as reals: one row for each text. */
Tensor *model_logits(Tape *t, const Model *m, const Rows *rows);

/* Of a masked model: the vectors [M, dim] of the positions of side MASKED, which are all that the last block computes
 * where its attention allows that; logits [M, tokens] of them, and [B, 2] of side NEXT. */
Tensor *model_masked(Tape *t, const Model *m, const Rows *rows);
Tensor *model_tokens(Tape *t, const Model *m, Tensor *vectors);
Tensor *model_next(Tape *t, const Model *m, Tensor *vectors, const Rows *rows);

#endif
