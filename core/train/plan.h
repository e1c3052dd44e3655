/* What a trainer takes: its memory to the byte, and what a step costs, from a walk over shapes. */
#ifndef CORE_TRAIN_PLAN_H
#define CORE_TRAIN_PLAN_H

#include "core/train/optimizer.h"
#include "core/train/shares.h"
#include "core/train/task.h"

typedef struct TrainerOptions {
    const Kernels *k;
    size_t workers;
    size_t ranks, rank; /* processes that share a step, and which of them this is; 0: 1 */
    size_t team;        /* cores of a worker; 0: 1 */
    size_t micro_rows;  /* rows of a micro-batch, where the task does not count positions; 0: all */
    size_t shares;      /* of a step's micro-batches, at most, see shares.h; 0: SHARES */
    bool training;      /* false: only weights and activations */
    Keep keep;
    OptimizerOptions optimizer;
    double clip;
    double ema; /* decay of a moving average of the weights; 0: there is none */
    uint32_t seed;
} TrainerOptions;

/* What memory a run needs, in bytes, and what one step costs; from a walk over shapes. */
typedef struct TrainerPlan {
    TapePlan tape;                                            /* of one worker */
    size_t weights, gradients, moments, activations, batches; /* of all workers together */
    size_t program; /* what the process holds already: code, libraries, data; and code that products will add */
    size_t total;
    size_t micros, shares; /* micro-batches of the largest step, and what they are divided into */
    size_t busiest;        /* micro-batches of the worker that has most of them */
    double sent;           /* bytes of gradients that this process sends to others in a step */
    double flop;           /* of one whole step with the optimizer */
    double bytes;          /* that its operations move */
} TrainerPlan;

/* Walks over the shapes of the task's largest micro-batch, and of scoring, even if not all positions are scored. */
bool trainer_plan(TrainerPlan *plan, const TrainerOptions *o, const Parameters *p, const Task *task, Error *e);

/* The same; takes: of gradients of activations, in the walk that the plan comes from. To be closed by the caller. */
bool plan_make(TrainerPlan *plan, Takes *takes, const TrainerOptions *o, const Parameters *p, const Task *task,
               Error *e);

/* Micro-batches of a step of this many rows, which do not depend on workers; and the shares that they are divided into. If
 * the task says how many positions a micro-batch has, each step has as many micro-batches as the largest step needs: one,
 * two or a multiple of 4, so that they can be shared out evenly. */
size_t plan_parts(const TrainerOptions *o, const Task *task, size_t rows);
size_t plan_shares(const TrainerOptions *o, const Task *task, size_t rows);
Division plan_division(const TrainerOptions *o, const Task *task, size_t rows);

/* Rows that a worker has room for, and that the trainer itself holds. */
size_t plan_rows(const TrainerOptions *o, const Task *task);
size_t plan_step_rows(const TrainerOptions *o, const Task *task);

/* A batch of this many rows; micro: a part of one. */
BatchSize plan_size(const Task *task, size_t rows, bool micro);

/* Numbers in a block of gradients at most. */
size_t plan_gradient(const Parameters *p, const Task *task);

#endif
