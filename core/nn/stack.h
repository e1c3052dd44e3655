/* A chain of blocks, and after the last of a pre-norm chain a norm: an encoder, a decoder, or a language model.
 *
 *     x = block(x), depth times        x = norm(x), unless post-norm
 *
 * ResiDual (Xie et al. 2023) has a second stream, to which every branch adds without a norm. The result is
 * x + norm(sum).
 *
 * DeepNorm (Wang et al. 2022) multiplies x by alpha and initial weights by beta; an encoder has depth N, a decoder M:
 *
 *     N alone                                 alpha = (2 N)^(1/4)                        beta = (8 N)^(-1/4)
 *     an encoder before a decoder             alpha = 0.81 (N^4 M)^(1/16)                beta = 0.87 (N^4 M)^(-1/16)
 *     a decoder                               alpha = (3 M)^(1/4)                        beta = (12 M)^(-1/4)
 *
 * A branch that may be dropped (branch_dropout) is dropped more often the later its block; in the last block at the
 * option's rate.
 *
 * A block's scores of attention may be added to those of the block before (residual_scores; RealFormer, He et al.
 * 2021), separately for x and for a memory.
 *
 * A model that was trained with dropped branches can also run without some of its blocks (LayerDrop, Fan et al. 2020):
 * those that `skip_blocks` names pass x on unchanged.
 *
 * The chain may run several times, each time with the same parameters (Universal Transformer, Dehghani et al. 2019; of
 * one block: ALBERT, Lan et al. 2020). Each turn has its own random numbers and its own part of a cache.
 *
 * Encoder and decoder (Vaswani et al. 2017) are two stacks: memory = stack(encoder, source), and each block of the
 * decoder attends to it. The memory does not change while a text is written: stack_remember computes its keys and
 * values once, and a second cache holds those of the text. */
#ifndef CORE_NN_STACK_H
#define CORE_NN_STACK_H

#include "core/nn/block.h"

/* What a block reads besides the result of the one before it. A learned sum of both begins with a weight of 0 for it.
 *
 * x0: what the first block reads (Jordan et al. 2024).
 * unet: blocks of the later half read what those of the earlier half read, in reverse order
 * (Ronneberger et al. 2015). */
typedef enum Skip { SKIP_NONE, SKIP_X0, SKIP_UNET } Skip;

typedef struct StackOptions {
    BlockOptions block;
    size_t depth, loops;        /* loops 0: 1 */
    size_t decoder_depth;       /* of an encoder: the depth of the decoder after it; 0: there is none */
    KeyMask key_mask;           /* of self-attention */
    const char *window_pattern; /* one letter per block, repeated if it is too short: L, its queries see all
                                 * keys, whatever `key_mask` hides; NULL: no such block */
    bool residual_scores;
    const char *skip_blocks;   /* numbers of blocks that are left out, "1,3"; NULL: none */
    bool embedding_norm;       /* x is normalized before the first block */
    const char *blocks, *norm; /* names: "blocks" makes blocks.0, blocks.1 .. ; "norm" */
    Skip skip;
    uint32_t last_side; /* the side of a batch whose positions are the only ones that the last block computes, even in
                         * training, where its dropout counts them; 0: none */
} StackOptions;

/* Whether the last block can compute only positions that are not one after another: nothing depends on how far a key
 * is from its query, no branch is before attention, no later block needs its scores, and no load is of all positions. */
bool stack_may_narrow(const StackOptions *o);

typedef struct Stack {
    size_t depth, own_depth; /* of all turns, and of one turn */
    Block *block;            /* [depth] */
    Blend *skip;             /* [depth] */
    Skip skips;
    bool normed, residual, residual_scores;
    bool narrows;              /* the last block may be asked for positions that are not one after another */
    Norm norm, embedding_norm; /* gain NULL: none */
    KeyMask key_mask;
    const char *window_pattern, *skip_blocks;
    size_t kv_heads; /* heads that a cache stores apart; 1 if attention is composed of operations that do
                      * not */
    size_t key_columns, value_columns; /* of a layer's keys and values */
} Stack;

/* Whether the text is a list of numbers of blocks below `depth`. */
bool stack_can_skip(const char *skip_blocks, size_t depth);

/* If memory runs out, parameters_finish reports it. */
Stack stack_new(Parameters *p, const StackOptions *o);
void stack_close(Stack *s);

/* x [N,D] to [N,D]. The caches of `context` are those of the first block; the layers of later blocks follow. If only
 * some positions are wanted, the last block computes just these, unless there is a past, or they are not one after
 * another and the stack was not made for that (last_side). */
Tensor *stack(Tape *t, const Stack *s, Tensor *x, Tensor *memory, const AttentionContext *context);

/* Transformer-XL (Dai et al. 2019): x [N,D] are rows that continue those of `past` [M,D]; each block's keys and values are
 * also those of what the block before made of the past. That is computed first, without dropout and without a gradient.
 * joined: of x's rows, with those of the past before them, which are past_rows. Causal; x [N,D] comes out. */
Tensor *stack_recurrent(Tape *t, const Stack *s, Tensor *x, Tensor *past, const Rows *rows, const Rows *past_rows);

/* A cache for what the stack reads or, in a decoder, for its memory: `rows` rows of up to `capacity` positions. */
bool stack_cache(Cache *c, const Stack *s, const Kernels *k, Stream *stream, size_t rows, size_t capacity, Error *e);

/* Appends keys and values of the memory's rows to the cache, for all calls with context_remembered. */
void stack_remember(Tape *t, const Stack *s, Tensor *memory, const Rows *rows, Cache *cache);

#endif
