/* A network on trial: what the tests of whole networks share.
 *
 * A Trial is a network, a few batches and a trainer to run them, so that loss and gradient come about as in training:
 * micro-batches, workers, sum, clip, Adam. Gradients are read where Adam leaves them: with beta1 = 0 and no clipping
 * the first moment is the gradient.
 *
 * Which backends are tested: the list at the top of trial.c; one that kernels_find does not know is left out. */
#ifndef TESTS_TRIAL_H
#define TESTS_TRIAL_H

#include "core/train/trainer.h"
#include "tests/suite.h"

/* The backends of a type, device by device; NULL after the last. Plain comes first. */
const Kernels *backend_of(NumberType type, size_t i);
const Kernels *plain_of(NumberType type);

typedef struct Network {
    const void *model;
    const Parameters *parameters;
    Tensor *(*logits)(const void *model, Tape *t, const Rows *rows);
    size_t sides, side; /* of a batch; whose targets are scored */
    double smoothing;
} Network;

/* What a test chooses. */
typedef struct Training {
    size_t workers, micro_rows; /* 0: one, all */
    size_t micro_positions;     /* of a micro-batch, instead of rows */
    Keep keep;
    double clip, decay;
    bool moving; /* false: Adam with beta1 = 0, so that the first moment is the gradient */
} Training;

typedef struct Trial {
    Network network;
    Task task;
    Trainer trainer;
    const Batch *batches; /* step s is on number (s - 1) modulo count, and so is scoring */
    size_t batch_count;
    double *losses; /* of each position in the last pass forward */
} Trial;

void trial_open(Trial *t, const Kernels *k, const Network *n, const Batch *batches, size_t count,
                const Training *training);
void trial_close(Trial *t);

/* A step; the rate may be 0, and the weights stay. */
StepResult trial_step(Trial *t, uint64_t step, double rate);
double trial_score(Trial *t);

/* Blocks of reals of the trainer as doubles: parameters->size of them; to be freed with memory_free. */
double *trial_reals(Trial *t, const void *block);
double *trial_weights(Trial *t);
double *trial_gradient(Trial *t); /* of the last step */

/* Moves one weight. */
void trial_nudge(Trial *t, const Parameter *p, size_t i, double by);

/* Weights such that attention is far from even, the same ones for each type. */
void trial_draw(Trial *t, uint32_t seed);

/* A forward pass that a test asks for itself: a tape over the trial's weights, which does not record. To be closed with
 * tape_close. */
typedef struct Pass {
    Tape tape;
    const Kernels *k;
    Stream *stream;
} Pass;

void pass_open(Pass *p, Trial *t);

/* A tensor's reals as doubles; and the logits of a batch. Both to be freed with memory_free. */
double *pass_reals(const Pass *p, const Tensor *x);
double *trial_logits(Trial *t, const Batch *b);

/* sqrt of the sum of (a-b)^2, and the largest |a-b|; b NULL: 0 */
double distance(const double *a, const double *b, size_t n);
double largest_difference(const double *a, const double *b, size_t n);

#endif
