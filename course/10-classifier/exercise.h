/* Lesson 10: what exercise.c holds. Matrices are stored row by row: x[i * d + j] is number j of vector i. */
#ifndef COURSE_10_EXERCISE_H
#define COURSE_10_EXERCISE_H

#include "course/frame/mine.h"

/* 1. Naive Bayes. Text t is the words ids[start[t]] .. ids[start[t+1]-1], of class labels[t], 0 or 1; a word that
 * is in a text several times counts once. ratio [words] = log p(w|1) - log p(w|0), where
 *
 *     p(w|c) = (1 + texts of class c that have w) / (words + the sum of these counts, without the 1, over all words) */
void learn_words(float *ratio, const int32_t *ids, const int32_t *start, const int32_t *labels, size_t texts,
                 size_t words);

/* 2. Of each of n positions with logits [n,v] and a target: losses[i] = lse[i] - (1 - e) z[target] - e * mean of z,
 * where z is the position's logits, e is `smoothing`, and lse[i] = log of the sum of exp z, which is written, too.
 * Where targets[i] is below 0 both are 0. And state->loss[which] is added to: to .sum the losses, to .nll what they
 * would be without smoothing, to .count how many targets were not below 0. Logits may be large; one that is no target's
 * may be -INFINITY if there is no smoothing. */
MINE(cross_entropy_forward);

/* 3. dlogits [n,v] = (softmax(z) - (1 - e) [j is the target] - e / v) * state->loss[which].scale, zeros where the
 * target is below 0; with `add`, added to what is there. lse [n] is what forward wrote: softmax(z)[j] = exp(z[j] -
 * lse). */
MINE(cross_entropy_backward);

/* 4. The backward pass of lesson 8's pool_forward: dx [n,d] from dy [b,d]. Row r is vectors start[r] .. start[r+1]-1;
 * first: dy[r] goes to the first of them; mean: an equal share to each; max: number j goes to vector which[r * d + j]
 * (counted in all of x). All other numbers of dx are 0, also those after start[b]. With `add`, all this is added to
 * what is there. which is read for POOLING_MAX only. */
MINE(pool_backward);

/* 5. The backward pass of lesson 8's embed_forward: dtable[slots[i]] gains scale * dropout_factor(drop, state, i, 0,
 * column) * dy[i], and dpositions[position[i]] gains the same without the scale; always added. Several i may have the
 * same slot. Where position[i] is below 0 embed_forward wrote zeros: such an i adds nothing to either, and slots[i] may
 * be anything. dpositions may be NULL. */
MINE(embed_backward);

#endif
