/* What a program fills in so that the one training loop can run it. */
#ifndef CORE_TRAIN_TASK_H
#define CORE_TRAIN_TASK_H

#include "core/tensor/tape.h"
#include "core/train/batch.h"

typedef struct Task {
    void *self;                /* handed to each function */
    size_t sides;              /* of a batch */
    size_t most_rows;          /* of a step's batch */
    size_t longest[SIDES];     /* longest row there can be */
    size_t step_positions;     /* of a step's batch on each side; 0: as many as its rows can have */
    size_t micro_positions;    /* the same of a micro-batch, and of a batch that is scored: a step is then cut into
                               * micro-batches by positions, not by rows. No less than the longest row */
    size_t before;             /* 1 + the side whose rows come before those of side 0; 0: none */
    size_t loss_side[LOSSES];  /* loss i is scored on the targets of this side */
    double loss_times[LOSSES]; /* what its gradient is multiplied by; 0: nothing */
    size_t token_side;         /* whose positions are counted as tokens */
    double
        word_dropout[SIDES];   /* of each side: the probability that training reads another id for one that is a word */
    int32_t first_word[SIDES]; /* ids from this one on are words */
    int32_t end_word[SIDES];   /* where the words end; 0: nowhere */
    int32_t unknown_word[SIDES]; /* what is read in their place */
    bool guesses;                /* when it scores, its loss leaves guesses at the targets of loss 0 on the tape */

    /* The batch of a step: a pure function of data, options, seed and step. */
    void (*batch)(void *self, uint64_t step, Batch *batch);

    /* The network and its losses [N] on a micro-batch. Called by several workers at once, and with tapes that only
     * measure: it changes nothing but the tape. */
    Tensor *(*loss)(void *self, Tape *t, const Rows *rows);

    /* Evaluation: how many batches, the most rows of one, and batch number i. */
    size_t score_batches, score_rows;
    void (*score_batch)(void *self, size_t i, Batch *batch);

    /* Words in the scored targets, if these are subwords: then perplexities per token and per word are printed, too. 0:
     * they are not. */
    double words;

    /* Bytes that each worker takes while it trains, for work outside of steps: samples and figures. */
    size_t beside_each;

    const char *unit; /* of what is printed: "bits/byte" */
    double per_nat;   /* that unit in one nat */

    const char *protocol; /* what a score belongs to: which data, how much of it, scored how; may be NULL */
} Task;

#endif
