/* A network as a list of operations: what the hunt draws by chance, runs on every backend and, when they disagree,
 * makes smaller until each operation that is left is needed for it.
 *
 * A Sketch holds no tensors and no pointers, so it can be copied, changed and run again. Operation i reads values of
 * operations before it. A value has rows of one of the Domains, which all have B rows of their own lengths (and, after
 * them, positions of no row), and some columns. */
#ifndef TESTS_HUNT_SKETCH_H
#define TESTS_HUNT_SKETCH_H

#include "core/nn/embedding.h"
#include "core/nn/stack.h"
#include "tests/chance.h"

enum {
    OPS = 24,
    INPUTS = 3,
    SKETCH_ROWS = 4,
    LENGTH = 40, /* of the longest row */
    SPARE = 3,   /* positions of no row at most */
    POSITIONS_MOST = SKETCH_ROWS * LENGTH + SPARE,
    VOCABULARY = 7,
    REGISTERS = 2, /* a table's last vectors, of positions that begin a row */
    OFFSET = 3,    /* the largest of a query */
    SKETCH_TEXT = 4096
};

typedef enum Domain { SIDE_0, SIDE_1, POOLED, DOMAINS } Domain; /* POOLED: one position for each row */

typedef enum What {
    EMBED,
    CONSTANT, /* numbers that want no gradient */
    LINEAR,
    NORM,
    ADD,
    DROP,
    ADD_NORM,
    ACTIVATE,
    MUL,
    GATHER,
    POOL,
    CONCAT,
    SLICE,
    SPLIT,   /* a linear map; views of its columns, each as it is, turned twice or padded and unpadded; side by side */
    TURN,    /* transposed, tanh, transposed back */
    PRODUCT, /* a b^T c of their tanh, for each head, over all positions */
    ATTENTION,
    BLOCK,
    LOSS, /* logits and cross-entropy: has no value */
    WHATS
} What;

typedef struct Op {
    What what;
    size_t name;   /* number in its parameters' names: it stays when others are dropped */
    size_t inputs; /* how many, and which operations' values */
    size_t input[INPUTS];
    int shares;     /* the operation whose parameters it has (LOSS: an EMBED's table), or -1: its own */
    int segment;    /* 0: none; operations in a line with the same number are one segment */
    Domain domain;  /* of its value */
    size_t columns; /* of its value; of a LOSS: classes */
    double rate;    /* dropout */
    Activation function;
    Pooling pooling;
    bool bias, relu;  /* LINEAR */
    bool across;      /* GATHER: from any position, not the own row's */
    bool again;       /* SPLIT: one part twice; LOSS: two of the same logits; BLOCK: with scores of one before */
    size_t first;     /* SLICE */
    double smoothing; /* LOSS */
    double z;         /* LOSS: of the squared log of the sum of powers */
    bool agree;       /* LOSS: with the logits of its input's tanh, as R-Drop has it */
    size_t which;     /* LOSS: of StepState's */
    Positions positions;
    size_t heads, kv_heads, key_size, value_size;
    bool cross, composed, causal, lengths, offsets;
    size_t window, block, sinks, stride; /* stride: in blocks; of pattern */
    Pattern pattern;
    Score score;
    WeightOptions weights;
    bool sink, value_gate;
    bool guided; /* ATTENTION: a head is told where to look, which is a loss; `which` says of which */
    DistanceOptions distances;
    NormPlacement norm;
    NormKind norm_kind;                                        /* NORM, ADD_NORM, BLOCK */
    bool gate, rotary, qk_norm, qk_cosine, macaron, bias_free; /* BLOCK */
    size_t experts, chosen;                                    /* BLOCK */
    bool even_load;                                            /* BLOCK: experts have a load loss */
    double branch_rate, ff_rate;                               /* BLOCK: dropout of whole branches; inside ff */
    size_t depth, loops; /* BLOCK: how many blocks a stack has, and how often it runs; 0: no stack */
    Skip skip;           /* BLOCK: of a stack, as what follows */
    bool value_residual, embedding_norm, every_other; /* every_other: block's mask hides no key */
    bool recurrent; /* BLOCK: it also sees what it makes of constants of SIDE_1, before each row */
} Op;

typedef struct Sketch {
    uint32_t seed;
    size_t rows;
    size_t length[2][SKETCH_ROWS], spare[2]; /* of SIDE_0 and SIDE_1 */
    size_t registers;                        /* that each row begins with */
    size_t count;
    Op op[OPS];
} Sketch;

/* What kind of network is drawn. */
typedef struct Taste {
    bool smooth;    /* it has a derivative everywhere: no ReLU, no largest of a row, nothing is chosen */
    bool still;     /* no dropout */
    bool rowwise;   /* no position sees another row, and none is of no row */
    bool orderless; /* the order of positions in a row does not matter */
    bool memory;    /* SIDE_1 is read by attention alone, which sees the valid keys of each row */
} Taste;

Sketch sketch_draw(uint32_t seed, const Taste *taste);
Taste sketch_taste(uint32_t seed); /* the hunt's: every other network is smooth */
bool sketch_smooth(const Sketch *s);
bool sketch_narrow(const Sketch *s); /* it has an operation that magnifies rounding */

/* A BLOCK alone whose columns are x and, beside it, the sum that ResiDual keeps (a stack makes them itself). */
bool sketch_has_two_streams(const Op *op);

/* A norm of so few columns magnifies rounding, and many of them in a stack so much that nothing can be compared. A scale
 * norm of one column leaves a sign, which jumps. */
bool sketch_magnifies(const Op *op);
bool sketch_jumps(const Op *op); /* what no network is to have */

/* May one have the parameters of another? */
bool sketch_may_share(const Sketch *s, const Op *op, const Op *with);

/* Works out the shapes of all values again, after a change; false: they do not go together. Who can no longer share
 * parameters has its own. */
bool sketch_fit(Sketch *s);

/* Takes operation i out; what read its value reads another one (OPS: none). false: what is left makes no network. */
bool sketch_drop(Sketch *s, size_t i, size_t other);

/* Segments hand on one value each, and there is a loss. */
bool sketch_valid(const Sketch *s);

/* Is the value of operation k to be seen from operation i on, or from a segment? */
bool sketch_visible(const Sketch *s, size_t k, int segment);

/* One line an operation. */
void sketch_print(const Sketch *s, char text[SKETCH_TEXT]);

#endif
