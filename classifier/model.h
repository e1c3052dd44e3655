/* The network: the words of a text in, the logits of its class out. */
#ifndef CLASSIFIER_MODEL_H
#define CLASSIFIER_MODEL_H

#include "classifier/options.h"
#include "core/nn/embedding.h"
#include "core/nn/stack.h"

typedef struct Model {
    size_t context, classes;
    Pooling pool;
    Parameters parameters;
    Embedding embedding;
    Stack stack;
    Linear logits;
} Model;

bool model_open(Model *m, const ClassifierOptions *v, size_t words, size_t classes, Error *e);
void model_close(Model *m);

/* logits [B, classes] as reals: one row for each text. */
Tensor *model_logits(Tape *t, const Model *m, const Rows *texts);

#endif
