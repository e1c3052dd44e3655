/* Lesson 11: what exercise.c holds. Matrices are stored row by row: x[i * d + j] is number j of vector i. */
#ifndef COURSE_11_EXERCISE_H
#define COURSE_11_EXERCISE_H

#include "course/frame/mine.h"

/* 1. The mean of losses [n], which are in nats, over those whose target is not below 0, in bits; 0 where there is none
 */
double bits_per_byte(const float *losses, const int32_t *targets, size_t n);

/* 2. y [n]: for each row of logits [n,v], v > 0, the index of the largest: of equal ones the first, NaN above all. */
MINE(argmax);

/* 3. For each row of logits [n,v] the k likeliest classes, the likeliest first, of equal ones the smaller number: which
 * [n,k], and values [n,k], the log softmax of each; one [n] is the log softmax of class `wanted`. NaN and -INFINITY
 * cannot be chosen and have no share: where no classes are left (k may be larger than v), which is -1 and the value
 * -INFINITY; the same for one, if it is such a class. INFINITY counts as the largest finite number, FLT_MAX. */
MINE(choices);

/* 4. Of shares [v], which are not negative, in any order, only the likeliest stay, all others become 0, and what stays
 * is divided so that it sums to 1. First top_k: no more than this many (0: all). Of these top_p: the fewest, in order
 * of their shares, that make up at least top_p of what the k have together; one at the least. Of equal shares the first
 * stays first. */
void keep_likeliest(float *shares, size_t v, size_t top_k, double top_p);

/* 5. The character that is written: shares are softmax(logits / temperature) [v], and the result is the first j for
 * which the sum of shares 0 .. j is above `point`, a number in [0,1). At temperature 0 the largest logit. Logits may
 * be large, temperatures small. */
size_t choose(const float *logits, size_t v, double temperature, double point);

/* 6. What is remembered while a text is written. cache [rows, capacity, d] holds keys (or values) of earlier positions,
 * length [b] says how many; x has new ones, row r of it being start[r] .. start[r+1]-1, with x.stride numbers from one
 * to the next. cache_lengths: valid[r] = length[r] + new positions of row r. cache_append: copies them after the
 * length[r] that are there. */
MINE(cache_lengths);
MINE(cache_append);

#endif
