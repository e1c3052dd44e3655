/* A network's options as people write them, as core/nn takes them: the same for all programs. */
#ifndef CORE_PROGRAM_NETWORK_H
#define CORE_PROGRAM_NETWORK_H

#include "core/nn/embedding.h"
#include "core/nn/stack.h"
#include "core/program/shared.h"
#include "core/train/ngrams.h"

/* Whether they go together. */
bool network_suits(const SharedOptions *o, Error *e);

/* Whether --skip-blocks names blocks of the deepest stack. */
bool network_can_skip(const SharedOptions *o, size_t depth, Error *e);

/* What the options say of all parameters, before a model is built. */
void network_prepare(Parameters *p, const SharedOptions *o);

/* Of this many different ids; a chain of blocks, but for its names. */
EmbeddingOptions network_embedding(const SharedOptions *o, size_t vocabulary);
StackOptions network_stack(const SharedOptions *o, const char *blocks, const char *norm);

/* Which a batch has on the sides from `side` on. */
Ngrams network_ngrams(const SharedOptions *o, size_t side);

/* The hidden width of a feed-forward network; of one with a gate, which has three maps, two thirds of the usual. */
size_t network_ff(size_t ff, size_t dim, bool gate);

/* Of a block that sees what is before; distances reach over the whole context. */
BlockOptions network_block(const SharedOptions *o);

#endif
