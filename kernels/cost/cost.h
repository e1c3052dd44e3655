/* The backend that touches no number: it walks the same calls on shapes alone and adds up what they would cost.
 *
 * FLOP are those of products and attention (a multiplication and an addition are two; attention counts the pairs of
 * query and key that are live, backward twice forward, nothing for what is computed again). Element-wise work shows in
 * bytes: each operand once read or written. Pointers to activations may be invented; only ids, row starts, lengths and
 * lists of blocks, which come through `upload`, are real memory. */
#ifndef KERNELS_COST_H
#define KERNELS_COST_H

#include "kernels/kernels.h"

typedef struct Cost {
    const char *operation; /* its name in operations.h */
    uint64_t calls;
    double flop, bytes;
    size_t in, out; /* of the last call, if it was a linear map */
} Cost;

/* The table of a type. */
const Kernels *cost_kernels(NumberType type);

/* What a stream's calls have cost, by operation, and how many operations there are; those never called have 0 calls. */
const Cost *cost_counted(const Stream *s, size_t *count);
void cost_reset(Stream *s);

/* What the last call has cost; before the first one its operation is NULL. */
const Cost *cost_last(const Stream *s);

#endif
