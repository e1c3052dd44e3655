/* A learned sum of two tensors, with a weight for each column of either: y = own x + other z. */
#ifndef CORE_NN_BLEND_H
#define CORE_NN_BLEND_H

#include "core/tensor/tape.h"

typedef struct Blend {
    Parameter *own, *other; /* [D]; NULL: there is no sum */
} Blend;

/* own, other: what the weights begin as. name: "blocks.3.skip", for .own and .other */
Blend blend_new(Parameters *p, size_t dim, double own, double other, const char *name);

/* x and z may be columns of a wider tensor. */
Tensor *blend(Tape *t, const Blend *m, Tensor *x, Tensor *z);

#endif
