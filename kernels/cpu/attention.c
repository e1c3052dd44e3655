/* Attention in tiles that stay in the caches, forward and backward. See kernels/plain/attention.c for the formulas.
 *
 * For each row and head, keys and values are copied once, next to each other and transposed where a product wants it
 * (attention_pack.c); then a tile of queries at a time meets all keys that any of them sees (attention_head.c):
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

/* One query's way through the softmax and back. */
typedef struct Query {
    size_t first, end; /* keys it may see: none, if it sees none or is after the last query */
    float shift;  /* forward its largest score; backward log2 of its sum of powers: its scores are lessened by it */
    float shared; /* backward: dY . Y */
    Factors factors;
} Query;

/* Query i of a head. Factors are drawn for the first vector that needs them. */
INLINE void begin_query(Query *q, const HeadView *h, size_t i)
{
    bool there = i < h->queries;
    if (there && keys_have_gaps(h->how)) /* then it may see none of first .. end-1 */
        there = keys_next(h->how, h->keys, i, 0) < h->keys.length;
    q->first = there ? keys_first(h->how, h->keys, i) : 0;
    q->end = there ? keys_end(h->how, h->keys, i) : 0;
    q->shift = q->shared = 0;
    q->factors.drop = there ? h->how->dropout : (Dropout){0};
    q->factors.state = h->state, q->factors.position = h->first_query + i, q->factors.head = h->head;
}

/* Which keys all of these queries see: whole vectors of a span, or none, at its end, if something is dropped. */
static Range seen_by_all(const Query *q, int count, Range span, bool dropped)
{
    size_t first = 0, end = span.to;
    for (int i = 0; i < count; i++) {
        first = q[i].first > first ? q[i].first : first;
        end = q[i].end < end ? q[i].end : end;
    }
    return simple_keys(span, first, end, dropped);
}

/* best [count] = the largest scores of some keys, or the earlier ones; s and the like have rows of `row` scores. simple:
 * all see all of these keys. */
INLINE void largest_scores(Vec *best, const Query *q, int count, const float *s, size_t row, Range keys, bool simple)
{
    for (size_t j = keys.from; j < keys.to; j += WIDTH)
        for (int i = 0; i < count; i++) {
            Vec score = vec_load(s + (size_t)i * row + j);
            if (!simple)
                score = vec_select(live_lanes(j, q[i].first, q[i].end), score, vec_set(-INFINITY));
            best[i] = vec_max(score, best[i]);
        }
}

/* Scores s become powers p, with dropout unless simple; without it they are added to sum [count]. p may be s. */
INLINE void add_powers(Vec *sum, Query *q, int count, Number *p, const float *s, size_t row, float factor, Range keys,
                       bool simple)
{
    for (size_t j = keys.from; j < keys.to; j += WIDTH)
        for (int i = 0; i < count; i++) {
            Vec power = vec_exp2((vec_load(s + (size_t)i * row + j) - q[i].shift) * factor, false), kept = vec_set(1);
            if (!simple) {
                power = vec_select(live_lanes(j, q[i].first, q[i].end), power, vec_set(0));
                kept = factors_at(&q[i].factors, j);
            }
            sum[i] += power;
            store_whole(p + (size_t)i * row + j, simple ? power : power * kept);
        }
}

/* 0 in place of -infinity: a score less that would be NaN. */
INLINE Vec above_minus_infinity(Vec largest) { return vec_select(largest == -INFINITY, vec_set(0), largest); }

enum { LANES = SPAN_END }; /* whole vectors, for one number of each query of a tile */

/* The scores of `count` <= rows queries become weights that are still to be divided by their sums, which go to `sums`; the
 * sums' logarithms are saved. The outer loops go over keys, so that there are many steps and few ends of loops. */
INLINE void tile_weights(const AttentionWork *a, const HeadView *h, const HeadScratch *w, size_t spans, size_t first,
                         size_t count, const int rows, float sums[LANES])
{
    Query q[TILE_ROWS];
    Vec best[TILE_ROWS], sum[TILE_ROWS];
    float largest[LANES], lse[LANES], factor = h->scale * LOG2_E;
    Number *p = (Number *)(void *)w->p;
    bool dropped = h->how->dropout.rate > 0;

    for (int i = 0; i < rows; i++) {
        begin_query(&q[i], h, first + (size_t)i);
        best[i] = vec_set(-INFINITY), sum[i] = vec_set(0);
    }
    for (size_t n = 0; n < spans; n++) {
        Range span = w->spans[n], all = seen_by_all(q, rows, span, false);
        largest_scores(best, q, rows, w->s, h->key_row, (Range){span.from, all.from}, false);
        largest_scores(best, q, rows, w->s, h->key_row, all, true);
        largest_scores(best, q, rows, w->s, h->key_row, (Range){all.to, span.to}, false);
    }
    for (int i = 0; i < rows; i += WIDTH)
        vec_store(largest + i, above_minus_infinity(vec_across(best + i, rows - i, true)));
    for (int i = 0; i < rows; i++)
        q[i].shift = largest[i];
    for (size_t n = 0; n < spans; n++) {
        Range span = w->spans[n], all = seen_by_all(q, rows, span, dropped);
        add_powers(sum, q, rows, p, w->s, h->key_row, factor, (Range){span.from, all.from}, false);
        add_powers(sum, q, rows, p, w->s, h->key_row, factor, all, true);
        add_powers(sum, q, rows, p, w->s, h->key_row, factor, (Range){all.to, span.to}, false);
    }
    for (int i = 0; i < rows; i += WIDTH) {
        Vec total = vec_across(sum + i, rows - i, false);
        vec_store(lse + i, vec_load(largest + i) * h->scale + vec_log2(total) * LN_2);
        vec_store(sums + i, vec_select(total == 0, vec_set(1), total)); /* 0: it sees no score above -infinity */
    }
    for (size_t i = 0; i < count; i++)
        a->lse[(h->first_query + first + i) * h->how->heads + h->head] = lse[i];
}

/* Keeps the weights of one query, if they are to be inspected. */
static void keep_weights(const HeadView *h, const float *s, size_t i)
{
    float *to = (float *)h->how->weights +
                ((h->b * h->how->heads + h->head) * h->how->longest_query + i) * h->how->longest_key;
    float largest = -INFINITY, sum = 0;
    for (size_t j = keys_next(h->how, h->keys, i, 0); j < h->keys.length; j = keys_next(h->how, h->keys, i, j + 1))
        largest = s[j] * h->scale > largest ? s[j] * h->scale : largest;
    largest = largest == -INFINITY ? 0 : largest;
    for (size_t j = keys_next(h->how, h->keys, i, 0); j < h->keys.length; j = keys_next(h->how, h->keys, i, j + 1))
        sum += to[j] = expf(s[j] * h->scale - largest);
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
    float sums[LANES];
    pack_for_forward(h, w);
    for (size_t first = 0; first < h->queries; first += AT_ONCE) {
        size_t count = h->queries - first < AT_ONCE ? h->queries - first : AT_ONCE;
        size_t spans = keys_of_tile(h, w, first, count);
        pack_queries(h, w, first, count, AT_ONCE);
        for (size_t n = 0; n < spans; n++)
            tile_scores(h, w, w->spans[n], first, count);
        if (a->how->weights)
            for (size_t i = 0; i < count; i++)
                keep_weights(h, w->s + i * h->key_row, first + i);
        tile_weights(a, h, w, spans, first, count, TILE_ROWS, sums);
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
    float sums[LANES];
    tile_weights(a, h, w, 1, i, 1, 1, sums);
    weighted_sum(a->y + at * h->dv, 1 / sums[0], keys_from(h, h->v, first, h->dv), h->v.stride,
                 (Number *)(void *)w->p + first, seen, h->dv);
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

static size_t attention_size(const Attend *how)
{
    size_t size = 0;
    for (size_t b = 0; b < how->rows; b++)
        size += ((size_t)(how->query_start[b + 1] - how->query_start[b]) + STREAMED) * keys_of_row(how, b).length;
    return size * how->heads * (how->key_size + how->value_size);
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
        stream_share(s, (Shared){how->heads, 1, attention_size(how), forward_heads, &a});
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

/* Keys j on of a query in row `row` of a tile: the weights as dV wants them, with dropout, and dS / scale. simple: it sees
 * all of them, nothing is dropped, and there is no cap. */
INLINE Vec gradient_at(const HeadView *h, const HeadScratch *w, Query *q, size_t row, size_t j, bool simple, Vec *ds)
{
    const size_t at = row * h->key_row + j;
    Vec score = vec_load(w->s + at), gradient = vec_load(w->dp + at);
    Vec weight = vec_exp2(score * (h->scale * LOG2_E) - q->shift, ROUGH), dropped = weight;
    if (!simple && q->factors.drop.rate > 0) {
        Vec kept = factors_at(&q->factors, j);
        gradient *= kept;
        dropped *= kept;
    }
    *ds = weight * (gradient - q->shared);
    if (!simple && h->how->cap > 0) { /* what is hidden is -infinity, and has no weight */
        Vec part = vec_max(vec_set(-1), score * (1 / (float)h->how->cap));
        *ds *= 1.0f - part * part;
    }
    if (!simple && !whole(j, q->first, q->end)) {
        IVec live = live_lanes(j, q->first, q->end);
        *ds = vec_select(live, *ds, vec_set(0));
        dropped = vec_select(live, dropped, vec_set(0));
    }
    return dropped;
}

/* For some keys, s and dp of TILE_ROWS queries, from row `row` of a tile on, become weights and dS, in the forms in which the
 * products want them: in f32 each in its own place. */
INLINE void rows_gradients(const HeadView *h, const HeadScratch *w, Query *q, size_t row, Range keys, bool simple)
{
    for (size_t j = keys.from; j < keys.to; j += WIDTH)
        for (size_t i = 0; i < TILE_ROWS; i += 2) {
            Vec ds[2], p[2];
            for (size_t of = 0; of < 2; of++)
                p[of] = gradient_at(h, w, &q[i + of], row + i + of, j, simple, &ds[of]);
            const size_t at = (row + i) * h->key_row + j;
#if defined CPU_BF16
            Number *to = (Number *)(void *)w->ds + at;
            size_t pairs = (row + i) / 2 * h->key_row + j;
            bf16_store_both(to, to + h->key_row, w->ds_pairs + pairs, ds[0], ds[1]);
            bf16_store_both(NULL, NULL, w->p + pairs, p[0], p[1]);
#else
            for (size_t of = 0; of < 2; of++) {
                vec_store(w->dp + at + of * h->key_row, ds[of]);
                vec_store(w->s + at + of * h->key_row, p[of]);
            }
#endif
        }
}

/* The same for all keys that these queries look at. shared [QUERIES] = dY . Y */
static void tile_gradients(const AttentionWork *a, const HeadView *h, const HeadScratch *w, const float *shared,
                           size_t first, size_t row, Range keys)
{
    Query q[TILE_ROWS];
    bool none = h->how->dropout.rate > 0 || h->how->cap > 0;
    for (size_t i = 0; i < TILE_ROWS; i++) {
        begin_query(&q[i], h, first + row + i);
        if (first + row + i < h->queries) {
            float lse = a->lse[(h->first_query + first + row + i) * h->how->heads + h->head];
            q[i].shift = lse == -INFINITY ? 0 : lse * LOG2_E;
            q[i].shared = shared[row + i];
        }
    }
    Range all = seen_by_all(q, TILE_ROWS, keys, none);
    rows_gradients(h, w, q, row, (Range){keys.from, all.from}, false);
    rows_gradients(h, w, q, row, all, true);
    rows_gradients(h, w, q, row, (Range){all.to, keys.to}, false);
}

enum { GROUP = TILE_ROWS == TILE_MOST ? TILE_ROWS : 16 }; /* queries that look at the same keys: whole tiles */

/* Where the keys of a span end that each group of a tile looks at, with those of the groups before it: so little is computed
 * above the diagonal of a triangle. If there is more to a score, all look at all. Returns how many groups there are. */
static size_t ends_of_groups(const HeadView *h, Range span, size_t first, size_t count, size_t ends[QUERIES / GROUP])
{
    size_t groups = 0, end = span.from;
    for (size_t row = 0; row < count; row += GROUP) {
        size_t left = count - row;
        size_t seen = round_up(keys_seen(h->how, h->keys, first + row, left < GROUP ? left : GROUP).to, SPAN_END);
        end = h->terms || seen > span.to ? span.to : seen > end ? seen : end;
        ends[groups++] = end;
    }
    return groups;
}

/* What a span of keys adds to dQ of a tile, and the tile to their dK and dV. Each product is made for all groups before the
 * next, because where rows are long, the cache holds only one operand. */
static void span_backward(const AttentionWork *a, const HeadView *h, const HeadScratch *w, const float *shared,
                          Range span, bool add, size_t first, size_t count)
{
    size_t ends[QUERIES / GROUP], groups = ends_of_groups(h, span, first, count, ends), from = span.from;
    size_t wide = h->key_row, units = h->dv_wide / PER_UNIT;
    if (h->terms)
        tile_scores(h, w, span, first, count);
    else
        for (size_t n = 0; n < groups; n++)
            tile_products(h, w, (Range){from, ends[n]}, n * GROUP, GROUP);
    for (size_t n = 0, row = 0; n < groups; n++, row += GROUP)
        tiles(w->dp + row * wide + from, wide, false, w->dy + row * units, units, 1, w->v_transposed + from, wide,
              GROUP, ends[n] - from, units, PAIRS);
    for (size_t row = 0; row < groups * GROUP; row += TILE_ROWS)
        tile_gradients(a, h, w, shared, first, row, (Range){from, ends[row / GROUP]});
    for (size_t n = 0, row = 0; n < groups; n++, row += GROUP)
        tiles(w->dq + row * h->dk_wide, h->dk_wide, add, w->ds + (row * wide + from) / PER_UNIT, wide / PER_UNIT, 1,
              w->k_pairs + from / PER_UNIT * h->dk_wide, h->dk_wide, GROUP, h->dk_wide, (ends[n] - from) / PER_UNIT,
              PAIRS);
    for (size_t n = 0; n < groups; from = ends[n], n++) { /* keys at which all groups but the first n look */
        size_t past = n * GROUP / PER_UNIT, rows = (groups - n) * GROUP / PER_UNIT;
        tiles(w->dk + from * h->dk_wide, h->dk_wide, true, w->ds_pairs + past * wide + from, 1, wide,
              w->q_pairs + past * h->dk_wide, h->dk_wide, ends[n] - from, h->dk_wide, rows, PAIRS);
        tiles(w->dv + from * h->dv_wide, h->dv_wide, true, w->p + past * wide + from, 1, wide,
              w->dy_pairs + past * h->dv_wide, h->dv_wide, ends[n] - from, h->dv_wide, rows, PAIRS);
    }
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
        stream_share(s, (Shared){kv_heads(how), 1, attention_size(how), backward_heads, &a});
}
