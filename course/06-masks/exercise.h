/* Lesson 6: what exercise.c holds. Matrices are stored row by row: x[i * d + j] is number j of vector i. */
#ifndef COURSE_06_EXERCISE_H
#define COURSE_06_EXERCISE_H

#include "course/frame/mine.h"

/* 1. y [b,t,d]: block r is row `row[r]` (NULL: row r) of the packed x, and zeros after that row's end. Row r of x is
 * vectors start[r] .. start[r+1]-1; vector i begins at x.data + i * x.stride (in floats). A row may be empty, and is
 * cut off if it is longer than t. */
MINE(pad);

/* 2. The way back: y [n,d] of x [b,t,d]. y.data and y.stride as x's above; what is between its rows is not yours.
 * Without `add`, all n vectors of y begin as zeros, and those that belong to no row stay so; with it they keep what is
 * there. Then each vector of x that is not after its row's end is added where it came from: where several r have the
 * same row[r], their vectors are summed. */
MINE(unpad);

/* 3. Does query i of row b see key j of the row of keys that it reads? kernels.h says what an Attend is. In order:
 *     the row of keys   key_row[b], or b where key_row is NULL
 *     its length        what key_start says, and no more than key_length[that row], unless key_length is NULL
 *     the position      p = i + query_offset[b], or i where query_offset is NULL
 *     seen              j < length; if causal, j <= p; if window > 0, j > p - window;
 *     blocks            if block > 0, j / block is among block_index[block_start[l]] .. [block_start[l+1]-1], where
 *                       l = p / block
 * A query after the end of its own row of queries sees nothing. */
bool sees(const Attend *how, size_t b, size_t i, size_t j);

/* 4. scores [B,H,T,S] become -INFINITY where the query does not see the key, in every head; the others stay. B is
 * how->rows, H heads, T longest_query, S longest_key. */
MINE(mask);

/* 5. Attention without padding: y [n,d] of packed x [n,d], queries, keys and values all x itself, and each vector sees
 * the vectors of its own row, up to itself if `causal`. weights = softmax(x x^T / sqrt(d)). Row r is vectors
 * start[r] .. start[r+1]-1; vectors from start[b] to n belong to no row and give zeros. */
void packed_attention(float *y, const float *x, const int32_t *start, bool causal, size_t b, size_t n, size_t d);

#endif
