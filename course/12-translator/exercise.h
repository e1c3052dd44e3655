/* Lesson 12: what exercise.c holds. Rows are stored one after another: row r is start[r] .. start[r+1]-1. */
#ifndef COURSE_12_EXERCISE_H
#define COURSE_12_EXERCISE_H

#include "course/frame/mine.h"

/* 1. What a decoder reads in order to say `say` [n]: in each row the id `begin` first, then all of the row but its
 * last. position [n] is the number within the row, from 0. A row may be empty. start [rows+1]; n = start[rows]. */
void teacher_forcing(int32_t *read, int32_t *position, const int32_t *say, const int32_t *start, size_t rows,
                     int32_t begin);

/* 2. The backward pass of lesson 8's embed_forward. Of each position i with position[i] >= 0, its gradient dy[i] times its
 * dropout_factor(drop, state, i, 0, column) is ADDED to row position[i] of dpositions (if that is not NULL) and, times
 * scale, to row slots[i] of dtable. */
MINE(embed_backward);

/* 3. Attention of packed queries over packed keys, all heads: operations.h says what it does, Attend in kernels.h what
 * it can be asked. Head h has columns h*dk .. h*dk+dk-1 of q and k, and h*dv .. h*dv+dv-1 of v and y. Which keys
 * query i of row b sees is defined in kernels/attend.h, which you may use:
 *
 *     Keys keys = keys_of_row(how, b);          its key j is vector keys.start + j of k and of v
 *     for (size_t j = keys_next(how, keys, i, 0); j < keys.length; j = keys_next(how, keys, i, j + 1)) ...
 *     distance_entry(how, keys, i, j)           which entry of a table of distances belongs to i and j
 *
 * Weights of position n = query_start[b] + i are multiplied by dropout_factor(how->dropout, state, n, h, j) after the
 * softmax. lse [queries,H] is log of the sum of exp(score), -infinity for a query that sees nothing. y and lse of
 * positions after the last row, query_start[B] .. queries-1, are 0. If how->weights is there, it gets them [B,H,T,S]
 * as they are before dropout. */
MINE(attention_forward);

#endif
