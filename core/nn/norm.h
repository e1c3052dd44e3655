/* Normalisation, alone and together with the residual connection before it.
 *
 *     layer (Ba et al. 2016)                  y = (x - mean) / deviation * gain + bias
 *     rms (Zhang, Sennrich 2019)              y = x / root mean square * gain
 *     rms-plain (Qin et al. 2023)             y = x / root mean square
 *     scale (Nguyen, Salazar 2019)            y = g x / |x|, g = sqrt(D) factor: one number for all columns
 *     tanh (Zhu et al. 2025)                  y = tanh(alpha x) * gain + bias, alpha = factor
 *
 * The last two are made of existing operations, so they take more passes over memory. */
#ifndef CORE_NN_NORM_H
#define CORE_NN_NORM_H

#include "core/tensor/tape.h"

/* What is added to a variance or a mean square, unless Parameters say otherwise. */
#define NORM_EPSILON 1e-5

typedef enum NormKind { NORM_LAYER, NORM_RMS, NORM_RMS_PLAIN, NORM_SCALE, NORM_TANH } NormKind;

typedef struct Norm {
    NormKind kind;
    Parameter *gain, *bias; /* named .weight and .bias, as in PyTorch; bias NULL: none; plain and scale: gain is 1 */
    double epsilon;
    Parameter *factor; /* [1], named .scale or .alpha; NULL: none */
    Parameter *ones;   /* [D], which spread it */
} Norm;

Norm norm_new(Parameters *p, NormKind kind, size_t dim, const char *name);

/* x [N,D], normalized row by row. If D is a multiple of the norm's size, each part of a row of that size by itself. */
Tensor *norm(Tape *t, const Norm *n, Tensor *x);

/* norm(x + dropout(f)) */
Tensor *add_norm(Tape *t, const Norm *n, Tensor *x, Tensor *f, Dropout drop);

#endif
