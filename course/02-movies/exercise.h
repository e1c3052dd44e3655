/* Lesson 2: what exercise.c holds. A vector has d numbers; u [V,d] are viewers, m [F,d] films. */
#ifndef COURSE_02_EXERCISE_H
#define COURSE_02_EXERCISE_H

#include "course/frame/mine.h"

typedef struct Score {
    size_t viewer, film;
    float value; /* how much this viewer likes this film */
} Score;

/* 1. u . m */
float dot_product(const float *u, const float *m, size_t d);

/* 2. y [N,D] = x[index[n]], vector by vector; zeros where index is negative. x [M,D] */
MINE(gather_forward);

/* 3. The gradient of e^2/2 + lambda/2 (u.u + m.m) with e = u . m - value: du [d] by u, dm [d] by m */
void score_gradient(float *du, float *dm, const float *u, const float *m, float value, float lambda, size_t d);

/* 4. dx [M,D]: where y = gather(x), the gradient of x from that of y. dx[i] is the sum of dy[n] over all n with
 * index[n] = i: 0 where there is none. It is written over what is there or, with `add`, added to it. */
MINE(gather_backward);

/* 5. Goes through all n scores `epochs` times; after each score, its u and m both take a step of `rate` against their
 * gradients. */
void factorise(float *u, float *m, const Score *scores, size_t n, size_t d, size_t epochs, float rate, float lambda);

#endif
