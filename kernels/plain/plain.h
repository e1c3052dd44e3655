/* The readable backend's tables, one for each number type. */
#ifndef KERNELS_PLAIN_PLAIN_H
#define KERNELS_PLAIN_PLAIN_H

#include "kernels/kernels.h"

extern const Kernels plain_f32, plain_f64, plain_bf16;

#endif
