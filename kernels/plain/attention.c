/* Scaled dot-product attention over packed rows (Vaswani et al. 2017), without a matrix of all weights.
 *
 *     s[j] = scale q . k[j]             for each key j that the query sees (next_key: the mask)
 *     w[j] = exp(s[j] - lse)            lse = log sum exp s, the one number that is saved per query and head
 *     y    = sum over j of m[j] w[j] v[j]         m: dropout's factors
 *
 * Backward: with dw[j] = m[j] dy . v[j], the softmax gives ds[j] = w[j] (dw[j] - sum of w dw), and that sum is dy . y:
 *
 *     dv[j] = sum over i of m w dy      dq = scale sum over j of ds[j] k[j]      dk[j] = scale sum over i of ds q
 *
 * One pass goes over queries for y or dq, another over keys for dk and dv, so that each result is summed in one place
 * and rounded once. Weights are computed again wherever they are needed. attention_row.c finds queries, keys and
 * values; score.c has the other terms that a score may have. */

static Real score(const AttentionRow *r, size_t i, size_t j)
{
    return score_of(r, i, j, dot(query_of(r, i), key_of(r, j), r->how->key_size));
}

/* log sum exp of a query's scores, in one pass: the sum is rescaled whenever a larger score is found. -infinity if the
 * query sees nothing; a key whose score is -infinity counts as not seen. */
static Real attention_lse(const AttentionRow *r, size_t i)
{
    Real largest = -INFINITY, sum = 0;
    for (size_t j = next_key(r, i, 0); j < r->keys.length; j = next_key(r, i, j + 1)) {
        Real s = score(r, i, j);
        if (s == -(Real)INFINITY)
            continue;
        if (s > largest) {
            sum *= real_exp(largest - s);
            largest = s;
        }
        sum += real_exp(s - largest);
    }
    return largest + real_log(sum);
}

/* w[j] of a score; 0 if all scores are -infinity */
static Real weight_of_score(Real s, Real lse) { return lse == -(Real)INFINITY ? 0 : real_exp(s - lse); }

static Real weight_of(const AttentionRow *r, Real lse, size_t i, size_t j)
{
    return weight_of_score(score(r, i, j), lse);
}

/* y of one query and head, BLOCK columns at a time */
static void attention_query(const AttentionRow *r, Number *y, Real lse, size_t i)
{
    size_t dv = r->how->value_size;
    for (size_t from = 0; from < dv; from += BLOCK) {
        size_t width = dv - from < BLOCK ? dv - from : BLOCK;
        Real sum[BLOCK] = {0};
        for (size_t j = next_key(r, i, 0); j < r->keys.length; j = next_key(r, i, j + 1)) {
            const Number *value = value_of(r, j) + from;
            Real weight = weight_of(r, lse, i, j) * drop_factor(r, i, j);
            for (size_t c = 0; c < width; c++)
                sum[c] += weight * real(value[c]);
        }
        for (size_t c = 0; c < width; c++)
            y[from + c] = number(sum[c]);
    }
}

/* The weights [S] of one query and head, for inspection */
static void attention_weights(const AttentionRow *r, Real *weights, Real lse, size_t i)
{
    for (size_t j = next_key(r, i, 0); j < r->keys.length; j = next_key(r, i, j + 1))
        weights[j] = weight_of(r, lse, i, j);
}

static void attention_forward(Stream *s, void *y_, void *lse_, Strided q, Strided k, Strided v, const Attend *how,
                              const StepState *state)
{
    size_t heads = how->heads, dv = how->value_size;
    Number *y = y_;
    Real *lse = lse_, *weights = how->weights;

    zero(s, y, how->queries * heads * dv * sizeof *y); /* positions of no row */
    zero(s, lse, how->queries * heads * sizeof *lse);
    if (weights)
        zero(s, weights, how->rows * heads * how->longest_query * how->longest_key * sizeof *weights);
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

/* ds[j] for query i and key j; *dropped is m[j] w[j], the factor of dy in dv */
static Real score_gradient(const AttentionRow *r, const AttentionBack *back, size_t i, size_t j, Real *dropped)
{
    size_t dv = r->how->value_size, at = (r->first_query + i) * r->how->heads + r->head;
    Real s = score(r, i, j), weight = weight_of_score(s, back->lse[at]), factor = drop_factor(r, i, j);
    Real dw = factor * dot(back->dy + at * dv, value_of(r, j), dv);
    *dropped = factor * weight;
    return weight * (dw - dot(back->dy + at * dv, back->y + at * dv, dv)) * cap_slope(r->how, s);
}

/* dq of one query and head, BLOCK columns at a time */
static void attention_backward_query(const AttentionRow *r, const AttentionBack *back, const AttendGradients *d,
                                     size_t i)
{
    size_t dk = r->how->key_size;
    Number *dq = d->q.data ? head_of(d->q, r->first_query + i, r->head, dk) : NULL;
    for (size_t from = 0; from < dk; from += BLOCK) {
        size_t width = dk - from < BLOCK ? dk - from : BLOCK;
        Real sum[BLOCK] = {0};
        for (size_t j = next_key(r, i, 0); j < r->keys.length; j = next_key(r, i, j + 1)) {
            Real dropped, ds = score_gradient(r, back, i, j, &dropped);
            for (size_t c = 0; c < width; c++)
                sum[c] += ds * real(key_of(r, j)[from + c]);
        }
        score_backward_query(r, back, d, i, sum, from, width);
        for (size_t c = 0; dq && c < width; c++)
            store_gradient(&dq[from + c], d->add_q, (Real)r->how->scale * sum[c]);
    }
}

/* sum [width] += ds q, or m w dy, over the queries of one head that see a key, columns `from` on */
static void gather_queries(const AttentionRow *r, const AttentionBack *back, Real *sum, bool value, size_t j,
                           size_t from, size_t width)
{
    for (size_t i = 0; i < r->queries; i++) {
        if (next_key(r, i, j) != j)
            continue;
        Real dropped, ds = score_gradient(r, back, i, j, &dropped);
        const Number *dy = back->dy + ((r->first_query + i) * r->how->heads + r->head) * r->how->value_size;
        for (size_t c = from; c < from + width; c++)
            sum[c - from] += value ? dropped * real(dy[c]) : ds * query_number(r, i, c);
    }
}

/* Adds to the gradient of one head of one key, or of one value: sum over the queries i that see it, of all heads that
 * read it, of scale ds q, or of m w dy. */
static void attention_backward_key(AttentionRow r, const AttentionBack *back, Strided to, bool value, size_t head,
                                   size_t j)
{
    size_t size = value ? r.how->value_size : r.how->key_size, group = heads_per_kv(r.how);
    Number *gradient = head_of(to, r.keys.start + j, head, size);
    for (size_t from = 0; from < size; from += BLOCK) {
        size_t width = size - from < BLOCK ? size - from : BLOCK;
        Real sum[BLOCK] = {0};
        for (r.head = head * group; r.head < (head + 1) * group; r.head++)
            gather_queries(&r, back, sum, value, j, from, width);
        for (size_t c = 0; c < width; c++)
            store_gradient(&gradient[from + c], true, (value ? 1 : (Real)r.how->scale) * sum[c]);
    }
}

static void attention_backward(Stream *s, const AttendGradients *d, const void *dy, const void *y, const void *lse,
                               Strided q, Strided k, Strided v, const Attend *how, const StepState *state)
{
    (void)s;
    AttentionBack back = {dy, y, lse};
    bool queries = d->q.data || d->content_bias || d->position_bias;

    zero_gradient(d->q, d->add_q, how->queries, how->heads * how->key_size);
    zero_gradient(d->k, d->add_k, how->keys, kv_heads(how) * how->key_size);
    zero_gradient(d->v, d->add_v, how->keys, kv_heads(how) * how->value_size);
    for (size_t b = 0; b < how->rows; b++) {
        AttentionRow r = attention_row(how, state, q, k, v, b);
        for (r.head = 0; queries && r.head < how->heads; r.head++)
            for (size_t i = 0; i < r.queries; i++)
                attention_backward_query(&r, &back, d, i);
        for (size_t head = 0; head < kv_heads(how); head++)
            for (size_t j = 0; j < r.keys.length; j++) {
                if (d->k.data)
                    attention_backward_key(r, &back, d->k, false, head, j);
                if (d->v.data)
                    attention_backward_key(r, &back, d->v, true, head, j);
            }
    }
    score_backward(&(AttentionRow){.how = how, .state = state, .q = q, .k = k, .v = v}, &back, d);
}
