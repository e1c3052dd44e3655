/* See scores.h. Shapes: B rows, T and S their longest queries and keys, H heads, dk and dv head sizes. */
#include "core/nn/scores.h"

#include "kernels/attend.h"

#include "core/tensor/operations.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

const char *score_name(Score score)
{
    static const char *const names[] = {"scaled-dot", "dot", "bilinear", "additive"};
    return names[score];
}

bool score_is_dot(Score score) { return score == SCORE_SCALED_DOT || score == SCORE_DOT; }

double score_scale(Score score, size_t key_size) { return score == SCORE_SCALED_DOT ? 1 / sqrt((double)key_size) : 1; }

static double identity(const Parameter *p, size_t row, size_t column) { return (void)p, row == column; }

/* [H,H], at first the identity, which changes nothing. */
static Parameter *talk_new(Parameters *p, size_t heads, const char *prefix, const char *name)
{
    Parameter *talk = parameters_add(p, ROLE_WEIGHT, heads, heads, "%s.%s.weight", prefix, name);
    if (talk) {
        talk->constant = identity;
        talk->edge = EDGE_OUT; /* no map of vectors */
    }
    return talk;
}

Scoring scoring_new(Parameters *p, const ScoringOptions *o, const char *prefix)
{
    const WeightOptions *weights = &o->weights;
    const size_t heads = o->heads, key_size = o->key_size;
    Scoring s = {.score = o->score, .weights = *weights};
    char name[sizeof(((Parameter *)0)->name)];
    if (weights->cap > 0 || weights->sigmoid)
        s.one = parameters_constant(p, 1, 1, always_one, prefix, "one");
    if (weights->talking) {
        s.talk_scores = talk_new(p, heads, prefix, "talk_scores");
        s.talk_weights = talk_new(p, heads, prefix, "talk_weights");
    }
    if (weights->memory) {
        size_t n = weights->memory;
        s.memory_keys = parameters_add(p, ROLE_WEIGHT, n, o->kv_heads * key_size, "%s.memory.key", prefix);
        s.memory_values = parameters_add(p, ROLE_WEIGHT, n, o->kv_heads * o->value_size, "%s.memory.value", prefix);
        if (s.memory_keys && s.memory_values)
            s.memory_keys->edge = s.memory_values->edge = EDGE_OUT; /* rows that are read as they are, as of a table */
    }
    if (score_is_dot(o->score))
        return s;
    snprintf(name, sizeof name, "%s.score.query", prefix);
    s.query = linear_new(p, key_size, heads * key_size, false, name);
    if (o->score == SCORE_ADDITIVE) {
        snprintf(name, sizeof name, "%s.score.key", prefix);
        s.key = linear_new(p, key_size, heads * key_size, false, name);
        snprintf(name, sizeof name, "%s.score.out", prefix);
        s.out = linear_new(p, key_size, heads, false, name);
    }
    return s;
}

/* x [B*T, H*dk] to w_h x_h, each head with its own matrix of w [H*dk, dk] */
static Tensor *map_heads(Tape *t, const Linear *w, Tensor *x, const Attend *how)
{
    size_t heads = how->heads, dk = how->key_size, width = heads * dk;
    ProductShape shape = {.a = {0, dk, width, 1},
                          .b = {0, dk * dk, 1, dk},
                          .c = {0, dk, width, 1},
                          .outer = 1,
                          .inner = heads,
                          .m = x->rows,
                          .n = dk,
                          .k = dk,
                          .alpha = 1};
    return product(t, x, tape_parameter(t, w->weight), &shape, x->rows, width);
}

/* q [B*T, H*dk], k [B*S, H*dk] or for all rows [S, H*dk] to scale q . k, [B*H*T, S] */
static Tensor *products(Tape *t, Tensor *q, Tensor *k, size_t keys, bool of_all, const Attend *how)
{
    size_t rows = how->rows, heads = how->heads, dk = how->key_size;
    size_t queries = how->longest_query, width = heads * dk;
    ProductShape shape = {.a = {queries * width, dk, width, 1},
                          .b = {of_all ? 0 : keys * width, dk, 1, width},
                          .c = {heads * queries * keys, queries * keys, keys, 1},
                          .outer = rows,
                          .inner = heads,
                          .m = queries,
                          .n = keys,
                          .k = dk,
                          .alpha = how->scale};
    return product(t, q, k, &shape, rows * heads * queries, keys);
}

static Tensor *dot_scores(Tape *t, Tensor *q, Tensor *k, const Attend *how)
{
    return products(t, q, k, how->longest_key, false, how);
}

/* q [B*T, H*dk], k [B*S, H*dk] to v . tanh(Wq q + Wk k), [B*H*T, S] */
static Tensor *additive_scores(Tape *t, const Scoring *s, Tensor *q, Tensor *k, const Attend *how)
{
    size_t rows = how->rows, heads = how->heads, dk = how->key_size, width = heads * dk;
    size_t queries = how->longest_query, keys = how->longest_key, pairs = queries * keys;
    ProductShape shape = {.a = {pairs * width, dk, width, 1},
                          .b = {0, dk, 1, 1},
                          .c = {heads * pairs, pairs, 1, 1},
                          .outer = rows,
                          .inner = heads,
                          .m = pairs,
                          .n = 1,
                          .k = dk,
                          .alpha = 1};
    Tensor *sums = add_pairs(t, map_heads(t, &s->query, q, how), map_heads(t, &s->key, k, how), rows);
    return product(t, activate(t, sums, ACTIVATION_TANH), tape_parameter(t, s->out.weight), &shape,
                   rows * heads * queries, keys);
}

static Tensor *scores(Tape *t, const Scoring *s, Tensor *q, Tensor *k, const Attend *how)
{
    switch (s->score) {
    case SCORE_ADDITIVE: return additive_scores(t, s, q, k, how);
    case SCORE_BILINEAR: return dot_scores(t, map_heads(t, &s->query, q, how), k, how);
    case SCORE_SCALED_DOT:
    case SCORE_DOT: break;
    }
    return dot_scores(t, q, k, how);
}

/* weights [B*H*T, S], v [B*S, H*dv] or for all rows [S, H*dv] to their averages [B*T, H*dv] */
static Tensor *average_values(Tape *t, Tensor *weights, Tensor *v, bool of_all, const Attend *how)
{
    size_t rows = how->rows, heads = how->heads, dv = how->value_size;
    size_t queries = how->longest_query, keys = weights->columns, width = heads * dv;
    ProductShape shape = {.a = {heads * queries * keys, queries * keys, keys, 1},
                          .b = {of_all ? 0 : keys * width, dv, width, 1},
                          .c = {queries * width, dv, width, 1},
                          .outer = rows,
                          .inner = heads,
                          .m = queries,
                          .n = dv,
                          .k = keys,
                          .alpha = 1};
    return product(t, weights, v, &shape, rows * queries, width);
}

/* x [B*S, G*size] to [B*S, H*size]: each head of keys or values once for each head of queries that reads it. */
static Tensor *spread_heads(Tape *t, Tensor *x, const Attend *how)
{
    size_t group = heads_per_kv(how), count = kv_heads(how);
    if (group == 1)
        return x;
    Tensor **heads = arena_take(&t->host, how->heads * sizeof *heads);
    size_t *columns = arena_take(&t->host, count * sizeof *columns);
    for (size_t g = 0; g < count; g++)
        columns[g] = x->columns / count;
    Tensor **apart = arena_take(&t->host, count * sizeof *apart);
    tape_split(t, x, apart, columns, count);
    for (size_t h = 0; h < how->heads; h++)
        heads[h] = apart[kv_head(how, h)];
    return concat(t, heads, how->heads);
}

/* x plus the scores of the block before; the sum becomes *residual. Returns a copy, because masks overwrite scores. */
static Tensor *with_residual(Tape *t, Tensor *x, Tensor **residual)
{
    if (!residual)
        return x;
    *residual = *residual ? add(t, x, *residual, (Dropout){0}) : x;
    return concat(t, residual, 1);
}

/* x times a number: a product with a matrix of one number. */
static Tensor *times(Tape *t, const Scoring *s, Tensor *x, double factor)
{
    const ProductShape shape = {.a = {.row = 1},
                                .c = {.row = 1},
                                .outer = 1,
                                .inner = 1,
                                .m = x->rows * x->columns,
                                .n = 1,
                                .k = 1,
                                .alpha = factor};
    return product(t, x, tape_constant(t, s->one), &shape, x->rows, x->columns);
}

/* x [B*H*T, S] to sums over the heads, weighted by talk [H,H]; NULL: x. */
static Tensor *talk(Tape *t, const Parameter *talk, Tensor *x, const Attend *how)
{
    size_t heads = how->heads, pairs = how->longest_query * x->columns;
    const ProductShape shape = {.a = {.row = heads, .column = 1},
                                .b = {.outer = heads * pairs, .row = pairs, .column = 1},
                                .c = {.outer = heads * pairs, .row = pairs, .column = 1},
                                .outer = how->rows,
                                .inner = 1,
                                .m = heads,
                                .n = pairs,
                                .k = heads,
                                .alpha = 1};
    return talk ? product(t, tape_parameter(t, talk), x, &shape, x->rows, x->columns) : x;
}

Tensor *capped(Tape *t, const Scoring *s, Tensor *x, double cap)
{
    return cap > 0 ? times(t, s, activate(t, times(t, s, x, 1 / cap), ACTIVATION_TANH), cap) : x;
}

static Tensor *finished(Tape *t, const Scoring *s, Tensor *x, const Attend *how)
{
    return talk(t, s->talk_scores, capped(t, s, x, how->cap), how);
}

static Tensor *normalized(Tape *t, const Scoring *s, Tensor *x)
{
    if (!s->weights.sigmoid)
        return softmax(t, x);
    Tensor *one = tape_constant(t, s->one);
    const ProductShape row = {.c = {.column = 1},
                              .outer = 1,
                              .inner = 1,
                              .m = 1,
                              .n = x->columns,
                              .k = 1,
                              .alpha = -log((double)s->weights.sigmoid)};
    Tensor *bias = product(t, one, one, &row, 1, x->columns);
    return activate(t, add(t, x, bias, (Dropout){0}), ACTIVATION_SIGMOID);
}

/* Keys or values of no position, for all heads: [memory, H*size] */
static Tensor *memory_of(Tape *t, const Parameter *p, const Attend *how)
{
    return spread_heads(t, tape_parameter(t, p), how);
}

/* The averages of values, [B*T, H*dv], of padded queries, keys and values. */
static Tensor *attend_padded(Tape *t, const Scoring *s, Tensor *q, Tensor *k, Tensor *v, const Attend *how,
                             Tensor **residual)
{
    const size_t memory = s->weights.memory, keys = how->longest_key;
    Tensor *parts[2] = {finished(t, s, with_residual(t, scores(t, s, q, k, how), residual), how), NULL};
    mask_scores(t, parts[0], how, s->weights.top);
    if (memory)
        parts[1] = finished(t, s, products(t, q, memory_of(t, s->memory_keys, how), memory, true, how), how);
    Tensor *weights = normalized(t, s, memory ? concat(t, parts, 2) : parts[0]);
    Tensor *own = talk(t, s->talk_weights, memory ? slice(t, weights, 0, keys) : weights, how);
    if (how->weights) {
        assert(t->k->number == t->k->real && "weights that are inspected are computed as reals");
        t->k->copy(t->stream, how->weights, own->data, own->rows * own->columns * t->k->real);
    }
    Tensor *y = average_values(t, drop_weights(t, own, how), v, false, how);
    if (!memory)
        return y;
    Tensor *rest = talk(t, s->talk_weights, slice(t, weights, keys, memory), how);
    return add(t, y, average_values(t, rest, memory_of(t, s->memory_values, how), true, how), (Dropout){0});
}

Tensor *attend_composed(Tape *t, const Scoring *s, Tensor *q, Tensor *k, Tensor *v, const Attend *how,
                        Tensor **residual)
{
    assert(!how->distances && !how->content_bias &&
           "composed attention supports neither distances nor biases of queries");
    q = pad_rows(t, q, how->query_start, NULL, how->rows, how->longest_query);
    k = spread_heads(t, pad_rows(t, k, how->key_start, how->key_row, how->rows, how->longest_key), how);
    v = spread_heads(t, pad_rows(t, v, how->key_start, how->key_row, how->rows, how->longest_key), how);
    Tensor *y = attend_padded(t, s, q, k, v, how, residual);
    return unpad_rows(t, y, how->query_start, how->rows, how->queries, how->longest_query);
}
