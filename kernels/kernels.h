/* The contract between layers and devices: one table of operations, filled by each backend for each number type.
 *
 * Backends: plain (loops to read and to check against), cpu, cuda, and measure (walks shapes, touches no number).
 * They differ by rounding only. Signatures follow one grammar, after the stream that an operation runs on:
 *
 *     forward:  outputs, what is saved for the backward pass, inputs, sizes
 *     backward: input gradients, parameter gradients, output gradient, saved, inputs, sizes
 *
 * Each input gradient is a pointer (NULL: not wanted) with a flag `add` (to what is there, instead of over it);
 * parameter gradients are always added to.
 *
 * Letters: B rows, N packed positions, T and S longest query and key row, D width, H heads, dk and dv head sizes,
 * V vocabulary. Rows lie one after another: row b is positions start[b] .. start[b+1]-1, start [B+1]; positions from
 * start[B] to N belong to no row.
 *
 * Two types of numbers. `number`: activations, their gradients, and the weights that products read: the table's type.
 * `real`: master weights, biases, norm parameters, looked-up tables, parameter gradients, moments, saved statistics,
 * logits and losses: float, or double in the f64 table. Pointers are void * since one layer serves all types. */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Types of numbers that are stored; behind them f32 whose products may round what they read to 10 bits of fraction, as
 * a GPU's tensor cores do, and sum in f32. */
typedef enum NumberType { NUMBER_F32, NUMBER_BF16, NUMBER_F64, NUMBER_TYPES, NUMBER_TF32 = NUMBER_TYPES } NumberType;

/* Where operations run: a processor's team of cores with their scratch memory, or a GPU's stream. Each backend has its
 * own; operations on one stream happen in order. */
typedef struct Stream Stream;

/* Operations that were captured: see `capture`. */
typedef struct Captured Captured;

enum {
    SIDES = 4, /* of a batch: source, target, labels, ... */
    LOSSES = 2 /* of a step */
};

/* All that changes between two runs of the same operations. It lies in the device's memory, one for each worker, so
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

/* [rows, columns] of numbers whose rows lie `stride` numbers apart: a part of the columns of a wider matrix. */
typedef struct Strided {
    void *data;
    size_t stride;
} Strided;

/* An operand of `product`: element (i, j) of the matrix of outer o and inner p lies at
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
    ACTIVATIONS
} Activation;

/* One vector of a row of vectors. */
typedef enum Pooling { POOLING_FIRST, POOLING_MEAN, POOLING_MAX, POOLINGS } Pooling;

/* Which keys each query sees, and how. Queries are B packed rows; keys are rows of their own (the same ones in
 * self-attention). Query i of row b stands at position i + query_offset[b] among the keys of its row; see attend.h. */
typedef struct Attend {
    size_t rows;                        /* B */
    size_t queries, longest_query;      /* N, T */
    size_t keys, longest_key;           /* all positions of keys, S */
    size_t heads, key_size, value_size; /* H, dk, dv */
    const int32_t *query_start;         /* [B+1] */
    const int32_t *key_start;           /* [rows of keys + 1] */
    const int32_t *key_row;             /* [B] the row of keys that a query row reads; NULL: its own number */
    const int32_t *key_length;          /* [rows of keys] how many keys of a row are valid; NULL: all */
    const int32_t *query_offset;        /* [B] NULL: 0 */
    bool by_head;                       /* k and v lie [H, keys, dk] and [H, keys, dv]; in a forward pass alone */
    bool causal;                        /* a query sees keys up to its own position */
    size_t window;                      /* and of those the last `window`; 0: all */

    /* And of those the ones that lie in a block of `block` keys that is listed for the query's own block of positions:
     * block p has the list block_index[block_start[p]] .. block_index[block_start[p+1]-1], ascending; it may name
     * blocks behind a row's end. Every position of a query has a list. 0: all. */
    size_t block;
    const int32_t *block_start, *block_index;

    double scale;    /* of the dot products, usually 1 / sqrt(dk) */
    Dropout dropout; /* on the weights; its column is the key's index, its head the head */

    /* More terms of a score, NULL where there is none. Tables have an entry for each distance from the query back to
     * the key, from -ahead to distances-1-ahead; where the key lies farther off, the nearest entry counts. */
    size_t distances, ahead;
    const void *distance_bias; /* real [distances, H] */
    Strided relative;          /* keys for distances [distances, H*dk] */
    const void *content_bias;  /* real [H*dk], added to q where it meets k */
    const void *position_bias; /* real [H*dk], added to q where it meets `relative` */

    void *weights; /* real [B,H,T,S], before dropout, zeros where there is nothing; NULL: not wanted */
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

/* What is known of a row of a table that no step reads; see adam_rows. */
typedef struct RowRest {
    float reach;   /* a step moves none of its weights by more than rate * reach of that weight */
    uint32_t owed; /* steps that its moments have yet to fade by */
    bool known;    /* false: reach is out of date, since weights have moved */
} RowRest;

/* Weights begin .. end-1 of the block of parameters shrink by learning rate * decay in each step (AdamW). */
typedef struct Span {
    size_t begin, end;
    double decay;
} Span;

enum { SQUARES_CHUNK = 1 << 16 }; /* gradients that one partial sum of `squares` covers */

typedef struct Kernels {
    const char *backend;
    NumberType type;
    size_t number, real; /* bytes */
    bool on_host;        /* the device's memory is this process's own */
    bool by_head;        /* caches are to hold keys and values by head (see Attend), as few queries read them fastest;
                            a backend that does not ask for it need not know how */

    /* One line about what this machine does badly in this type, to be shown to who chose it, or NULL. May itself be
     * NULL: nothing ever. */
    const char *(*note)(void);

    /* Whether this machine has what the table needs; kernels_find asks. May itself be NULL: always. */
    bool (*there)(Error *e);

    /* The device. Memory comes zeroed. upload: what it has read on the host may change on return. download: the numbers
     * are there on return, and those asked for before have been computed. Neither is called while operations are
     * captured. `finish` waits for all that was asked for; only it reports what failed. */
    bool (*open)(Stream **s, size_t team, Error *e);
    void (*close)(Stream *s);
    void *(*allocate)(size_t bytes);
    void (*release)(void *memory);
    void (*upload)(Stream *s, void *device, const void *host, size_t bytes);
    void (*download)(Stream *s, void *host, const void *device, size_t bytes);
    void (*copy)(Stream *s, void *to, const void *from, size_t bytes);
    void (*zero)(Stream *s, void *to, size_t bytes);
    bool (*finish)(Stream *s, Error *e);

    /* Operations that come again and again with the same pointers and sizes, asked for at once. All four may be NULL:
     * it would gain nothing. Between `capture`, which may refuse, and `captured`, which is NULL where it failed,
     * operations are noted and not run; `replay` runs them, on what lies in memory then. They must have been run once
     * before on this stream, whatever they need besides being reserved then. */
    bool (*capture)(Stream *s);
    Captured *(*captured)(Stream *s);
    void (*replay)(Stream *s, Captured *operations);
    void (*forget)(Captured *operations);

    /* What is needed next, copied while operations run. Both may be NULL. send: as upload, but waits only for the
     * `fetch` before it. fetch: waits for the `send` before it, and copies from there, in order with operations. */
    void (*send)(Stream *s, void *there, const void *host, size_t bytes);
    void (*fetch)(Stream *s, void *to, const void *there, size_t bytes);

    /* Weights in these bytes do not change until the stream is closed: it may keep what products make of them, which
     * takes as much memory again. May itself be NULL: nothing is kept. */
    void (*hold)(Stream *s, const void *weights, size_t bytes);

    /* y [N,D] = dropout(scale * table[ids] + positions[place]). table [V,D] and positions [C,D] are real; positions may
     * be NULL. place [N] is the index within the row; where it is negative y is 0.
     * Backward: slots [N] says which row of dtable a position adds to (its id; or, where the gradient holds used rows
     * alone, that row's rank among them). dpositions may be NULL. */
    void (*embed_forward)(Stream *s, void *y, const int32_t *ids, const int32_t *place, const void *table,
                          const void *positions, double scale, Dropout drop, const StepState *state, size_t n,
                          size_t d);
    void (*embed_backward)(Stream *s, void *dtable, void *dpositions, const void *dy, const int32_t *slots,
                           const int32_t *place, double scale, Dropout drop, const StepState *state, size_t n,
                           size_t d);

    /* y [N,O] = x [N,I] w [O,I]^T + bias [O] (real; NULL: none), then ReLU if asked. real_output: y is real (logits).
     * Backward: dy [N,O] is overwritten when relu. dw [O,I] and dbias [O] may be NULL. y is read only for relu. */
    void (*linear_forward)(Stream *s, void *y, bool real_output, const void *x, const void *w, const void *bias,
                           bool relu, size_t n, size_t in, size_t out);
    void (*linear_backward)(Stream *s, void *dx, bool add, void *dw, void *dbias, void *dy, const void *y,
                            const void *x, const void *w, bool relu, size_t n, size_t in, size_t out);

    /* y [N,D] = (x - mean) * rstd * gain + bias for each vector of x [N,D]. Saves mean [N], rstd [N] (real). */
    void (*norm_forward)(Stream *s, void *y, void *mean, void *rstd, const void *x, const void *gain, const void *bias,
                         double epsilon, size_t n, size_t d);
    void (*norm_backward)(Stream *s, void *dx, bool add, void *dgain, void *dbias, const void *dy, const void *mean,
                          const void *rstd, const void *x, const void *gain, size_t n, size_t d);

    /* y [N,D] = x + dropout(f). x NULL: dropout alone. */
    void (*add_forward)(Stream *s, void *y, const void *x, const void *f, Dropout drop, const StepState *state,
                        size_t n, size_t d);
    void (*add_backward)(Stream *s, void *dx, bool add_x, void *df, bool add_f, const void *dy, Dropout drop,
                         const StepState *state, size_t n, size_t d);

    /* The two above in one pass: sum [N,D] = x + dropout(f), y = norm(sum). Saves sum, mean, rstd. */
    void (*add_norm_forward)(Stream *s, void *y, void *sum, void *mean, void *rstd, const void *x, const void *f,
                             Dropout drop, const StepState *state, const void *gain, const void *bias, double epsilon,
                             size_t n, size_t d);
    void (*add_norm_backward)(Stream *s, void *dx, bool add_x, void *df, bool add_f, void *dgain, void *dbias,
                              const void *dy, const void *sum, const void *mean, const void *rstd, Dropout drop,
                              const StepState *state, const void *gain, size_t n, size_t d);

    /* y = function(x), element by element. */
    void (*activation_forward)(Stream *s, void *y, const void *x, Activation function, size_t n);
    void (*activation_backward)(Stream *s, void *dx, bool add, const void *dy, const void *x, Activation function,
                                size_t n);

    /* y [N, H*dv] = weights v, weights = dropout(softmax(scores over the keys a query sees)), for each head, and
     *     score = scale ((q + content_bias) . k + (q + position_bias) . relative[e]) + distance_bias[e]
     * with e the entry of the distance. q [N, H*dk], k [keys, H*dk], v [keys, H*dv]. A query that sees no key gives 0,
     * and so do positions of no row; a key whose score is -infinity is as one that is not seen. Saves lse [N,H] (real),
     * the logarithm of each softmax's denominator.
     * Backward: dk, dv and the gradient of `relative` cover all of it; what nobody sees gets 0. */
    void (*attention_forward)(Stream *s, void *y, void *lse, Strided q, Strided k, Strided v, const Attend *how,
                              const StepState *state);
    void (*attention_backward)(Stream *s, const AttendGradients *d, const void *dy, const void *y, const void *lse,
                               Strided q, Strided k, Strided v, const Attend *how, const StepState *state);

    /* Keys and values of earlier positions. cache [rows, capacity, D], length [B] valid so far; x's row b goes to
     * row b, and must fit.
     * cache_lengths: valid [B] = length + positions of each row. cache_append: writes x's rows behind `length`.
     * gather_lengths: y [B] = length[order[b]], 0 where order is negative. */
    void (*cache_lengths)(Stream *s, int32_t *valid, const int32_t *length, const int32_t *start, size_t b);
    void (*cache_append)(Stream *s, void *cache, const int32_t *length, size_t capacity, Strided x,
                         const int32_t *start, size_t b, size_t d);
    void (*gather_lengths)(Stream *s, int32_t *y, const int32_t *length, const int32_t *order, size_t b);

    /* y = a b, element by element. */
    void (*mul_forward)(Stream *s, void *y, const void *a, const void *b, size_t n);
    void (*mul_backward)(Stream *s, void *da, bool add_a, void *db, bool add_b, const void *dy, const void *a,
                         const void *b, size_t n);

    /* y [N,D] = x[index[n]], 0 where index is negative. Backward: dx [M,D]; what several n read is summed in their
     * order, and rounded once. */
    void (*gather_forward)(Stream *s, void *y, const void *x, const int32_t *index, size_t n, size_t d);
    void (*gather_backward)(Stream *s, void *dx, bool add, const void *dy, const int32_t *index, size_t n, size_t m,
                            size_t d);

    /* Numbers go to another place, or are added to what is there: y [N,D] (+)= x [N,D], and y [D,N] (+)= x [N,D]^T.
     * Backward is the same with the places exchanged. */
    void (*move)(Stream *s, Strided y, bool add, Strided x, size_t n, size_t d);
    void (*transpose)(Stream *s, Strided y, bool add, Strided x, size_t n, size_t d);

    /* y [B,D] = the first, the mean or, number by number, the largest of each row of x [N,D]; a row of no positions
     * gives 0. Largest: of equal ones the first, NaN above all. It saves which [B,D], the position that each number
     * came from, -1 for none; first and mean do not touch it. Backward: positions of no row have no gradient. */
    void (*pool_forward)(Stream *s, void *y, int32_t *which, const void *x, Pooling how, const int32_t *start, size_t b,
                         size_t d);
    void (*pool_backward)(Stream *s, void *dx, bool add, const void *dy, const int32_t *which, Pooling how,
                          const int32_t *start, size_t b, size_t n, size_t d);

    /* What attention is made of, one at a time (--attention composed).
     * pad: y [B,T,D] = row row[b] (NULL: b) of x, zeros behind its end. unpad: the way back; rows that share a row of x
     * are summed. product: c (+)= alpha a b, c [m,n], a [m,k], b [k,n], for each outer and inner.
     * mask: scores [B,H,T,S] become -infinity where a query does not see a key.
     * softmax: over the last dimension of [N,S]; a row of -infinities gives zeros.
     * dropout_weights: as attention drops its weights [B,H,T,S]; its own backward (add: to what is there). */
    void (*pad)(Stream *s, void *y, Strided x, const int32_t *start, const int32_t *row, size_t b, size_t t, size_t d);
    void (*unpad)(Stream *s, Strided y, bool add, const void *x, const int32_t *start, const int32_t *row, size_t b,
                  size_t n, size_t t, size_t d);
    void (*product)(Stream *s, Operand c, bool add, Operand a, Operand b, double alpha, size_t outer, size_t inner,
                    size_t m, size_t n, size_t k);
    void (*mask)(Stream *s, void *scores, const Attend *how);
    void (*softmax_forward)(Stream *s, void *y, const void *x, size_t n, size_t columns);
    void (*softmax_backward)(Stream *s, void *dx, bool add, const void *dy, const void *y, size_t n, size_t columns);
    void (*dropout_weights)(Stream *s, void *y, bool add, const void *x, const Attend *how, const StepState *state);

    /* losses [N] (real) = -log softmax(logits [N,V])[target], in nats, 0 where target is negative; with smoothing e the
     * target's share is 1 - e, and e is spread over all V (the target included). state->loss[which] gains their sum,
     * nll, which is the same without smoothing, and count. Saves lse [N].
     * Backward starts from state->loss[which].scale; logits are real, dlogits are numbers. */
    void (*cross_entropy_forward)(Stream *s, void *losses, void *lse, StepState *state, size_t which,
                                  const void *logits, const int32_t *targets, double smoothing, size_t n, size_t v);
    void (*cross_entropy_backward)(Stream *s, void *dlogits, bool add, const StepState *state, size_t which,
                                   const void *lse, const void *logits, const int32_t *targets, double smoothing,
                                   size_t n, size_t v);

    /* y [N] = the class of the largest of logits [N,V], V > 0: of equal ones the first, NaN above all. */
    void (*argmax)(Stream *s, int32_t *y, const void *logits, size_t n, size_t v);

    /* Of each of logits [N,V], V > 0, the k likeliest classes, of equal ones the first: which [N,k] and log softmax of
     * them, values [N,k] (real, at most 0); one [N] (real) is that of the class `wanted`. NaN and -infinity cannot be
     * chosen: where there are no more classes, which is -1 and the value -infinity. Infinity counts as the largest
     * finite number. */
    void (*choices)(Stream *s, int32_t *which, void *values, void *one, const void *logits, int32_t wanted, size_t n,
                    size_t v, size_t k);

    /* The optimizer, over any part of the block of parameters.
     * accumulate: to += from (real). convert: numbers from reals. squares: parts[i] = sum of squares of chunk i.
     * clip: norm, clip and finite in state from all parts; max_norm 0: no limit.
     * adam: w, m, v from g times state->clip, for weights first .. first+n-1 of the block (pointers are to the block's
     * beginning); copy: numbers of w, or NULL. Spans are sorted and do not overlap. */
    void (*accumulate)(Stream *s, void *to, const void *from, size_t n);
    void (*convert)(Stream *s, void *numbers, const void *reals, size_t n);
    void (*squares)(Stream *s, double *parts, const void *g, size_t n);
    void (*clip)(Stream *s, StepState *state, const double *parts, size_t count, double max_norm);
    void (*adam)(Stream *s, void *w, void *copy, void *m, void *v, const void *g, const StepState *state, Adam adam,
                 const Span *spans, size_t span_count, size_t first, size_t n);

    /* The same for rows first .. first+n-1 of a table [V,D] of which a step reads few: g [used,D] holds gradients of
     * the rows that it read alone. Row r's is row slots[r] of g, and 0 where slots [V] is negative.
     * A device that has adam_settle takes rest [V], or NULL: rows that were not read and whose weights would stay what
     * they are to the last bit it leaves alone, and counts what their moments are owed. adam_settle pays that. */
    void (*adam_rows)(Stream *s, void *w, void *m, void *v, RowRest *rest, const void *g, const int32_t *slots,
                      const StepState *state, Adam adam, double decay, size_t first, size_t n, size_t d);
    void (*adam_settle)(Stream *s, void *m, void *v, RowRest *rest, Adam adam, size_t first, size_t n, size_t d);
} Kernels;

/* The table of a device ("plain", ...) for a type; an Error where the build or the machine has none. */
const Kernels *kernels_find(const char *device, NumberType type, Error *e);

const char *number_type_name(NumberType type); /* "f32" ... */

#ifdef __cplusplus
}
#endif

#endif
