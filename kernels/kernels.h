/* The contract between layers and devices: one table of operations, filled by each backend for each number type.
 *
 * Backends: plain (loops to read and to check against), cpu, cuda, and cost (walks shapes, touches no number).
 * They differ by rounding only. The operations themselves are in operations.h.
 *
 * Letters: B rows, N packed positions, T and S longest query and key row, D width, H heads, dk and dv head sizes,
 * V vocabulary. Rows are one after another: row b is positions start[b] .. start[b+1]-1, start [B+1]; positions from
 * start[B] to N belong to no row.
 *
 * Two types of numbers. `number`: activations, their gradients, and the weights that products read: the table's type.
 * `real`: master weights, biases, norm parameters, looked-up tables, parameter gradients, moments, saved statistics,
 * logits and losses: float, or double in the f64 table. Pointers are void * because one layer serves all types. */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include "base/error.h"
#include "base/ranks.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The types of stored numbers; and TF32: f32 whose products may round what they read to 10 bits of fraction, as a GPU's
 * tensor cores do, and sum in f32; and INT8: f32 whose linear maps are linear_int8, and which cannot train. */
typedef enum NumberType {
    NUMBER_F32,
    NUMBER_BF16,
    NUMBER_F64,
    NUMBER_TYPES,
    NUMBER_TF32 = NUMBER_TYPES,
    NUMBER_INT8
} NumberType;

/* Of linear_int8: rows of nothing larger count as zeros; longer rows are not rounded, because their sums would not fit. */
#define INT8_LEAST 1e-30f
enum { INT8_MOST = 1 << 16 };

/* Where operations run: a processor's team of cores with their scratch memory, or a GPU's stream. Each backend has its
 * own; operations on one stream happen in order. */
typedef struct Stream Stream;

/* Operations that were captured: see `capture`. */
typedef struct Captured Captured;

enum {
    SIDES = 5, /* of a batch: source, target, labels, ... */
    LOSSES = 2 /* of a step */
};

/* All that changes between two runs of the same operations. It is in the device's memory, one for each worker, so
 * that a step is the same sequence of calls every time: an operation reads these values when it runs. */
typedef struct StepState {
    uint32_t seed, step;            /* the key of all random numbers of this step */
    uint32_t first_position[SIDES]; /* of each side (source, target): the number of this micro-batch's position 0 among
                                     * all positions of the step */
    uint32_t finite;                /* 0: the norm of the gradient is not a finite number, and adam wrote nothing */
    struct {
        double scale;                               /* 1 / targets in the whole step, 0 when there are none: where the
                                                     * backward pass starts */
        double sum;                                 /* of losses, over all micro-batches so far */
        double nll;                                 /* the same without label smoothing */
        double count;                               /* of targets that were scored */
    } loss[LOSSES];                                 /* each with a total of its own */
    double learning_rate, correction1, correction2; /* 1 - beta1^step and 1 - beta2^step */
    double norm, clip;                              /* of the whole gradient, and the factor that limits it */
} StepState;

/* y = mask * x / (1 - rate); the mask is a function of (seed, step, position, column, head, site). Rate 0: y = x. */
typedef struct Dropout {
    double rate;
    uint32_t site;
    uint32_t side; /* whose positions are counted */
} Dropout;

/* [rows, columns] of numbers whose rows are `stride` numbers apart: a part of the columns of a wider matrix. */
typedef struct Strided {
    void *data;
    size_t stride;
} Strided;

/* An operand of `product`: element (i, j) of the matrix of outer o and inner p is at
 * data[o * outer + p * inner + i * row + j * column]. Swapping row and column transposes it. */
typedef struct Operand {
    void *data;
    size_t outer, inner, row, column;
} Operand;

typedef enum Activation {
    ACTIVATION_RELU,
    ACTIVATION_GELU,      /* exact: x * Phi(x) */
    ACTIVATION_GELU_TANH, /* GPT-2's approximation */
    ACTIVATION_TANH,
    ACTIVATION_SIGMOID,
    ACTIVATION_SILU,  /* x * sigmoid(x) */
    ACTIVATION_RELU2, /* max(x, 0)^2 */
    ACTIVATIONS
} Activation;

/* One vector of a row of vectors. */
typedef enum Pooling { POOLING_FIRST, POOLING_MEAN, POOLING_MAX, POOLINGS } Pooling;

/* Which blocks of keys the queries of a block see: those in a list, or by a rule, with a stride of this many blocks.
 *
 * local: those that are less than a stride away (Longformer, Beltagy et al. 2020); the first `sinks` queries see all
 * strided: and those that are a multiple of it away; fixed: those of the same stretch of a stride, and the last one of
 * each (both of the Sparse Transformer, Child et al. 2019) */
typedef enum Pattern { PATTERN_LISTS, PATTERN_LOCAL, PATTERN_STRIDED, PATTERN_FIXED } Pattern;

/* Which keys each query sees, and how. Queries are B packed rows; keys are rows of their own (the same ones in
 * self-attention). Query i of row b stands at position i + query_offset[b] among the keys of its row; see attend.h. */
typedef struct Attend {
    size_t rows;                        /* B */
    size_t queries, longest_query;      /* N, T */
    size_t keys, longest_key;           /* all positions of keys, S */
    size_t heads, key_size, value_size; /* H, dk, dv */
    size_t kv_heads;                    /* of k and v, G: H/G heads of q in turn read each; 0: H. See attend.h */
    const int32_t *query_start;         /* [B+1] */
    const int32_t *key_start;           /* [rows of keys + 1] */
    const int32_t *key_row;             /* [B] the row of keys that a query row reads; NULL: its own number */
    const int32_t *key_length;          /* [rows of keys] how many keys of a row are valid; NULL: all */
    const int32_t *query_offset;        /* [B] NULL: 0 */
    bool by_head;                       /* k and v are [G, keys, dk] and [G, keys, dv]; only in a forward pass */
    bool causal;                        /* a query sees keys up to its own position */
    size_t window;                      /* of those up to its own, only the last `window`; 0: all */

    size_t sinks; /* but the first `sinks` keys are hidden by neither window nor blocks */

    /* Of those, only keys in blocks of `block` keys that the query's own block sees: by a rule, or because they are
     * listed. Block p has the list block_index[block_start[p]] .. block_index[block_start[p+1]-1], ascending; it may
     * name blocks after a row's end. Every position of a query has a list. 0: all. */
    size_t block;
    Pattern pattern;
    size_t stride; /* of a rule, in blocks */
    const int32_t *block_start, *block_index;

    double scale;    /* of the dot products, usually 1 / sqrt(dk) */
    double cap;      /* c: a score s, with all its terms, becomes c tanh(s / c) (Gemma 2, 2024); 0: it stays */
    Dropout dropout; /* on the weights; in its random counter, the column is the index of the key */

    /* More terms of a score; NULL: none. Tables have an entry for each distance from the query back to the key, from
     * -ahead to distances-1-ahead; larger distances use the nearest entry. */
    size_t distances, ahead;
    const void *distance_bias; /* real [distances, H] */
    Strided relative;          /* keys for distances [distances, H*dk] */
    const void *content_bias;  /* real [H*dk], added to q in its product with k */
    const void *position_bias; /* real [H*dk], added to q in its product with `relative` */

    void *weights; /* real [B,H,T,S], before dropout, zeros for keys that are not seen; NULL: not wanted */
} Attend;

/* Where the gradients of attention go; NULL: not wanted. In a backward pass no two rows of queries share a row of keys
 * (key_row is NULL), so that each gradient is summed in one place. */
typedef struct AttendGradients {
    Strided q, k, v, relative;
    bool add_q, add_k, add_v, add_relative;
    void *distance_bias, *content_bias, *position_bias; /* of parameters: real, added to */
} AttendGradients;

typedef struct Adam {
    double beta1, beta2, epsilon;
} Adam;

typedef struct LazyRow LazyRow; /* see kernels/lazy_rows.h; most backends have none */

/* Weights begin .. end-1 of the block of parameters shrink by learning rate * decay in each step (AdamW). */
typedef struct Span {
    size_t begin, end;
    double decay;
} Span;

enum { SQUARES_CHUNK = 1 << 16 }; /* gradients that one partial sum of `squares` covers */

static inline size_t squares_chunks(size_t n) { return (n + SQUARES_CHUNK - 1) / SQUARES_CHUNK; }

typedef struct Kernels {
    const char *backend;
    NumberType type;
    size_t number, real; /* bytes */
    bool on_host;        /* the device's memory is this process's own */
    bool one_worker;     /* one keeps the whole device busy, and more rows at once make it faster */
    bool by_head;        /* caches should hold keys and values by head (see Attend), which few queries read fastest; a
                            backend that does not ask for this need not support it */

    /* One line for users about what this machine does slowly in this type, or NULL. The function may be NULL: there is
     * never such a line. */
    const char *(*note)(void);

    /* Whether this machine has what the table needs; kernels_find calls it. The function may be NULL: always. */
    bool (*there)(Error *e);

    /* The device. Allocated memory is zeroed. upload: the host's memory may be changed on return. download: complete on
     * return, after all earlier operations. Neither is called while operations are captured. `finish` waits for all
     * operations; only it reports what failed. */
    bool (*open)(Stream **s, size_t team, Error *e);
    void (*close)(Stream *s);
    void *(*allocate)(size_t bytes);
    void (*release)(void *memory);
    void (*upload)(Stream *s, void *device, const void *host, size_t bytes);
    void (*download)(Stream *s, void *host, const void *device, size_t bytes);
    bool (*finish)(Stream *s, Error *e);

    /* Launches at once operations that repeat with the same pointers and sizes. All four may be NULL: it would gain
     * nothing. Between `capture`, which may refuse, and `captured`, which returns NULL if it failed, operations are
     * recorded and not run; `replay` runs them on what is in memory then. They must have run once before on this
     * stream, because that reserves whatever else they need. */
    bool (*capture)(Stream *s);
    Captured *(*captured)(Stream *s);
    void (*replay)(Stream *s, Captured *operations);
    void (*forget)(Captured *operations);

    /* Copies for the next step, made while operations run. Both may be NULL. send: like upload, but waits only for the
     * `fetch` before it. fetch: waits for the `send` before it, and copies from there, in order with operations. */
    void (*send)(Stream *s, void *there, const void *host, size_t bytes);
    void (*fetch)(Stream *s, void *to, const void *there, size_t bytes);

    /* What processes that share a step do with their devices' memory, in order with operations, as ranks_exchange does
     * with the host's. meet comes first, once, in all of them. All three are NULL where the memory is the host's. */
    bool (*meet)(Error *e);
    void (*part)(void);
    void (*exchange)(Stream *s, const RankPiece *out, size_t outs, const RankPiece *in, size_t ins);

    /* Weights in these bytes do not change until the stream is closed, so products may keep packed copies of them,
     * which take as much memory again. The function may be NULL: nothing is kept. */
    void (*hold)(Stream *s, const void *weights, size_t bytes);

    /* Bytes per second at which a stream reads the host's memory, in this many passes over some of it: how fast it
     * could be at best if it did nothing but read. The function may be NULL: not known. */
    double (*read_speed)(Stream *s, const void *memory, size_t bytes, size_t passes);

    /* The operations; see operations.h. */
#define OPERATION(name, arguments, names) void(*name) arguments;
#include "kernels/operations.h"
} Kernels;

/* The entry of an operation in a backend's table: its function, or NULL after "#define MISSING_name 0, NULL,". */
#define ENTRY(name)                     ENTRY_SECOND(MISSING_##name 0, name, 0)
#define ENTRY_SECOND(...)               ENTRY_SECOND_OF(__VA_ARGS__)
#define ENTRY_SECOND_OF(a, second, ...) second

/* Fills missing entries with those of plain in the same type, if the backend computes on the host. False: an entry is
 * still missing, and the error names it. kernels_find calls this. */
bool kernels_complete(Kernels *k, Error *e);

/* The table of a device ("plain", ...) for a type; an Error if the build or the machine has none. */
const Kernels *kernels_find(const char *device, NumberType type, Error *e);

/* Whether one worker keeps a device of this name busy; does not check whether the machine has one. */
bool kernels_one_worker(const char *device);

const char *number_type_name(NumberType type); /* "f32" ... */

/* Reals of a table, in the host's memory. */
static inline double real_at(const Kernels *k, const void *reals, size_t i)
{
    return k->real == sizeof(double) ? ((const double *)reals)[i] : (double)((const float *)reals)[i];
}

static inline void real_put(const Kernels *k, void *reals, size_t i, double value)
{
    if (k->real == sizeof(double))
        ((double *)reals)[i] = value;
    else
        ((float *)reals)[i] = (float)value;
}

/* `count` reals of a device from the first one on, as doubles or floats, whichever they are there. */
void download_doubles(const Kernels *k, Stream *s, double *to, const void *from, size_t count);
void download_floats(const Kernels *k, Stream *s, float *to, const void *from, size_t count);

#ifdef __cplusplus
}
#endif

#endif
