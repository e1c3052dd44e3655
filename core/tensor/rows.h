/* The rows of a micro-batch, one after another, in the memory of the device.
 *
 * Row b is positions start[b] .. start[b+1]-1; what has a position of -1 belongs to no row. There is no padding, so none
 * has to be masked. */
#ifndef CORE_TENSOR_ROWS_H
#define CORE_TENSOR_ROWS_H

#include <stddef.h>
#include <stdint.h>

/* Positions of each row that alone are wanted of a network: the queries of its last block. Keys and values are still
 * those of all positions. */
typedef struct Queries {
    size_t positions, longest; /* of a row */
    const int32_t *index;      /* [positions] where they stand among all positions */
    const int32_t *targets;    /* [positions] */
    const int32_t *start;      /* [B+1] where each row of them begins */
    const int32_t *offset;     /* [B] and how many positions of that row stand before it; NULL: they are not one after
                                * another, so nothing may depend on how far a key is from its query */
} Queries;

typedef struct Rows {
    size_t positions, rows, longest; /* N, B, T */
    const int32_t *ids;              /* [N] or, of a side that is positions of another, where these are among its N */
    const int32_t *slots;            /* [N] where the gradient of an id's vector goes, when a tape has used_rows */
    const int32_t *targets;          /* [N] negative: not scored; NULL where nothing is scored */
    const int32_t *position;         /* [N] index within the row */
    const int32_t *start;            /* [B+1] */
    Queries scored; /* of each row what begins with its first target; index NULL: that is all of every row */
} Rows;

/* What has to be computed in order to score: NULL where that is everything. */
static inline const Queries *rows_scored(const Rows *rows) { return rows->scored.index ? &rows->scored : NULL; }

/* Of a side that is positions of another: these as queries. */
static inline Queries rows_queries(const Rows *rows)
{
    return (Queries){.positions = rows->positions,
                     .longest = rows->longest,
                     .index = rows->ids,
                     .targets = rows->targets,
                     .start = rows->start};
}

#endif
