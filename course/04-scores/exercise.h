/* Lesson 4: what exercise.c holds. t queries q [t,dq], n keys k [n,dk]; scores s [t,n] of each query with each key. */
#ifndef COURSE_04_EXERCISE_H
#define COURSE_04_EXERCISE_H

#include "course/frame/mine.h"

/* 1. s[i,j] = (w q[i]) . k[j]; w [dk,dq] */
void bilinear_scores(float *s, const float *q, const float *k, const float *w, size_t t, size_t n, size_t dq,
                     size_t dk);

/* 2. y = function(x), n numbers; y may be x. NaN stays NaN. Where the result has a limit, it is that at infinity: both
 * GELUs are 0 at -infinity and infinity at infinity. kernels/plain/activation.c has the formulas. */
MINE(activation_forward);

/* 3. s[i,j] = v . tanh(wq q[i] + wk k[j] + b); wq [F,dq], wk [F,dk], b and v [F] */
void additive_scores(float *s, const float *q, const float *k, const float *wq, const float *wk, const float *b,
                     const float *v, size_t t, size_t n, size_t dq, size_t dk, size_t f);

#endif
