/* The optimizer's state where each process has a part of it (--shard), while process 0 writes all of it into a file: tensor
 * by tensor and piece by piece, so that no process ever holds more than its part. */
#ifndef CORE_TRAIN_GATHER_H
#define CORE_TRAIN_GATHER_H

#include "core/run/safetensors.h"
#include "core/train/trainer.h"

/* A tensor of a file: all of it, or where it begins in a block of state that is divided, counted in the parameters' block. */
typedef struct GatheredTensor {
    const void *whole;
    size_t block, first;
} GatheredTensor;

/* For process 0: each tensor's data is a GatheredTensor. */
SafeSource gather_source(Trainer *c);

/* For all others, at the same time: what process 0 asks for, which is all tensors of the first blocks in their order. */
void gather_send(Trainer *c, size_t blocks);

#endif
