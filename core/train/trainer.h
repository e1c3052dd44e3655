/* A trainer of workers, one to a core: each runs whole micro-batches forward and backward on a tape of its own.
 *
 * A step's micro-batches and the tree in which their gradients are summed (shares.h) are functions of options and step, so
 * the same run gives the same bits with any number of workers. One set of weights and one optimizer serve all. */
#ifndef CORE_TRAIN_TRAINER_H
#define CORE_TRAIN_TRAINER_H

#include "base/ranks.h"
#include "base/report.h"
#include "base/thread.h"
#include "core/train/plan.h"
#include "core/train/replay.h"
#include "core/train/used.h"

#include <stdatomic.h>

typedef struct Worker {
    Stream *stream;
    Tape tape;
    DeviceRows rows;
    Replay replay;             /* its micro-batches; and, where it works alone, the update of weights */
    size_t blocks;             /* of gradients */
    void *gradient[TREE_SUMS]; /* [blocks] of reals, as used.h says; zeros between steps */
    SumTree sums;              /* of the step's shares so far; sum i is in gradient[i] */
    SumTree left;              /* of the whole process, when its workers' sums are added up */
    atomic_size_t finished;    /* of a step: dense numbers from here on are what its shares have of the gradient */
    atomic_size_t added;       /* pieces of which it has added up its part, see exchange.h */
    StepState *state;          /* on the device */
    StepState *shares;         /* [shares] on the device: what it was when each share of the worker was over */
    StepState begins;          /* what it holds when a share begins; uploaded from here */
    double waited;             /* seconds in which it waited for other workers, in all steps so far */
    double ended;              /* when its part of the last step was over */
} Worker;

/* What processes that share a step send each other, see exchange.h. */
typedef struct Exchange {
    void *received;                /* sums of the other ranks, each a range of this one */
    size_t range;                  /* numbers for which each of them has memory */
    struct RankPiece *sent, *come; /* room for a list of what is sent, and of what comes */
    size_t early, gone;            /* pieces of a step that may go before its end, and that have gone */
    RankMessages under_way;        /* these, and those of others */
    double ahead;                  /* bytes that this rank has sent during backward passes, in all */
    size_t *first_read;            /* [workers, parameters] for tapes */
    double waited;                 /* for others, before what is profiled */
} Exchange;

typedef struct Trainer {
    TrainerOptions options;
    TrainerPlan plan;
    Takes takes; /* of gradients of activations, in the walk that the plan comes from */
    Pool *pool;
    const Parameters *parameters;
    Weights weights;
    void *average;        /* [whole] moving average of the weights, see moving.c; NULL: none */
    StepState *averaging; /* on the device, for its update */
    Optimizer optimizer;
    double *parts; /* partial sums of the gradient's squares */
    Worker *worker;
    const Task *task;
    Batch batch;
    uint64_t ready;       /* the step whose batch is there already, on a device that computes meanwhile; 0: none */
    size_t *cut;          /* its micro-batches: number m is rows cut[m] .. cut[m+1]-1 */
    Division division;    /* of them among processes and workers */
    Exchange exchange;    /* of sums, among processes */
    StepState *ended;     /* [shares] what it was when each share was over */
    UsedRows used;        /* by it */
    int32_t *slots;       /* [rows of the longest table] on the device: what `used` holds */
    const Watch *watch;   /* hears how far it is, and may request an end; may be NULL */
    double began;         /* when the step did */
    atomic_bool given_up; /* an end was requested, and the step would take long */
    bool long_steps;      /* a message has said that steps are long */
} Trainer;

bool trainer_open(Trainer *c, const TrainerOptions *o, const Parameters *p, const Task *task, Error *e);
void trainer_close(Trainer *c);

typedef struct StepResult {
    double loss;         /* the sum of its losses' means, in nats */
    double nll;          /* the same without label smoothing */
    double part[LOSSES]; /* each loss's mean over its targets; 0 when there are none */
    double targets;      /* of the first */
    double tokens;       /* positions of the task's token side */
    double norm;         /* of the gradient before clipping */
    bool finite;         /* false: nothing was changed */
    bool given_up;       /* nothing was changed, because an end was requested */
} StepResult;

/* One step: batch, forward, backward, sum, clip, update. False: the device failed. */
bool trainer_step(Trainer *c, uint64_t step, double learning_rate, StepResult *result, Error *e);

/* Runs the step again, which changes nothing, and names the first tensor that is not finite. */
void trainer_find_nonfinite(Trainer *c, uint64_t step, Error *e);

/* If there is a moving average: begins it as a copy of the weights; and exchanges it with them, so that it is what is
 * scored and saved. Without one, neither does anything. */
void trainer_average_begins(Trainer *c);
void trainer_exchange(Trainer *c);

/* Shows to a hook what each operation makes of a step's batch; changes nothing. The trainer has one worker. */
void trainer_show(Trainer *c, uint64_t step, Hook *hook);

/* The mean loss over all of the task's scored batches. */
typedef struct MeanLoss {
    double loss, nll, part[LOSSES], targets;
    double hits; /* targets that were guessed right, if the task guesses */
} MeanLoss;

bool trainer_score(Trainer *c, MeanLoss *score, Error *e);

#endif
