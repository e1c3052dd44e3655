/* How the distance from a query back to a key enters attention: not at all, or in one of these ways.
 *
 * bias: a learned number for each distance and head is added to the score. It begins as alibi, if all keys are before
 * their query.
 *
 * buckets, t5: one number for many distances (Raffel et al. 2020): each near distance has its own, and the farther
 * away, the more distances share one; all from 128 on share the last. t5: all blocks of a stack have one table.
 *
 * alibi: a fixed bias, -slope times distance, with slopes 2^(-8/H), 2^(-16/H) .. (Press et al. 2022). H may also be the
 * number of the first heads that have it.
 *
 * mlp: a network makes the bias from log(1 + d), negative for keys ahead, for the distance d. It has two hidden layers
 * of dim / 4 numbers with SiLU (dynamic position bias: Wang et al. 2022).
 *
 * keys: a learned vector for each distance, by which the query is multiplied as by a key (Shaw et al. 2018).
 *
 * xl: such vectors made from sinusoids of the distance, and a bias of the query for each of the two products
 * (Transformer-XL, Dai et al. 2019).
 *
 * Besides, a head may have a span that it learns (adaptive span, Sukhbaatar et al. 2019; formula in kernels/plain/span.c):
 * its weights of keys farther away than z times the farthest distance fall to 0. z begins as 0. Its penalty is part of the
 * gradient alone, once a step, and not of the loss that is printed. With alibi it is for keys before a query.
 *
 * Tables hold distances -ahead .. reach (negative: the key is ahead); larger distances use the nearest of these. */
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
    size_t reach, ahead; /* alibi: ahead is 0, and keys ahead get no bias */
    size_t heads;        /* alibi: how many heads have it; 0: all */
    double span_ramp;    /* over how many distances a weight falls to 0; 0: heads have no span */
    double span_loss;    /* the penalty: this times the mean z of the heads */
} DistanceOptions;

typedef struct Distances {
    size_t count, ahead;
    Parameter *bias; /* [count, H] */
    Parameter *span; /* z [H]; NULL: none */
    double span_ramp, span_loss;
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

/* What attention reads of distances besides parameters (NULL: nothing), and where the gradient of `bias` is summed, as
 * reals. */
typedef struct DistanceTensors {
    Tensor *relative, *bias;
    void *bias_gradient; /* [count, H], where `bias` or a span asks for it */
} DistanceTensors;

/* Fills in the fields of `how` about distances. */
DistanceTensors distances_describe(Tape *t, const Distances *d, Attend *how);

/* Says where the gradients of its parameters and tensors go. After they are computed, distances_backward passes them
 * on. */
void distances_gradients(Tape *t, const Distances *d, const DistanceTensors *tensors, AttendGradients *gradients);
void distances_backward(Tape *t, const Distances *d, const DistanceTensors *tensors);

#endif
