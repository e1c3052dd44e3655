/* When a step is not finite: which tensor was the first that was not.
 *
 * A step is a pure function, so it is simply run again with tape.nonfinite set; then every operation looks at what it
 * made. */
#ifndef CORE_TENSOR_NONFINITE_H
#define CORE_TENSOR_NONFINITE_H

#include "core/tensor/tape.h"

enum { NONFINITE_NAME = 192 };

/* Shows y to the hook of the tape. Looks at y itself only if the tape looks for the first tensor that is not finite and
 * has found none. p: the parameter whose operation made y; NULL: none, and the last parameter whose operation was fine
 * says where that was. What only moves numbers needs no check. */
void tape_check(Tape *t, const Tensor *y, const char *what, const Parameter *p);

/* The same for the weights before a step and for their gradients after it (in the order of the backward pass). */
void nonfinite_weights(char *name, const Weights *w, Stream *s);
void nonfinite_gradients(char *name, const Tape *t);

#endif
