/* In which order texts are trained on: each epoch has all of them once, in an order drawn by the seed, cut into batches
 * of as many texts, or of about as many words.
 *
 * A batch's texts are of like length, so that workers that share it have as much to do each: the drawn order is sorted
 * by length a few batches' worth at a time, cut, and the batches are drawn once more. */
#ifndef CLASSIFIER_ORDER_H
#define CLASSIFIER_ORDER_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct Order {
    const size_t *start; /* [count+1] where texts begin among all words */
    size_t count;
    uint32_t seed;
    size_t batches;           /* of an epoch */
    size_t most_rows;         /* of a batch */
    size_t mean;              /* words of a text */
    uint64_t epoch;           /* that `text` and `cut` hold, counted from 1; 0: none yet */
    size_t *text;             /* [count] */
    size_t *cut;              /* [batches+1] share i is text[cut[i]] .. text[cut[i+1]-1] */
    size_t *batch;            /* [batches] which share a batch has */
    struct OrderText *window; /* [near] texts that are being sorted */
    size_t near;              /* texts that are sorted together */
    size_t rows, words;
} Order;

/* Batches of `rows` texts, or where words is not 0 of about so many words. */
bool order_open(Order *o, const size_t *start, size_t count, size_t rows, size_t words, uint32_t seed, Error *e);
void order_close(Order *o);

/* The texts of a step, counted from 1: a pure function of what the order was opened with. */
const size_t *order_batch(Order *o, uint64_t step, size_t *count);

#endif
