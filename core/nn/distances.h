/* What attention makes of how far a key is before its query: nothing, or one of these.
 *
 * bias: a number for each distance and head is added to the score, learned. It begins as alibi does, where
 * all keys are before their query.
 *
 * buckets, t5: the same number for many distances (Raffel et al. 2020): each of the near ones has its own, farther ones
 * share one the more of them the farther they are, all from 128 on the last. t5: all blocks of a stack have one table.
 *
 * alibi: the same, fixed: -slope times distance, slopes 2^(-8/H), 2^(-16/H) .. (Press et al. 2022). Or for H heads of
 * them, the first ones, alone.
 *
 * mlp: a bias that a network makes of the distance d, log(1 + d), negative ahead: of two hidden layers of dim / 4
 * numbers with SiLU (dynamic position bias: Wang et al. 2022).
 *
 * keys: a learned vector for each distance, which the query meets as it meets the key (Shaw et al. 2018).
 *
 * xl: such vectors made from sinusoids, and a bias of the query for either meeting (Transformer-XL, Dai et al. 2019).
 *
 * Tables hold distances -ahead .. reach (negative: the key is ahead); farther ones count as the nearest of those. */
#ifndef CORE_NN_DISTANCES_H
#define CORE_NN_DISTANCES_H

#include "core/nn/linear.h"

enum { BUCKETS = 32, BUCKETS_REACH = 128 };

typedef enum DistanceKind {
    DISTANCE_NONE,
    DISTANCE_BIAS,
    DISTANCE_ALIBI,
    DISTANCE_KEYS,
    DISTANCE_XL,
    DISTANCE_BUCKETS,
    DISTANCE_T5,
    DISTANCE_MLP
} DistanceKind;

typedef struct DistanceOptions {
    DistanceKind kind;
    size_t reach, ahead; /* alibi: ahead is 0, and what is ahead gets no bias */
    size_t heads;        /* alibi: how many it is for; 0: all */
} DistanceOptions;

typedef struct Distances {
    size_t count, ahead;
    Parameter *bias;     /* [count, H] */
    Parameter *features; /* sinusoids [count, F]; NULL: keys are vectors of their own */
    Parameter
        *inputs; /* of the maps that make the bias: [count, BUCKETS] 1 for the bucket of a distance, or [count, 1] */
    Linear hidden[2]; /* weight NULL: there is none */
    Linear last;      /* to the bias [count, H], as reals */
    Linear keys;      /* of features, to [count, H*dk]; or the vectors, as columns of its weight */
    Parameter *content_bias, *position_bias; /* [H*dk] */
} Distances;

/* prefix: "blocks.0.attention"; dim: columns of sinusoids */
Distances distances_new(Parameters *p, const DistanceOptions *o, size_t dim, size_t heads, size_t key_size,
                        const char *prefix);

/* What attention reads of distances besides parameters, NULL where there is none; and where the gradient of `bias` is
 * summed, as reals. */
typedef struct DistanceTensors {
    Tensor *relative, *bias;
    void *bias_gradient;
} DistanceTensors;

/* Fills in what `how` says of distances. */
DistanceTensors distances_describe(Tape *t, const Distances *d, Attend *how);

/* Where the gradients of its parameters go, and those of its tensors; and, after they are known, on from there. */
void distances_gradients(Tape *t, const Distances *d, const DistanceTensors *tensors, AttendGradients *gradients);
void distances_backward(Tape *t, const DistanceTensors *tensors);

#endif
