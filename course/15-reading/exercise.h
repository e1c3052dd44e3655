/* Lesson 15: what exercise.c holds. A map w [n,n]: w[i * n + j] is how much of word j word i takes; each row sums to 1.
 */
#ifndef COURSE_15_EXERCISE_H
#define COURSE_15_EXERCISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 1. What a head does, as three means over the words that look: number[0] the weight on the word before (the first word
 * has none and is not counted: the mean is over n - 1 words; 0 where n is 1), number[1] the weight on the word itself,
 * number[2] the entropy in bits, - sum over j of w[i,j] log2 w[i,j], in which a weight of 0 counts nothing. n > 0. */
void describe(float number[3], const float *w, size_t n);

/* 2. r [n,n]: attention rollout of maps w [layers,heads,n,n], layer 0 first:
 *     A_l = (mean over heads of w_l + I) / 2        r = A_last ... A_1 A_0        layers, heads, n > 0 */
void roll_out(float *r, const float *w, size_t layers, size_t heads, size_t n);

/* A model that gives a text of n words a score. n may be 0. */
typedef double (*Score)(const void *model, const int32_t *ids, size_t n);

/* 3. moved [n]: the score of the text less its score without word i. ids are not to be changed. n > 0. */
void leave_out(float *moved, Score score, const void *model, const int32_t *ids, size_t n);

/* 4. The results of all heads are side by side, y [n, heads*dv], and the output's matrix out [d, heads*dv] makes y
 * out^T of them. Changes out so that head number `head` reaches nobody any more, and all others as before. */
void cut_head(float *out, size_t head, size_t heads, size_t dv, size_t d);

/* How good a network is without the heads that are cut. */
typedef double (*Quality)(const void *model, const bool *cut, size_t heads);

/* 5. order [heads]: which head to cut first, second, ... so that at each cut the one goes without which, and without
 * those cut before it, the quality is best; of equal ones the smallest number. heads > 0. */
void cutting_order(size_t *order, Quality quality, const void *model, size_t heads);

#endif
