/* The backends that tests compare. */
#ifndef TESTS_BACKENDS_H
#define TESTS_BACKENDS_H

#include "kernels/kernels.h"

/* The backends of a type, plain first; NULL after the last. */
const Kernels *backend_of(NumberType type, size_t i);

#endif
