/* The parts of a training step; step.c has them in their order. */
#ifndef CORE_TRAIN_STEP_H
#define CORE_TRAIN_STEP_H

#include "core/train/update.h"

typedef struct Step {
    Trainer *trainer;
    StepState begins; /* what all workers begin with */
    Hook *hook;       /* NULL; or to whom is shown what operations make: then weights stay */
    char *nonfinite;  /* NULL; or where to put the name of the first tensor that is not finite: then weights stay */
} Step;

/* What one worker does of a step. */
typedef struct Part {
    Trainer *c;
    Worker *w;
    size_t number; /* of the worker */
} Part;

/* The step's batch, cut into micro-batches, unless it is there already; and its slots on the device. */
Step step_begin(Trainer *c, uint64_t number, double learning_rate);

/* The next step's batch, and each worker's first part of it, on a device that computes meanwhile. */
void step_send_ahead(Trainer *c, uint64_t next);

/* Copies each micro-batch of a worker's shares to the device and does `work` with it; or replays what it recorded before.
 * Gradients of shares are added up as far as they are neighbours. Ends early when the step is given up. */
void step_each_micro_batch(const Step *s, Part *part, void (*work)(void *part));

/* Does `work` once; or replays it, where the worker is alone. */
void step_once(Part *part, void (*work)(void *part));

/* Waits for all workers, and remembers for how long. What they asked for has been done then: order among operations of
 * several streams is the host's business. A single worker does not wait. */
void step_barrier(Part *part);

/* What losses have summed up. */
typedef struct Sums {
    double sum[LOSSES], nll[LOSSES], count[LOSSES], hits;
} Sums;

void sums_add(Sums *to, const StepState *from);
MeanLoss sums_mean(const Sums *s);

#endif
