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
 * Residual scores (RealFormer, He et al. 2021) are a block's scores plus those of the block before, and go to the next.
 *
 * additive computes each pair of a query and a key in all dk columns: it holds two tensors [B*T*S, H*dk] in each block,
 * where the others hold [B*H*T, S]. A micro-batch of few rows, or recomputing blocks, keeps that small.
 *
 * What is done with the scores can be chosen, too. In this order:
 *
 *     cap               c tanh(s / c)                                                     (Gemma 2, 2024)
 *     talking heads     head h' gets the sum over h of P[h',h] s[h]; the same again for weights (Shazeer et al. 2020)
 *     top               of a query's scores all but the largest few become -infinity      (Zhao et al. 2019)
 *     sigmoid           weights are sigmoid(s - log n), each for itself, n the context    (Ramapuram et al. 2024)
 *     memory            keys and values of no position, which all queries see             (Sukhbaatar et al. 2019)
 */
#ifndef CORE_NN_SCORES_H
#define CORE_NN_SCORES_H

#include "core/nn/linear.h"

typedef enum Score { SCORE_SCALED_DOT, SCORE_DOT, SCORE_BILINEAR, SCORE_ADDITIVE } Score;

/* As in the option: "scaled-dot" ... */
const char *score_name(Score score);

/* Whether it is q . k times a factor, the only score that fused attention has; and the factor. */
bool score_is_dot(Score score);
double score_scale(Score score, size_t key_size);

/* What is done with the scores; all 0: nothing. Fused attention has only the cap. */
typedef struct WeightOptions {
    double cap;
    bool talking;
    size_t top;     /* the most scores that a query keeps; 0: all */
    size_t sigmoid; /* n of the bias -log n; 0: a softmax */
    size_t memory;  /* keys and values without a position; for scores that are dot products */
} WeightOptions;

typedef struct Scoring {
    Score score;
    Linear query, key; /* Wq and Wk of all heads, one below another [H*dk, dk] */
    Linear out;        /* v of all heads [H, dk] */
    WeightOptions weights;
    Parameter *talk_scores, *talk_weights;  /* [H,H] */
    Parameter *memory_keys, *memory_values; /* [memory, G*dk], [memory, G*dv] */
    Parameter *one;                         /* [1,1], for multiplying by a number */
} Scoring;

typedef struct ScoringOptions {
    Score score;
    size_t heads, kv_heads, key_size, value_size;
    WeightOptions weights;
} ScoringOptions;

/* cap tanh(x / cap); cap 0: x */
Tensor *capped(Tape *t, const Scoring *s, Tensor *x, double cap);

/* prefix: "blocks.0.attention", for .score.query.weight and so on; a dot product has no parameters. */
Scoring scoring_new(Parameters *p, const ScoringOptions *o, const char *prefix);

/* The same as fused attention: q [N,H*dk], k [keys,G*dk], v [keys,G*dv] to [N,H*dv]; lengths, offsets, windows, blocks,
 * caps, dropout and heads that share keys, but no distances and no biases of queries (asserted).
 * residual NULL, or in: the scores [B*H*T, S] of the block before (NULL: this is the first); out: this block's. */
Tensor *attend_composed(Tape *t, const Scoring *s, Tensor *q, Tensor *k, Tensor *v, const Attend *how,
                        Tensor **residual);

#endif
