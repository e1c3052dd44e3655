/* Rotary positions (Su et al. 2021): a query and a key are rotated by angles that grow with their positions, so that
 * their product depends on how far apart they are. Values are not rotated.
 *
 *     x' = x cos(p f) + half(x) sin(p f)          half(x) = (-x[n/2 ..], x[.. n/2])
 *
 * for each head x [n] at position p, with frequencies f[i] = f[i + n/2] = 10000^(-2i/n). It is made of existing
 * operations; half(x) is a product with a constant matrix. */
#ifndef CORE_NN_ROTARY_H
#define CORE_NN_ROTARY_H

#include "core/tensor/tape.h"

typedef struct Rotary {
    size_t size;              /* of a head */
    Parameter *cosine, *sine; /* [context, size] constants; NULL: nothing is rotated */
    Parameter *half;          /* [size, size] */
} Rotary;

/* context: how many positions there are; 0: nothing is rotated. prefix: "blocks.0.attention" */
Rotary rotary_new(Parameters *p, size_t context, size_t size, const char *prefix);

/* The positions of x [N, ..] within their rows: position [count], or those of them at index [N]. */
typedef struct RowPositions {
    const int32_t *position; /* on the device; NULL where positions are not needed */
    size_t count;
    const int32_t *index; /* NULL: all */
} RowPositions;

/* x [N, heads * size]; zeros where a position is negative. */
Tensor *rotate(Tape *t, const Rotary *r, Tensor *x, RowPositions positions);

#endif
