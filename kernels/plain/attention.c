/* Scaled dot-product attention over packed rows (Vaswani et al. 2017), without a matrix of all weights.
 *
 *     s[j] = scale q . k[j]             for each key j that the query sees; what else a score may hold: see score.c
 *     w[j] = exp(s[j] - lse)            lse = log sum exp s, the one number a query saves for each head
 *     y    = sum over j of m[j] w[j] v[j]         m: dropout's factors
 *
 * Backward: with dw[j] = m[j] dy . v[j], the softmax gives ds[j] = w[j] (dw[j] - sum of w dw), and that sum is dy . y:
 *
 *     dv[j] = sum over i of m w dy      dq = scale sum over j of ds[j] k[j]      dk[j] = scale sum over i of ds q
 *
 * One pass goes over queries for y or dq, another over keys for dk and dv, so that each result is summed in one place
 * and rounded once. Weights are computed again wherever they are needed. The other terms of a score, written for it in
 * full: relative key r[e] of the distance's entry e, content bias cb and position bias pb, distance bias db:
 *
 *     dq = scale sum over j of ds[j] (k[j] + r[e])          dk[j] = scale sum over i of ds (q + cb)
 *     dr[e] = scale sum over pairs that far apart of ds (q + pb)                 ddb[e] = sum over the same pairs of ds
 *     dcb = scale sum over all pairs of ds k                dpb = scale sum over all pairs of ds r */

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
 * the query sees nothing; a key whose score is -infinity is as one that it does not see. */
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

/* w[j]; zeros, where no score is more than -infinity */
static Real weight_of(const AttentionRow *r, Real lse, size_t i, size_t j)
{
    return lse == -(Real)INFINITY ? 0 : real_exp(score(r, i, j) - lse);
}

/* y of one query and head, BLOCK columns at a time */
static void attention_query(const AttentionRow *r, Number *y, Real lse, size_t i)
{
    size_t dv = r->how->value_size;
    for (size_t from = 0; from < dv; from += BLOCK) {
        size_t width = dv - from < BLOCK ? dv - from : BLOCK;
        Real sum[BLOCK] = {0};
        for (size_t j = next_key(r, i, 0); j < r->keys.length; j = next_key(r, i, j + 1)) {
            const Number *value = key_of(r, r->v, j, dv) + from;
            Real weight = weight_of(r, lse, i, j) * drop_factor(r, i, j);
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

/* What the backward passes need of one query and head beyond the row. */
typedef struct AttentionBack {
    const Number *dy, *y; /* [N, H*dv] */
    const Real *lse;      /* [N,H] */
} AttentionBack;

/* ds[j] for query i and key j; *dropped is m[j] w[j], what dv counts dy with */
static Real score_gradient(const AttentionRow *r, const AttentionBack *back, size_t i, size_t j, Real *dropped)
{
    size_t dv = r->how->value_size, at = (r->first_query + i) * r->how->heads + r->head;
    Real weight = weight_of(r, back->lse[at], i, j), factor = drop_factor(r, i, j);
    Real dw = factor * dot(back->dy + at * dv, head_of(r->v, r->keys.start + j, r->head, dv), dv);
    *dropped = factor * weight;
    return weight * (dw - dot(back->dy + at * dv, back->y + at * dv, dv));
}

/* sum [width] += sum over j of ds[j] x_j: of keys, or of relative keys, `width` columns from `from` on */
static void gather_keys(const AttentionRow *r, const AttentionBack *back, Real *sum, bool relative, size_t i,
                        size_t from, size_t width)
{
    size_t dk = r->how->key_size;
    for (size_t j = next_key(r, i, 0); j < r->keys.length; j = next_key(r, i, j + 1)) {
        const Number *vector = relative ? relative_key(r, i, j) : head_of(r->k, r->keys.start + j, r->head, dk);
        Real dropped, ds = score_gradient(r, back, i, j, &dropped);
        for (size_t c = 0; c < width; c++)
            sum[c] += ds * real(vector[from + c]);
    }
}

/* dq of one query and head, and what the query adds to the gradients of content and position bias */
static void attention_backward_query(const AttentionRow *r, const AttentionBack *back, const AttendGradients *d,
                                     size_t i)
{
    size_t dk = r->how->key_size, at = r->head * dk;
    Real scale = (Real)r->how->scale, *content = d->content_bias, *position = d->position_bias;
    for (size_t from = 0; from < dk; from += BLOCK) {
        size_t width = dk - from < BLOCK ? dk - from : BLOCK;
        Real keys[BLOCK] = {0}, relative[BLOCK] = {0};
        gather_keys(r, back, keys, false, i, from, width);
        if (r->how->relative.data)
            gather_keys(r, back, relative, true, i, from, width);
        for (size_t c = 0; c < width; c++) {
            if (d->q.data)
                give((Number *)d->q.data + (r->first_query + i) * d->q.stride + at + from + c, d->add_q,
                     scale * (keys[c] + relative[c]));
            if (content)
                content[at + from + c] += scale * keys[c];
            if (position)
                position[at + from + c] += scale * relative[c];
        }
    }
}

/* Adds to one key's or value's gradient: sum over queries i of factor_i x_i, BLOCK columns at a time. For keys factor
 * is scale ds and x a query with its bias; for values the dropped weight and dy. */
static void attention_backward_key(const AttentionRow *r, const AttentionBack *back, Strided to, bool values, size_t j)
{
    size_t size = values ? r->how->value_size : r->how->key_size;
    Number *gradient = (Number *)to.data + (r->keys.start + j) * to.stride + r->head * size;
    Strided dy = {(void *)(uintptr_t)back->dy, r->how->heads * size}, x = values ? dy : r->q;
    const Real *bias = values ? NULL : head_of_bias(r->how->content_bias, r->head, size);
    for (size_t from = 0; from < size; from += BLOCK) {
        size_t width = size - from < BLOCK ? size - from : BLOCK;
        Real sum[BLOCK] = {0};
        for (size_t i = 0; i < r->queries; i++) {
            if (next_key(r, i, j) != j)
                continue;
            Real dropped, ds = score_gradient(r, back, i, j, &dropped);
            const Number *vector = head_of(x, r->first_query + i, r->head, size) + from;
            for (size_t c = 0; c < width; c++)
                sum[c] += (values ? dropped : ds) * (real(vector[c]) + (bias ? bias[from + c] : 0));
        }
        for (size_t c = 0; c < width; c++)
            give(&gradient[from + c], true, (values ? 1 : (Real)r->how->scale) * sum[c]);
    }
}

/* Adds to the bias of each distance at which query i sees a key. */
static void attention_backward_bias(const AttentionRow *r, const AttentionBack *back, Real *bias, size_t i)
{
    for (size_t j = next_key(r, i, 0); j < r->keys.length; j = next_key(r, i, j + 1)) {
        Real dropped;
        bias[distance_entry(r->how, r->keys, i, j) * r->how->heads + r->head] += score_gradient(r, back, i, j,
                                                                                                &dropped);
    }
}

/* sum [width] += sum of ds (q + position bias) over keys that lie at entry e from query i */
static void gather_at_distance(const AttentionRow *r, const AttentionBack *back, Real *sum, size_t e, size_t i,
                               size_t from, size_t width)
{
    size_t dk = r->how->key_size;
    const Number *q = head_of(r->q, r->first_query + i, r->head, dk);
    const Real *bias = head_of_bias(r->how->position_bias, r->head, dk);
    for (size_t j = next_key(r, i, 0); j < r->keys.length; j = next_key(r, i, j + 1)) {
        if (distance_entry(r->how, r->keys, i, j) != e)
            continue;
        Real dropped, ds = score_gradient(r, back, i, j, &dropped);
        for (size_t c = from; c < from + width; c++)
            sum[c - from] += ds * (real(q[c]) + (bias ? bias[c] : 0));
    }
}

/* Adds to one head of relative key e, whose gradient comes from all rows. */
static void attention_backward_relative(const AttentionRow *any, const AttentionBack *back, Strided to, size_t e)
{
    size_t dk = any->how->key_size;
    Number *gradient = (Number *)to.data + e * to.stride + any->head * dk;
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
            give(&gradient[from + c], true, (Real)any->how->scale * sum[c]);
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
    if (d->relative.data && !d->add_relative)
        zero_columns(d->relative, how->distances, how->heads * how->key_size);
    for (size_t b = 0; b < how->rows; b++) {
        AttentionRow r = attention_row(how, state, q, k, v, b);
        for (r.head = 0; r.head < how->heads; r.head++) {
            for (size_t i = 0; (d->q.data || d->content_bias || d->position_bias) && i < r.queries; i++)
                attention_backward_query(&r, &back, d, i);
            for (size_t i = 0; d->distance_bias && i < r.queries; i++)
                attention_backward_bias(&r, &back, d->distance_bias, i);
            for (size_t j = 0; d->k.data && j < r.keys.length; j++)
                attention_backward_key(&r, &back, d->k, false, j);
            for (size_t j = 0; d->v.data && j < r.keys.length; j++)
                attention_backward_key(&r, &back, d->v, true, j);
        }
    }
    AttentionRow any = {.how = how, .state = state, .q = q, .k = k, .v = v};
    for (; d->relative.data && any.head < how->heads; any.head++)
        for (size_t e = 0; e < how->distances; e++)
            attention_backward_relative(&any, &back, d->relative, e);
}
