/* How well a query fits a key: attention composed from small operations, with a score to choose.
 *
 *     scaled-dot   q . k / sqrt(dk)                   (Vaswani et al. 2017)
 *     dot          q . k                              (Luong et al. 2015)
 *     bilinear     (Wq q) . k                         (the same: "general")
 *     additive     v . tanh(Wq q + Wk k)              (Bahdanau et al. 2015)
 *
 * with matrices Wq, Wk [dk,dk] and a vector v [dk] for each head. A new score is one function that makes scores
 * [B*H*T, S] from padded queries and keys; it then runs on every backend, with gradients, masks, dropout and caches.
 *
 * Residual scores (RealFormer, He et al. 2021) are the same and the block's before it, which the next block gets in turn.
 *
 * additive looks at each pair of a query and a key in all dk columns: it holds two tensors [B*T*S, H*dk] in each block,
 * where the others hold [B*H*T, S]. A micro-batch of few rows, and dropping what is inside a block, keep that small. */
#ifndef CORE_NN_SCORES_H
#define CORE_NN_SCORES_H

#include "core/nn/linear.h"

typedef enum Score { SCORE_SCALED_DOT, SCORE_DOT, SCORE_BILINEAR, SCORE_ADDITIVE } Score;

/* As an option has it: "scaled-dot" ... */
const char *score_name(Score score);

/* Whether it is a product q . k times a factor, which is all that fused attention knows; and the factor. */
bool score_is_dot(Score score);
double score_scale(Score score, size_t key_size);

typedef struct Scoring {
    Score score;
    Linear query, key; /* Wq and Wk of all heads, one below another [H*dk, dk] */
    Linear out;        /* v of all heads [H, dk] */
} Scoring;

/* prefix: "blocks.0.attention", for .score.query.weight and so on; a dot product has no parameters. */
Scoring scoring_new(Parameters *p, Score score, size_t heads, size_t key_size, const char *prefix);

/* The same as fused attention: q [N,H*dk], k [keys,G*dk], v [keys,G*dv] to [N,H*dv]; lengths, offsets, windows, blocks,
 * dropout and heads that share keys, but no distances and no biases of queries (asserted).
 * residual NULL, or where the scores [B*H*T, S] of the block before are (NULL: this is the first), and this one's go. */
Tensor *attend_composed(Tape *t, const Scoring *s, Tensor *q, Tensor *k, Tensor *v, const Attend *how,
                        Tensor **residual);

#endif
