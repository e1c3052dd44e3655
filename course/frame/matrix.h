/* Matrices of floats for Kernels.product, which takes Operands:
 *
 *     k->product(NULL, matrix(c, n), false, matrix(a, k), transposed(matrix(b, k)), 1, 1, 1, m, n, k);     c = a b^T
 */
#ifndef COURSE_FRAME_MATRIX_H
#define COURSE_FRAME_MATRIX_H

#include "kernels/kernels.h"

/* Rows one after another */
static inline Operand matrix(const float *x, size_t columns)
{
    return (Operand){.data = (void *)(uintptr_t)x, .row = columns, .column = 1};
}

/* Transposed: nothing is moved */
static inline Operand transposed(Operand x)
{
    return (Operand){x.data, x.outer, x.inner, .row = x.column, .column = x.row};
}

#endif
