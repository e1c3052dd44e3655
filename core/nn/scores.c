/* See scores.h. Shapes: B rows, T and S their longest queries and keys, H heads, dk and dv head sizes. */
#include "core/nn/scores.h"

#include "core/tensor/operations.h"

#include <assert.h>
#include <math.h>

double score_scale(Score score, size_t key_size) { return score == SCORE_SCALED_DOT ? 1 / sqrt((double)key_size) : 1; }

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

Tensor *attend_composed(Tape *t, Tensor *q, Tensor *k, Tensor *v, const Attend *how)
{
    assert(!how->distances && !how->content_bias && "composed attention knows no distances and no biases of queries");
    q = pad_rows(t, q, how->query_start, NULL, how->rows, how->longest_query);
    k = pad_rows(t, k, how->key_start, how->key_row, how->rows, how->longest_key);
    v = pad_rows(t, v, how->key_start, how->key_row, how->rows, how->longest_key);
    Tensor *weights = masked_softmax(t, dot_scores(t, q, k, how), how);
    Tensor *y = average_values(t, drop_weights(t, weights, how), v, how);
    return unpad_rows(t, y, how->query_start, how->rows, how->queries, how->longest_query);
}
