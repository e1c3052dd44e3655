/* The optimizer: what moves the weights, once the gradient of a step is summed over workers and clipped.
 *
 * This is a seam. Another optimizer is one file that fills an OptimizerKind, and a name in OPTIMIZERS, from which the
 * choices of --optimizer are made. The trainer, checkpoints and the plan know none of them. */
#ifndef CORE_TRAIN_OPTIMIZER_H
#define CORE_TRAIN_OPTIMIZER_H

#include "core/tensor/parameters.h"

/* The first is the default. */
#define OPTIMIZERS(X) X(ADAM, adam) X(SGD, sgd) X(MUON, muon) X(LION, lion) X(ADAFACTOR, adafactor)

#define OPTIMIZER_NUMBER(NUMBER, NAME) OPTIMIZER_##NUMBER,
enum { OPTIMIZERS(OPTIMIZER_NUMBER) OPTIMIZER_KINDS, OPTIMIZER_BLOCKS = 2 };

typedef struct OptimizerOptions {
    int kind; /* OPTIMIZER_ADAM .. */
    Adam adam;
    double momentum;    /* SGD's and Muon's */
    size_t iterations;  /* of Newton and Schulz, in Muon */
    double decay;       /* of matrices */
    const char *groups; /* exceptions by name of parameter, see groups.h; NULL: none */
    size_t part, parts; /* into which the state is divided, and which of them this process has; 0: 1 */
} OptimizerOptions;

/* How one parameter is updated; its rate and its Adam are those of its group. */
typedef struct Motion {
    size_t group;       /* 0: that of most parameters; otherwise the number of its group, from 1 on */
    double rate, decay; /* rate: times the step's learning rate; 0: it is frozen */
    Adam adam;
    bool whole; /* a matrix that is updated as a whole, by Muon's momentum */
    double momentum;
} Motion;

typedef struct Optimizer {
    OptimizerOptions options;
    const struct OptimizerKind *kind;
    const Kernels *k;
    const Parameters *parameters;
    size_t workers;                /* that share a step */
    void *block[OPTIMIZER_BLOCKS]; /* its state: reals, of numbers first .. end-1 of a block */
    size_t first, end;             /* of the parameters' block: what it moves */
    const Parameters *layout;      /* of each block: that of the parameters, or `other` */
    Parameters other;              /* of a kind with `numbers`: vectors of the parameters' names, in their order */
    Motion *motions;               /* of each parameter */
    StepState *begins, *states;    /* [groups] whose learning rate and corrections differ: on the host, on the
                                    * device */
    size_t groups;
    void *own; /* what else a kind has, from its `open` */
} Optimizer;

/* What a worker needs in order to move its part of the weights. */
typedef struct OptimizerStep {
    const Weights *weights;
    void *gradient;         /* of the whole step, see used.h; may be written over */
    size_t used;            /* rows of it for each looked-up table */
    const int32_t *slots;   /* on the device: a table's row is this row of its gradient; negative: the gradient is 0 */
    const StepState *state; /* on the device: learning rate, clip factor, whether the gradient is finite */
    size_t number, workers; /* this worker, of how many */
} OptimizerStep;

typedef struct OptimizerKind {
    const char *name, *holds;            /* "adam"; what its state is called: "Adam's moments" */
    size_t blocks;                       /* of state */
    const char *saved[OPTIMIZER_BLOCKS]; /* a prefix of tensors in a checkpoint, "adam.m."; NULL: not saved */
    bool of_gradient, of_weights;        /* a larger gradient is a larger step; larger weights are one */
    double traffic;                      /* reals that a weight's update reads and writes, but for the gradient */

    /* Which parameters move as whole matrices: they have a momentum instead of Adam's means, and block 0 alone is their
     * state. FLOP of a step; numbers that it reads and writes beyond `traffic`; bytes beside the blocks. NULL: none. */
    bool (*is_whole)(const Parameter *p);
    double (*flop)(const OptimizerOptions *o, const Parameters *p);
    double (*moved)(const OptimizerOptions *o, const Parameters *p);
    size_t (*beside)(const Parameters *p, const Kernels *k, size_t workers);

    /* Reals that a block of state has for a parameter. NULL: one for each of its numbers. */
    size_t (*numbers)(const Parameter *p);

    /* Makes an Adam of options as people write them. NULL: they are one. */
    void (*configure)(OptimizerOptions *o);

    /* What it has beside its state's blocks; NULL: nothing. */
    bool (*open)(Optimizer *o, Stream *s, Error *e);
    void (*close)(Optimizer *o);

    /* On the host before a step: corrections, which depend on its number. */
    void (*begin)(const Adam *adam, StepState *state, uint64_t step);

    /* Asks for what moves one worker's part; where state->finite is 0, nothing may change. */
    void (*step)(Optimizer *o, Stream *s, const OptimizerStep *step);

    /* Before its state is read, by each worker for its part; and after its state was written. NULL: it is complete. */
    void (*flush)(Optimizer *o, Stream *s, size_t number, size_t workers);
    void (*after_load)(Optimizer *o);
} OptimizerKind;

const OptimizerKind *optimizer_kind(int kind);

void optimizer_configure(OptimizerOptions *o);

/* Of the state: its blocks, and what is beside them. */
size_t optimizer_bytes(const OptimizerOptions *o, const Parameters *p, const Kernels *k, size_t workers);

/* Part `number` of the state belongs to numbers first .. end-1 of the parameters' block: whole rows of a table that is
 * looked up, and whole matrices, where these move as one. */
void optimizer_part(const OptimizerOptions *o, const Parameters *p, size_t number, size_t *first, size_t *end);

#define OPTIMIZER_DECLARE(NUMBER, NAME) extern const OptimizerKind NAME##_optimizer;
OPTIMIZERS(OPTIMIZER_DECLARE)

/* Closing what was not opened does nothing. */
bool optimizer_open(Optimizer *o, const OptimizerOptions *options, size_t workers, const Kernels *k, Stream *s,
                    const Parameters *p, Error *e);
void optimizer_close(Optimizer *o);

/* Numbers from .. end-1 of a parameter are those that this optimizer moves; and where the state of a number of the
 * parameters' block is. */
void optimizer_own(const Optimizer *o, const Parameter *p, size_t *from, size_t *end);
void *optimizer_at(const Optimizer *o, size_t block, size_t number);

/* Before a step, state has its seed, number and learning rate: the corrections, and the same for each group. */
void optimizer_begin(const Optimizer *o, Stream *s, StepState *state, uint64_t step);

/* Of a parameter's group, on the device. */
const StepState *optimizer_state(const Optimizer *o, const OptimizerStep *step, const Motion *m);

void optimizer_flush(Optimizer *o, Stream *s, size_t number, size_t workers);
void optimizer_after_load(Optimizer *o);

/* Whether a block is state of parameter i, and not only room for its steps. */
bool optimizer_keeps(const Optimizer *o, size_t block, size_t i);

/* A worker's range of a block's first `numbers`: whole chunks of SQUARES_CHUNK, so that partial sums over chunks do not
 * depend on how many workers there are. */
void optimizer_range(size_t numbers, size_t number, size_t workers, size_t *first, size_t *count);

/* Numbers in the longest range of a block of this many or fewer. */
size_t range_capacity(size_t numbers, size_t workers);

#endif
