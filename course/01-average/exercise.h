/* Lesson 1: what exercise.c holds. Matrices are stored row by row: x[i * d + j] is number j of vector i. */
#ifndef COURSE_01_EXERCISE_H
#define COURSE_01_EXERCISE_H

#include "course/frame/mine.h"

/* 1. y [d] = sum over i of weights[i] x[i]; weights [n], x [n,d] */
void average(float *y, const float *weights, const float *x, size_t n, size_t d);

/* 2. y [n,columns] = softmax of each row of x [n,columns]; y may be x. A row of nothing but -infinity gives zeros; a
 * row with NaN in it gives NaN. */
MINE(softmax_forward);

/* 3. weights [n,n] = softmax(x x^T), y [n,d] = weights x; x [n,d] */
void attend_to_itself(float *y, float *weights, const float *x, size_t n, size_t d);

/* 4. y [dv] = softmax(beta keys query) values; query [dk], keys [n,dk], values [n,dv] */
void look_up(float *y, const float *query, const float *keys, const float *values, double beta, size_t n, size_t dk,
             size_t dv);

#endif
