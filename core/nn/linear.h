/* A linear map: y = x w^T + bias, w [out, in] as PyTorch stores it. */
#ifndef CORE_NN_LINEAR_H
#define CORE_NN_LINEAR_H

#include "core/tensor/tape.h"

typedef struct Linear {
    Parameter *weight, *bias; /* of the first of several joined maps; bias NULL: none */
    size_t in, out;           /* out: of all joined maps together */
    Parameter *multiplier;    /* [1,in] constants: of x, before the product; NULL: 1 */
    double cap;               /* of logits: z becomes cap tanh(z / cap); 0: it stays */
} Linear;

Linear linear_new(Parameters *p, size_t in, size_t out, bool bias, const char *name);

/* Several maps of the same input, adjacent in memory, so that one product computes all of them: y holds their outputs
 * side by side. Their full names have the form "blocks.0.attention.query". parts [count] (NULL: not wanted): each map
 * alone. */
Linear linear_joined(Parameters *p, size_t in, const size_t *out, size_t count, bool bias, const char *prefix,
                     const char *const *names, Linear *parts);

/* Marks the last map of a branch that is added to the residual stream. */
void linear_ends_branch(const Linear *l);

/* The map whose matrix is a table: the logits of a tied embedding. */
Linear linear_tied(Parameter *table);

/* A bias for a map that has none, as name.bias. */
void linear_add_bias(Parameters *p, Linear *l, const char *name);

/* From the vectors of a network to its logits: a map of its own with a bias or, if `table` is not NULL, that of its first
 * rows. */
Linear linear_last(Parameters *p, Parameter *table, size_t in, size_t out, const char *name);

Tensor *linear(Tape *t, const Linear *l, Tensor *x);
Tensor *linear_relu(Tape *t, const Linear *l, Tensor *x);
Tensor *linear_logits(Tape *t, const Linear *l, Tensor *x); /* as reals, with its multiplier and cap */

#endif
