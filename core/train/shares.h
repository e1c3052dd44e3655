/* Which process and worker computes what of a step, and in which order gradients are summed.
 *
 * A step's micro-batches are divided into shares: runs of consecutive ones. The gradient of a share is accumulated by one
 * worker, and the shares' gradients are leaves of a tree: on each level two neighbours become their sum, and one without
 * a neighbour moves up.
 *
 *     0   1   2   3   4        (0+1) (2+3) 4        ((0+1)+(2+3)) 4        ((0+1)+(2+3))+4
 *
 * Cuts and tree depend on the number of micro-batches and of shares alone, so the bits of a sum depend on neither
 * processes nor workers. A worker computes consecutive shares, and adds up what are neighbours as it goes, as a binary
 * counter carries: of n shares it holds about log2(n) + 1 sums at once. */
#ifndef CORE_TRAIN_SHARES_H
#define CORE_TRAIN_SHARES_H

#include <stdbool.h>
#include <stddef.h>

enum {
    SHARES = 8,     /* of a step, if no option says otherwise */
    FEW_SHARES = 2, /* of a model of more than MANY_NUMBERS: a worker holds several sums of that size */
    MANY_NUMBERS = 1 << 24,
    MOST_SHARES = 1024, /* that an option may ask for */
    TREE_SUMS = 24      /* held at once, at most: two on each level of such a tree, and a new one */
};

/* A sum, and where it is. */
typedef struct PartialSum {
    size_t level, index; /* of the tree: leaves are on level 0 */
    void *block;
} PartialSum;

/* What was summed up of consecutive leaves: sums whose neighbour has not come yet. */
typedef struct SumTree {
    size_t leaves; /* of the whole tree */
    size_t count;
    PartialSum sum[TREE_SUMS];
} SumTree;

/* The sum that comes next, whatever its level. */
void tree_push(SumTree *t, PartialSum sum);

/* Whether the last two sums are neighbours: then they become one, once the caller has added `from` to `to`. */
bool tree_join(SumTree *t, void **to, void **from);

/* Part `number` of `count` consecutive ones is first .. end-1, if they are dealt as evenly as can be to `parts`: to the
 * first of them, if there are more than can have one. */
void deal(size_t count, size_t parts, size_t number, size_t *first, size_t *end);

/* How a step is divided. */
typedef struct Division {
    size_t micros, shares;       /* micro-batches, and what they are divided into */
    size_t ranks, rank, workers; /* processes, which of them this is, and its workers */
} Division;

/* Shares first .. end-1 are those of a rank; and of a worker of this one. */
void rank_shares(const Division *d, size_t rank, size_t *first, size_t *end);
void worker_shares(const Division *d, size_t number, size_t *first, size_t *end);

/* Micro-batches first .. end-1 are those of a share; and of a worker's shares. */
void share_micros(const Division *d, size_t share, size_t *first, size_t *end);
void worker_micros(const Division *d, size_t number, size_t *first, size_t *end);

/* Micro-batches of the worker of all ranks that has most of them. */
size_t busiest_micros(const Division *d);

/* Blocks in which a worker holds sums, for steps of up to this many shares: worker 0 has one at least, for the result. */
size_t tree_blocks(const Division *d, size_t number);

/* What a rank has left when its own shares are summed up; and the most sums that all other ranks have, for steps of up to
 * this many shares. */
SumTree rank_sums(const Division *d, size_t rank);
size_t others_sums(const Division *d);

#endif
