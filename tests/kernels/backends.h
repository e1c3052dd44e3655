/* Backends side by side: what all tests of operations share.
 *
 * A Case is one call (usually forward, then backward) with the tensors it reads and writes, as doubles. It can be run
 * on any backend. From it follow the questions that are the same for every operation:
 *
 *     case_agrees          does each backend, in each type, differ from f64 by rounding only?
 *     case_differentiates  are the gradients those of central differences?
 *     case_adds            are gradients added where they should be, and written over what is there where not?
 *     case_spares          do results stay the same when a gradient is not wanted?
 *     case_teams           are they the same bits, whatever the team of cores?
 *
 * Inputs are rounded to the type under test before both runs, so that arithmetic is compared, not the inputs. Each
 * tensor begins at any address its numbers allow and has guards on both sides, and gaps between its rows where it is a
 * view of a wider matrix: none of these, nor anything that is only read, may change. What is to be written holds
 * something else in each run before, so that a place that was left out shows.
 *
 * Which backends are tested: the list at the top of backends.c. Where test_is_fast, fewer loops are run. */
#ifndef TESTS_KERNELS_BACKENDS_H
#define TESTS_KERNELS_BACKENDS_H

#include "kernels/kernels.h"
#include "kernels/plain/plain.h"
#include "tests/chance.h"
#include "tests/suite.h"

enum { TENSORS = 48 };

typedef enum Kind { NUMBERS, REALS, DOUBLES, INTEGERS } Kind;

typedef enum Use {
    READ,
    WRITTEN,
    ADDED,    /* to what is there: gradients of parameters */
    GRADIENT, /* of an input: added where the Case says so, otherwise written */
    SPOILED,  /* anything may be there afterwards */
    ABSENT    /* NULL */
} Use;

/* [rows, columns], rows `stride` values apart, the first at value[offset]. */
typedef struct Tensor {
    const char *name;
    Kind kind;
    Use use;
    size_t rows, columns, stride, offset, all; /* all: values, guards included */
    double *value;                             /* before the call */
    size_t terms;                              /* how many are summed for one value, about */
    size_t stores;                             /* how often that is rounded to a number on its way: 1, or 0 for reals */
    double floor;                              /* the largest value counts as no less, where terms may cancel */
    int source;                                /* of a gradient: the input it belongs to; else -1 */
    int weight;                                /* of an output: the gradient that arrives for it; else -1 */
    bool optional;                             /* may be NULL */
    bool product;                              /* a library may have summed it, in an order of its own */
} Tensor;

typedef struct Case Case;
typedef void Call(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c);

struct Case {
    Call *call;
    const void *shape; /* what the call needs beside tensors */
    bool add;          /* input gradients are added */
    char words[160];   /* the shape, for messages */
    Random random;
    StepState state; /* before the call */
    Tensor tensor[TENSORS];
};

typedef struct Result {
    const Kernels *k;
    double *value[TENSORS]; /* after the call, laid out as Tensor.value */
    StepState state;
} Result;

Case case_new(Call *call, const void *shape, uint32_t seed);
void case_free(Case *c);

/* Tensor number `index` of a case, filled with uniform numbers (integers: 0). Also a gradient's and an output's way. */
Tensor *tensor(Case *c, size_t index, const char *name, Kind kind, Use use, size_t rows, size_t columns);
Tensor *tensor_strided(Case *c, size_t index, const char *name, Kind kind, Use use, size_t rows, size_t columns,
                       size_t stride);
Tensor *gradient(Case *c, size_t index, const char *name, Kind kind, Use use, size_t source);
void output(Case *c, size_t index, size_t weight); /* a tensor of that shape, READ, is the gradient that arrives */

double *element(const Tensor *t, size_t i, size_t j);
double result_at(const Case *c, const Result *r, size_t index, size_t i, size_t j);
void tensor_fill(Tensor *t, double x);
void tensor_integers(Tensor *t, const int32_t *from);

/* The tables under test: device by device, type by type; NULL after the last. */
const Kernels *backend(size_t i);

/* Runs a case on a backend, its inputs rounded to a type first (NUMBER_F64: not at all). */
Result case_run(const Case *c, const Kernels *k, NumberType rounded);
void result_free(Result *r);

/* A block for each backend: r is what the case comes to there, of which the block keeps nothing, and r.k is the
 * backend. It is left at its end alone. */
#define EACH_BACKEND(r, c)                                                                                             \
    for (size_t each_##r = 0; backend(each_##r); each_##r++)                                                           \
        for (Result r = case_run(c, backend(each_##r), backend(each_##r)->type), *there_##r = &r; there_##r;           \
             result_free(there_##r), there_##r = NULL)

void case_agrees(const Case *c);
void case_differentiates(const Case *c);
void case_adds(const Case *c);
void case_spares(const Case *c);
void case_teams(const Case *c);

/* One of them, and then the case is freed. */
void case_ask(void (*question)(const Case *c), Case c);

/* One tensor of two results: identical to the bit, or absent. */
void same_bits(const Case *c, size_t index, const Result *a, const Result *b);

/* Ends a loop test that FAST leaves out: it keeps one turn in eight, each time with another remainder, because turns
 * choose by remainders what they try. */
#define SKIP_IF_FAST(loop)                                                                                             \
    do {                                                                                                               \
        if (test_is_fast() && (loop) % 8 != (loop) / 8 % 8)                                                            \
            return;                                                                                                    \
    } while (0)

/* Whether y is the 0 that a backend made of a denormal number x: processors' bf16 instructions do, and a fast backend
 * may. */
bool flushed(const Kernels *k, double x, double y);

#endif
