/* Lesson 3: what exercise.c holds. Matrices are stored row by row. */
#ifndef COURSE_03_EXERCISE_H
#define COURSE_03_EXERCISE_H

#include "course/frame/mine.h"

/* 1. y [n,out] = x [n,in] w [out,in]^T + bias [out] (NULL: none), and where relu is asked for, 0 for what is below 0.
 * real_output makes no difference in f32. */
MINE(linear_forward);

/* 2. c [m,n] = alpha a b, a [m,k], b [k,n], for each outer and inner: number (i,j) of a matrix is at
 * data[outer number * outer + inner number * inner + i * row + j * column] of its Operand. With `add`, added to c. */
MINE(product);

/* 3. One head: q = x wq^T, k = x wk^T [n,dk], v = x wv^T [n,dv], weights [n,n] = softmax(q k^T / sqrt(dk)),
 * y [n,dv] = weights v. x [n,d]; no biases. */
void attention_head(float *y, float *weights, const float *x, const float *wq, const float *wk, const float *wv,
                    size_t n, size_t d, size_t dk, size_t dv);

/* 4. slopes [n,n]: what a score does to a weight. slopes[i * n + j] = dw[i]/ds[j] for w [n] = softmax(s) */
void softmax_slopes(float *slopes, const float *w, size_t n);

#endif
