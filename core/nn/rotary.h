/* Rotary positions (Su et al. 2021): a query and a key are rotated by angles that grow with their positions, so that
 * their product depends on how far apart they are. Values are not rotated.
 *
 *     x' = x cos(p f) + half(x) sin(p f)          half(x) = (-x[n/2 ..], x[.. n/2])
 *
 * for each head x [n] at position p, with frequencies f[i] = f[i + n/2] = 10000^(-2i/n). It is made of existing
 * operations; half(x) is a product with a constant matrix.
 *
 * The base may differ from 10000, and n may be only the first numbers of a head; the others stay as they are (Black et
 * al. 2022). A model that was trained on shorter texts reads texts s times as long if its angles are stretched: linear,
 * all by 1/s (Chen et al. 2023); ntk, the slowest by 1/s and the fastest not at all, because the base grows by
 * s^(n/(n-2)). */
#ifndef CORE_NN_ROTARY_H
#define CORE_NN_ROTARY_H

#include "core/tensor/tape.h"

typedef struct RotaryOptions {
    size_t context; /* how many positions there are; 0: nothing is rotated */
    double base;    /* 0: 10000 */
    double share;   /* of a head that is rotated; 0: all */
    double stretch; /* 0: 1 */
    bool ntk;       /* how it is stretched */
} RotaryOptions;

typedef struct Rotary {
    size_t size;              /* of a head */
    Parameter *cosine, *sine; /* [context, size] constants; NULL: nothing is rotated */
    Parameter *half;          /* [size, size] */
} Rotary;

/* prefix: "blocks.0.attention" */
Rotary rotary_new(Parameters *p, const RotaryOptions *o, size_t size, const char *prefix);

/* The positions of x [N, ..] within their rows: position [count] or, with an index [N], only those entries of it. */
typedef struct RowPositions {
    const int32_t *position; /* on the device; NULL where positions are not needed */
    size_t count;
    const int32_t *index; /* NULL: all */
} RowPositions;

/* x [N, heads * size]; zeros where a position is negative. */
Tensor *rotate(Tape *t, const Rotary *r, Tensor *x, RowPositions positions);

#endif
