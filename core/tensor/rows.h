/* The rows of a micro-batch, one after another, in the memory of the device.
 *
 * Row b is positions start[b] .. start[b+1]-1; what has a place of -1 belongs to no row. There is no padding, so none
 * has to be masked. */
#ifndef CORE_TENSOR_ROWS_H
#define CORE_TENSOR_ROWS_H

#include <stddef.h>
#include <stdint.h>

typedef struct Rows {
    size_t positions, rows, longest; /* N, B, T */
    const int32_t *ids;              /* [N] */
    const int32_t *targets;          /* [N] negative: not scored; NULL where nothing is scored */
    const int32_t *place;            /* [N] index within the row */
    const int32_t *start;            /* [B+1] */
} Rows;

#endif
