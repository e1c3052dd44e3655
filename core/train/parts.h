/* Where the time of training steps goes, for a trainer whose table is a profile (kernels/profile):
 *
 *     parts_begin(&trainer);  some steps, timed;  parts_of(&parts, &trainer, seconds, steps, e);
 *
 * The whole is what all workers have: a step's time, once for each. Of it, operations, waiting for other workers and
 * profiling itself are measured where they happen; the rest is what remains: making batches (meanwhile all workers
 * wait), the tape, and what layers do between operations. */
#ifndef CORE_TRAIN_PARTS_H
#define CORE_TRAIN_PARTS_H

#include "base/buffer.h"
#include "core/train/trainer.h"
#include "kernels/profile/profile.h"

#include <stdio.h>

typedef struct Parts {
    Timing *timing; /* [count] of all workers and steps, the longest first */
    size_t count, workers, steps;
    double whole, operations, waiting, profiling, rest; /* seconds of all workers in all steps */
    double exchange;                                    /* of them, those in which this process waited for others */
    size_t ranks;                                       /* processes */
} Parts;

void parts_begin(Trainer *c);
bool parts_of(Parts *p, const Trainer *c, double seconds, size_t steps, Error *e);
void parts_close(Parts *p);

/* A table; and a member "profile" of a JSON object that is being written. */
void parts_print(const Parts *p, FILE *file);
void parts_json(const Parts *p, Buffer *b);

#endif
