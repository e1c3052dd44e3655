/* The terms that a score may have beside q . k, for attention.c.
 *
 *     s[j] = scale ((q + u) . k[j] + (q + v) . r[e]) + bias[e]        e: the entry of the distance from query to key j
 *
 * and with a cap c, in its place c tanh(s[j] / c), whose slope is 1 - (tanh)^2. All but q . k may be absent. With relative keys r, content bias u and position bias v this is Transformer-XL (Dai et
 * al. 2019); r alone is Shaw et al. (2018); bias alone is T5 (Raffel et al. 2020) where it is learned, and ALiBi (Press
 * et al. 2022) where it is not. Backward, with ds[j] as in attention.c:
 *
 *     dq = scale sum over j of ds[j] (k[j] + r[e])          dk[j] = scale sum over i of ds (q + u)
 *     dr[e] = scale sum over pairs that far apart of ds (q + v)             dbias[e] = sum over the same pairs of ds
 *     du = scale sum over all pairs of ds k                 dv = scale sum over all pairs of ds r */

/* One head of u or v, or NULL */
static const Real *head_of_bias(const AttentionRow *r, const void *bias)
{
    return bias ? (const Real *)bias + r->head * r->how->key_size : NULL;
}

/* sum + x . y */
static Real add_dot(Real sum, const Real *x, const Number *y, size_t n)
{
    for (size_t c = 0; x && c < n; c++)
        sum += x[c] * real(y[c]);
    return sum;
}

/* r[e]: the relative key for where key j is, seen from query i */
static const Number *relative_key(const AttentionRow *r, size_t i, size_t j)
{
    return head_of(r->how->relative, distance_entry(r->how, r->keys, i, j), r->head, r->how->key_size);
}

static Real capped(const Attend *how, Real s)
{
    Real cap = (Real)how->cap;
    return cap > 0 ? cap * real_tanh(s / cap) : s;
}

/* The slope of `capped`, where its result is s. */
static Real cap_slope(const Attend *how, Real s)
{
    Real part = how->cap > 0 ? s / (Real)how->cap : 0;
    return 1 - part * part;
}

/* The score of which q . k is given. */
static Real score_of(const AttentionRow *r, size_t i, size_t j, Real qk)
{
    const Attend *how = r->how;
    const Real *bias = how->distance_bias;
    size_t dk = how->key_size;
    Real sum = add_dot(qk, head_of_bias(r, how->content_bias), key_of(r, j), dk);
    if (how->relative.data) {
        const Number *relative = relative_key(r, i, j);
        sum += add_dot(dot(query_of(r, i), relative, dk), head_of_bias(r, how->position_bias), relative, dk);
    }
    sum *= (Real)how->scale;
    return capped(how, bias ? sum + bias[distance_entry(how, r->keys, i, j) * how->heads + r->head] : sum);
}

/* Number c of the query that a key meets: q + u. */
static Real query_number(const AttentionRow *r, size_t i, size_t c)
{
    const Real *bias = head_of_bias(r, r->how->content_bias);
    return real(query_of(r, i)[c]) + (bias ? bias[c] : 0);
}

/* sum [width], columns `from` on, is what query i gets from keys, before it is scaled; adds what it gets from relative
 * keys, and adds to the gradients of u and v. */
static void score_backward_query(const AttentionRow *r, const AttentionBack *back, const AttendGradients *d, size_t i,
                                 Real *sum, size_t from, size_t width)
{
    size_t at = r->head * r->how->key_size + from;
    Real scale = (Real)r->how->scale, *content = d->content_bias, *position = d->position_bias, relative[BLOCK] = {0};
    for (size_t j = next_key(r, i, 0); r->how->relative.data && j < r->keys.length; j = next_key(r, i, j + 1)) {
        const Number *vector = relative_key(r, i, j) + from;
        Real dropped, ds = score_gradient(r, back, i, j, &dropped);
        for (size_t c = 0; c < width; c++)
            relative[c] += ds * real(vector[c]);
    }
    for (size_t c = 0; c < width; c++) {
        if (content)
            content[at + c] += scale * sum[c];
        if (position)
            position[at + c] += scale * relative[c];
        sum[c] += relative[c];
    }
}

/* Adds to the bias of each distance at which query i sees a key. */
static void score_backward_bias(const AttentionRow *r, const AttentionBack *back, Real *bias, size_t i)
{
    for (size_t j = next_key(r, i, 0); j < r->keys.length; j = next_key(r, i, j + 1)) {
        Real dropped;
        bias[distance_entry(r->how, r->keys, i, j) * r->how->heads + r->head] += score_gradient(r, back, i, j,
                                                                                                &dropped);
    }
}

/* sum [width] += sum of ds (q + v) over keys that are at entry e from query i */
static void gather_at_distance(const AttentionRow *r, const AttentionBack *back, Real *sum, size_t e, size_t i,
                               size_t from, size_t width)
{
    const Number *q = query_of(r, i);
    const Real *bias = head_of_bias(r, r->how->position_bias);
    for (size_t j = next_key(r, i, 0); j < r->keys.length; j = next_key(r, i, j + 1)) {
        if (distance_entry(r->how, r->keys, i, j) != e)
            continue;
        Real dropped, ds = score_gradient(r, back, i, j, &dropped);
        for (size_t c = from; c < from + width; c++)
            sum[c - from] += ds * (real(q[c]) + (bias ? bias[c] : 0));
    }
}

/* Adds to one head of relative key e, whose gradient comes from all rows. */
static void score_backward_relative(const AttentionRow *any, const AttentionBack *back, Strided to, size_t e)
{
    size_t dk = any->how->key_size;
    Number *gradient = head_of(to, e, any->head, dk);
    for (size_t from = 0; from < dk; from += BLOCK) {
        size_t width = dk - from < BLOCK ? dk - from : BLOCK;
        Real sum[BLOCK] = {0};
        for (size_t b = 0; b < any->how->rows; b++) {
            AttentionRow r = attention_row(any->how, any->state, any->q, any->k, any->v, b);
            r.head = any->head;
            for (size_t i = 0; i < r.queries; i++)
                gather_at_distance(&r, back, sum, e, i, from, width);
        }
        for (size_t c = 0; c < width; c++)
            store_gradient(&gradient[from + c], true, (Real)any->how->scale * sum[c]);
    }
}

/* The gradients of distances: biases and relative keys. */
static void score_backward(const AttentionRow *all, const AttentionBack *back, const AttendGradients *d)
{
    const Attend *how = all->how;
    zero_gradient(d->relative, d->add_relative, how->distances, how->heads * how->key_size);
    for (size_t b = 0; d->distance_bias && b < how->rows; b++) {
        AttentionRow r = attention_row(how, all->state, all->q, all->k, all->v, b);
        for (; r.head < how->heads; r.head++)
            for (size_t i = 0; i < r.queries; i++)
                score_backward_bias(&r, back, d->distance_bias, i);
    }
    AttentionRow any = *all;
    for (; d->relative.data && any.head < how->heads; any.head++)
        for (size_t e = 0; e < how->distances; e++)
            score_backward_relative(&any, back, d->relative, e);
}
