/* What the tests of whole networks share.
 *
 * A TrainerFixture is a network, a few batches and a trainer to run them, so that loss and gradient come about as in training:
 * micro-batches, workers, sum, clip, Adam. Gradients are read where Adam leaves them: with beta1 = 0 and no clipping
 * the first moment is the gradient.
 *
 * Which backends are tested: the list at the top of trainer_fixture.c; one that kernels_find does not know is left out. */
#ifndef TESTS_TRAINER_FIXTURE_H
#define TESTS_TRAINER_FIXTURE_H

#include "core/train/trainer.h"
#include "tests/backends.h"
#include "tests/suite.h"

const Kernels *plain_of(NumberType type);

typedef struct Network {
    const void *model;
    const Parameters *parameters;
    Tensor *(*logits)(const void *model, Tape *t, const Rows *rows);
    size_t sides, side; /* of a batch; whose targets are scored */
    double smoothing, z_loss;
    Tensor *(*again)(const void *model, Tape *t, const Rows *rows); /* the second pass of R-Drop; NULL: there is none */
    double r_drop;
    size_t guided; /* side whose targets say where a head is to look; 0: none */
} Network;

/* What a test chooses. */
typedef struct Training {
    size_t workers, micro_rows; /* 0: one, all */
    size_t micro_positions;     /* of a micro-batch, instead of rows */
    Keep keep;
    double clip, decay;
    bool moving; /* false: Adam with beta1 = 0, so that the first moment is the gradient */
} Training;

typedef struct TrainerFixture {
    Network network;
    Task task;
    Trainer trainer;
    const Batch *batches; /* step s is on number (s - 1) modulo count, and so is scoring */
    size_t batch_count;
    double *losses; /* of each position in the last pass forward */
} TrainerFixture;

void trainer_fixture_open(TrainerFixture *t, const Kernels *k, const Network *n, const Batch *batches, size_t count,
                          const Training *training);
void trainer_fixture_close(TrainerFixture *t);

/* A step; the rate may be 0, and the weights stay. */
StepResult trainer_fixture_step(TrainerFixture *t, uint64_t step, double rate);
double trainer_fixture_score(TrainerFixture *t);

/* Blocks of reals of the trainer as doubles: parameters->size of them; to be freed with memory_free. */
double *trainer_fixture_reals(TrainerFixture *t, const void *block);
double *trainer_fixture_weights(TrainerFixture *t);
double *trainer_fixture_gradient(TrainerFixture *t); /* of the last step */

/* Moves one weight. */
void trainer_fixture_nudge(TrainerFixture *t, const Parameter *p, size_t i, double by);

/* Weights such that attention is far from even, the same ones for each type. */
void trainer_fixture_draw(TrainerFixture *t, uint32_t seed);

/* A forward pass that a test asks for itself: a tape over the fixture's weights, which does not record. To be closed with
 * tape_close. */
typedef struct Pass {
    Tape tape;
    const Kernels *k;
    Stream *stream;
} Pass;

void pass_open(Pass *p, TrainerFixture *t);

/* A tensor's reals as doubles; and the logits of a batch. Both to be freed with memory_free. */
double *pass_reals(const Pass *p, const Tensor *x);
double *trainer_fixture_logits(TrainerFixture *t, const Batch *b);

/* sqrt of the sum of (a-b)^2, and the largest |a-b|; b NULL: 0 */
double distance(const double *a, const double *b, size_t n);
double largest_difference(const double *a, const double *b, size_t n);

#endif
