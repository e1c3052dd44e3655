/* Lesson 9: what exercise.c holds. Matrices are stored row by row: x[i * d + j] is number j of vector i. */
#ifndef COURSE_09_EXERCISE_H
#define COURSE_09_EXERCISE_H

#include "course/frame/mine.h"

/* 1. y [n,d] = x + f, where each number of f is multiplied by dropout_factor(drop, state, i, 0, column), a function of
 * kernels/dropout.h that is there for you. x may be NULL: then y is what becomes of f alone. */
MINE(add_forward);

/* 2. From dy [n,d] the gradients of x and f: dy as it is, and dy times the same factors. Each is written or, with add_x
 * and add_f, added to what is there; each may be NULL. */
MINE(add_backward);

/* 3. y [n,d]: of each vector of x [n,d] the mean is subtracted, the rest is multiplied by rstd and by gain [d], and
 * bias [d] is added. rstd = 1 / sqrt(variance + epsilon), where the variance is the mean of the squared differences
 * from the mean: a sum divided by d. mean [n] and rstd [n] are written, too; the backward pass reads them. Vectors may
 * be far from 0: then the variance as a difference of two large numbers is no longer one. */
MINE(norm_forward);

/* 4. From dy [n,d] the gradients of x, gain and bias. mean [n] and rstd [n] are those that norm_forward wrote, so
 * xhat = (x - mean) rstd. dgain [d] += dy xhat and dbias [d] += dy, summed over the vectors: always added to what is
 * there. dx [n,d] is written or, with add, added to what is there; it may be NULL. With g = gain dy, each x moves the
 * mean and the variance of its own vector:
 *
 *     dx = rstd (g - mean(g) - xhat mean(g xhat))                 means over the d numbers of a vector */
MINE(norm_backward);

/* 5. sum [n,d] = x + f with dropout, y [n,d] = the norm of sum; and back, through the norm and through the sum. As the
 * four above say of their arguments, except that x is never NULL. */
MINE(add_norm_forward);
MINE(add_norm_backward);

/* 6. y [n,out] of x [n,in]: y[i] = bias [out] + the sum over t = 0 .. width-1 of w[t] x[i + t - width/2], with
 * w [width,out,in], where vectors before the first and after the last are zeros. width is odd. */
void convolve(float *y, const float *x, const float *w, const float *bias, size_t n, size_t width, size_t in,
              size_t out);

#endif
