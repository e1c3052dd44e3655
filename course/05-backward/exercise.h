/* Lesson 5: what exercise.c holds. Matrices are stored row by row; the gradient of the loss by y is called dy and
 * has y's shape. */
#ifndef COURSE_05_EXERCISE_H
#define COURSE_05_EXERCISE_H

#include "course/frame/mine.h"

/* 1. The slope of f at x by number i, from both sides: f is called with x[i] + h and with x[i] - h. What it is divided
 * by is the distance of the two numbers that x[i] really was, as float. Afterwards x is as it was. */
double central_difference(double (*f)(const float *x, const void *context), const void *context, float *x, size_t i,
                          float h);

/* 2. dx [n,columns] from dy, where y [n,columns] = softmax of each row of x. It is written over what is there or, with
 * `add`, added to it. dx may be dy. */
MINE(softmax_backward);

/* 3. y [n,out] = x [n,in] w [out,in]^T + bias, and then a ReLU where relu is asked for. From dy [n,out]: dx [n,in],
 * written or, with `add`, added; dw [out,in] and dbias [out], always added to what is there. Each of the three may be
 * NULL: not wanted. With relu, dy counts where y > 0, and may be overwritten; else y may be NULL. */
MINE(linear_backward);

/* A head of lesson 3, and what was kept of its forward pass:
 * q = x wq^T, k = x wk^T [n,dk], v = x wv^T [n,dv], weights [n,n] = softmax(q k^T / sqrt(dk)), y [n,dv] = weights v */
typedef struct Head {
    const float *x, *wq, *wk, *wv;
    const float *q, *k, *v, *weights;
    size_t n, d, dk, dv;
} Head;

/* 4. From dy [n,dv]: the gradients by q and by k [n,dk] and by v [n,dv] */
void attention_backward(float *by_q, float *by_k, float *by_v, const float *dy, const Head *h);

/* 5. From dy: dx [n,d], and dwq, dwk [dk,d], dwv [dv,d]; all written over what is there. x is used three times. */
void head_backward(float *dx, float *dwq, float *dwk, float *dwv, const float *dy, const Head *h);

#endif
