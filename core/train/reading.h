/* Blocks of parameters, read from files. */
#ifndef CORE_TRAIN_READING_H
#define CORE_TRAIN_READING_H

#include "core/train/checkpoint.h"

static inline SafeType real_type(const Kernels *k) { return k->real == sizeof(double) ? SAFE_F64 : SAFE_F32; }

/* A block of numbers, and the prefix of its tensors' names. */
typedef struct SavedBlock {
    const char *prefix;
    const Parameters *layout;
    void *reals;
    const Optimizer *divided; /* NULL, or whose block `number` that is, of which this process has a part */
    size_t number;
} SavedBlock;

/* A file that is read, and under which names. */
typedef struct Source {
    Safetensors *file;
    const char *path;
    const char *const (*aliases)[2]; /* or NULL */
    WeightsPart *part;               /* NULL: all of it */
    const Optimizer *optimizer;      /* whose state that is; NULL: weights */
} Source;

/* One block, each tensor under prefix + name: straight to its place where that is in our own memory and all of it is
 * ours. */
typedef struct Reading {
    const Source *from;
    const SavedBlock *to;
    const Kernels *k;
    Stream *s;
} Reading;

bool read_block(void *reading, Error *e);

#endif
