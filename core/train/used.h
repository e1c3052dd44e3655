/* Which rows of the tables that are only looked up a step reads: of 50,000 words a batch has some hundreds, and the
 * gradients of all others are 0. So a block of gradients has `count` rows for each such table instead of all:
 *
 *     | dense parameters | table 0 [count, D] | table 1 [count, D'] | ...        (see gradient_offset in tape.h)
 *
 * An id's row among them is its slot: its number in the order in which the batch's ids appear, all sides together. Ids
 * of another table than a slot's own leave their row 0 there. */
#ifndef CORE_TRAIN_USED_H
#define CORE_TRAIN_USED_H

#include "core/tensor/parameters.h"
#include "core/train/batch.h"

typedef struct UsedRows {
    const Parameters *parameters;
    size_t most;    /* slots there may be */
    size_t count;   /* slots of this batch */
    size_t round;   /* 0, or what the number of slots is rounded up to a multiple of, so that few sizes come */
    size_t rows;    /* of the longest table */
    int32_t *slots; /* [rows] of an id, or -1 */
    int32_t *ids;   /* [most] of a slot */
} UsedRows;

/* For batches of up to this many positions. Without tables that are only looked up there is nothing to do. */
bool used_rows_open(UsedRows *u, const Parameters *p, const BatchSize *size, Error *e);
void used_rows_close(UsedRows *u);

/* Numbers the batch's ids, and writes their slots into it. */
void used_rows_find(UsedRows *u, Batch *b);

/* Rows of a table that have a gradient: the slots, and what rounding adds, whose gradients are 0. */
size_t used_rows_count(const UsedRows *u);

/* Numbers in a block of gradients: of this batch; and room for any batch of that size. */
size_t used_rows_gradient(const UsedRows *u);
size_t used_rows_capacity(const Parameters *p, const BatchSize *size);

#endif
