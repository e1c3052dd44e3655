/* Lesson 17: what exercise.c holds. */
#ifndef COURSE_17_EXERCISE_H
#define COURSE_17_EXERCISE_H

#include "course/frame/mine.h"

#include <stdbool.h>

/* 1. The upper 16 bits of a float: a sign, 8 bits of exponent, 7 of fraction. To the nearest such number; if two are as
 * near, to the one whose last bit is 0. Infinity stays infinity, NaN stays NaN. And the way back. */
uint16_t to_bf16(float x);
float from_bf16(uint16_t bits);

/* 2. Bytes that training keeps beside activations, for P parameters and this many workers: weights, Adam's two moments,
 * and a gradient for each worker, all of them floats; with bf16, a second copy of the weights in that type, too. */
size_t state_bytes(size_t parameters, size_t workers, bool bf16);

/* 3. to [n] += from [n] */
MINE(accumulate);

/* 4. The mean loss over rows 0 .. n-1, and in gradient [size] its gradient, by micro-batches: number m is rows cut[m]
 * .. cut[m+1]-1, of which there may be none; cut[0] is 0 and cut[micros] is n. mean(g, context, from, to) gives the
 * mean loss of rows from .. to-1, which is at least one, and writes the gradient of this mean over g [size]; g is
 * memory of yours, or `own` [size], which is there to be used. */
typedef float (*Mean)(float *g, const void *context, size_t from, size_t to);
float accumulated(float *gradient, float *own, size_t size, Mean mean, const void *context, const size_t *cut,
                  size_t micros);

/* 5. Of workers' gradients g[0] .. g[workers-1], each [n], the sum, in g[0]: in the order of a tree, neighbours first,
 * (0 + 1) + (2 + 3), and then such pairs of pairs; one without a neighbour is passed up as it is. The others may be
 * overwritten. */
void tree_sum(float *const *g, size_t workers, size_t n);

/* 6. A chain of layers x[l+1] = forward(l, x[l]), vectors of n numbers. From x[0] and the gradient dy [n] by the last
 * vector: the gradient dx [n] by x[0]. backward(l, d, x[l]) turns the gradient d by x[l+1] into that by x[l], in place,
 * and has to be given what the layer read.
 * Memory is tight: room [slots][n], where slots is the number of segments + `every`: a segment is `every` layers, the
 * last one may be shorter. What each segment reads is kept; its inside is computed a second time when the backward
 * pass reaches it. No layer is run forward more than twice. room[0 .. segments-1] is enough for what segments read, and
 * the rest of room for one segment's inside. */
typedef struct Chain {
    size_t layers, n, every;
    void (*forward)(void *context, size_t layer, float *y, const float *x);
    void (*backward)(void *context, size_t layer, float *d, const float *x);
    void *context; /* handed to both */
} Chain;

static inline size_t chain_segments(const Chain *c) { return (c->layers + c->every - 1) / c->every; }

void recomputed(float *dx, const float *dy, const float *x0, float *room, const Chain *c);

#endif
