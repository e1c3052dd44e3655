/* Lesson 13: what exercise.c holds. */
#ifndef COURSE_13_EXERCISE_H
#define COURSE_13_EXERCISE_H

#include "course/frame/mine.h"

/* 1. Words are lists of symbols: word w is symbol[start[w]] .. symbol[start[w+1]-1], and occurs count[w] times. The
 * pair of neighbours that is most frequent in all of them; of equally frequent ones that with the smaller first
 * symbol, and of these that with the smaller second. False where no word has two symbols. Neighbours are counted at
 * every position: 5 5 5 has the pair 5 5 twice. */
bool most_frequent_pair(int32_t pair[2], const int32_t *symbol, const int32_t *start, const uint32_t *count,
                        size_t words);

/* 2. In the list of n symbols each such pair becomes the one symbol `whole`, from left to right: 5 5 5 becomes whole 5.
 * Returns how many symbols there are now; what comes after them does not matter. */
size_t merge_pair(int32_t *symbol, size_t n, const int32_t pair[2], int32_t whole);

/* 3. cut [batches+1]: texts of this many tokens, in their order, are cut into batches. Each batch takes as many as
 * there are with no more than `tokens` tokens in all, but one at least. Batch i is texts cut[i] .. cut[i+1]-1. Returns
 * how many batches there are; cut has room for n + 1. */
size_t cut_batches(size_t *cut, const size_t *length, size_t n, size_t tokens);

/* 4. The learning rate of the paper in step 1, 2, ... of a model d wide: d^-1/2 min(step^-1/2, step warmup^-3/2) */
double noam_rate(size_t step, size_t d, size_t warmup);

/* 5. parts[i] is the sum of the squares of numbers i * SQUARES_CHUNK .. (i+1) * SQUARES_CHUNK - 1 of g [n], in double;
 * the last chunk may be shorter. Then the norm of all: state->norm is the root of the sum of all parts, state->finite
 * 1 where that is a finite number and else 0, state->clip the factor that limits the norm to max_norm:
 * max_norm / (norm + 1e-6) where max_norm is above 0 and norm is above it, and else 1. */
MINE(squares);
MINE(clip);

/* 6. Adam on numbers first .. first+n-1 of w, m, v and g, which all begin at number 0 of the block; others stay as they
 * are. With g' = state->clip * g, rate = state->learning_rate, corrections from state:
 *
 *     m += (1 - beta1) (g' - m)          v += (1 - beta2) (g'^2 - v)
 *     w -= rate * decay * w + rate * (m / correction1) / (sqrt(v / correction2) + epsilon)
 *
 * where m and v are the new ones and w on the right the old one; decay is that of the span that the number is in
 * (spans are sorted; begin is in it, end is not), 0 in none. Where state->finite is 0 nothing is written at all. copy
 * [..] gets the new w, at the same positions; it may be NULL. */
MINE(adam);

/* 7. y = x times dropout_factor(how->dropout, state, position, h, j); with add, this is added to y. For weights
 * [B,H,T,S]: B rows, H heads, T = how->longest_query, S = how->longest_key; the position of query i of row b is
 * how->query_start[b] + i. y may be x. */
MINE(dropout_weights);

#endif
