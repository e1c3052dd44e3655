/* A small network to take apart: what the tests of the tape share.
 *
 * A TapeFixture has parameters for an embedding, two linear maps, four blocks and logits; a Program puts some of them together
 * as it likes. tape_fixture_pass runs it on a tape of its own, which has exactly the memory that a walk over kernels/cost
 * found (for these rows, or those of another pass), and says what came out. */
#ifndef TESTS_TENSOR_TAPE_FIXTURE_H
#define TESTS_TENSOR_TAPE_FIXTURE_H

#include "core/nn/block.h"
#include "core/nn/embedding.h"
#include "tests/backends.h"
#include "tests/suite.h"

enum {
    FIXTURE_WORDS = 11,
    FIXTURE_DIM = 12,
    FIXTURE_BLOCKS = 4,
    FIXTURE_ROWS = 5,
    FIXTURE_POSITIONS = 14,
    FIXTURE_WIDE = 3 * FIXTURE_DIM
};

typedef struct TapeFixture {
    const Kernels *k;
    Stream *stream;
    Parameters parameters;
    Embedding embedding;
    Linear narrow, wide; /* D to D, D to 3D */
    Norm norm;
    Block block[FIXTURE_BLOCKS];
    Linear logits;
    Weights weights;
    Rows rows; /* of 4, 1, 0, 6 and 3 positions */
    int32_t ids[FIXTURE_POSITIONS], targets[FIXTURE_POSITIONS], position[FIXTURE_POSITIONS], start[FIXTURE_ROWS + 1];
} TapeFixture;

typedef struct TapeFixtureOptions {
    double dropout;
    bool composed;
    NormPlacement norm;
    Activation activation;
} TapeFixtureOptions;

void tape_fixture_open(TapeFixture *l, const Kernels *k, const TapeFixtureOptions *o);
void tape_fixture_close(TapeFixture *l);

/* Other rows: FIXTURE_ROWS of these lengths, of FIXTURE_POSITIONS at the most. */
void tape_fixture_rows(TapeFixture *l, const size_t *lengths);

/* To logits [N, FIXTURE_WORDS]. */
typedef Tensor *Program(Tape *t, const TapeFixture *l);

typedef struct Pass {
    double loss;      /* sum */
    void *gradient;   /* block of reals; NULL in evaluation; to be freed with memory_free */
    TapePlan planned; /* by the walk */
    Takes takes;      /* of the walk */
    TapePlan used;
    size_t nodes; /* recorded */
    size_t left;  /* of them, when half of the parameters' gradients were finished */
} Pass;

typedef struct PassOptions {
    Keep keep;
    bool evaluation;
    char *nonfinite;
    const Pass *plan; /* NULL, or another pass, whose memory this one has */
} PassOptions;

Pass tape_fixture_pass(TapeFixture *l, Program *program, const PassOptions *o);
void pass_free(Pass *p);

/* In f64: the gradient of a program is that of central differences, for some weights of each parameter it reads. */
void tape_fixture_differentiate(TapeFixture *l, Program *program);

/* Sets one weight, and its copy. */
void tape_fixture_set(TapeFixture *l, const Parameter *p, size_t i, double value);

#endif
