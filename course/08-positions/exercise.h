/* Lesson 8: what exercise.c holds. Matrices are stored row by row: x[i * d + j] is number j of vector i. */
#ifndef COURSE_08_EXERCISE_H
#define COURSE_08_EXERCISE_H

#include "course/frame/mine.h"

/* 1. positions [n,d]: column 2i of row p is sin(p / 10000^(2i/d)), column 2i+1 the cosine of the same angle; d may be
 * odd, and then ends with a sine */
void fill_sinusoids(float *positions, size_t n, size_t d);

/* 2. m [d,d] such that m positions[p] = positions[p + r] for every p, with the positions of exercise 1; d is even, and
 * r may be below 0 */
void shift_matrix(float *m, double r, size_t d);

/* 3. y [n,d]: y[i] = scale * table[ids[i]] + positions[position[i]], and each number of it times
 * dropout_factor(drop, state, i, 0, column), a function of kernels/dropout.h that is there for you. positions may be
 * NULL: then nothing is added. Where position[i] is below 0, y[i] is zeros, and ids[i] may be anything. */
MINE(embed_forward);

/* 4. y [b,d] of x [n,d], whose row r is the vectors start[r] .. start[r+1]-1: the first vector of each row, their mean,
 * or in each column the largest number. A row of no vectors gives zeros. For POOLING_MAX, and only then, which [b,d] is
 * the vector (counted in all of x) that the largest number came from: of equal ones the first, NaN above all numbers
 * (and of several NaN the first), -1 in a row of no vectors. For the others which may be NULL. */
MINE(pool_forward);

#endif
