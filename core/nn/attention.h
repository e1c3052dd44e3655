/* Multi-head attention: queries of x over keys and values of memory (x itself in self-attention).
 *
 *     y = out(concat over heads h of softmax(scale q_h k_h^T) v_h)
 *     q = query(x), k = key(memory), v = value(memory)
 *
 * A sink is a score that each head gives to nothing: one more key in its softmax, whose value is 0. A gate multiplies
 * the result of the heads by sigmoid(gate(x)), number by number.
 *
 * The heads are side by side in the columns of q, k and v; nothing is copied to transpose them. Keys and values may
 * have fewer heads than queries: grouped-query attention (Ainslie et al. 2023), or with one head multi-query
 * attention. */
#ifndef CORE_NN_ATTENTION_H
#define CORE_NN_ATTENTION_H

#include "core/nn/blend.h"
#include "core/nn/distances.h"
#include "core/nn/guide.h"
#include "core/nn/linear.h"
#include "core/nn/mask.h"
#include "core/nn/norm.h"
#include "core/nn/rotary.h"
#include "core/nn/scores.h"

typedef struct AttentionOptions {
    size_t dim, heads, key_size, value_size;
    size_t kv_heads;  /* of keys and values, each read by heads / kv_heads heads of queries; 0: heads */
    double key_wider; /* muP: how many times wider a key is than in the base model; 0: 1 */
    bool bias;        /* of query, key and value; out always has one */
    bool cross;       /* keys and values come from another tensor than queries */
    bool composed;    /* from small operations, instead of fused, which has only dot products as scores */
    Score score;
    WeightOptions weights;
    bool sink;           /* each head has one (Xiao et al. 2024; gpt-oss, 2025) */
    bool gate;           /* on the result of the heads (Qiu et al. 2025) */
    double dropout;      /* of the weights */
    bool value_residual; /* its values are mixed with those of the first block (Zhou et al. 2024) */
    bool qk_norm;        /* RMS norms of queries and keys, head by head (Dehghani et al. 2023) */
    bool qk_cosine;      /* one factor per head instead of gains: scores are g cos(q, k) (Henry et al. 2020) */
    RotaryOptions rotary;
    DistanceOptions distances;
} AttentionOptions;

typedef struct Attention {
    AttentionOptions options;
    Linear query;     /* of x */
    Linear key_value; /* of memory */
    Linear all;       /* both in one product, in self-attention */
    Linear value;     /* of either, alone */
    Linear gate;      /* of x; weight NULL: none */
    Linear out;
    Parameter *sink; /* [H]; NULL: none */
    Dropout drop;
    Norm query_norm, key_norm; /* gain NULL: none */
    Parameter *cosine_scale;   /* g [H]; NULL: scores are not cosines */
    Parameter *cosine_ones;    /* [dk], which spread it */
    Blend value_blend;         /* of values, and those of the first block */
    Rotary rotary;
    Distances distances;
    Scoring scoring;
} Attention;

/* Columns of keys and of values. */
size_t attention_keys(const AttentionOptions *o);
size_t attention_values(const AttentionOptions *o);

/* prefix: "blocks.0.attention" */
Attention attention_new(Parameters *p, const AttentionOptions *o, const char *prefix);

/* rows: which positions see which; sizes of heads, scale, dropout and distances are filled in here. positions: those of
 * x and, without their index, of the keys' tensor; needed only for rotary positions. Self-attention: memory is NULL;
 * with a cache, x's keys and values are appended to it, and all that it holds is seen. If not all positions are wanted,
 * x has those that are, and memory has all of them. Cross-attention: keys and values of memory, or (memory NULL) those
 * in the cache. */
Tensor *multihead(Tape *t, const Attention *a, Tensor *x, Tensor *memory, const Attend *rows, const CacheLayer *cache,
                  RowPositions positions);

/* The same with tensors from earlier blocks: first_values, the first block's values at all positions, for attention
 * that has a value_blend; residual: see attend_composed. guided may be NULL. */
Tensor *multihead_after(Tape *t, const Attention *a, Tensor *x, Tensor *memory, const Attend *rows,
                        const CacheLayer *cache, RowPositions positions, Tensor *first_values, Tensor **residual,
                        const Guide *guided);

/* Cross-attention: keys and values of memory, once, for all later calls; between cache_begin and cache_end. */
void attention_remember(Tape *t, const Attention *a, Tensor *memory, const Rows *rows, const CacheLayer *cache);

#endif
