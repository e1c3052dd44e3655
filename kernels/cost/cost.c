/* See cost.h. One function an operation: FLOP, and numbers (of the table's type) and reals that it moves. */
#include "kernels/cost/cost.h"

#include "base/memory.h"
#include "kernels/attend.h"

#include <string.h>

/* Their numbers and names, from the one list. */
enum {
#define OPERATION(name, arguments, names) AT_##name,
#include "kernels/operations.h"
    OPERATIONS
};

static const char *const names[OPERATIONS] = {
#define OPERATION(name, arguments, names) #name,
#include "kernels/operations.h"
};

struct Stream {
    size_t number, real;
    Cost cost[OPERATIONS];
    Cost last;
};

static void count(Stream *s, int operation, double flop, size_t numbers, size_t reals)
{
    Cost *cost = &s->cost[operation];
    double bytes = (double)numbers * (double)s->number + (double)reals * (double)s->real;
    cost->calls++;
    cost->flop += flop;
    cost->bytes += bytes;
    s->last = (Cost){.operation = names[operation], .calls = 1, .flop = flop, .bytes = bytes};
}

static bool open_stream(Stream **s, size_t number, size_t real, Error *e)
{
    *s = memory_get(1, sizeof **s);
    if (!*s)
        return memory_error(e, "a stream of operations", 1, sizeof **s);
    **s = (Stream){.number = number, .real = real};
    cost_reset(*s);
    return true;
}

static bool open_f32(Stream **s, size_t team, Error *e) { return (void)team, open_stream(s, 4, 4, e); }
static bool open_bf16(Stream **s, size_t team, Error *e) { return (void)team, open_stream(s, 2, 4, e); }
static bool open_f64(Stream **s, size_t team, Error *e) { return (void)team, open_stream(s, 8, 8, e); }
static void close_stream(Stream *s) { memory_free(s); }
static void *allocate(size_t bytes) { return memory_get(bytes, 1); }
static bool finish(Stream *s, Error *e) { return (void)s, (void)e, true; }

static void upload(Stream *s, void *to, const void *from, size_t bytes)
{
    (void)s;
    if (bytes)
        memcpy(to, from, bytes);
}

static void download(Stream *s, void *to, const void *from, size_t bytes)
{
    (void)s, (void)from; /* there is nothing to be read */
    if (bytes)
        memset(to, 0, bytes);
}

static void copy(Stream *s, void *to, const void *from, size_t bytes)
{
    (void)to, (void)from;
    count(s, AT_copy, 0, 2 * bytes / s->number, 0);
}

static void zero(Stream *s, void *to, size_t bytes)
{
    (void)to;
    count(s, AT_zero, 0, bytes / s->number, 0);
}

static void embed_forward(Stream *s, void *y, const int32_t *ids, const int32_t *position, const void *table,
                          const void *positions, double scale, Dropout drop, const StepState *state, size_t n, size_t d)
{
    (void)y, (void)ids, (void)position, (void)table, (void)scale, (void)drop, (void)state;
    count(s, AT_embed_forward, 0, n * d, n * d * (positions ? 2 : 1));
}

static void embed_backward(Stream *s, void *dtable, void *dpositions, const void *dy, const int32_t *slots,
                           const int32_t *position, double scale, Dropout drop, const StepState *state, size_t n,
                           size_t d)
{
    (void)dtable, (void)dy, (void)slots, (void)position, (void)scale, (void)drop, (void)state;
    count(s, AT_embed_backward, 0, n * d, n * d * (dpositions ? 4 : 2));
}

static void count_linear(Stream *s, int operation, bool real_output, const void *bias, size_t n, size_t in, size_t out)
{
    size_t numbers = n * in + in * out, reals = bias ? out : 0;
    *(real_output ? &reals : &numbers) += n * out;
    count(s, operation, 2.0 * (double)n * (double)in * (double)out, numbers, reals);
    s->last.in = in, s->last.out = out;
}

static void linear_forward(Stream *s, void *y, bool real_output, const void *x, const void *w, const void *bias,
                           bool relu, size_t n, size_t in, size_t out)
{
    (void)y, (void)x, (void)w, (void)relu;
    count_linear(s, AT_linear_forward, real_output, bias, n, in, out);
}

static void linear_int8(Stream *s, void *y, bool real_output, const void *x, const void *w, const void *bias, bool relu,
                        size_t n, size_t in, size_t out)
{
    (void)y, (void)x, (void)w, (void)relu;
    count_linear(s, AT_linear_int8, real_output, bias, n, in, out);
}

static void linear_backward(Stream *s, void *dx, bool add, void *dw, void *dbias, void *dy, const void *y,
                            const void *x, const void *w, bool relu, size_t n, size_t in, size_t out)
{
    (void)dy, (void)y, (void)x, (void)w;
    size_t numbers = n * out + (relu ? 2 * n * out : 0), reals = dbias ? 2 * out : 0;
    double product = 2.0 * (double)n * (double)in * (double)out, flop = 0;
    if (dx) {
        flop += product;
        numbers += in * out + n * in * (add ? 2 : 1);
    }
    if (dw) {
        flop += product;
        numbers += n * in + n * out;
        reals += 2 * in * out;
    }
    count(s, AT_linear_backward, flop, numbers, reals);
    s->last.in = in, s->last.out = out;
}

/* Reals of statistics and parameters, each of which is touched so often; mean and bias only where they are. */
static size_t norm_reals(size_t n, const void *mean, size_t d, const void *bias, size_t times)
{
    return (mean ? 2 : 1) * n + (bias ? 2 : 1) * times * d;
}

static void norm_forward(Stream *s, void *y, void *mean, void *rstd, const void *x, const void *gain, const void *bias,
                         double epsilon, size_t n, size_t d)
{
    (void)y, (void)rstd, (void)x, (void)gain, (void)epsilon;
    count(s, AT_norm_forward, 0, 2 * n * d, norm_reals(n, mean, d, bias, 1));
}

/* How often a gradient's memory is touched. */
static size_t written(const void *gradient, bool add) { return gradient ? (add ? 2 : 1) : 0; }

static void norm_backward(Stream *s, void *dx, bool add, void *dgain, void *dbias, const void *dy, const void *mean,
                          const void *rstd, const void *x, const void *gain, size_t n, size_t d)
{
    (void)dgain, (void)dy, (void)rstd, (void)x, (void)gain;
    count(s, AT_norm_backward, 0, n * d * (2 + written(dx, add)), d + norm_reals(n, mean, d, dbias, 2));
}

static void add_forward(Stream *s, void *y, const void *x, const void *f, Dropout drop, const StepState *state,
                        size_t n, size_t d)
{
    (void)y, (void)f, (void)drop, (void)state;
    count(s, AT_add_forward, 0, n * d * (x ? 3 : 2), 0);
}

static void add_backward(Stream *s, void *dx, bool add_x, void *df, bool add_f, const void *dy, Dropout drop,
                         const StepState *state, size_t n, size_t d)
{
    (void)dy, (void)drop, (void)state;
    count(s, AT_add_backward, 0, n * d * (1 + written(dx, add_x) + written(df, add_f)), 0);
}

static void add_norm_forward(Stream *s, void *y, void *sum, void *mean, void *rstd, const void *x, const void *f,
                             Dropout drop, const StepState *state, const void *gain, const void *bias, double epsilon,
                             size_t n, size_t d)
{
    (void)y, (void)sum, (void)rstd, (void)x, (void)f, (void)drop, (void)state, (void)gain, (void)epsilon;
    count(s, AT_add_norm_forward, 0, 4 * n * d, norm_reals(n, mean, d, bias, 1));
}

static void add_norm_backward(Stream *s, void *dx, bool add_x, void *df, bool add_f, void *dgain, void *dbias,
                              const void *dy, const void *sum, const void *mean, const void *rstd, Dropout drop,
                              const StepState *state, const void *gain, size_t n, size_t d)
{
    (void)dgain, (void)dy, (void)sum, (void)rstd, (void)drop, (void)state, (void)gain;
    count(s, AT_add_norm_backward, 0, n * d * (2 + written(dx, add_x) + written(df, add_f)),
          d + norm_reals(n, mean, d, dbias, 2));
}

static void activation_forward(Stream *s, void *y, const void *x, Activation function, size_t n)
{
    (void)y, (void)x, (void)function;
    count(s, AT_activation_forward, 0, 2 * n, 0);
}

static void activation_backward(Stream *s, void *dx, bool add, const void *dy, const void *x, Activation function,
                                size_t n)
{
    (void)dy, (void)x, (void)function;
    count(s, AT_activation_backward, 0, n * (2 + written(dx, add)), 0);
}

static void softcap_forward(Stream *s, void *y, const void *x, double cap, size_t n)
{
    (void)y, (void)x, (void)cap;
    count(s, AT_softcap_forward, 0, 0, 2 * n);
}

static void softcap_backward(Stream *s, void *dx, bool add, const void *dy, const void *y, double cap, size_t n)
{
    (void)dy, (void)y, (void)cap;
    count(s, AT_softcap_backward, 0, n * (1 + written(dx, add)), n);
}

/* Pairs of query and key that are live: what is outside of windows and blocks costs nothing. */
static double live_pairs(const Attend *how)
{
    double pairs = 0;
    for (size_t b = 0; b < how->rows; b++) {
        Keys keys = keys_of_row(how, b);
        for (size_t i = 0; i < (size_t)(how->query_start[b + 1] - how->query_start[b]); i++)
            for (Range run = keys_run(how, keys, i, 0); run.from < run.to; run = keys_run(how, keys, i, run.to))
                pairs += (double)(run.to - run.from);
    }
    return pairs;
}

/* FLOP of the forward pass: a product with keys, one with values, and one with relative keys where there are any. */
static double attention_flop(const Attend *how)
{
    size_t sizes = how->key_size * (how->relative.data ? 2 : 1) + how->value_size;
    return 2 * live_pairs(how) * (double)(how->heads * sizes);
}

static size_t relative_numbers(const Attend *how)
{
    return how->relative.data ? how->distances * how->heads * how->key_size : 0;
}

/* Reals of a bias of distances, or of queries. */
static size_t bias_reals(const Attend *how, const void *distance, const void *content, const void *position)
{
    size_t columns = how->heads * how->key_size;
    return (distance ? how->distances * how->heads : 0) + (content ? columns : 0) + (position ? columns : 0);
}

static void attention_forward(Stream *s, void *y, void *lse, Strided q, Strided k, Strided v, const Attend *how,
                              const StepState *state)
{
    (void)y, (void)lse, (void)q, (void)k, (void)v, (void)state;
    size_t numbers = (how->key_size + how->value_size) * (how->heads * how->queries + kv_heads(how) * how->keys);
    count(s, AT_attention_forward, attention_flop(how), numbers + relative_numbers(how),
          how->queries * how->heads + bias_reals(how, how->distance_bias, how->content_bias, how->position_bias));
}

static void attention_backward(Stream *s, const AttendGradients *d, const void *dy, const void *y, const void *lse,
                               Strided q, Strided k, Strided v, const Attend *how, const StepState *state)
{
    (void)dy, (void)y, (void)lse, (void)q, (void)k, (void)v, (void)state;
    size_t nq = how->heads * how->key_size * how->queries, ny = how->heads * how->value_size * how->queries;
    size_t nk = kv_heads(how) * how->key_size * how->keys, nv = kv_heads(how) * how->value_size * how->keys;
    size_t numbers = nq + 2 * ny + nk + nv + nq * written(d->q.data, d->add_q) + nk * written(d->k.data, d->add_k) +
                     nv * written(d->v.data, d->add_v);
    numbers += relative_numbers(how) * (1 + written(d->relative.data, d->add_relative));
    count(s, AT_attention_backward, 2 * attention_flop(how), numbers,
          how->queries * how->heads + bias_reals(how, how->distance_bias, how->content_bias, how->position_bias) +
              2 * bias_reals(how, d->distance_bias, d->content_bias, d->position_bias));
}

static void sink_forward(Stream *s, void *y, void *lse, const void *sink, const Attend *how)
{
    (void)y, (void)lse, (void)sink;
    size_t heads = how->queries * how->heads;
    count(s, AT_sink_forward, 0, 2 * heads * how->value_size, 2 * heads + how->heads);
}

static void sink_backward(Stream *s, void *dsink, const void *dy, const void *y, const void *lse, const void *sink,
                          const Attend *how)
{
    (void)dsink, (void)dy, (void)y, (void)lse, (void)sink;
    size_t heads = how->queries * how->heads;
    count(s, AT_sink_backward, 0, 2 * heads * how->value_size, heads + 3 * how->heads);
}

static void span_forward(Stream *s, void *bias, const void *given, const void *z, double reach, double ramp,
                         size_t ahead, size_t distances, size_t heads)
{
    (void)bias, (void)z, (void)reach, (void)ramp, (void)ahead;
    count(s, AT_span_forward, 0, 0, distances * heads * (given ? 2 : 1) + heads);
}

static void span_backward(Stream *s, void *dz, const void *dbias, const void *z, const StepState *state, double penalty,
                          double reach, double ramp, size_t ahead, size_t distances, size_t heads)
{
    (void)dz, (void)dbias, (void)z, (void)state, (void)penalty, (void)reach, (void)ramp, (void)ahead;
    count(s, AT_span_backward, 0, 0, distances * heads + 3 * heads);
}

static void cache_lengths(Stream *s, int32_t *valid, const int32_t *length, const int32_t *start, size_t b)
{
    for (size_t r = 0; r < b; r++)
        valid[r] = length[r] + start[r + 1] - start[r];
    count(s, AT_cache_lengths, 0, 0, 0);
}

static void cache_append(Stream *s, void *cache, const int32_t *length, size_t capacity, Strided x,
                         const int32_t *start, size_t b, size_t d)
{
    (void)cache, (void)length, (void)capacity, (void)x;
    count(s, AT_cache_append, 0, 2 * (size_t)start[b] * d, 0);
}

static void mul_forward(Stream *s, void *y, const void *a, const void *b, size_t n)
{
    (void)y, (void)a, (void)b;
    count(s, AT_mul_forward, 0, 3 * n, 0);
}

static void mul_backward(Stream *s, void *da, bool add_a, void *db, bool add_b, const void *dy, const void *a,
                         const void *b, size_t n)
{
    (void)dy, (void)a, (void)b;
    size_t read = 1u + (da ? 1 : 0) + (db ? 1 : 0);
    count(s, AT_mul_backward, 0, n * (read + written(da, add_a) + written(db, add_b)), 0);
}

static void gather_forward(Stream *s, void *y, const void *x, const int32_t *index, size_t n, size_t d)
{
    (void)y, (void)x, (void)index;
    count(s, AT_gather_forward, 0, 2 * n * d, 0);
}

static void gather_backward(Stream *s, void *dx, bool add, const void *dy, const int32_t *index, size_t n, size_t m,
                            size_t d)
{
    (void)dy, (void)index;
    count(s, AT_gather_backward, 0, n * d + m * d * written(dx, add), 0);
}

static void move(Stream *s, Strided y, bool add, Strided x, size_t n, size_t d)
{
    (void)x;
    count(s, AT_move, 0, n * d * (1 + written(y.data, add)), 0);
}

static void transpose(Stream *s, Strided y, bool add, Strided x, size_t n, size_t d)
{
    (void)x;
    count(s, AT_transpose, 0, n * d * (1 + written(y.data, add)), 0);
}

static void pool_forward(Stream *s, void *y, int32_t *which, const void *x, Pooling how, const int32_t *start, size_t b,
                         size_t d)
{
    (void)y, (void)which, (void)x;
    size_t positions = how == POOLING_FIRST ? b : (size_t)(start[b] - start[0]);
    count(s, AT_pool_forward, 0, (positions + b) * d, 0);
}

static void pool_backward(Stream *s, void *dx, bool add, const void *dy, const int32_t *which, Pooling how,
                          const int32_t *start, size_t b, size_t n, size_t d)
{
    (void)dy, (void)which, (void)how, (void)start;
    count(s, AT_pool_backward, 0, (b + n * written(dx, add)) * d, 0);
}

static void pad(Stream *s, void *y, Strided x, const int32_t *start, const int32_t *row, size_t b, size_t t, size_t d)
{
    (void)y, (void)x, (void)start, (void)row;
    count(s, AT_pad, 0, 2 * b * t * d, 0);
}

static void unpad(Stream *s, Strided y, bool add, const void *x, const int32_t *start, const int32_t *row, size_t b,
                  size_t n, size_t t, size_t d)
{
    (void)y, (void)x, (void)start, (void)row;
    count(s, AT_unpad, 0, b * t * d + n * d * (add ? 2 : 1), 0);
}

static void product(Stream *s, Operand c, bool add, Operand a, Operand b, double alpha, size_t outer, size_t inner,
                    size_t m, size_t n, size_t k)
{
    (void)c, (void)a, (void)b, (void)alpha;
    size_t times = outer * inner;
    count(s, AT_product, 2.0 * (double)times * (double)m * (double)n * (double)k,
          times * (m * k + k * n + m * n * (add ? 2 : 1)), 0);
}

static size_t all_weights(const Attend *how) { return how->rows * how->heads * how->longest_query * how->longest_key; }

static void mask(Stream *s, void *scores, const Attend *how)
{
    (void)scores;
    count(s, AT_mask, 0, all_weights(how), 0);
}

static void keep_largest(Stream *s, void *x, size_t n, size_t columns, size_t k)
{
    (void)x, (void)k;
    count(s, AT_keep_largest, 0, 2 * n * columns, 0);
}

static void softmax_forward(Stream *s, void *y, const void *x, size_t n, size_t columns)
{
    (void)y, (void)x;
    count(s, AT_softmax_forward, 0, 2 * n * columns, 0);
}

static void softmax_backward(Stream *s, void *dx, bool add, const void *dy, const void *y, size_t n, size_t columns)
{
    (void)dx, (void)dy, (void)y;
    count(s, AT_softmax_backward, 0, n * columns * (add ? 4 : 3), 0);
}

static void dropout_weights(Stream *s, void *y, bool add, const void *x, const Attend *how, const StepState *state)
{
    (void)y, (void)x, (void)state;
    count(s, AT_dropout_weights, 0, all_weights(how) * (add ? 3 : 2), 0);
}

static void route_forward(Stream *s, void *weights, int32_t *expert, int32_t *slot, int32_t *from, int32_t *start,
                          const void *scores, size_t n, size_t experts, size_t k)
{
    (void)weights, (void)expert, (void)slot, (void)from, (void)start, (void)scores;
    count(s, AT_route_forward, 0, n * k, n * experts);
}

static void route_backward(Stream *s, void *dscores, bool add, const void *dweights, const int32_t *expert,
                           const void *scores, size_t n, size_t experts, size_t k)
{
    (void)dweights, (void)expert, (void)scores;
    count(s, AT_route_backward, 0, n * k + n * experts * written(dscores, add), n * experts);
}

/* Weights of all experts: shapes do not say that some have no slot. */
static void experts_forward(Stream *s, void *y, const void *x, const void *w, const int32_t *start, size_t m, size_t in,
                            size_t out, size_t experts)
{
    (void)y, (void)x, (void)w, (void)start;
    count(s, AT_experts_forward, 2.0 * (double)m * (double)in * (double)out, m * (in + out) + experts * in * out, 0);
}

static void experts_backward(Stream *s, void *dx, bool add, void *dw, void *dy, const void *x, const void *w,
                             const int32_t *start, size_t m, size_t in, size_t out, size_t experts)
{
    (void)dy, (void)x, (void)w, (void)start;
    const double product = 2.0 * (double)m * (double)in * (double)out;
    const size_t weights = experts * in * out;
    count(s, AT_experts_backward, product * (dx ? 1 : 0) + product * (dw ? 1 : 0),
          m * out + m * in * written(dx, add) + (dx ? weights : 0) + (dw ? m * (in + out) : 0), dw ? 2 * weights : 0);
}

static void load_loss_forward(Stream *s, void *losses, void *factors, StepState *state, size_t which,
                              const void *scores, const int32_t *expert, double a, const int32_t *start,
                              const int32_t *scored, size_t b, size_t n, size_t experts, size_t k)
{
    (void)losses, (void)factors, (void)state, (void)which, (void)scores, (void)expert, (void)a, (void)start, (void)k;
    (void)scored;
    count(s, AT_load_loss_forward, 0, 0, n * (experts + 1) + b * experts);
}

static void load_loss_backward(Stream *s, void *dscores, bool add, const StepState *state, size_t which,
                               const void *factors, const void *scores, const int32_t *start, size_t b, size_t n,
                               size_t experts)
{
    (void)state, (void)which, (void)factors, (void)scores, (void)start, (void)b;
    count(s, AT_load_loss_backward, 0, n * experts * written(dscores, add), n * experts);
}

static void cross_entropy_forward(Stream *s, void *losses, void *lse, StepState *state, size_t which,
                                  const void *logits, const int32_t *targets, double smoothing, size_t n, size_t v)
{
    (void)losses, (void)lse, (void)state, (void)which, (void)logits, (void)targets, (void)smoothing;
    count(s, AT_cross_entropy_forward, 0, 0, n * v + 2 * n);
}

static void cross_entropy_backward(Stream *s, void *dlogits, bool add, const StepState *state, size_t which,
                                   const void *lse, const void *logits, const int32_t *targets, double smoothing,
                                   size_t n, size_t v)
{
    (void)state, (void)which, (void)lse, (void)logits, (void)targets, (void)smoothing;
    count(s, AT_cross_entropy_backward, 0, n * v * written(dlogits, add), n * v + n);
}

static void z_loss_forward(Stream *s, void *losses, StepState *state, size_t which, const void *lse, double z, size_t n)
{
    (void)losses, (void)state, (void)which, (void)lse, (void)z;
    count(s, AT_z_loss_forward, 0, 0, 3 * n);
}

static void z_loss_backward(Stream *s, void *dlogits, bool add, const StepState *state, size_t which, const void *lse,
                            const void *logits, double z, size_t n, size_t v)
{
    (void)state, (void)which, (void)lse, (void)logits, (void)z;
    count(s, AT_z_loss_backward, 0, n * v * written(dlogits, add), n * v + n);
}

static void agreement_forward(Stream *s, void *losses, void *saved, StepState *state, size_t which, const void *x,
                              const void *z, const int32_t *targets, double c, size_t n, size_t v)
{
    (void)losses, (void)saved, (void)state, (void)which, (void)x, (void)z, (void)targets, (void)c;
    count(s, AT_agreement_forward, 0, 0, 2 * n * v + 5 * n);
}

static void agreement_backward(Stream *s, void *dx, bool add_x, void *dz, bool add_z, const StepState *state,
                               size_t which, const void *saved, const void *x, const void *z, const int32_t *targets,
                               double c, size_t n, size_t v)
{
    (void)state, (void)which, (void)saved, (void)x, (void)z, (void)targets, (void)c;
    count(s, AT_agreement_backward, 0, n * v * (written(dx, add_x) + written(dz, add_z)), 2 * n * v + 4 * n);
}

static void argmax(Stream *s, int32_t *y, const void *logits, size_t n, size_t v)
{
    (void)y, (void)logits;
    count(s, AT_argmax, 0, 0, n * v);
}

static void choices(Stream *s, int32_t *which, void *values, void *one, const void *logits, int32_t class, size_t n,
                    size_t v, size_t k)
{
    (void)which, (void)values, (void)one, (void)logits, (void)class;
    count(s, AT_choices, 0, 0, n * v + n * k + n);
}

#include "kernels/cost/optimizer.h"

static const Kernels entries = {
    .backend = "cost",
    .close = close_stream,
    .allocate = allocate,
    .release = memory_free,
    .upload = upload,
    .download = download,
    .finish = finish,
#define OPERATION(name, arguments, names) .name = name,
#include "kernels/operations.h"
};

const Kernels *cost_kernels(NumberType type)
{
    static Kernels tables[NUMBER_TYPES];
    static bool (*const opens[])(Stream **, size_t, Error *) = {open_f32, open_bf16, open_f64};
    static const size_t number[] = {4, 2, 8}, real[] = {4, 4, 8};
    size_t i = type < NUMBER_TYPES ? type : NUMBER_F32;
    Kernels k = entries;
    k.type = (NumberType)i;
    k.number = number[i], k.real = real[i];
    k.open = opens[i];
    tables[i] = k;
    return &tables[i];
}

const Cost *cost_counted(const Stream *s, size_t *operations)
{
    *operations = OPERATIONS;
    return s->cost;
}

const Cost *cost_last(const Stream *s) { return &s->last; }

void cost_reset(Stream *s)
{
    s->last = (Cost){0};
    for (size_t i = 0; i < OPERATIONS; i++)
        s->cost[i] = (Cost){.operation = names[i]};
}
