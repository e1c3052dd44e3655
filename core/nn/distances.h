/* What attention makes of how far a key is before its query: nothing, or one of these.
 *
 * bias: a number for each distance and head is added to the score, learned (T5 without its buckets, Raffel et al.
 * 2020). It begins as alibi does, where all keys are before their query.
 *
 * alibi: the same, fixed: -slope times distance, slopes 2^(-8/H), 2^(-16/H) .. (Press et al. 2022).
 *
 * keys: a learned vector for each distance, which the query meets as it meets the key (Shaw et al. 2018).
 *
 * xl: such vectors made from sinusoids, and a bias of the query for either meeting (Transformer-XL, Dai et al. 2019).
 *
 * Tables hold distances -ahead .. reach (negative: the key is ahead); farther ones count as the nearest of those. */
#ifndef CORE_NN_DISTANCES_H
#define CORE_NN_DISTANCES_H

#include "core/nn/linear.h"

typedef enum DistanceKind { DISTANCE_NONE, DISTANCE_BIAS, DISTANCE_ALIBI, DISTANCE_KEYS, DISTANCE_XL } DistanceKind;

typedef struct DistanceOptions {
    DistanceKind kind;
    size_t reach, ahead; /* alibi: ahead is 0, and what is ahead gets no bias */
} DistanceOptions;

typedef struct Distances {
    size_t count, ahead;
    Parameter *bias;     /* [count, H] */
    Parameter *features; /* sinusoids [count, F]; NULL: keys are vectors of their own */
    Linear keys;         /* of features, to [count, H*dk]; or the vectors, as columns of its weight */
    Parameter *content_bias, *position_bias; /* [H*dk] */
} Distances;

/* prefix: "blocks.0.attention"; dim: columns of sinusoids */
Distances distances_new(Parameters *p, const DistanceOptions *o, size_t dim, size_t heads, size_t key_size,
                        const char *prefix);

/* Fills in what `how` says of distances; returns its relative keys, NULL where there are none. */
Tensor *distances_describe(Tape *t, const Distances *d, Attend *how);

/* Where the gradients of its parameters go, and those of `relative`. */
void distances_gradients(Tape *t, const Distances *d, Tensor *relative, AttendGradients *gradients);

#endif
