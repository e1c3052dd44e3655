/* A small network to take apart: what the tests of the tape share.
 *
 * A Lab has parameters for an embedding, two linear maps, four blocks and logits; a Program puts some of them together
 * as it likes. lab_pass runs it on a tape of its own, which has exactly the memory that a walk over kernels/cost
 * found (for these rows, or those of another pass), and says what came out. */
#ifndef TESTS_TENSOR_LAB_H
#define TESTS_TENSOR_LAB_H

#include "core/nn/block.h"
#include "core/nn/embedding.h"
#include "tests/suite.h"

enum { LAB_WORDS = 11, LAB_DIM = 12, LAB_BLOCKS = 4, LAB_ROWS = 5, LAB_POSITIONS = 14, LAB_WIDE = 3 * LAB_DIM };

typedef struct Lab {
    const Kernels *k;
    Stream *stream;
    Parameters parameters;
    Embedding embedding;
    Linear narrow, wide; /* D to D, D to 3D */
    Norm norm;
    Block block[LAB_BLOCKS];
    Linear logits;
    Weights weights;
    Rows rows; /* of 4, 1, 0, 6 and 3 positions */
    int32_t ids[LAB_POSITIONS], targets[LAB_POSITIONS], place[LAB_POSITIONS], start[LAB_ROWS + 1];
} Lab;

typedef struct LabOptions {
    double dropout;
    bool composed;
    NormPlace norm;
    Activation activation;
} LabOptions;

void lab_open(Lab *l, const Kernels *k, const LabOptions *o);
void lab_close(Lab *l);

/* Other rows: LAB_ROWS of these lengths, of LAB_POSITIONS at the most. */
void lab_rows(Lab *l, const size_t *lengths);

/* To logits [N, LAB_WORDS]. */
typedef Tensor *Program(Tape *t, const Lab *l);

typedef struct Pass {
    double loss;      /* sum */
    void *gradient;   /* block of reals; NULL in evaluation; to be freed with memory_free */
    TapePlan planned; /* by the walk */
    Takes takes;      /* of the walk */
    TapePlan used;
    size_t nodes; /* recorded */
} Pass;

typedef struct PassOptions {
    Keep keep;
    bool evaluation;
    char *nonfinite;
    const Pass *plan; /* NULL, or another pass, whose memory this one has */
} PassOptions;

Pass lab_pass(Lab *l, Program *program, const PassOptions *o);
void pass_free(Pass *p);

/* In f64: the gradient of a program is that of central differences, for some weights of each parameter it reads. */
void lab_differentiate(Lab *l, Program *program);

/* Sets one weight, and its copy. */
void lab_set(Lab *l, const Parameter *p, size_t i, double value);

/* The backends of a type, plain first; NULL after the last. */
const Kernels *lab_backend(NumberType type, size_t i);

#endif
