/* Our own matrix product. */
#ifndef KERNELS_CPU_BLOCKED_H
#define KERNELS_CPU_BLOCKED_H

#include "kernels/cpu/matmul.h"
#include "kernels/cpu/names.h"

/* Bytes of scratch memory that a product needs. */
size_t blocked_scratch(const MatmulShape *s);

/* Bias, unless NULL, and ReLU of what another product has left in c; NaN stays NaN. */
void blocked_relu(const MatmulShape *s, void *c, const float *bias);

void blocked_product(const MatmulShape *s, void *c, const void *a, const void *b, const float *bias, void *scratch);

#endif
