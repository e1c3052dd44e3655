/* Lesson 18: what exercise.c holds, and exercise.cu beside it. Matrices are stored row by row. */
#ifndef COURSE_18_EXERCISE_H
#define COURSE_18_EXERCISE_H

#include "course/frame/mine.h"

/* ---- exercise.c */

/* 1. y [n,columns] = softmax of each row of x [n,columns], WIDTH numbers at a time (kernels/cpu/vector.h); y may be x.
 * A row of nothing but -infinity gives zeros; a row with NaN in it gives NaN. */
MINE(softmax_forward);

/* An average under way, of vectors of d numbers that have been met with their scores s:
 *     largest of the scores        sum of exp(s - largest)        y [d] = sum of exp(s - largest) vector
 * Where nothing has been met, or nothing but scores of -infinity: largest is -infinity, sum 0, and y is zeros. */
typedef struct Part {
    float largest, sum;
    float *y;
} Part;

/* 2. `all` becomes what both have met together. `other` may be empty, and so may `all`. */
void merge_parts(Part *all, const Part *other, size_t d);

/* 3. y [n,d] = softmax(scale q k^T) v with queries q [n,d], keys k and values v [m,d], d at most MOST. Keys are walked
 * TILE at a time: a tile's part, then merge_parts. There is no memory for all scores of a query, let alone of all. With
 * no keys y is zeros. */
enum { TILE = 16, MOST = 64 };
void attend_in_tiles(float *y, const float *q, const float *k, const float *v, float scale, size_t n, size_t m,
                     size_t d);

/* ---- exercise.cu: kernels, and the functions that launch them. All memory is the device's, and what is written is
 * nothing but y. The same is computed in each order of threads, to the last bit.
 *
 * 4. scale_on_gpu: y [n] = a x, a thread for each number.
 *
 * 5. softmax_on_gpu: y [n,columns] = softmax of each row of x [n,columns], a block of THREADS threads for each row,
 *    whatever its length. A row of nothing but -infinity gives zeros; a row with NaN in it gives NaN.
 *
 * 6. attend_on_gpu: y [n,d] = softmax(scale q k^T) v as above, d at most MOST. A block has QUERIES queries, each thread
 *    one of them. Keys and values come to shared memory KEYS at a time, brought by all threads of the block.
 *    MOST is that of exercise.cu here, 32. */

#endif
