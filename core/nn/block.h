/* One block of a Transformer: attention and a feed-forward network, each on a residual branch with layer normalisation.
 *
 *     post-norm (Vaswani et al. 2017)         x = norm1(x + dropout(attention(x)))       x = norm2(x + dropout(ff(x)))
 *     pre-norm                                x = x + dropout(attention(norm1(x)))       x = x + dropout(ff(norm2(x)))
 *     sandwich (Ding et al. 2021)             x = x + dropout(norm1_out(attention(norm1(x)))), and so on
 *     parallel (Wang, Komatsuzaki 2021)       x = x + dropout(attention(y)) + dropout(ff(y)), y = norm1(x)
 *     deepnorm (Wang et al. 2022)             x = norm1(alpha x + dropout(attention(x))), and so on; see stack.h
 *     residual (ResiDual, Xie et al. 2023)    as post-norm, and beside it sum = sum + dropout(attention(x)), and so on
 *
 * A macaron block (Lu et al. 2019) has another feed-forward network before attention, and each of the two adds half of
 * its result: x = x + 1/2 ff_before(x), and so on.
 *
 * A decoder's block has a third branch between the two, norm_cross: attention from x to a memory. */
#ifndef CORE_NN_BLOCK_H
#define CORE_NN_BLOCK_H

#include "core/nn/attention.h"
#include "core/nn/experts.h"
#include "core/nn/norm.h"

typedef enum NormPlacement {
    NORM_POST,
    NORM_PRE,
    NORM_SANDWICH,
    NORM_PARALLEL,
    NORM_DEEP,
    NORM_RESIDUAL
} NormPlacement;

/* Whether a branch ends with its norm, so that a stack needs none after its last block. */
bool norm_ends_branch(NormPlacement placement);

typedef struct BlockOptions {
    AttentionOptions attention;
    size_t ff;
    Activation activation;
    bool gate; /* of the feed-forward network */
    ExpertsOptions experts;
    NormPlacement norm;
    NormKind norm_kind;
    double deep_alpha, deep_beta; /* DeepNorm: factors of x and of initial weights; 0: none */
    bool macaron;
    double dropout;        /* on what each branch adds */
    double branch_dropout; /* probability that a whole branch is dropped for a step */
    double ff_dropout;     /* inside the feed-forward network, after its activation */
    bool cross;            /* a decoder's block: it attends to a memory, too */
} BlockOptions;

typedef struct Branch {
    Norm norm; /* gain NULL: a later branch of a parallel block, which reads the first one's normalized x */
    Dropout drop;
    NormPlacement placement;
    Norm norm_out;    /* sandwich: of the branch's result */
    Dropout drop_all; /* stochastic depth (Huang et al. 2016) */
    Parameter *ones;  /* [1,D]; NULL: the branch is never dropped as a whole */
    Parameter *alpha; /* [1,D] factor of x before the sum; NULL: 1 */
    Parameter *half;  /* [1,D] factor of what is added; NULL: 1 */
} Branch;

/* y = out(dropout(f(in(x)))), or with a gate (Shazeer 2020: SwiGLU where f is SiLU) y = out(dropout(f(gate(x)) in(x))).
 * Where there are experts, each has such a network. */
typedef struct FeedForward {
    Experts experts;
    Linear in, gate, out; /* gate.weight is NULL where there is none */
    Activation activation;
    Dropout drop;
} FeedForward;

typedef struct Block {
    Attention attention, cross;
    FeedForward ff_before, ff;
    Branch branch_before, branch1, branch_cross, branch2;
    bool crosses; /* there is a branch_cross */
    bool macaron; /* there is a branch_before */
} Block;

/* What attention may read in a block: masks, and keys and values that earlier calls left in caches. */
typedef struct AttentionContext {
    Attend self_mask;                   /* which positions of x see which of x */
    const int32_t *position;            /* [N] of x within their rows */
    const CacheLayer *kv_cache;         /* keys and values of earlier positions; NULL: there are none */
    Attend cross_mask;                  /* a decoder's: which positions of x see which of a memory */
    const CacheLayer *cross_cache;      /* keys and values of the memory; NULL: computed from the memory itself */
    Tensor *first_values;               /* the first block's values, if later blocks mix them in; NULL: they do not */
    const Guide *guide;                 /* of a decoder's attention to a memory, in one block; NULL: none */
    bool residual_scores;               /* scores are added to those of the block before: */
    Tensor *self_scores, *cross_scores; /* NULL: there are none before. This block's scores are beside its result, in
                                         * this order */
    const Queries *query_subset;        /* the positions of x that are wanted; NULL: all. Never with a kv_cache; in
                                         * training only if they are a side of the batch, because dropout counts
                                         * positions by sides */
} AttentionContext;

/* prefix: "blocks.0" */
Block block_new(Parameters *p, const BlockOptions *o, const char *prefix);

/* x [N,D] to [N,D], or to the rows that are wanted. With a second stream (residual), x and the result are [N,2D]: the
 * columns of that stream come last. memory [M,D] is for a decoder's block without a cache of it, otherwise NULL. A
 * segment of the tape. */
Tensor *block(Tape *t, const Block *b, Tensor *x, Tensor *memory, const AttentionContext *context);

/* The values [N,dv] of the block's attention for x, before they are blended: later blocks' first_values. */
Tensor *block_values(Tape *t, const Block *b, Tensor *x);

/* Each row sees itself: all of it or (causal) the positions up to the query's. */
AttentionContext context_rows(const Rows *rows, bool causal);

/* A decoder's: causal, and each row sees the row of the memory with its number. */
AttentionContext context_across(const Rows *rows, const Rows *memory);

/* The same two with caches of what was read before: these rows are appended to `past`, each to its own row of the
 * cache; row b sees row key_row[b] (on the device; NULL: b) of the cached memory. */
AttentionContext context_cached(const Rows *rows, const Cache *past);
AttentionContext context_remembered(const Rows *rows, const Cache *past, const Cache *memory, const int32_t *key_row);

Tensor *feedforward(Tape *t, const FeedForward *f, Tensor *x);

/* A branch begins with its norm, and ends with the sum; with post-norm, the norm comes after the sum instead. */
Tensor *enter(Tape *t, const Branch *b, Tensor *x);
Tensor *leave(Tape *t, const Branch *b, Tensor *x, Tensor *f);

#endif
