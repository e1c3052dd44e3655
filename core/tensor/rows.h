/* The rows of a micro-batch, one after another, in the memory of the device.
 *
 * Row b is positions start[b] .. start[b+1]-1; an entry whose position is -1 belongs to no row. There is no padding, so
 * none has to be masked. */
#ifndef CORE_TENSOR_ROWS_H
#define CORE_TENSOR_ROWS_H

#include <stddef.h>
#include <stdint.h>

/* The only positions of each row for which a network computes results: the queries of its last block. Keys and values
 * are still those of all positions. */
typedef struct Queries {
    size_t positions, longest; /* of a row */
    const int32_t *index;      /* [positions] their indices among all positions */
    const int32_t *targets;    /* [positions] */
    const int32_t *start;      /* [B+1] where each row of queries begins */
    const int32_t *offset;     /* [B] how many positions of the row come before it; NULL: the queries are not one after
                                * another, so nothing may depend on how far a key is from its query */
} Queries;

/* Each row of a side after the row of another side that comes before it: what a network reads that remembers. */
typedef struct Joined {
    size_t positions, longest;
    const int32_t *start;       /* [B+1] */
    const int32_t *position;    /* [positions] index within the row */
    const int32_t *from_before; /* [positions] where each stands on the side before; negative: it is the side's own */
    const int32_t *from_own;    /* [positions] the same for the side itself */
    Queries own;                /* its positions among all */
} Joined;

typedef struct Rows {
    size_t positions, rows, longest; /* N, B, T */
    const int32_t *ids;              /* [N] tokens; of a side that is positions of another side: their indices there */
    const int32_t *slots;            /* [N] which row of the gradient an id's vector adds to, if a tape has used_rows */
    const int32_t *targets;          /* [N] negative: not scored; NULL where nothing is scored */
    const int32_t *position;         /* [N] index within the row */
    const int32_t *start;            /* [B+1] */
    Joined joined;                   /* start NULL: no side comes before */
    Queries scored; /* of each row the positions from its first target on; index NULL: all of every row */
} Rows;

/* The positions that have to be computed for scoring; NULL: all. */
static inline const Queries *rows_scored(const Rows *rows) { return rows->scored.index ? &rows->scored : NULL; }

/* The positions of a side that are positions of another side, as queries. */
static inline Queries rows_queries(const Rows *rows)
{
    return (Queries){.positions = rows->positions,
                     .longest = rows->longest,
                     .index = rows->ids,
                     .targets = rows->targets,
                     .start = rows->start};
}

#endif
