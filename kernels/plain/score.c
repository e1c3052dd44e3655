/* What a query thinks of a key: its score, which attention.c turns into weights.
 *
 *     s[j] = scale ((q + u) . k[j] + (q + v) . r[e]) + bias[e]        e: the entry of the distance from query to key j
 *
 * All but q . k may be absent. With relative keys r, content bias u and position bias v this is Transformer-XL (Dai et
 * al. 2019); r alone is Shaw et al. (2018); bias alone is T5 (Raffel et al. 2020) where it is learned, and ALiBi (Press
 * et al. 2022) where it is not. */

/* What the passes share for one head of one row of queries and its keys. */
typedef struct AttentionRow {
    const Attend *how;
    const StepState *state;
    Strided q, k, v;
    Keys keys;
    size_t first_query, queries;
    size_t head;
} AttentionRow;

/* One head of one query, key or relative key: where its numbers lie. */
static const Number *head_of(Strided x, size_t position, size_t head, size_t size)
{
    return (const Number *)x.data + position * x.stride + head * size;
}

/* A head's key or value number j of the row */
static const Number *key_of(const AttentionRow *r, Strided x, size_t j, size_t size)
{
    size_t position = r->keys.start + j;
    return r->how->by_head ? head_of(x, r->head * r->how->keys + position, 0, size)
                           : head_of(x, position, r->head, size);
}

/* One head of u or v, or NULL */
static const Real *head_of_bias(const void *bias, size_t head, size_t size)
{
    return bias ? (const Real *)bias + head * size : NULL;
}

/* (x + bias) . y */
static Real biased_dot(const Number *x, const Real *bias, const Number *y, size_t n)
{
    Real sum = dot(x, y, n);
    for (size_t c = 0; bias && c < n; c++)
        sum += bias[c] * real(y[c]);
    return sum;
}

/* r[e]: the relative key for where key j lies, seen from query i */
static const Number *relative_key(const AttentionRow *r, size_t i, size_t j)
{
    return head_of(r->how->relative, distance_entry(r->how, r->keys, i, j), r->head, r->how->key_size);
}

static Real score(const AttentionRow *r, size_t i, size_t j)
{
    const Attend *how = r->how;
    size_t dk = how->key_size;
    const Number *q = head_of(r->q, r->first_query + i, r->head, dk);
    const Number *k = key_of(r, r->k, j, dk);
    const Real *bias = how->distance_bias;

    Real sum = biased_dot(q, head_of_bias(how->content_bias, r->head, dk), k, dk);
    if (how->relative.data)
        sum += biased_dot(q, head_of_bias(how->position_bias, r->head, dk), relative_key(r, i, j), dk);
    sum *= (Real)how->scale;
    return bias ? sum + bias[distance_entry(how, r->keys, i, j) * how->heads + r->head] : sum;
}

/* The first key at j or behind it that query i sees; behind the last: the row's length. */
static size_t next_key(const AttentionRow *r, size_t i, size_t j) { return keys_next(r->how, r->keys, i, j); }
