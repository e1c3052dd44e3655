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

Scoring scoring_new(Parameters *p, Score score, size_t heads, size_t key_size, const char *prefix)
{
    Scoring s = {.score = score};
    char name[sizeof(((Parameter *)0)->name)];
    if (score_is_dot(score))
        return s;
    snprintf(name, sizeof name, "%s.score.query", prefix);
    s.query = linear_new(p, key_size, heads * key_size, false, name);
    if (score == SCORE_ADDITIVE) {
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

/* q [B*T, H*dk], k [B*S, H*dk] to scale q . k, [B*H*T, S] */
static Tensor *dot_scores(Tape *t, Tensor *q, Tensor *k, const Attend *how)
{
    size_t rows = how->rows, heads = how->heads, dk = how->key_size;
    size_t queries = how->longest_query, keys = how->longest_key, width = heads * dk;
    ProductShape shape = {.a = {queries * width, dk, width, 1},
                          .b = {keys * width, dk, 1, width},
                          .c = {heads * queries * keys, queries * keys, keys, 1},
                          .outer = rows,
                          .inner = heads,
                          .m = queries,
                          .n = keys,
                          .k = dk,
                          .alpha = how->scale};
    return product(t, q, k, &shape, rows * heads * queries, keys);
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

/* weights [B*H*T, S], v [B*S, H*dv] to their averages [B*T, H*dv] */
static Tensor *average_values(Tape *t, Tensor *weights, Tensor *v, const Attend *how)
{
    size_t rows = how->rows, heads = how->heads, dv = how->value_size;
    size_t queries = how->longest_query, keys = how->longest_key, width = heads * dv;
    ProductShape shape = {.a = {heads * queries * keys, queries * keys, keys, 1},
                          .b = {keys * width, dv, width, 1},
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

/* x and the scores before it, which takes their place; a copy, because masks are written over scores. */
static Tensor *with_residual(Tape *t, Tensor *x, Tensor **residual)
{
    if (!residual)
        return x;
    *residual = *residual ? add(t, x, *residual, (Dropout){0}) : x;
    return concat(t, residual, 1);
}

Tensor *attend_composed(Tape *t, const Scoring *s, Tensor *q, Tensor *k, Tensor *v, const Attend *how,
                        Tensor **residual)
{
    assert(!how->distances && !how->content_bias &&
           "composed attention supports neither distances nor biases of queries");
    q = pad_rows(t, q, how->query_start, NULL, how->rows, how->longest_query);
    k = spread_heads(t, pad_rows(t, k, how->key_start, how->key_row, how->rows, how->longest_key), how);
    v = spread_heads(t, pad_rows(t, v, how->key_start, how->key_row, how->rows, how->longest_key), how);
    Tensor *weights = masked_softmax(t, with_residual(t, scores(t, s, q, k, how), residual), how);
    if (how->weights) {
        assert(t->k->number == t->k->real && "weights that are inspected are computed as reals");
        t->k->copy(t->stream, how->weights, weights->data, weights->rows * weights->columns * t->k->real);
    }
    Tensor *y = average_values(t, drop_weights(t, weights, how), v, how);
    return unpad_rows(t, y, how->query_start, how->rows, how->queries, how->longest_query);
}
