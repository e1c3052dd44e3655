/* Layer or RMS normalisation, alone and together with the residual connection before it. */
#ifndef CORE_NN_NORM_H
#define CORE_NN_NORM_H

#include "core/tensor/tape.h"

typedef enum NormKind { NORM_LAYER, NORM_RMS, NORM_RMS_PLAIN /* whose gain is always 1 */ } NormKind;

typedef struct Norm {
    NormKind kind;
    Parameter *gain, *bias; /* named .weight and .bias, as in PyTorch; bias NULL: none */
    double epsilon;
} Norm;

Norm norm_new(Parameters *p, NormKind kind, size_t dim, const char *name);

/* x [N,D], normalized row by row; or D a multiple of the norm's size: each of a row's vectors of that size. */
Tensor *norm(Tape *t, const Norm *n, Tensor *x);

/* norm(x + dropout(f)) */
Tensor *add_norm(Tape *t, const Norm *n, Tensor *x, Tensor *f, Dropout drop);

#endif
