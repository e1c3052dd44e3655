/* See profile.h. */
#include "kernels/profile/profile.h"

#include "base/clock.h"
#include "base/memory.h"
#include "kernels/cost/cost.h"

#include <assert.h>

enum { TIMINGS = 96 }; /* kinds of calls; sizes of linear maps that find no place are added to the last one's */

struct Stream {
    const Kernels *k, *measures; /* the inner table, and what counts */
    Stream *inner, *measure;
    Timing timing[TIMINGS];
    size_t count;
    double overhead;
};

static const Kernels *inner_of[NUMBER_TYPES];

/* The entry of an operation; names are measure's, each one string. */
static Timing *timing_of(Stream *s, const char *operation, size_t in, size_t out)
{
    for (size_t i = 0; i < s->count; i++) {
        Timing *t = &s->timing[i];
        if (t->operation == operation && t->in == in && t->out == out)
            return t;
    }
    if (s->count == TIMINGS)
        return &s->timing[TIMINGS - 1];
    s->timing[s->count] = (Timing){.operation = operation, .in = in, .out = out};
    return &s->timing[s->count++];
}

/* The operation ran from `begin` to `end`; what comes behind that was profiling. */
static void note(Stream *s, double begin, double end, size_t in, size_t out)
{
    const Cost *cost = cost_last(s->measure);
    Timing *t = timing_of(s, cost->operation, in, out);
    t->calls++;
    t->seconds += end - begin;
    t->flop += cost->flop;
    t->bytes += cost->bytes;
    s->overhead += clock_seconds() - end;
}

/* A macro, since operations have nothing in common but their grammar. */
#define TIMED_SIZED(in, out, operation, ...)                                                                           \
    do {                                                                                                               \
        double begin = clock_seconds();                                                                                \
        s->k->operation(s->inner, __VA_ARGS__);                                                                        \
        double end = clock_seconds();                                                                                  \
        s->measures->operation(s->measure, __VA_ARGS__);                                                               \
        note(s, begin, end, in, out);                                                                                  \
    } while (0)
#define TIMED(operation, ...) TIMED_SIZED(0, 0, operation, __VA_ARGS__)

/* --- the device --- */

static void close_stream(Stream *s)
{
    if (s->inner)
        s->k->close(s->inner);
    if (s->measure)
        s->measures->close(s->measure);
    memory_free(s);
}

static bool open_stream(Stream **out, NumberType type, size_t team, Error *e)
{
    Stream *s = memory_get(1, sizeof *s);
    if (!s)
        return memory_error(e, "a stream of operations that are timed", 1, sizeof *s);
    *s = (Stream){.k = inner_of[type], .measures = cost_kernels(type)};
    if (s->k->open(&s->inner, team, e) && s->measures->open(&s->measure, 1, e)) {
        *out = s;
        return true;
    }
    close_stream(s);
    return false;
}

static bool open_f32(Stream **s, size_t team, Error *e) { return open_stream(s, NUMBER_F32, team, e); }
static bool open_bf16(Stream **s, size_t team, Error *e) { return open_stream(s, NUMBER_BF16, team, e); }
static bool open_f64(Stream **s, size_t team, Error *e) { return open_stream(s, NUMBER_F64, team, e); }

static void upload(Stream *s, void *to, const void *from, size_t bytes) { s->k->upload(s->inner, to, from, bytes); }
static void download(Stream *s, void *to, const void *from, size_t bytes) { s->k->download(s->inner, to, from, bytes); }
static bool finish(Stream *s, Error *e) { return s->k->finish(s->inner, e); }
static void copy(Stream *s, void *to, const void *from, size_t bytes) { TIMED(copy, to, from, bytes); }
static void zero(Stream *s, void *to, size_t bytes) { TIMED(zero, to, bytes); }

/* --- operations, in the order of kernels.h --- */
static void embed_forward(Stream *s, void *y, const int32_t *ids, const int32_t *place, const void *table,
                          const void *positions, double scale, Dropout drop, const StepState *state, size_t n, size_t d)
{
    TIMED(embed_forward, y, ids, place, table, positions, scale, drop, state, n, d);
}

static void embed_backward(Stream *s, void *dtable, void *dpositions, const void *dy, const int32_t *slots,
                           const int32_t *place, double scale, Dropout drop, const StepState *state, size_t n, size_t d)
{
    TIMED(embed_backward, dtable, dpositions, dy, slots, place, scale, drop, state, n, d);
}

static void linear_forward(Stream *s, void *y, bool real_output, const void *x, const void *w, const void *bias,
                           bool relu, size_t n, size_t in, size_t out)
{
    TIMED_SIZED(in, out, linear_forward, y, real_output, x, w, bias, relu, n, in, out);
}

static void linear_backward(Stream *s, void *dx, bool add, void *dw, void *dbias, void *dy, const void *y,
                            const void *x, const void *w, bool relu, size_t n, size_t in, size_t out)
{
    TIMED_SIZED(in, out, linear_backward, dx, add, dw, dbias, dy, y, x, w, relu, n, in, out);
}

static void norm_forward(Stream *s, void *y, void *mean, void *rstd, const void *x, const void *gain, const void *bias,
                         double epsilon, size_t n, size_t d)
{
    TIMED(norm_forward, y, mean, rstd, x, gain, bias, epsilon, n, d);
}

static void norm_backward(Stream *s, void *dx, bool add, void *dgain, void *dbias, const void *dy, const void *mean,
                          const void *rstd, const void *x, const void *gain, size_t n, size_t d)
{
    TIMED(norm_backward, dx, add, dgain, dbias, dy, mean, rstd, x, gain, n, d);
}

static void add_forward(Stream *s, void *y, const void *x, const void *f, Dropout drop, const StepState *state,
                        size_t n, size_t d)
{
    TIMED(add_forward, y, x, f, drop, state, n, d);
}

static void add_backward(Stream *s, void *dx, bool add_x, void *df, bool add_f, const void *dy, Dropout drop,
                         const StepState *state, size_t n, size_t d)
{
    TIMED(add_backward, dx, add_x, df, add_f, dy, drop, state, n, d);
}

static void add_norm_forward(Stream *s, void *y, void *sum, void *mean, void *rstd, const void *x, const void *f,
                             Dropout drop, const StepState *state, const void *gain, const void *bias, double epsilon,
                             size_t n, size_t d)
{
    TIMED(add_norm_forward, y, sum, mean, rstd, x, f, drop, state, gain, bias, epsilon, n, d);
}

static void add_norm_backward(Stream *s, void *dx, bool add_x, void *df, bool add_f, void *dgain, void *dbias,
                              const void *dy, const void *sum, const void *mean, const void *rstd, Dropout drop,
                              const StepState *state, const void *gain, size_t n, size_t d)
{
    TIMED(add_norm_backward, dx, add_x, df, add_f, dgain, dbias, dy, sum, mean, rstd, drop, state, gain, n, d);
}

static void activation_forward(Stream *s, void *y, const void *x, Activation function, size_t n)
{
    TIMED(activation_forward, y, x, function, n);
}

static void activation_backward(Stream *s, void *dx, bool add, const void *dy, const void *x, Activation function,
                                size_t n)
{
    TIMED(activation_backward, dx, add, dy, x, function, n);
}

static void attention_forward(Stream *s, void *y, void *lse, Strided q, Strided k, Strided v, const Attend *how,
                              const StepState *state)
{
    TIMED(attention_forward, y, lse, q, k, v, how, state);
}

static void attention_backward(Stream *s, const AttendGradients *d, const void *dy, const void *y, const void *lse,
                               Strided q, Strided k, Strided v, const Attend *how, const StepState *state)
{
    TIMED(attention_backward, d, dy, y, lse, q, k, v, how, state);
}

static void cache_lengths(Stream *s, int32_t *valid, const int32_t *length, const int32_t *start, size_t b)
{
    TIMED(cache_lengths, valid, length, start, b);
}

static void cache_append(Stream *s, void *cache, const int32_t *length, size_t capacity, Strided x,
                         const int32_t *start, size_t b, size_t d)
{
    TIMED(cache_append, cache, length, capacity, x, start, b, d);
}

static void gather_lengths(Stream *s, int32_t *y, const int32_t *length, const int32_t *order, size_t b)
{
    TIMED(gather_lengths, y, length, order, b);
}

static void mul_forward(Stream *s, void *y, const void *a, const void *b, size_t n) { TIMED(mul_forward, y, a, b, n); }

static void mul_backward(Stream *s, void *da, bool add_a, void *db, bool add_b, const void *dy, const void *a,
                         const void *b, size_t n)
{
    TIMED(mul_backward, da, add_a, db, add_b, dy, a, b, n);
}

static void gather_forward(Stream *s, void *y, const void *x, const int32_t *index, size_t n, size_t d)
{
    TIMED(gather_forward, y, x, index, n, d);
}

static void gather_backward(Stream *s, void *dx, bool add, const void *dy, const int32_t *index, size_t n, size_t m,
                            size_t d)
{
    TIMED(gather_backward, dx, add, dy, index, n, m, d);
}

static void move(Stream *s, Strided y, bool add, Strided x, size_t n, size_t d) { TIMED(move, y, add, x, n, d); }

static void transpose(Stream *s, Strided y, bool add, Strided x, size_t n, size_t d)
{
    TIMED(transpose, y, add, x, n, d);
}

static void pool_forward(Stream *s, void *y, int32_t *which, const void *x, Pooling how, const int32_t *start, size_t b,
                         size_t d)
{
    TIMED(pool_forward, y, which, x, how, start, b, d);
}

static void pool_backward(Stream *s, void *dx, bool add, const void *dy, const int32_t *which, Pooling how,
                          const int32_t *start, size_t b, size_t n, size_t d)
{
    TIMED(pool_backward, dx, add, dy, which, how, start, b, n, d);
}

static void pad(Stream *s, void *y, Strided x, const int32_t *start, const int32_t *row, size_t b, size_t t, size_t d)
{
    TIMED(pad, y, x, start, row, b, t, d);
}

static void unpad(Stream *s, Strided y, bool add, const void *x, const int32_t *start, const int32_t *row, size_t b,
                  size_t n, size_t t, size_t d)
{
    TIMED(unpad, y, add, x, start, row, b, n, t, d);
}

static void product(Stream *s, Operand c, bool add, Operand a, Operand b, double alpha, size_t outer, size_t inner,
                    size_t m, size_t n, size_t k)
{
    TIMED(product, c, add, a, b, alpha, outer, inner, m, n, k);
}

static void mask(Stream *s, void *scores, const Attend *how) { TIMED(mask, scores, how); }

static void softmax_forward(Stream *s, void *y, const void *x, size_t n, size_t columns)
{
    TIMED(softmax_forward, y, x, n, columns);
}

static void softmax_backward(Stream *s, void *dx, bool add, const void *dy, const void *y, size_t n, size_t columns)
{
    TIMED(softmax_backward, dx, add, dy, y, n, columns);
}

static void dropout_weights(Stream *s, void *y, bool add, const void *x, const Attend *how, const StepState *state)
{
    TIMED(dropout_weights, y, add, x, how, state);
}

static void cross_entropy_forward(Stream *s, void *losses, void *lse, StepState *state, size_t which,
                                  const void *logits, const int32_t *targets, double smoothing, size_t n, size_t v)
{
    TIMED(cross_entropy_forward, losses, lse, state, which, logits, targets, smoothing, n, v);
}

static void cross_entropy_backward(Stream *s, void *dlogits, bool add, const StepState *state, size_t which,
                                   const void *lse, const void *logits, const int32_t *targets, double smoothing,
                                   size_t n, size_t v)
{
    TIMED(cross_entropy_backward, dlogits, add, state, which, lse, logits, targets, smoothing, n, v);
}

static void argmax(Stream *s, int32_t *y, const void *logits, size_t n, size_t v) { TIMED(argmax, y, logits, n, v); }

static void choices(Stream *s, int32_t *which, void *values, void *one, const void *logits, int32_t class, size_t n,
                    size_t v, size_t k)
{
    TIMED(choices, which, values, one, logits, class, n, v, k);
}

static void accumulate(Stream *s, void *to, const void *from, size_t n) { TIMED(accumulate, to, from, n); }

static void convert(Stream *s, void *numbers, const void *reals, size_t n) { TIMED(convert, numbers, reals, n); }

static void squares(Stream *s, double *parts, const void *g, size_t n) { TIMED(squares, parts, g, n); }

static void clip(Stream *s, StepState *state, const double *parts, size_t count, double max_norm)
{
    TIMED(clip, state, parts, count, max_norm);
}

static void adam(Stream *s, void *w, void *copy, void *m, void *v, const void *g, const StepState *state, Adam how,
                 const Span *spans, size_t span_count, size_t first, size_t n)
{
    TIMED(adam, w, copy, m, v, g, state, how, spans, span_count, first, n);
}

static void adam_rows(Stream *s, void *w, void *m, void *v, RowRest *rest, const void *g, const int32_t *slots,
                      const StepState *state, Adam how, double decay, size_t first, size_t n, size_t d)
{
    TIMED(adam_rows, w, m, v, rest, g, slots, state, how, decay, first, n, d);
}

static void adam_settle(Stream *s, void *m, void *v, RowRest *rest, Adam how, size_t first, size_t n, size_t d)
{
    TIMED(adam_settle, m, v, rest, how, first, n, d);
}

/* All but what the inner table says for itself. */
static const Kernels wrapping = {
    .close = close_stream,
    .upload = upload,
    .download = download,
    .copy = copy,
    .zero = zero,
    .finish = finish,
    .embed_forward = embed_forward,
    .embed_backward = embed_backward,
    .linear_forward = linear_forward,
    .linear_backward = linear_backward,
    .norm_forward = norm_forward,
    .norm_backward = norm_backward,
    .add_forward = add_forward,
    .add_backward = add_backward,
    .add_norm_forward = add_norm_forward,
    .add_norm_backward = add_norm_backward,
    .activation_forward = activation_forward,
    .activation_backward = activation_backward,
    .attention_forward = attention_forward,
    .attention_backward = attention_backward,
    .cache_lengths = cache_lengths,
    .cache_append = cache_append,
    .gather_lengths = gather_lengths,
    .mul_forward = mul_forward,
    .mul_backward = mul_backward,
    .gather_forward = gather_forward,
    .gather_backward = gather_backward,
    .pool_forward = pool_forward,
    .pool_backward = pool_backward,
    .move = move,
    .transpose = transpose,
    .pad = pad,
    .unpad = unpad,
    .product = product,
    .mask = mask,
    .softmax_forward = softmax_forward,
    .softmax_backward = softmax_backward,
    .dropout_weights = dropout_weights,
    .cross_entropy_forward = cross_entropy_forward,
    .cross_entropy_backward = cross_entropy_backward,
    .argmax = argmax,
    .choices = choices,
    .accumulate = accumulate,
    .convert = convert,
    .squares = squares,
    .clip = clip,
    .adam = adam,
    .adam_rows = adam_rows,
};

const Kernels *profile_over(const Kernels *inner)
{
    static Kernels tables[NUMBER_TYPES];
    static bool (*const opens[NUMBER_TYPES])(Stream **, size_t, Error *) = {
        [NUMBER_F32] = open_f32, [NUMBER_BF16] = open_bf16, [NUMBER_F64] = open_f64};
    Kernels *k = &tables[inner->type];
    assert(inner->on_host && inner->close != close_stream);
    inner_of[inner->type] = inner;
    *k = wrapping;
    k->backend = inner->backend;
    k->type = inner->type;
    k->number = inner->number;
    k->real = inner->real;
    k->on_host = inner->on_host;
    k->by_head = inner->by_head;
    k->note = inner->note;
    k->open = opens[inner->type];
    k->allocate = inner->allocate;
    k->release = inner->release;
    k->adam_settle = inner->adam_settle ? adam_settle : NULL;
    return k;
}

const Timing *profile_timings(const Stream *s, size_t *count)
{
    *count = s->count;
    return s->timing;
}

double profile_overhead(const Stream *s) { return s->overhead; }

void profile_reset(Stream *s)
{
    s->count = 0;
    s->overhead = 0;
}
