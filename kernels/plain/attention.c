/* Scaled dot-product attention over packed rows (Vaswani et al. 2017), without a matrix of all weights.
 *
 *     s[j] = scale q . k[j]             for each key j that the query sees
 *     w[j] = exp(s[j] - lse)            lse = log sum exp s, the one number a query saves for each head
 *     y    = sum over j of m[j] w[j] v[j]         m: dropout's factors
 *
 * Backward: with dw[j] = m[j] dy . v[j], the softmax gives ds[j] = w[j] (dw[j] - sum of w dw), and that sum is dy . y:
 *
 *     dv[j] = sum over i of m w dy      dq = scale sum over j of ds[j] k[j]      dk[j] = scale sum over i of ds q
 *
 * One pass goes over queries for y or dq, another over keys for dk and dv, so that each result is summed in one place
 * and rounded once. Weights are computed again wherever they are needed. */

/* One head of one query or key: where its numbers lie. */
static const Number *head_of(Strided x, size_t position, size_t head, size_t size)
{
    return (const Number *)x.data + position * x.stride + head * size;
}

/* What the passes share for one row of queries and its keys. */
typedef struct AttentionRow {
    const Attend *how;
    const StepState *state;
    Strided q, k, v;
    Keys keys;
    size_t first_query, queries;
    size_t head;
} AttentionRow;

static Real score(const AttentionRow *r, size_t i, size_t j)
{
    size_t dk = r->how->key_size;
    return (Real)r->how->scale *
           dot(head_of(r->q, r->first_query + i, r->head, dk), head_of(r->k, r->keys.start + j, r->head, dk), dk);
}

static Real drop_factor(const AttentionRow *r, size_t i, size_t j)
{
    return (Real)dropout_factor(r->how->dropout, r->state, r->first_query + i, r->head, j);
}

static AttentionRow attention_row(const Attend *how, const StepState *state, Strided q, Strided k, Strided v, size_t b)
{
    size_t first = (size_t)how->query_start[b];
    return (AttentionRow){how, state, q, k, v, keys_of_row(how, b), first, (size_t)how->query_start[b + 1] - first, 0};
}

/* log sum exp of a query's scores, in one pass: the sum is rescaled whenever a larger score turns up. -infinity where
 * the query sees nothing. */
static Real attention_lse(const AttentionRow *r, size_t i)
{
    Real largest = -INFINITY, sum = 0;
    for (size_t j = keys_first(r->how, r->keys, i); j < keys_end(r->how, r->keys, i); j++) {
        Real s = score(r, i, j);
        if (s > largest) {
            sum *= real_exp(largest - s);
            largest = s;
        }
        sum += real_exp(s - largest);
    }
    return largest + real_log(sum);
}

/* y of one query and head, BLOCK columns at a time */
static void attention_query(const AttentionRow *r, Number *y, Real lse, size_t i)
{
    size_t dv = r->how->value_size;
    for (size_t from = 0; from < dv; from += BLOCK) {
        size_t width = dv - from < BLOCK ? dv - from : BLOCK;
        Real sum[BLOCK] = {0};
        for (size_t j = keys_first(r->how, r->keys, i); j < keys_end(r->how, r->keys, i); j++) {
            const Number *value = head_of(r->v, r->keys.start + j, r->head, dv) + from;
            Real weight = real_exp(score(r, i, j) - lse) * drop_factor(r, i, j);
            for (size_t c = 0; c < width; c++)
                sum[c] += weight * real(value[c]);
        }
        for (size_t c = 0; c < width; c++)
            y[from + c] = number(sum[c]);
    }
}

/* The weights of one query and head, for whoever wants to look at them: [S] */
static void attention_weights(const AttentionRow *r, Real *weights, Real lse, size_t i)
{
    for (size_t j = keys_first(r->how, r->keys, i); j < keys_end(r->how, r->keys, i); j++)
        weights[j] = real_exp(score(r, i, j) - lse);
}

static void attention_forward(Stream *s, void *y_, void *lse_, Strided q, Strided k, Strided v, const Attend *how,
                              const StepState *state)
{
    size_t heads = how->heads, dv = how->value_size;
    Number *y = y_;
    Real *lse = lse_, *weights = how->weights;

    device_zero(s, y, how->queries * heads * dv * sizeof *y); /* positions of no row */
    device_zero(s, lse, how->queries * heads * sizeof *lse);
    if (weights)
        device_zero(s, weights, how->rows * heads * how->longest_query * how->longest_key * sizeof *weights);
    for (size_t b = 0; b < how->rows; b++) {
        AttentionRow r = attention_row(how, state, q, k, v, b);
        for (size_t i = 0; i < r.queries; i++)
            for (r.head = 0; r.head < heads; r.head++) {
                size_t at = (r.first_query + i) * heads + r.head;
                lse[at] = attention_lse(&r, i);
                attention_query(&r, y + at * dv, lse[at], i);
                if (weights)
                    attention_weights(&r, weights + ((b * heads + r.head) * how->longest_query + i) * how->longest_key,
                                      lse[at], i);
            }
    }
}

/* What the backward passes need of one query and head beyond the row. */
typedef struct AttentionBack {
    const Number *dy, *y; /* [N, H*dv] */
    const Real *lse;      /* [N,H] */
} AttentionBack;

/* ds[j] * scale for query i and key j; *dropped is m[j] w[j], what dv counts dy with */
static Real score_gradient(const AttentionRow *r, const AttentionBack *back, size_t i, size_t j, Real *dropped)
{
    size_t dv = r->how->value_size, at = (r->first_query + i) * r->how->heads + r->head;
    Real weight = real_exp(score(r, i, j) - back->lse[at]), factor = drop_factor(r, i, j);
    Real dw = factor * dot(back->dy + at * dv, head_of(r->v, r->keys.start + j, r->head, dv), dv);
    *dropped = factor * weight;
    return (Real)r->how->scale * weight * (dw - dot(back->dy + at * dv, back->y + at * dv, dv));
}

static void attention_backward_query(const AttentionRow *r, const AttentionBack *back, const AttendGradients *d,
                                     size_t i)
{
    size_t dk = r->how->key_size;
    Number *gradient = (Number *)d->q.data + (r->first_query + i) * d->q.stride + r->head * dk;
    for (size_t from = 0; from < dk; from += BLOCK) {
        size_t width = dk - from < BLOCK ? dk - from : BLOCK;
        Real sum[BLOCK] = {0}, dropped;
        for (size_t j = keys_first(r->how, r->keys, i); j < keys_end(r->how, r->keys, i); j++) {
            const Number *key = head_of(r->k, r->keys.start + j, r->head, dk) + from;
            Real ds = score_gradient(r, back, i, j, &dropped);
            for (size_t c = 0; c < width; c++)
                sum[c] += ds * real(key[c]);
        }
        for (size_t c = 0; c < width; c++)
            give(&gradient[from + c], d->add_q, sum[c]);
    }
}

/* Adds to one key's or value's gradient: sum over queries i of factor_i x_i, BLOCK columns at a time. factor is ds for
 * keys (x: queries), and the dropped weight for values (x: dy). */
static void attention_backward_key(const AttentionRow *r, const AttentionBack *back, Strided to, bool values, size_t j)
{
    size_t size = values ? r->how->value_size : r->how->key_size;
    Number *gradient = (Number *)to.data + (r->keys.start + j) * to.stride + r->head * size;
    Strided dy = {(void *)(uintptr_t)back->dy, r->how->heads * size}, x = values ? dy : r->q;
    for (size_t from = 0; from < size; from += BLOCK) {
        size_t width = size - from < BLOCK ? size - from : BLOCK;
        Real sum[BLOCK] = {0};
        for (size_t i = 0; i < r->queries; i++) {
            if (j < keys_first(r->how, r->keys, i) || j >= keys_end(r->how, r->keys, i))
                continue;
            Real dropped, ds = score_gradient(r, back, i, j, &dropped);
            const Number *vector = head_of(x, r->first_query + i, r->head, size) + from;
            for (size_t c = 0; c < width; c++)
                sum[c] += (values ? dropped : ds) * real(vector[c]);
        }
        for (size_t c = 0; c < width; c++)
            give(&gradient[from + c], true, sum[c]);
    }
}

static void zero_columns(Strided x, size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        memset((Number *)x.data + i * x.stride, 0, columns * sizeof(Number));
}

static void attention_backward(Stream *s, const AttendGradients *d, const void *dy, const void *y, const void *lse,
                               Strided q, Strided k, Strided v, const Attend *how, const StepState *state)
{
    (void)s;
    AttentionBack back = {dy, y, lse};

    /* positions of no row, and keys that no query sees, get zeros */
    if (d->q.data && !d->add_q)
        zero_columns(d->q, how->queries, how->heads * how->key_size);
    if (d->k.data && !d->add_k)
        zero_columns(d->k, how->keys, how->heads * how->key_size);
    if (d->v.data && !d->add_v)
        zero_columns(d->v, how->keys, how->heads * how->value_size);
    for (size_t b = 0; b < how->rows; b++) {
        AttentionRow r = attention_row(how, state, q, k, v, b);
        for (r.head = 0; r.head < how->heads; r.head++) {
            for (size_t i = 0; d->q.data && i < r.queries; i++)
                attention_backward_query(&r, &back, d, i);
            for (size_t j = 0; d->k.data && j < r.keys.length; j++)
                attention_backward_key(&r, &back, d->k, false, j);
            for (size_t j = 0; d->v.data && j < r.keys.length; j++)
                attention_backward_key(&r, &back, d->v, true, j);
        }
    }
}
