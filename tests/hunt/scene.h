/* A Sketch with parameters, and what comes out when it is run on a tape.
 *
 * All that a position is fed with (its id, target, which position it gathers, ..) follows from the sketch's seed, the
 * operation, its row and its position there. So a Part of the rows, in any order, is the same rows. Weights are
 * numbers that bf16 holds, so all types begin with the same ones. */
#ifndef TESTS_HUNT_SCENE_H
#define TESTS_HUNT_SCENE_H

#include "tests/hunt/sketch.h"

enum { LOSSES_ALL = OPS * 2 * SKETCH_ROWS * LENGTH };

typedef struct Module {
    Embedding embedding;
    Linear linear;
    Norm norm;
    Attention attention;
    Block block;
    Stack stack; /* of a BLOCK with a depth */
    Parameter *constant;
} Module;

typedef struct Scene {
    const Sketch *s;
    Parameters parameters;
    Module module[OPS];
} Scene;

void scene_open(Scene *c, const Sketch *s);
void scene_close(Scene *c);

/* Which rows, and how. */
typedef struct Part {
    size_t rows, row[SKETCH_ROWS];
    bool turned;             /* each row backwards */
    size_t longer;           /* rows of SIDE_1 have this many positions more, which are not valid keys */
    uint32_t first[DOMAINS]; /* number of position 0 among all of the step */
} Part;

enum { LONGER = 4 };

typedef struct Way {
    const Kernels *k;
    size_t team; /* 0: one */
    Keep keep;
    const Part *part;   /* NULL: all rows */
    size_t longer;      /* its memory was planned for rows that are so much longer */
    const char *nudged; /* NULL, or a parameter that is moved */
    double by;          /* times a direction of its own */
    double noise;       /* each weight is off by that share of itself, up or down */
    uint32_t noise_seed;
} Way;

typedef struct Outcome {
    double loss;      /* what the gradient is of */
    double *gradient; /* [parameters.size] */
    double *losses;   /* [LOSSES_ALL] of each operation, of two of its logits, row and position of the whole sketch */
    bool stayed;      /* gradients that the tape said were finished did not change */
    bool planned;     /* it used exactly the memory that a walk over shapes found, or no more than was planned */
} Outcome;

/* Which way number j of a parameter is moved: 1 or -1. */
double scene_direction(const Scene *c, const Parameter *p, size_t j);

Outcome scene_run(const Scene *c, const Way *way);
void outcome_free(Outcome *o);

/* All rows, each on its own place. */
Part part_whole(const Sketch *s);

/* Ends the process: what cannot be in a test. And memory, or that end. */
_Noreturn void scene_stop(const char *what);
void *scene_memory(size_t count, size_t size);

#endif
