/* In which order texts are trained on: each epoch has all of them once, in an order drawn by the seed, cut into batches
 * of as many texts, or of about as many tokens.
 *
 * Where texts of like length are to be in a batch together, they are sorted by their lengths once they are shuffled,
 * and the batches that they are cut into are shuffled, too. */
#ifndef CORE_TRAIN_ORDER_H
#define CORE_TRAIN_ORDER_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct OrderOptions {
    size_t rows;   /* texts of a batch */
    size_t tokens; /* about this many in a batch instead, but no fewer than the longest text has; 0: rows */
    bool by_length;
    uint32_t seed;
} OrderOptions;

typedef struct Order {
    OrderOptions options;
    const size_t *start; /* [count+1] where texts begin among all tokens */
    size_t count;
    size_t batches;      /* of an epoch */
    size_t most_rows;    /* of a batch */
    size_t longest;      /* tokens of a text; a batch of tokens has fewer than o.tokens + longest */
    size_t mean;         /* tokens of a text */
    uint64_t epoch;      /* that text, cut and turn hold, counted from 1; 0: none yet */
    size_t *text;        /* [count] */
    size_t *cut;         /* [batches+1] batch i is text[cut[i]] .. text[cut[i+1]-1] */
    size_t *turn;        /* [batches] which of them comes in which place */
    size_t *sorted, *at; /* [count], [longest+2] for sorting; NULL where that is not wanted */
} Order;

/* start: is kept by the caller as long as the order is open. */
bool order_open(Order *o, const size_t *start, size_t count, const OrderOptions *how, Error *e);
void order_close(Order *o);

/* The texts of a step, counted from 1: a pure function of what the order was opened with. */
const size_t *order_batch(Order *o, uint64_t step, size_t *count);

#endif
