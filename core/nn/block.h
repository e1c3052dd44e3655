/* One block of a Transformer: attention and a feed-forward network, each on a residual branch with layer normalisation.
 *
 *     post-norm (Vaswani et al. 2017)         x = norm1(x + dropout(attention(x)))       x = norm2(x + dropout(ff(x)))
 *     pre-norm                                x = x + dropout(attention(norm1(x)))       x = x + dropout(ff(norm2(x)))
 */
#ifndef CORE_NN_BLOCK_H
#define CORE_NN_BLOCK_H

#include "core/nn/attention.h"
#include "core/nn/norm.h"

typedef enum NormPlace { NORM_POST, NORM_PRE } NormPlace;

typedef struct BlockOptions {
    AttentionOptions attention;
    size_t ff;
    Activation activation;
    NormPlace norm;
    double dropout; /* on what each branch adds */
} BlockOptions;

typedef struct Branch {
    Norm norm;
    Dropout drop;
    NormPlace place;
} Branch;

typedef struct FeedForward {
    Linear in, out;
    Activation activation;
} FeedForward;

typedef struct Block {
    Attention attention;
    FeedForward ff;
    Branch branch1, branch2;
} Block;

/* prefix: "blocks.0" */
Block block_new(Parameters *p, const BlockOptions *o, const char *prefix);

/* x [N,D] to [N,D]; a segment of the tape. */
Tensor *block(Tape *t, const Block *b, Tensor *x, const Attend *rows, const CacheLayer *cache);

/* Some positions of the same alone, [only->positions, D]. Not while training: dropout would count other positions. */
Tensor *block_only(Tape *t, const Block *b, Tensor *x, const Attend *rows, const Queries *only);

Tensor *feedforward(Tape *t, const FeedForward *f, Tensor *x);

/* A branch begins with its norm (pre-norm) and ends with the sum, and its norm (post-norm). */
Tensor *enter(Tape *t, const Branch *b, Tensor *x);
Tensor *leave(Tape *t, const Branch *b, Tensor *x, Tensor *f);

#endif
