/* The order in which texts are trained on: each epoch visits all of them once, in an order drawn by the seed, in
 * batches of equally many texts, or of about equally many tokens.
 *
 * If texts of similar length are to share a batch, the shuffled texts are sorted by length and cut into batches, and
 * the batches are shuffled, too. */
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
    size_t *turn;        /* [batches] in which order the batches come */
    size_t *sorted, *at; /* [count], [longest+2] for sorting; NULL where that is not wanted */
} Order;

/* The caller keeps `start` as long as the order is open. */
bool order_open(Order *o, const size_t *start, size_t count, const OrderOptions *how, Error *e);
void order_close(Order *o);

/* The texts of a step, counted from 1: a pure function of what the order was opened with. */
const size_t *order_batch(Order *o, uint64_t step, size_t *count);

#endif
