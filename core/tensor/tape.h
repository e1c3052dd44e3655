/* The tape: every operation runs at once and appends one node; tape_backward walks the nodes from last to first.
 *
 *     Tensor *logits = model(&tape, ...);              runs, and records while tape.recording
 *     Tensor *losses = cross_entropy(&tape, logits, ...);
 *     tape_backward(&tape);                             starts from the losses' scale in StepState
 *     tape_reset(&tape);                                forgets all nodes and tensors
 *
 * A tensor dies at the reset; what must live longer is copied to memory that its caller owns. Tensors and nodes are in
 * an arena of the host, activations in an arena of the device. Gradients of activations are in a space of their own,
 * and return to it as soon as the node that made the tensor has run backward. */
#ifndef CORE_TENSOR_TAPE_H
#define CORE_TENSOR_TAPE_H

#include "core/tensor/arena.h"
#include "core/tensor/parameters.h"
#include "core/tensor/sites.h"

#include <assert.h>

typedef struct Tensor Tensor;
typedef struct Tape Tape;
typedef struct Node Node;

struct Tensor {
    void *data;
    size_t rows, columns; /* [rows, columns]; further dimensions count as rows */
    size_t stride;        /* numbers from one row to the next: columns, or more in a view */
    bool real;            /* reals (logits, losses) instead of numbers; its gradient is in numbers all the same */
    bool wanted;          /* its gradient is needed by a tensor before it */
    void *gradient;       /* NULL: none has arrived */

    Tensor *base; /* a view: columns first .. first+columns-1 of base, whose gradient holds this one's */
    size_t first;
    bool written;   /* a view: its part of the gradient holds something */
    bool split;     /* a base: its views cover it, and nothing else reads it */
    size_t covered; /* a base: columns of its gradient that views have written */

    Tensor *beside; /* of what a segment returns: another of its tensors, which outlives it; NULL: none */
};

/* What an operation records: a struct that begins with a Node and continues with what `backward` needs. */
struct Node {
    void (*backward)(Tape *t, Node *node);
    Tensor *y; /* backward runs when y has a gradient; NULL: always (losses) */
    Node *before;
};

/* Observes a network while it runs; either call may be NULL. */
typedef struct Hook Hook;
struct Hook {
    /* Where the weights of an attention go, [B,H,T,S] reals of the device; NULL: they are not wanted. `out` is the last
     * parameter of that attention: its name says which one it is. */
    void *(*weights)(Hook *w, Tape *t, const Parameter *out, const Attend *how);

    /* What an operation has made, and with which parameter (NULL: none). */
    void (*made)(Hook *w, Tape *t, const Tensor *y, const char *what, const Parameter *p);
};

/* How a segment treats its inside while training; without recording it always drops it. */
typedef enum Keep { KEEP_ALL, KEEP_INPUTS /* drop the inside, run it again in the backward pass */ } Keep;

struct Tape {
    const Kernels *k;
    Stream *stream;
    bool training; /* dropout is active, and operations are recorded, except inside a dropped segment */
    bool recording;
    Keep keep;
    const int32_t *scored; /* [B+1] where each row's targets begin; NULL: each position has one */
    bool second_pass;      /* of a network over the same rows in a step: it draws other dropout */
    const Weights *weights;
    void *gradient; /* block of parameter gradients, in reals; NULL unless training */
    bool used_rows; /* of tables that are only looked up, `gradient` holds no more than `slots` rows each, those that */
    size_t slots;   /* the step's batch reads: Rows say which; the tables are one after another after the dense ones */
    size_t nodes;   /* that have not run backward */
    size_t *first_read;     /* [parameters] how many there were when each was read first; NULL: not noted */
    size_t unfinished;      /* parameters at the beginning of the list whose gradients may still change */
    StepState *state;       /* of this worker, on the device */
    const int32_t *guesses; /* on the device, until the reset: the likeliest class for each target, if a task's loss
                             * leaves it there when it scores */
    Arena memory;           /* activations, on the device */
    Space gradients;        /* of activations, on the device */
    Arena host;             /* tensors and nodes */
    Node *last;
    Hook *hook;                        /* NULL: none */
    void (*went_back)(void *follower); /* called after each node of a backward pass; may be NULL */
    void *follower;
    char *nonfinite;       /* NULL, or where the name of the first tensor that is not finite goes; see nonfinite.h */
    const Parameter *fine; /* during that search: the last parameter whose operation was checked */
    void *owned[3];        /* the blocks under `memory`, `gradients` and `host` */
};

/* What a tape needs, found by a walk over shapes. */
typedef struct TapePlan {
    size_t memory, gradients, host; /* bytes */
} TapePlan;

/* plan NULL: the device memory is imaginary, for kernels/cost; then tape_plan returns what was used. */
bool tape_open(Tape *t, const Kernels *k, Stream *stream, const Weights *weights, const TapePlan *plan, Error *e);
void tape_close(Tape *t);
TapePlan tape_plan(const Tape *t);

void tape_backward(Tape *t);
void tape_reset(Tape *t);

/* In a backward pass, with `first_read`: dense parameters from this offset on have all of their gradient, because an
 * operation reads a parameter when it runs, and those that are left ran before. */
size_t tape_finished_from(Tape *t);

/* Runs a part of the network, y = fn(t, args, inputs), and by the tape's policy keeps its inside, drops it and runs it
 * again in the backward pass, or just drops it. What is `beside` y is kept with it. args (of `size` bytes) are copied.
 * Every tensor that the inside reads from outside is among inputs, and none of them is what it returns; the inside
 * writes nothing outside, but for caches, and holds no loss but one that its backward pass computes. What args and
 * nodes point to must outlive the backward pass. */
typedef Tensor *(*Segment)(Tape *t, const void *args, Tensor *const *inputs);
Tensor *tape_segment(Tape *t, Segment fn, const void *args, size_t size, Tensor *const *inputs, size_t count);

/* Unless the tape records: forgets all tensors since the mark but y and what is beside it, and returns y where it is then. */
typedef struct TapeMark {
    size_t memory, host;
} TapeMark;
TapeMark tape_mark(const Tape *t);
Tensor *tape_forget(Tape *t, TapeMark since, Tensor *y);

/* For operations. */
Tensor *tape_tensor(Tape *t, size_t rows, size_t columns, bool real, bool wanted);
void *tape_reals(Tape *t, size_t count); /* saved statistics */
int32_t *tape_integers(Tape *t, size_t count);

/* Memory of the caller as a tensor [rows, columns] that wants no gradient. */
Tensor *tape_outside(Tape *t, void *data, size_t rows, size_t columns);

/* A parameter of ROLE_CONSTANT as a tensor that wants no gradient. */
Tensor *tape_constant(Tape *t, const Parameter *p);

/* A learned parameter as a tensor, a vector as one of 1 row: its gradient is added to the parameter's. */
Tensor *tape_parameter(Tape *t, const Parameter *p);

/* Views of consecutive columns that together cover x. */
void tape_split(Tape *t, Tensor *x, Tensor **views, const size_t *columns, size_t count);

/* Memory for a node, or NULL if nothing is recorded for y. */
void *tape_node(Tape *t, size_t size, void (*backward)(Tape *, Node *), Tensor *y);

/* Where to write the gradient of x; NULL: it is not wanted. *add: add it to what is there. */
void *tensor_gradient(Tape *t, Tensor *x, bool *add);
static inline Strided tensor_strided(const Tensor *x) { return (Strided){x->data, x->stride}; }

/* The numbers of a tensor that is not a view, one row after the other: for operations without a stride. */
static inline void *tensor_whole(const Tensor *x)
{
    assert(x->stride == x->columns);
    return x->data;
}

/* A parameter's values as reals, as numbers for products, and where its gradient is summed. NULL gives NULL. */
const void *tape_reals_of(const Tape *t, const Parameter *p);
const void *tape_numbers_of(const Tape *t, const Parameter *p);
void *tape_gradient_of(const Tape *t, const Parameter *p);

/* Where a parameter's gradient begins in a block of gradients that holds `slots` rows of each looked-up table. */
size_t gradient_offset(const Parameters *all, const Parameter *p, size_t slots);

/* Dropout of a layer: none unless training. */
static inline Dropout tape_dropout(const Tape *t, Dropout drop)
{
    drop.rate = t->training ? drop.rate : 0;
    drop.site += t->second_pass ? SITE_PASS : 0;
    return drop;
}

#endif
