/* Attention in tiles that stay in the caches, forward and backward. See kernels/plain/attention.c for the formulas.
 *
 * For each row and head, keys and values are copied once, next to each other and transposed where a product wants it
 * (attention_pack.c); then QUERIES queries at a time meet all keys that any of them sees (attention_head.c):
 *
 *     S = Q K^T      P = 2^(S scale log2 e - lse log2 e), 0 where a query does not see a key      Y = P V
 *
 * and backward   dP = dY V^T     dS = P (dP - dY . Y)     dQ = dS K scale     dK += dS^T Q scale     dV += P^T dY.
 *
 * All seven products are `tiles`. In bf16 their operands are pairs along the dimension that is summed over, so some
 * matrices are packed twice. What is masked for all queries of a tile is not computed. S is made in score.c, which also
 * knows what else a score may hold. What is narrow goes a way of its own (attention_narrow.c). */

/* Of a span, which begins at a whole vector, the vectors of keys that are all in first .. end-1; or none, at its end. */
static Range simple_keys(Range span, size_t first, size_t end, bool none)
{
    size_t from = round_up(first > span.from ? first : span.from, WIDTH),
           to = (end < span.to ? end : span.to) / WIDTH * WIDTH;
    return none || from >= to ? (Range){span.to, span.to} : (Range){from, to};
}

/* One query's way through the softmax: the keys it may see, and the factor of its scores, logarithms being of 2. */
typedef struct RowWeights {
    size_t first, end;
    float factor, largest;
    Factors factors;
} RowWeights;

/* The largest scores of a span of keys, or the earlier ones. */
static Vec largest_scores(const RowWeights *r, const float *s, Range span, Vec best)
{
    for (size_t j = span.from; j < span.to; j += WIDTH) {
        Vec score = vec_load(s + j) * r->factor;
        best = vec_max(whole(j, r->first, r->end) ? score : vec_select(live_lanes(j, r->first, r->end), score, best),
                       best);
    }
    return best;
}

/* Keys j on: the powers of their scores, which are added to sum, with dropout to p; or without asking for either, where
 * the query sees all of them and nothing is dropped. */
INLINE Vec power_at(RowWeights *r, Number *p, const float *s, size_t j, bool simple, Vec sum)
{
    Vec power = vec_exp2(vec_load(s + j) * r->factor - r->largest, false);
    if (!simple && !whole(j, r->first, r->end))
        power = vec_select(live_lanes(j, r->first, r->end), power, vec_set(0));
    store_whole(p + j, !simple && r->factors.drop.rate > 0 ? power * factors_at(&r->factors, j) : power);
    return sum + power;
}

/* Scores s of a span become powers p, with dropout; returns their sum without it. p may be s. */
static Vec powers(RowWeights *r, Number *p, const float *s, Range span)
{
    Vec sum = {0};
    Range simple = simple_keys(span, r->first, r->end, r->factors.drop.rate > 0);
    for (size_t j = span.from; j < simple.from; j += WIDTH)
        sum = power_at(r, p, s, j, false, sum);
    for (size_t j = simple.from; j < simple.to; j += WIDTH)
        sum = power_at(r, p, s, j, true, sum);
    for (size_t j = simple.to; j < span.to; j += WIDTH)
        sum = power_at(r, p, s, j, false, sum);
    return sum;
}

/* What scores, or with lse their logarithms, are lessened by: 0 in place of -infinity, less which they would be NaN. */
static float above_minus_infinity(float largest) { return largest == -INFINITY ? 0 : largest; }

/* One query's scores s become weights p before they are divided by their sum, which is returned; lse is saved. p may
 * be s. */
static float softmax_row(const HeadView *h, Number *p, const float *s, const Range *spans, size_t n, size_t i,
                         float *lse)
{
    RowWeights r; /* factors are drawn for the first vector that needs them */
    r.first = keys_first(h->how, h->keys, i), r.end = keys_end(h->how, h->keys, i);
    r.factor = h->scale * LOG2_E;
    r.factors.drop = h->how->dropout, r.factors.state = h->state;
    r.factors.position = h->first_query + i, r.factors.head = h->head;
    Vec best = vec_set(-INFINITY), sum = {0};
    for (size_t m = 0; m < n; m++)
        best = largest_scores(&r, s, spans[m], best);
    r.largest = above_minus_infinity(vec_largest(best));
    for (size_t m = 0; m < n; m++)
        sum += powers(&r, p, s, spans[m]);
    float total = vec_sum(sum);
    *lse = (r.largest + log2f(total)) * LN_2;
    return total == 0 ? 1 : total; /* 0: it sees nothing, or nothing with a score above -infinity */
}

/* Keeps the weights of one query, if they are to be inspected. */
static void keep_weights(const HeadView *h, const float *s, size_t i)
{
    float *to = (float *)h->how->weights +
                ((h->b * h->how->heads + h->head) * h->how->longest_query + i) * h->how->longest_key;
    float largest = -INFINITY, sum = 0;
    for (size_t j = keys_next(h->how, h->keys, i, 0); j < h->keys.length; j = keys_next(h->how, h->keys, i, j + 1))
        largest = s[j] * h->scale > largest ? s[j] * h->scale : largest;
    for (size_t j = keys_next(h->how, h->keys, i, 0); j < h->keys.length; j = keys_next(h->how, h->keys, i, j + 1))
        sum += to[j] = expf(s[j] * h->scale - above_minus_infinity(largest));
    for (size_t j = keys_next(h->how, h->keys, i, 0); j < h->keys.length; j = keys_next(h->how, h->keys, i, j + 1))
        to[j] /= sum == 0 ? 1 : sum;
}

/* Y (+)= P V for the queries of a tile, whose weights are in p */
static void tile_values(const HeadView *h, const HeadScratch *w, Range span, bool add, size_t count)
{
    tiles(w->y, h->dv_wide, add, w->p + span.from / PER_UNIT, h->key_row / PER_UNIT, 1,
          w->v_pairs + span.from / PER_UNIT * h->dv_wide, h->dv_wide, round_up(count, TILE_ROWS), h->dv_wide,
          (span.to - span.from) / PER_UNIT, PAIRS);
}

static void pack_queries(const HeadView *h, const HeadScratch *w, size_t first, size_t count, size_t padded)
{
    pack_rows((Number *)(void *)w->q, numbers_of(h->q, h->first_query + first, h->head, h->dk), h->q.stride,
              (Range){0, count}, padded, h->dk, h->dk_wide);
}

static void pack_for_forward(const HeadView *h, const HeadScratch *w)
{
    if (h->terms)
        prepare_tiles(h, w, false);
    Strided k = cleared(h, w, h->k, h->dk);
    pack_transposed(w->k_transposed, h->key_row, k.data, k.stride, h->seen, h->key_wide, h->dk, h->dk_wide);
    Strided v = cleared(h, w, h->v, h->dv);
    pack_pairs(w->v_pairs, v.data, v.stride, h->seen, h->key_wide, h->dv, h->dv_wide);
}

static void head_forward(const AttentionWork *a, const HeadView *h, const HeadScratch *w)
{
    enum { AT_ONCE = TILE_ROWS }; /* their scores stay in the first cache until they are weights */
    size_t heads = a->how->heads;
    float sums[AT_ONCE];
    pack_for_forward(h, w);
    for (size_t first = 0; first < h->queries; first += AT_ONCE) {
        size_t count = h->queries - first < AT_ONCE ? h->queries - first : AT_ONCE;
        size_t spans = keys_of_tile(h, w, first, count);
        pack_queries(h, w, first, count, AT_ONCE);
        for (size_t n = 0; n < spans; n++)
            tile_scores(h, w, w->spans[n], first, count);
        for (size_t i = 0; i < count; i++) {
            size_t at = (h->first_query + first + i) * heads + h->head;
            if (a->how->weights)
                keep_weights(h, w->s + i * h->key_row, first + i);
            sums[i] = softmax_row(h, (Number *)(void *)w->p + i * h->key_row, w->s + i * h->key_row, w->spans, spans,
                                  first + i, &a->lse[at]);
        }
        for (size_t n = 0; n < spans; n++)
            tile_values(h, w, w->spans[n], n > 0, count);
        for (size_t i = 0; i < count; i++) {
            Number *y = a->y + ((h->first_query + first + i) * heads + h->head) * h->dv;
            for (size_t j = 0; j < h->dv; j += WIDTH)
                store(y + j, vec_load(w->y + i * h->dv_wide + j) / sums[i], h->dv - j);
        }
    }
}

/* A query against keys as they are stored: for so few queries that packing all keys would cost more than it saves. */
static void query_forward(const AttentionWork *a, const HeadView *h, const HeadScratch *w, size_t i)
{
    size_t at = (h->first_query + i) * a->how->heads + h->head;
    size_t first = keys_first(h->how, h->keys, i), end = keys_end(h->how, h->keys, i);
    keys_of_tile(h, w, i, 1);
    const Number *q = numbers_of(h->q, h->first_query + i, h->head, h->dk);
    const Number *k = keys_from(h, h->k, first, h->dk);
    size_t seen = first < end ? end - first : 0;
    dot_rows(w->s + first, q, k, h->k.stride, seen, h->dk);
    if (h->terms)
        query_terms(h, w, q, i, first, seen);
    if (a->how->weights)
        keep_weights(h, w->s, i);
    Number *p = (Number *)(void *)w->p;
    float sum = softmax_row(h, p, w->s, w->spans, 1, i, &a->lse[at]);
    weighted_sum(a->y + at * h->dv, 1 / sum, keys_from(h, h->v, first, h->dv), h->v.stride, p + first, seen, h->dv);
}

enum { FEW_QUERIES = 4, LINE = 64 /* bytes of a cache's line */ };

/* Asks for keys or values that will be read. */
static void fetch(const HeadView *h, Strided x, size_t size)
{
    for (size_t j = h->seen.from; j < h->seen.to; j++)
        for (size_t i = 0; i < size; i += LINE / sizeof(Number))
            __builtin_prefetch(keys_from(h, x, j, size) + i);
}

/* The keys and values of a row with few queries are asked for while the row before it is computed: as they come from
 * far, and each of them is read once, waiting for them would take longer than the work. */
static void fetch_next(const HeadView *next, const HeadView *h)
{
    if (next->queries > FEW_QUERIES || next->keys.start == h->keys.start)
        return;
    fetch(next, next->k, next->dk);
    fetch(next, next->v, next->dv);
}

static void row_forward(const AttentionWork *a, const HeadView *h, const HeadScratch *w)
{
    bool few = h->queries <= FEW_QUERIES && !keys_have_gaps(a->how);
    if (few && h->terms)
        prepare_terms(h, w);
    for (size_t i = 0; few && i < h->queries; i++)
        query_forward(a, h, w, i);
    if (!few && !(is_narrow(h) && narrow_forward(a, h, w)))
        head_forward(a, h, w);
}

static void forward_heads(void *argument, size_t member, size_t first, size_t end)
{
    const AttentionWork *a = argument;
    HeadScratch w;
    Attend own;
    lay_out(&w, (Unit *)(void *)((char *)a->s->scratch + member * a->s->scratch_size), a->how, false);
    HeadView next = {0};
    for (size_t b = 0; b < a->how->rows; b++) {
        HeadView h = b ? next : head_view(a->how, a->state, a->q, a->k, a->v, 0, first);
        if (b + 1 < a->how->rows)
            next = head_view(a->how, a->state, a->q, a->k, a->v, b + 1, first);
        for (h.head = first; h.head < end; h.head++) {
            next.head = h.head;
            if (b + 1 < a->how->rows)
                fetch_next(&next, &h);
            end_at_span(&h, a->how, &own);
            row_forward(a, &h, &w);
        }
    }
}

/* Positions after the last row belong to none: zeros. */
static void zero_behind(Strided x, size_t from, size_t to, size_t columns)
{
    for (size_t i = from; i < to; i++)
        memset((Number *)x.data + i * x.stride, 0, columns * sizeof(Number));
}

static void attention_forward(Stream *s, void *y, void *lse, Strided q, Strided k, Strided v, const Attend *how,
                              const StepState *state)
{
    AttentionWork a = {.s = s, .how = how, .state = state, .q = q, .k = k, .v = v, .y = y, .lse = lse};
    HeadScratch w;
    size_t used = how->rows ? (size_t)how->query_start[how->rows] : 0, columns = how->heads * how->value_size;

    zero_behind((Strided){y, columns}, used, how->queries, columns);
    memset(a.lse + used * how->heads, 0, (how->queries - used) * how->heads * sizeof *a.lse);
    if (how->weights)
        memset(how->weights, 0, how->rows * how->heads * how->longest_query * how->longest_key * sizeof(float));
    if (stream_scratch(s, lay_out(&w, NULL, how, false) * sizeof(int32_t)))
        stream_share(s, how->heads, 1, forward_heads, &a);
}

/* --- backward --- */

static void pack_for_backward(const HeadView *h, const HeadScratch *w)
{
    if (h->terms)
        prepare_tiles(h, w, true);
    Strided k = cleared(h, w, h->k, h->dk);
    pack_transposed(w->k_transposed, h->key_row, k.data, k.stride, h->seen, h->key_wide, h->dk, h->dk_wide);
    pack_pairs(w->k_pairs, k.data, k.stride, h->seen, h->key_wide, h->dk, h->dk_wide);
    Strided v = cleared(h, w, h->v, h->dv);
    pack_transposed(w->v_transposed, h->key_row, v.data, v.stride, h->seen, h->key_wide, h->dv, h->dv_wide);
}

/* One query's way back through its softmax. */
typedef struct RowGradient {
    size_t first, end; /* keys it sees */
    const float *s, *dp;
    float factor, lse2, shared, uncap; /* uncap: 1 / cap, or 0 */
    Factors factors;
} RowGradient;

/* row: of the tile; one after its last query sees nothing */
static RowGradient row_gradient(const AttentionWork *a, const HeadView *h, const HeadScratch *w, const float *shared,
                                size_t i, size_t row)
{
    RowGradient g; /* factors are drawn for the first vector that needs them */
    size_t at = (h->first_query + i) * a->how->heads + h->head;
    bool sees = i < h->queries && keys_next(h->how, h->keys, i, 0) < h->keys.length;
    g.s = w->s + row * h->key_row, g.dp = w->dp + row * h->key_row;
    g.first = sees ? keys_first(h->how, h->keys, i) : 0;
    g.end = sees ? keys_end(h->how, h->keys, i) : 0;
    g.factor = h->scale * LOG2_E;
    g.uncap = h->how->cap > 0 ? 1 / (float)h->how->cap : 0;
    g.lse2 = sees ? above_minus_infinity(a->lse[at]) * LOG2_E : 0;
    g.shared = sees ? shared[row] : 0;
    g.factors.drop = sees ? h->how->dropout : (Dropout){0};
    g.factors.state = h->state, g.factors.position = h->first_query + i, g.factors.head = h->head;
    return g;
}

/* Keys j on: the weights as dV wants them, with dropout, and dS / scale. simple: the query sees all of them, nothing is
 * dropped, and there is no cap. */
INLINE Vec gradient_at(RowGradient *g, size_t j, bool simple, Vec *ds)
{
    Vec weight = vec_exp2(vec_load(g->s + j) * g->factor - g->lse2, ROUGH), gradient = vec_load(g->dp + j);
    Vec dropped = weight;
    if (!simple && g->factors.drop.rate > 0) {
        Vec kept = factors_at(&g->factors, j);
        gradient *= kept;
        dropped *= kept;
    }
    *ds = weight * (gradient - g->shared);
    if (!simple && g->uncap > 0) { /* what is hidden is -infinity, and has no weight */
        Vec part = vec_max(vec_set(-1), vec_load(g->s + j) * g->uncap);
        *ds *= 1.0f - part * part;
    }
    if (!simple && !whole(j, g->first, g->end)) {
        IVec live = live_lanes(j, g->first, g->end);
        *ds = vec_select(live, *ds, vec_set(0));
        dropped = vec_select(live, dropped, vec_set(0));
    }
    return dropped;
}

/* s and dp of two queries, [2, key_row] from number `at` of a tile on, become weights and dS, in the forms in which
 * the products want them: in f32 each in its own place. */
INLINE void gradients_of_two(const HeadView *h, const HeadScratch *w, RowGradient *low, RowGradient *high, size_t at,
                             Range keys, bool simple)
{
    for (size_t j = keys.from; j < keys.to; j += WIDTH) {
        Vec ds_low, ds_high, p_low = gradient_at(low, j, simple, &ds_low),
                             p_high = gradient_at(high, j, simple, &ds_high);
#if defined CPU_BF16
        Number *ds = (Number *)(void *)w->ds + at + j;
        bf16_store_both(ds, ds + h->key_row, w->ds_pairs + at / 2 + j, ds_low, ds_high);
        bf16_store_both(NULL, NULL, w->p + at / 2 + j, p_low, p_high);
#else
        vec_store(w->dp + at + j, ds_low);
        vec_store(w->dp + at + h->key_row + j, ds_high);
        vec_store(w->s + at + j, p_low);
        vec_store(w->s + at + h->key_row + j, p_high);
#endif
    }
}

static void tile_gradients(const AttentionWork *a, const HeadView *h, const HeadScratch *w, const float *shared,
                           Range span, size_t first)
{
    for (size_t i = 0; i < QUERIES; i += 2) {
        RowGradient low = row_gradient(a, h, w, shared, first + i, i),
                    high = row_gradient(a, h, w, shared, first + i + 1, i + 1);
        size_t at = i * h->key_row, from = low.first > high.first ? low.first : high.first;
        bool none = h->how->dropout.rate > 0 || h->how->cap > 0;
        Range simple = simple_keys(span, from, low.end < high.end ? low.end : high.end, none);
        gradients_of_two(h, w, &low, &high, at, (Range){span.from, simple.from}, false);
        gradients_of_two(h, w, &low, &high, at, simple, true);
        gradients_of_two(h, w, &low, &high, at, (Range){simple.to, span.to}, false);
    }
}

/* What a span of keys adds to dQ of a tile, and the tile to their dK and dV */
static void span_backward(const AttentionWork *a, const HeadView *h, const HeadScratch *w, const float *shared,
                          Range span, bool add, size_t first, size_t count)
{
    size_t wide = h->key_row, keys = span.to - span.from;
    tile_scores(h, w, span, first, count);
    tiles(w->dp + span.from, wide, false, w->dy, h->dv_wide / PER_UNIT, 1, w->v_transposed + span.from, wide,
          round_up(count, TILE_ROWS), keys, h->dv_wide / PER_UNIT, PAIRS);
    tile_gradients(a, h, w, shared, span, first);
    tiles(w->dq, h->dk_wide, add, w->ds + span.from / PER_UNIT, wide / PER_UNIT, 1,
          w->k_pairs + span.from / PER_UNIT * h->dk_wide, h->dk_wide, QUERIES, h->dk_wide, keys / PER_UNIT, PAIRS);
    tiles(w->dk + span.from * h->dk_wide, h->dk_wide, true, w->ds_pairs + span.from, 1, wide, w->q_pairs, h->dk_wide,
          keys, h->dk_wide, QUERIES / PER_UNIT, PAIRS);
    tiles(w->dv + span.from * h->dv_wide, h->dv_wide, true, w->p + span.from, 1, wide, w->dy_pairs, h->dv_wide, keys,
          h->dv_wide, QUERIES / PER_UNIT, PAIRS);
    if (h->terms)
        tile_terms_backward(h, w, span, first, count);
}

static void tile_backward(const AttentionWork *a, const HeadView *h, const HeadScratch *w, size_t first, size_t count)
{
    size_t heads = a->how->heads, spans = keys_of_tile(h, w, first, count);
    const Number *dy = a->dy + ((h->first_query + first) * heads + h->head) * h->dv;
    Range rows = {0, count};
    float shared[QUERIES];

    shared_of_tile(shared, a, h, first, count);
    pack_queries(h, w, first, count, QUERIES);
    pack_pairs(w->q_pairs, (Number *)(void *)w->q, h->dk_wide, rows, QUERIES, h->dk_wide, h->dk_wide);
    pack_rows((Number *)(void *)w->dy, dy, heads * h->dv, rows, QUERIES, h->dv, h->dv_wide);
    pack_pairs(w->dy_pairs, dy, heads * h->dv, rows, QUERIES, h->dv, h->dv_wide);
    for (size_t n = 0; n < spans; n++)
        span_backward(a, h, w, shared, w->spans[n], n > 0, first, count);
    for (size_t i = 0; a->d->q.data && i < count; i++) {
        Number *to = (Number *)a->d->q.data + (h->first_query + first + i) * a->d->q.stride + h->head * h->dk;
        for (size_t j = 0; j < h->dk; j += WIDTH)
            store_gradient(to + j, a->d->add_q, vec_load(w->dq + i * h->dk_wide + j) * (float)h->how->scale, h->dk - j);
    }
}

static void head_backward(const AttentionWork *a, const HeadView *h, const HeadScratch *w)
{
    pack_for_backward(h, w);
    for (size_t i = 0; i < h->queries; i += QUERIES)
        tile_backward(a, h, w, i, h->queries - i < QUERIES ? h->queries - i : QUERIES);
    if (h->terms)
        finish_terms(h, w, a->d);
}

/* Stores a row's dK or dV of one head, times `scale`, and zeros for keys that are not valid. */
static void store_key_gradients(const HeadView *h, Strided to, bool add, const float *from, double scale, size_t size,
                                size_t wide)
{
    size_t all = (size_t)h->how->key_start[h->b + 1] - h->keys.start;
    for (size_t j = 0; to.data && j < (add ? h->keys.length : all); j++) {
        Number *key = (Number *)to.data + (h->keys.start + j) * to.stride + kv_head(h->how, h->head) * size;
        for (size_t c = 0; c < size; c += WIDTH)
            store_gradient(key + c, add, j < h->keys.length ? vec_load(from + j * wide + c) * (float)scale : vec_set(0),
                           size - c);
    }
}

/* One head of keys and values, with all heads of queries that read it. */
static void group_backward(const AttentionWork *a, const HeadScratch *w, size_t b, size_t kv)
{
    size_t group = heads_per_kv(a->how);
    HeadView h = head_view(a->how, a->state, a->q, a->k, a->v, b, kv * group);
    Attend own;
    memset(w->dk, 0, h.key_wide * h.dk_wide * sizeof *w->dk);
    memset(w->dv, 0, h.key_wide * h.dv_wide * sizeof *w->dv);
    for (; h.head < (kv + 1) * group; h.head++) {
        end_at_span(&h, a->how, &own);
        if (is_narrow(&h) && narrow_weights_fit(&h))
            narrow_backward(a, &h, w);
        else
            head_backward(a, &h, w);
    }
    h.head = kv * group;
    store_key_gradients(&h, a->d->k, a->d->add_k, w->dk, a->how->scale, h.dk, h.dk_wide);
    store_key_gradients(&h, a->d->v, a->d->add_v, w->dv, 1, h.dv, h.dv_wide);
}

/* first .. end-1: of keys and values */
static void backward_heads(void *argument, size_t member, size_t first, size_t end)
{
    const AttentionWork *a = argument;
    size_t group = heads_per_kv(a->how);
    HeadScratch w;
    lay_out(&w, (Unit *)(void *)((char *)a->s->scratch + member * a->s->scratch_size), a->how, true);
    if (w.drelative)
        memset(w.drelative, 0, a->how->heads * a->how->distances * round_up(a->how->key_size, WIDTH) * sizeof(float));
    for (size_t b = 0; b < a->how->rows; b++)
        for (size_t kv = first; kv < end; kv++)
            group_backward(a, &w, b, kv);
    for (size_t head = first * group; a->d->relative.data && head < end * group; head++)
        store_relative_gradient(a->how, &w, a->d, head);
}

static void attention_backward(Stream *s, const AttendGradients *d, const void *dy, const void *y, const void *lse,
                               Strided q, Strided k, Strided v, const Attend *how, const StepState *state)
{
    AttentionWork a = {.s = s, .how = how, .state = state, .q = q, .k = k, .v = v, .d = d, .dy = dy};
    HeadScratch w;
    size_t queries = how->rows ? (size_t)how->query_start[how->rows] : 0;
    size_t keys = how->rows ? (size_t)how->key_start[how->rows] : 0;

    assert(!how->key_row);
    a.y = (Number *)(uintptr_t)y; /* only read here */
    a.lse = (float *)(uintptr_t)lse;
    if (d->q.data && !d->add_q)
        zero_behind(d->q, queries, how->queries, how->heads * how->key_size);
    if (d->k.data && !d->add_k)
        zero_behind(d->k, keys, how->keys, kv_heads(how) * how->key_size);
    if (d->v.data && !d->add_v)
        zero_behind(d->v, keys, how->keys, kv_heads(how) * how->value_size);
    if (stream_scratch(s, lay_out(&w, NULL, how, true) * sizeof(int32_t)))
        stream_share(s, kv_heads(how), 1, backward_heads, &a);
}
