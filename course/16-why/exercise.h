/* Lesson 16: what exercise.c holds. Matrices are stored row by row: x[t * d + j] is number j of vector t. All layers see
 * only the past: vector t of the result depends on vectors 0 .. t. */
#ifndef COURSE_16_EXERCISE_H
#define COURSE_16_EXERCISE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum LayerKind { ATTENTION, LOCAL_ATTENTION, RECURRENCE, CONVOLUTION, SEPARABLE, LAYER_KINDS } LayerKind;

/* 1. How many multiply-adds a layer of n vectors of d numbers takes (softmax and tanh are not counted):
 *     ATTENTION        the maps to q, k, v and out, [d,d] each; for each pair of a query and a key that it sees, the
 *                      dot product of d numbers, and adding d numbers of the value (however many heads there are)
 *     LOCAL_ATTENTION  the same, where a query sees the last `width` keys, itself included, or as many as there are
 *     RECURRENCE       y[t] = tanh(wx x[t] + wh y[t-1]), wx and wh [d,d]; y[0] has no y[-1] to be multiplied
 *     CONVOLUTION      y[t] = sum over `width` taps of w[tap] x[t - tap], w[tap] [d,d]; zeros stand before the
 *                      beginning and are multiplied like everything else
 *     SEPARABLE        such a sum for each column by itself, then one map [d,d]
 * width says nothing to ATTENTION and RECURRENCE. n and d are above 0, width too. */
size_t multiply_adds(LayerKind kind, size_t n, size_t d, size_t width);

/* 2. y [n,out] of x [n,d]: y[t] = bias + sum over tap < taps of w[tap] x[t - tap * step], w [taps,out,d], bias [out] or
 * NULL. Zeros come before x[0]. */
void convolution(float *y, const float *x, const float *w, const float *bias, size_t n, size_t d, size_t out,
                 size_t taps, size_t step);

/* 3. y [n,out] of x [n,d]: first m[t,j] = sum over tap < taps of depth[tap,j] x[t - tap, j], depth [taps,d], then
 * y[t] = point m[t], point [out,d]. */
void separable(float *y, const float *x, const float *depth, const float *point, size_t n, size_t d, size_t out,
               size_t taps);

/* 4. y [n,d] of x [n,d]: y[t] = tanh(wx x[t] + wh y[t-1] + bias), wx and wh [d,d], bias [d]; y[-1] is zeros. */
void recurrence(float *y, const float *x, const float *wx, const float *wh, const float *bias, size_t n, size_t d);

/* 5. y [n,d]: attention of q to k and v, all [n,d], one head, scores divided by the root of d. Query t sees the last
 * `window` keys up to its own, or as many as there are: it takes time n * window, not n * n. window > 0. */
void local_attention(float *y, const float *q, const float *k, const float *v, size_t window, size_t n, size_t d);

/* 6. sees [n,n]: sees[i * n + j] says whether in one layer vector i takes in something of vector j. Each vector keeps
 * what it has, whatever sees[i * n + i] says. How many such layers must be stacked until each vector i has
 * heard of each j that it can hear of at all? 0 where nobody hears of anybody else. */
size_t layers_needed(const bool *sees, size_t n);

#endif
