/* The parameters of a model: names, shapes and offsets in one block of memory.
 *
 * A Parameter holds no numbers; it is an offset. Weights, gradients and moments are blocks of the same layout, so that
 * zeroing, summing, norm, Adam and saving are one pass each. Layers add their parameters while a model is built; then
 * parameters_finish lays them out: dense ones in the order in which they were added, tables that are only looked up
 * after them.
 *
 * muP (Yang et al. 2022, Table 8): in a model that is m times as wide as a base model, activations and their changes in
 * a step are as large as in the base, so the base's learning rate suits it. m = 1 changes nothing.
 *
 *                                                          initial variance     Adam's rate     multiplier
 *     inside: [out, in] that grow both                     1 / in               1 / m           1
 *     at the end: [out, in], of which `in` grows           the base's           1               1 / m
 *     tables, biases, gains; a map of what does not grow   the base's           1               1 */
#ifndef CORE_TENSOR_PARAMETERS_H
#define CORE_TENSOR_PARAMETERS_H

#include "base/error.h"
#include "kernels/kernels.h"

typedef enum Role {
    ROLE_WEIGHT,  /* [out, in], read by products: has a copy in the tape's number type; decays */
    ROLE_BIAS,    /* [out] of a linear map, or a norm's */
    ROLE_GAIN,    /* [D] of a norm: begins as 1 */
    ROLE_TABLE,   /* [V, D] looked up; may also make logits; its gradient is dense */
    ROLE_LOOKUP,  /* [V, D] only looked up: is after the dense parameters */
    ROLE_CONSTANT /* computed, not learned and not stored; is after everything, only in the weights */
} Role;

/* Which side of a linear map does not grow with the width of the model. */
typedef enum Edge { EDGE_NONE, EDGE_IN, EDGE_OUT } Edge;

typedef struct Parameter Parameter;
struct Parameter {
    char name[96];
    Role role;
    int rank;        /* 1 or 2 */
    size_t shape[2]; /* [rows] or [rows, columns] */
    size_t count;    /* of its numbers */
    size_t number;   /* in the list of all */
    size_t offset;   /* in every block, in numbers */
    size_t before;   /* ROLE_LOOKUP: numbers in a row of all such tables before it; see tape.h */
    size_t fan_in;   /* inputs of the linear map it belongs to; for the initialisation */
    Edge edge;       /* of a ROLE_WEIGHT */
    double wider;    /* m of muP if it is a map inside, else 1 */
    double times;    /* its initial values are multiplied by this; 0: they are not */
    bool residual;   /* the last map of a branch that is added to the residual stream */
    bool words;      /* has a row for each word of a vocabulary, which is in a run beside its weights */
    bool unit;       /* is kept within 0 .. 1 */
    bool joined;     /* follows the one before without a gap: one product computes both */
    /* Its values, if they are computed: always (ROLE_CONSTANT) or only the initial ones; and numbers that they depend
     * on. */
    double (*constant)(const Parameter *p, size_t row, size_t column);
    double given[3];
};

typedef enum Init { INIT_PYTORCH, INIT_GPT2, INIT_XAVIER } Init;

/* What the last map of each branch is multiplied by when it is drawn: 1, 1 / sqrt(2 depth) as gpt2 always does, or 0, so
 * that each block begins as the identity (Zhang et al. 2019). */
typedef enum BranchInit { BRANCH_SAME, BRANCH_SCALED, BRANCH_ZERO } BranchInit;

typedef struct Parameters {
    Parameter **list;
    size_t count, capacity;
    size_t asked;        /* how often one was asked for: more often than there are, where blocks share them */
    size_t asked_rows;   /* the rows of all of these */
    size_t dense;        /* numbers before the first ROLE_LOOKUP */
    size_t lookup;       /* numbers in a row of all ROLE_LOOKUP together */
    size_t longest;      /* rows of the longest of them */
    size_t size;         /* numbers in a block, gaps included */
    size_t whole;        /* the same with the constants */
    size_t numbers;      /* numbers that are parameters */
    double wider;        /* how many times as wide as a base model the model is: m of muP; 0: there is none */
    uint32_t sites;      /* sites of random numbers given out so far */
    uint32_t side;       /* of what is built from now on: 0, or 1 for a decoder beside an encoder */
    double norm_epsilon; /* of norms that are built from now on; 0: the usual one */
    BranchInit branch_init;
    bool again;     /* from now on, a parameter whose name exists is that parameter again */
    bool bias_free; /* linear maps and norms that are built from now on have none */
    bool failed;    /* memory ran out while the model was built */
} Parameters;

/* columns 0: a vector. Returns NULL if memory ran out; layers continue, and parameters_finish reports it. */
Parameter *parameters_add(Parameters *p, Role role, size_t rows, size_t columns, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* One that is computed: value(p, row, column). */
Parameter *parameters_constant(Parameters *p, size_t rows, size_t columns,
                               double (*value)(const Parameter *, size_t, size_t), const char *prefix,
                               const char *name);

double always_one(const Parameter *p, size_t row, size_t column);
double always_zero(const Parameter *p, size_t row, size_t column);

/* One more dropout, with a site of its own; see sites.h. */
Dropout parameters_dropout(Parameters *p, double rate);

/* The same for one number of a whole step: all its micro-batches draw the same. */
Dropout parameters_dropout_of_step(Parameters *p, double rate);

bool parameters_finish(Parameters *p, Error *e);
void parameters_close(Parameters *p);
Parameter *parameters_find(const Parameters *p, const char *name);
size_t parameters_largest(const Parameters *p); /* numbers of the largest one */

/* The address of a parameter in a block of `size`-byte numbers. */
static inline void *parameter_in(const Parameter *p, const void *block, size_t size)
{
    return (char *)block + p->offset * size;
}

/* The numbers themselves, on a device: master weights as reals, and a copy as numbers if that is another type. */
typedef struct Weights {
    const Kernels *k;
    const Parameters *parameters;
    void *reals;   /* [whole] */
    void *numbers; /* [whole]; the same block as reals in f32 and f64 */
} Weights;

/* All zeros, except constants. */
bool weights_open(Weights *w, const Kernels *k, Stream *s, const Parameters *p, Error *e);
void weights_close(Weights *w);

/* Fills all weights from the seed: every parameter from a stream of random numbers that belongs to its name, so its
 * initial values do not depend on other parameters.
 *   pytorch  linear maps and their biases U(-1/sqrt(in), 1/sqrt(in)), tables N(0,1)
 *   gpt2     all weights and tables N(0, 0.02), those with `residual` / sqrt(2 depth), biases 0
 *   xavier   weights U(-a, a), a = sqrt(6 / (in + out)), tables N(0, 1/sqrt(D)), biases 0
 * Gains are 1, biases of norms 0. */
bool weights_init(Weights *w, Stream *s, Init init, size_t depth, uint32_t seed, Error *e);

/* One parameter from and to memory of the host, as double or float according to the table's Real. */
void weights_set(Weights *w, Stream *s, const Parameter *p, const void *reals);
void weights_get(const Weights *w, Stream *s, const Parameter *p, void *reals);

#endif
