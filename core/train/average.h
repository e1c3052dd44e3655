/* The mean of a run's newest checkpoints: RUN/average.safetensors, which --weights average reads. */
#ifndef CORE_TRAIN_AVERAGE_H
#define CORE_TRAIN_AVERAGE_H

#include "core/train/checkpoint.h"

/* The weights become the mean of the `last` newest checkpoints, that of step 0 not counted, and are written into the
 * run. first, newest: steps of the oldest and the newest of them. */
bool average_checkpoints(Weights *w, Stream *s, const Run *run, size_t last, const ModelNote *note, uint64_t *first,
                         uint64_t *newest, Error *e);

/* Whether the file is of the newest checkpoint, or whether the run went on since. */
bool average_is_new(const Run *run, Error *e);

/* Where they are, to be freed with memory_free; NULL when there is no memory. */
char *average_path(const Run *run);

#endif
