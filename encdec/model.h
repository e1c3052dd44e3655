/* The network: a source in, and at each position of a target the logits of its next subword out. */
#ifndef ENCDEC_MODEL_H
#define ENCDEC_MODEL_H

#include "core/nn/embedding.h"
#include "core/nn/stack.h"
#include "encdec/options.h"

typedef struct Model {
    size_t context;
    Parameters parameters;
    Embedding source, target;
    Stack encoder, decoder;
    Linear logits;
    const bool *moves; /* [targets] see TranslateNetwork */
    int32_t begin;     /* likewise, */
    bool begin_only;
} Model;

/* subwords: ids in the vocabulary; targets: in the target's own, which shares no table; 0: it has none. */
bool model_open(Model *m, const EncdecOptions *v, size_t subwords, size_t targets, Error *e);
void model_close(Model *m);

/* What the encoder makes of sources [M,D]. */
Tensor *model_memory(Tape *t, const Model *m, const Rows *source);

/* logits [N,V] as reals of targets that begin with </s>. `context` says which memory a target's row sees: context_across
 * that of its own source, where memory is given; context_remembered what a cache holds, and then memory is NULL. */
Tensor *model_logits(Tape *t, const Model *m, const Rows *target, Tensor *memory, const AttentionContext *context);

/* Both, each target with the source of its number. */
Tensor *model_pairs(Tape *t, const Model *m, const Rows *source, const Rows *target);

#endif
