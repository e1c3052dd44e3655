/* Where a backward pass starts. */
#ifndef CORE_NN_LOSS_H
#define CORE_NN_LOSS_H

#include "core/tensor/rows.h"
#include "core/tensor/tape.h"

/* losses [N,1] in nats, one for each position; 0 where the target is negative. Their sum, the same sum without
 * smoothing, and their count go to loss `which` of StepState. The backward pass starts from its scale. */
Tensor *cross_entropy(Tape *t, Tensor *logits, const int32_t *targets, double smoothing, size_t which);

/* The same plus z lse^2 for each position, lse = log sum exp of its logits, which keeps lse near 0. */
Tensor *cross_entropy_z(Tape *t, Tensor *logits, const int32_t *targets, double smoothing, double z, size_t which);

/* R-Drop (Liang et al. 2021): the network reads the same rows once more, with other dropout. The second pass has losses as the
 * first one has, and where their shares of classes differ, that is a loss, too: c/2 (KL(p, q) + KL(q, p)) a position. */
typedef Tensor *(*Logits)(const void *self, Tape *t, const Rows *rows);
void once_more(Tape *t, Tensor *first, Logits network, const void *self, const Rows *rows, const int32_t *targets,
               double smoothing, double z, double c);

/* [N] on the device: the likeliest class of each position. It has no gradient. */
const int32_t *likeliest(Tape *t, const Tensor *logits);

/* On the device, until the reset: for each position the `count` likeliest classes, the likeliest first, and log softmax
 * of them and of one more class. */
typedef struct Choices {
    size_t positions, count;
    const int32_t *which; /* [N, count], -1 where there are no more classes */
    const void *values;   /* real [N, count] */
    const void *one;      /* real [N] */
} Choices;

Choices choices(Tape *t, const Tensor *logits, size_t count, int32_t one);

#endif
