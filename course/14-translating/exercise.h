/* Lesson 14: what exercise.c holds. */
#ifndef COURSE_14_EXERCISE_H
#define COURSE_14_EXERCISE_H

#include "course/frame/mine.h"

/* 1. Keys and values of what was read before: cache [rows,capacity,d], of which row r holds length[r] vectors.
 *
 * cache_lengths: valid [b] = length[r] + how many vectors row r of this call has, start[r] .. start[r+1]-1.
 * cache_append: writes these vectors of x (vector i begins at x.data + i * x.stride, in floats) after those that row r
 * holds. Nothing else in the cache changes; d is the width of a vector. */
MINE(cache_lengths);
MINE(cache_append);

/* 2. Of each of n rows of logits [n,v] the k likeliest classes, the likeliest first, and of equal ones the first: which
 * [n,k], and their log softmax, values [n,k]. one [n] is the log softmax of the class `wanted`. NaN and -infinity
 * cannot be chosen and have no share in the sum; their log softmax is -infinity. Where there are no more classes to
 * choose, which is -1 and the value -infinity. Infinity counts as FLT_MAX, so the two are equally likely. Take the
 * largest off: values are at most 0, also where logits are in the thousands. */
MINE(choices);

/* 3. log_p / lp(n), with lp(n) = ((5 + n) / 6)^alpha: the score of a hypothesis of n tokens, </s> among them. */
double hypothesis_score(double log_p, size_t n, double alpha);

/* 4. A step of beam search. There are `live` hypotheses with log_p [live]; log_next [live,v] is the logarithm of the
 * probability of each class v after each of them. Of all live * v continuations the likeliest min(beam, live * v),
 * the likeliest first: whose they are into parent, which class into token, and their log p into sum, each [beam].
 * Of equally likely ones that with the smaller token comes first, then that with the smaller parent. Returns how many
 * there are. */
size_t beam_step(size_t *parent, int32_t *token, double *sum, const double *log_p, const double *log_next, size_t live,
                 size_t v, size_t beam);

/* 5. What BLEU counts of a sentence: how many of the n-grams of `found` [size] are in `reference` [reference_size],
 * each counted at most as often as it is there. An n-gram is n tokens in a row; n is 1 or more. */
size_t matches(const int32_t *found, size_t size, const int32_t *reference, size_t reference_size, size_t n);

/* 6. BLEU, 0 to 100, of what was counted in all sentences: correct [4] of total [4] n-grams of 1 to 4 tokens, `found`
 * tokens in all translations and `reference` in all references. 0 where one of the four has nothing correct. (The
 * lesson's table gives such an order a small count instead; here it gets none.) */
double bleu(const size_t correct[4], const size_t total[4], size_t found, size_t reference);

/* 7. mean [n] of `count` checkpoints, checkpoint[c] [n]; count is 1 or more. */
void average_checkpoints(float *mean, const float *const *checkpoint, size_t count, size_t n);

#endif
