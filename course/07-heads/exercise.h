/* Lesson 7: what exercise.c holds. Matrices are stored row by row: x[i * d + j] is number j of vector i. */
#ifndef COURSE_07_EXERCISE_H
#define COURSE_07_EXERCISE_H

#include "course/frame/mine.h"

/* 1. How many numbers the matrices of an attention layer hold, biases not counted: query and key [H*dk,D], value
 * [H*dv,D], output [D,H*dv] */
size_t layer_numbers(size_t dim, size_t heads, size_t dk, size_t dv);

/* 2. c [m,n] = alpha a b, or with `add` c += alpha a b; a [m,k], b [k,n]; for each of outer x inner matrices. Element
 * (i, j) of the matrix of outer o and inner p is at data[o * outer + p * inner + i * row + j * column] of its
 * operand. What is between the elements of c stays as it is. */
MINE(product);

/* 3. weights [H,n,n] = softmax(q_h k_h^T / sqrt(dk)) for each head h, y_h = weights_h v_h. q, k [n,H*dk], v, y
 * [n,H*dv]: head h is the columns from h*dk, or from h*dv, on */
void many_heads(float *y, float *weights, const float *q, const float *k, const float *v, size_t n, size_t heads,
                size_t dk, size_t dv);

/* 4. merged [H,D,D]: what head h gives the layer's result is weights_h x merged_h^T. value [H*dv,D], out [D,H*dv] */
void merge_output(float *merged, const float *value, const float *out, size_t dim, size_t heads, size_t dv);

#endif
