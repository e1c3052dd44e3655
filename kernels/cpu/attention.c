/* Attention in tiles that stay in the caches, forward and backward. See kernels/plain/attention.c for the formulas.
 *
 * For each row and head, keys and values are copied once, next to each other and transposed where a product wants it;
 * then QUERIES queries at a time meet all keys that any of them sees:
 *
 *     S = Q K^T      P = 2^(S scale log2 e - lse log2 e), 0 where a query does not see a key      Y = P V
 *
 * and backward   dP = dY V^T     dS = P (dP - dY . Y) scale     dQ = dS K     dK += dS^T Q     dV += P^T dY.
 *
 * All seven products are `tiles`. In bf16 their operands are pairs along the dimension that is summed over, so some
 * matrices are packed twice. What is masked for all queries of a tile is not computed. */

enum {
    QUERIES = 32, /* of a tile */
    PER_UNIT = sizeof(int32_t) / sizeof(Number)
};

typedef struct Span2 {
    size_t from, to;
} Span2;

/* One head of one row: sizes, padded sizes, and where its numbers lie. */
typedef struct HeadView {
    const Attend *how;
    const StepState *state;
    Keys keys;
    size_t first_query, queries, head, b;
    size_t dk, dv, dk_wide, dv_wide; /* wide: rounded up to whole vectors */
    size_t key_wide;
    Span2 seen; /* keys that any query sees: no other is looked at */
    Strided q, k, v;
} HeadView;

/* The keys that any query of first .. first+count-1 sees. */
static Span2 keys_seen(const Attend *how, Keys keys, size_t first, size_t count)
{
    Span2 seen = {keys.length, 0};
    for (size_t i = first; i < first + count; i++) {
        size_t low = keys_first(how, keys, i), high = keys_end(how, keys, i);
        if (low >= high)
            continue;
        seen.from = low < seen.from ? low : seen.from;
        seen.to = high > seen.to ? high : seen.to;
    }
    return seen.from < seen.to ? seen : (Span2){0, 0};
}

static HeadView head_view(const Attend *how, const StepState *state, Strided q, Strided k, Strided v, size_t b,
                          size_t head)
{
    size_t first = (size_t)how->query_start[b];
    HeadView h = {.how = how,
                  .state = state,
                  .keys = keys_of_row(how, b),
                  .first_query = first,
                  .queries = (size_t)how->query_start[b + 1] - first,
                  .head = head,
                  .b = b,
                  .dk = how->key_size,
                  .dv = how->value_size,
                  .q = q,
                  .k = k,
                  .v = v};
    h.dk_wide = round_up(h.dk, WIDTH);
    h.dv_wide = round_up(h.dv, WIDTH);
    h.key_wide = round_up(h.keys.length, FACTORS);
    h.seen = keys_seen(how, h.keys, 0, h.queries);
    return h;
}

static const Number *numbers_of(Strided x, size_t position, size_t head, size_t size)
{
    return (const Number *)x.data + position * x.stride + head * size;
}

/* --- packing: what is padded is zero --- */

/* to [rows up to padded, wide]: the numbers side by side */
static void pack_rows(Number *to, const Number *from, size_t stride, Span2 rows, size_t padded, size_t size,
                      size_t wide)
{
    for (size_t i = 0; i < padded; i++, to += wide)
        for (size_t j = 0; j < wide; j += WIDTH) {
            bool there = i >= rows.from && i < rows.to && j < size;
            store_whole(to + j, there ? load(from + i * stride + j, size - j) : vec_set(0));
        }
}

/* WIDTH x WIDTH units: rows[i][j] becomes to[j * padded + i], for the first `columns` j */
static void turn_square(Unit *to, size_t padded, IVec rows[WIDTH], size_t columns)
{
#if defined __AVX512F__
    __m512i r[16], t[16];
    memcpy(r, rows, sizeof r);
    for (int i = 0; i < 8; i++) {
        t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 4; i++) { /* r[4i + c]: column c of each quarter, rows 4i .. 4i+3 */
        r[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
        r[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
    }
    for (int c = 0; c < 4; c++) { /* then the quarters themselves */
        __m512i even0 = _mm512_shuffle_i32x4(r[c], r[4 + c], 0x88), odd0 = _mm512_shuffle_i32x4(r[c], r[4 + c], 0xdd);
        __m512i even1 = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0x88);
        __m512i odd1 = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0xdd);
        rows[c] = (IVec)_mm512_shuffle_i32x4(even0, even1, 0x88);
        rows[4 + c] = (IVec)_mm512_shuffle_i32x4(odd0, odd1, 0x88);
        rows[8 + c] = (IVec)_mm512_shuffle_i32x4(even0, even1, 0xdd);
        rows[12 + c] = (IVec)_mm512_shuffle_i32x4(odd0, odd1, 0xdd);
    }
#else
    for (int i = 0; i < WIDTH; i++)
        for (int j = 0; j < i; j++) {
            int32_t kept = rows[i][j];
            rows[i][j] = rows[j][i];
            rows[j][i] = kept;
        }
#endif
    for (size_t c = 0; c < columns; c++)
        memcpy(to + c * padded, &rows[c], sizeof rows[c]);
}

/* to [wide / PER_UNIT, padded]: unit u of row i at to[u * padded + i] */
static void pack_transposed(Unit *to, const Number *from, size_t stride, Span2 rows, size_t padded, size_t size,
                            size_t wide)
{
    enum { AT_ONCE = WIDTH * PER_UNIT };
    size_t units = wide / PER_UNIT;
    IVec block[WIDTH];
    for (size_t i = 0; i < padded; i += WIDTH)
        for (size_t u = 0; u < units; u += WIDTH) {
            const Number *corner = from + i * stride + u * PER_UNIT;
            size_t left = u * PER_UNIT < size ? size - u * PER_UNIT : 0;
            if (i >= rows.from && i + WIDTH <= rows.to && left >= AT_ONCE) {
                for (size_t r = 0; r < WIDTH; r++)
                    memcpy(&block[r], corner + r * stride, sizeof block[r]);
            } else {
                memset(block, 0, sizeof block);
                for (size_t r = 0; r < WIDTH && i + r < rows.to && left; r++)
                    if (i + r >= rows.from)
                        memcpy(&block[r], corner + r * stride, (left < AT_ONCE ? left : AT_ONCE) * sizeof *from);
            }
            turn_square(to + u * padded + i, padded, block, units - u < WIDTH ? units - u : WIDTH);
        }
}

#if defined CPU_BF16
/* The next vector of numbers, 0 behind the end. */
INLINE HVec halves(const Number *p, size_t n)
{
    HVec h = {0};
    if (n >= WIDTH)
        memcpy(&h, p, sizeof h);
    else
        memcpy(&h, p, n * sizeof *p);
    return h;
}

INLINE void store_pairs(Unit *to, HVec low, HVec high)
{
    UVec both = __builtin_convertvector(low, UVec) | __builtin_convertvector(high, UVec) << 16;
    memcpy(to, &both, sizeof both);
}
#endif

/* to [padded / PER_UNIT, wide]: pairs along the rows; in f32 the rows as they are */
static void pack_pairs(Unit *to, const Number *from, size_t stride, Span2 rows, size_t padded, size_t size, size_t wide)
{
#if defined CPU_BF16
    for (size_t i = 0; i < padded; i += 2, to += wide)
        for (size_t j = 0; j < wide; j += WIDTH) {
            size_t left = j < size ? size - j : 0;
            HVec low = i >= rows.from && i < rows.to ? halves(from + i * stride + j, left) : (HVec){0};
            HVec high = i + 1 >= rows.from && i + 1 < rows.to ? halves(from + (i + 1) * stride + j, left) : (HVec){0};
            store_pairs(to + j, low, high);
        }
#else
    pack_rows((float *)(void *)to, from, stride, rows, padded, size, wide);
#endif
}

/* Two rows of floats as an operand that is summed over rows: in bf16 one row of pairs, to [columns]. */
INLINE void store_rows(float *first, float *second, Unit *to, size_t j, Vec low, Vec high)
{
#if defined CPU_BF16
    (void)first, (void)second;
    store_pairs(to + j, vec_to_bf16(low), vec_to_bf16(high));
#else
    (void)to;
    vec_store(first + j, low);
    vec_store(second + j, high);
#endif
}

/* --- one tile of queries --- */

/* The same for a tile, rounded to where dropout's factors and tiles begin. */
static Span2 keys_of_tile(const HeadView *h, size_t first, size_t count)
{
    Span2 seen = keys_seen(h->how, h->keys, first, count);
    return (Span2){seen.from / FACTORS * FACTORS, round_up(seen.to, TILE_COLUMNS)};
}

/* all ones in the lanes of keys j .. j+WIDTH-1 that lie in first .. end-1 */
INLINE IVec live_lanes(size_t j, size_t first, size_t end)
{
    IVec mask = vec_first(j >= end ? 0 : end - j < WIDTH ? end - j : WIDTH);
    return first <= j ? mask : mask & ~vec_first(first - j < WIDTH ? first - j : WIDTH);
}

INLINE bool whole(size_t j, size_t first, size_t end) { return j >= first && j + WIDTH <= end; }

static float scale2(const HeadView *h) { return (float)h->how->scale * LOG2_E; }

/* One query's scores s [span] become weights p before they are divided by their sum, which is returned; lse is saved.
 * p may be s. */
static float softmax_row(const HeadView *h, Number *p, const float *s, Span2 span, size_t i, float *lse)
{
    size_t first = keys_first(h->how, h->keys, i), end = keys_end(h->how, h->keys, i);
    Factors factors = {.drop = h->how->dropout, .state = h->state, .position = h->first_query + i, .head = h->head};
    Vec best = vec_set(-INFINITY), sum = {0};
    float factor = scale2(h);

    for (size_t j = span.from; j < span.to; j += WIDTH) {
        Vec score = vec_load(s + j) * factor;
        best = vec_max(whole(j, first, end) ? score : vec_select(live_lanes(j, first, end), score, best), best);
    }
    float largest = vec_largest(best);
    for (size_t j = span.from; j < span.to; j += WIDTH) {
        Vec power = vec_exp2(vec_load(s + j) * factor - largest);
        if (!whole(j, first, end))
            power = vec_select(live_lanes(j, first, end), power, vec_set(0));
        sum += power;
        store_whole(p + j, factors.drop.rate > 0 ? power * factors_at(&factors, j) : power);
    }
    float total = vec_sum(sum);
    *lse = first < end ? (largest + log2f(total)) * LN_2 : -INFINITY;
    return first < end ? total : 1;
}

/* The weights of one query for whoever wants to look at them. */
static void keep_weights(const HeadView *h, const float *s, Span2 span, size_t i)
{
    size_t first = keys_first(h->how, h->keys, i), end = keys_end(h->how, h->keys, i);
    float *to = (float *)h->how->weights +
                ((h->b * h->how->heads + h->head) * h->how->longest_query + i) * h->how->longest_key;
    float largest = -INFINITY, sum = 0;
    (void)span;
    for (size_t j = first; j < end; j++)
        largest = s[j] * (float)h->how->scale > largest ? s[j] * (float)h->how->scale : largest;
    for (size_t j = first; j < end; j++)
        sum += to[j] = expf(s[j] * (float)h->how->scale - largest);
    for (size_t j = first; j < end; j++)
        to[j] /= sum;
}

/* Scratch memory of one head, forward and backward: sizes in units of 32 bits. In f32, p lies in s and ds in dp. */
typedef struct HeadScratch {
    Unit *k_transposed, *v_pairs;  /* [dk units, keys], [key pairs, dv] */
    Unit *q;                       /* [QUERIES, dk units] */
    float *s, *y;                  /* [QUERIES, keys], [QUERIES, dv] */
    Unit *p;                       /* weights [QUERIES, keys] as numbers, or backward [query pairs, keys] */
    Unit *v_transposed, *k_pairs;  /* backward */
    Unit *dy, *q_pairs, *dy_pairs; /* of a tile */
    float *dp, *dq, *dk, *dv;
    Unit *ds, *ds_pairs; /* [QUERIES, keys] as numbers, and [query pairs, keys] */
} HeadScratch;

static Unit *piece(Unit **at, size_t units)
{
    Unit *from = *at;
    *at += round_up(units, FACTORS);
    return from;
}

/* Lays the pieces out from `at` on; returns how many units that takes. */
static size_t lay_out(HeadScratch *w, Unit *at, const Attend *how, bool backward)
{
    Unit *begin = at;
    size_t keys = round_up(how->longest_key, FACTORS), dk = round_up(how->key_size, WIDTH);
    size_t dv = round_up(how->value_size, WIDTH);
    w->k_transposed = piece(&at, keys * dk);
    w->v_pairs = piece(&at, keys * dv);
    w->q = piece(&at, QUERIES * dk);
    w->s = (float *)(void *)piece(&at, QUERIES * keys);
    w->y = (float *)(void *)piece(&at, QUERIES * dv);
    w->p = PAIRS ? piece(&at, QUERIES * keys) : (Unit *)(void *)w->s;
    if (backward) {
        w->v_transposed = piece(&at, keys * dv);
        w->k_pairs = piece(&at, keys * dk);
        w->dy = piece(&at, QUERIES * dv);
        w->q_pairs = piece(&at, QUERIES * dk);
        w->dy_pairs = piece(&at, QUERIES * dv);
        w->dp = (float *)(void *)piece(&at, QUERIES * keys);
        w->dq = (float *)(void *)piece(&at, QUERIES * dk);
        w->dk = (float *)(void *)piece(&at, keys * dk);
        w->dv = (float *)(void *)piece(&at, keys * dv);
        w->ds = PAIRS ? piece(&at, QUERIES * keys) : (Unit *)(void *)w->dp;
        w->ds_pairs = PAIRS ? piece(&at, QUERIES * keys) : (Unit *)(void *)w->dp;
    }
    return (size_t)(at - begin);
}

typedef struct AttentionWork {
    Stream *s;
    const Attend *how;
    const StepState *state;
    Strided q, k, v;
    const AttendGradients *d;
    Number *y;
    const Number *dy;
    float *lse;
} AttentionWork;

/* S = Q K^T of a tile; returns the keys it covers */
static Span2 tile_scores(const HeadView *h, const HeadScratch *w, size_t first, size_t count)
{
    Span2 span = keys_of_tile(h, first, count);
    size_t units = h->dk_wide / PER_UNIT;
    pack_rows((Number *)(void *)w->q, numbers_of(h->q, h->first_query + first, h->head, h->dk), h->q.stride,
              (Span2){0, count}, QUERIES, h->dk, h->dk_wide);
    tiles(w->s + span.from, h->key_wide, false, w->q, units, 1, w->k_transposed + span.from, h->key_wide,
          round_up(count, TILE_ROWS), span.to - span.from, units, PAIRS);
    return span;
}

/* Y = P V for the queries of a tile, whose weights are in p */
static void tile_values(const HeadView *h, const HeadScratch *w, Span2 span, size_t count, float *y)
{
    size_t rows = round_up(count, TILE_ROWS);
    tiles(y, h->dv_wide, false, w->p + span.from / PER_UNIT, h->key_wide / PER_UNIT, 1,
          w->v_pairs + span.from / PER_UNIT * h->dv_wide, h->dv_wide, rows, h->dv_wide,
          (span.to - span.from) / PER_UNIT, PAIRS);
}

static void head_forward(const AttentionWork *a, const HeadView *h, const HeadScratch *w)
{
    size_t heads = a->how->heads;
    float sums[QUERIES];
    const Number *k = numbers_of(h->k, h->keys.start, h->head, h->dk);
    const Number *v = numbers_of(h->v, h->keys.start, h->head, h->dv);
    pack_transposed(w->k_transposed, k, h->k.stride, h->seen, h->key_wide, h->dk, h->dk_wide);
    pack_pairs(w->v_pairs, v, h->v.stride, h->seen, h->key_wide, h->dv, h->dv_wide);
    for (size_t first = 0; first < h->queries; first += QUERIES) {
        size_t count = h->queries - first < QUERIES ? h->queries - first : QUERIES;
        Span2 span = tile_scores(h, w, first, count);
        for (size_t i = 0; i < count; i++) {
            size_t at = (h->first_query + first + i) * heads + h->head;
            if (a->how->weights)
                keep_weights(h, w->s + i * h->key_wide, span, first + i);
            sums[i] = softmax_row(h, (Number *)(void *)w->p + i * h->key_wide, w->s + i * h->key_wide, span, first + i,
                                  &a->lse[at]);
        }
        tile_values(h, w, span, count, w->y);
        for (size_t i = 0; i < count; i++) {
            Number *y = a->y + ((h->first_query + first + i) * heads + h->head) * h->dv;
            for (size_t j = 0; j < h->dv; j += WIDTH)
                store(y + j, vec_load(w->y + i * h->dv_wide + j) / sums[i], h->dv - j);
        }
    }
}

/* A query against keys as they lie: for so few queries that packing all keys would cost more than it saves. */
static void query_forward(const AttentionWork *a, const HeadView *h, const HeadScratch *w, size_t i)
{
    size_t at = (h->first_query + i) * a->how->heads + h->head;
    Span2 span = keys_of_tile(h, i, 1);
    const Number *q = numbers_of(h->q, h->first_query + i, h->head, h->dk);
    for (size_t j = keys_first(h->how, h->keys, i); j < keys_end(h->how, h->keys, i); j++)
        w->s[j] = dot(q, numbers_of(h->k, h->keys.start + j, h->head, h->dk), h->dk);
    if (a->how->weights)
        keep_weights(h, w->s, span, i);
    Number *p = (Number *)(void *)w->p;
    float sum = softmax_row(h, p, w->s, span, i, &a->lse[at]);
    for (size_t j = span.from; PAIRS && j < span.to; j += WIDTH)
        vec_store(w->s + j, load_whole(p + j));
    for (size_t c = 0; c < h->dv; c += WIDTH) {
        Vec y = {0};
        for (size_t j = keys_first(h->how, h->keys, i); j < keys_end(h->how, h->keys, i); j++)
            y += load(numbers_of(h->v, h->keys.start + j, h->head, h->dv) + c, h->dv - c) * w->s[j];
        store(a->y + at * h->dv + c, y / sum, h->dv - c);
    }
}

enum { FEW_QUERIES = 4 };

static void forward_heads(void *argument, size_t member, size_t first, size_t end)
{
    const AttentionWork *a = argument;
    HeadScratch w;
    lay_out(&w, (Unit *)(void *)((char *)a->s->scratch + member * a->s->scratch_size), a->how, false);
    for (size_t b = 0; b < a->how->rows; b++)
        for (size_t head = first; head < end; head++) {
            HeadView h = head_view(a->how, a->state, a->q, a->k, a->v, b, head);
            for (size_t i = 0; h.queries <= FEW_QUERIES && i < h.queries; i++)
                query_forward(a, &h, &w, i);
            if (h.queries > FEW_QUERIES)
                head_forward(a, &h, &w);
        }
}

/* Positions behind the last row belong to none: zeros. */
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
    const Number *k = numbers_of(h->k, h->keys.start, h->head, h->dk);
    const Number *v = numbers_of(h->v, h->keys.start, h->head, h->dv);
    pack_transposed(w->k_transposed, k, h->k.stride, h->seen, h->key_wide, h->dk, h->dk_wide);
    pack_pairs(w->k_pairs, k, h->k.stride, h->seen, h->key_wide, h->dk, h->dk_wide);
    pack_transposed(w->v_transposed, v, h->v.stride, h->seen, h->key_wide, h->dv, h->dv_wide);
    memset(w->dk, 0, h->key_wide * h->dk_wide * sizeof *w->dk);
    memset(w->dv, 0, h->key_wide * h->dv_wide * sizeof *w->dv);
}

/* One query's way back through its softmax. */
typedef struct RowGradient {
    size_t first, end; /* keys it sees */
    const float *s, *dp;
    float factor, scale, lse2, shared;
    Factors factors;
} RowGradient;

/* row: of the tile; one behind its last query sees nothing */
static RowGradient row_gradient(const AttentionWork *a, const HeadView *h, const HeadScratch *w, size_t i, size_t row)
{
    RowGradient g = {.s = w->s + row * h->key_wide, .dp = w->dp + row * h->key_wide};
    size_t at = (h->first_query + i) * a->how->heads + h->head;
    if (i >= h->queries)
        return g;
    g.first = keys_first(h->how, h->keys, i);
    g.end = keys_end(h->how, h->keys, i);
    g.factor = scale2(h);
    g.scale = (float)h->how->scale;
    g.lse2 = a->lse[at] * LOG2_E;
    g.shared = dot(a->dy + at * h->dv, a->y + at * h->dv, h->dv);
    g.factors = (Factors){.drop = h->how->dropout, .state = h->state, .position = h->first_query + i, .head = h->head};
    return g;
}

/* Keys j on: the weights as dV wants them, with dropout, and dS. */
INLINE Vec gradient_at(RowGradient *g, size_t j, Vec *ds)
{
    Vec weight = vec_exp2(vec_load(g->s + j) * g->factor - g->lse2), gradient = vec_load(g->dp + j), dropped = weight;
    if (g->factors.drop.rate > 0) {
        Vec kept = factors_at(&g->factors, j);
        gradient *= kept;
        dropped *= kept;
    }
    *ds = weight * (gradient - g->shared) * g->scale;
    if (!whole(j, g->first, g->end)) {
        IVec live = live_lanes(j, g->first, g->end);
        *ds = vec_select(live, *ds, vec_set(0));
        dropped = vec_select(live, dropped, vec_set(0));
    }
    return dropped;
}

/* s and dp of a tile become weights and dS, in the forms in which the products want them. */
static void tile_gradients(const AttentionWork *a, const HeadView *h, const HeadScratch *w, Span2 span, size_t first)
{
    for (size_t i = 0; i < QUERIES; i += 2) {
        RowGradient low = row_gradient(a, h, w, first + i, i), high = row_gradient(a, h, w, first + i + 1, i + 1);
        size_t at = i * h->key_wide, next = at + h->key_wide, pair = i / 2 * h->key_wide;
        Number *ds = (Number *)(void *)w->ds;
        for (size_t j = span.from; j < span.to; j += WIDTH) {
            Vec ds_low, ds_high, p_low = gradient_at(&low, j, &ds_low), p_high = gradient_at(&high, j, &ds_high);
            store_whole(ds + at + j, ds_low);
            store_whole(ds + next + j, ds_high);
            if (PAIRS) /* in f32 the rows of dS just stored serve, and s becomes the weights next */
                store_rows(w->s + at, w->s + next, w->ds_pairs + pair, j, ds_low, ds_high);
            store_rows(w->s + at, w->s + next, w->p + pair, j, p_low, p_high);
        }
    }
}

/* dQ of a tile, and what it adds to dK and dV */
static void tile_backward(const AttentionWork *a, const HeadView *h, const HeadScratch *w, size_t first, size_t count)
{
    size_t heads = a->how->heads, wide = h->key_wide, rows = QUERIES;
    const Number *q = numbers_of(h->q, h->first_query + first, h->head, h->dk);
    const Number *dy = a->dy + ((h->first_query + first) * heads + h->head) * h->dv;
    Span2 span = tile_scores(h, w, first, count);
    size_t keys = span.to - span.from, key_units = keys / PER_UNIT, query_units = rows / PER_UNIT;

    pack_rows((Number *)(void *)w->dy, dy, heads * h->dv, (Span2){0, count}, rows, h->dv, h->dv_wide);
    tiles(w->dp + span.from, wide, false, w->dy, h->dv_wide / PER_UNIT, 1, w->v_transposed + span.from, wide,
          round_up(count, TILE_ROWS), keys, h->dv_wide / PER_UNIT, PAIRS);
    tile_gradients(a, h, w, span, first);

    tiles(w->dq, h->dk_wide, false, w->ds + span.from / PER_UNIT, wide / PER_UNIT, 1,
          w->k_pairs + span.from / PER_UNIT * h->dk_wide, h->dk_wide, rows, h->dk_wide, key_units, PAIRS);
    for (size_t i = 0; a->d->q.data && i < count; i++) {
        Number *to = (Number *)a->d->q.data + (h->first_query + first + i) * a->d->q.stride + h->head * h->dk;
        for (size_t j = 0; j < h->dk; j += WIDTH)
            give(to + j, a->d->add_q, vec_load(w->dq + i * h->dk_wide + j), h->dk - j);
    }
    pack_pairs(w->q_pairs, q, h->q.stride, (Span2){0, count}, rows, h->dk, h->dk_wide);
    tiles(w->dk + span.from * h->dk_wide, h->dk_wide, true, w->ds_pairs + span.from, 1, wide, w->q_pairs, h->dk_wide,
          keys, h->dk_wide, query_units, PAIRS);
    pack_pairs(w->dy_pairs, dy, heads * h->dv, (Span2){0, count}, rows, h->dv, h->dv_wide);
    tiles(w->dv + span.from * h->dv_wide, h->dv_wide, true, w->p + span.from, 1, wide, w->dy_pairs, h->dv_wide, keys,
          h->dv_wide, query_units, PAIRS);
}

/* Gives a row's dK or dV on, and zeros to keys that are not valid. */
static void give_keys(const HeadView *h, Strided to, bool add, const float *from, size_t size, size_t wide)
{
    size_t all = (size_t)h->how->key_start[h->b + 1] - h->keys.start;
    for (size_t j = 0; to.data && j < (add ? h->keys.length : all); j++) {
        Number *key = (Number *)to.data + (h->keys.start + j) * to.stride + h->head * size;
        for (size_t c = 0; c < size; c += WIDTH)
            give(key + c, add, j < h->keys.length ? vec_load(from + j * wide + c) : vec_set(0), size - c);
    }
}

static void backward_heads(void *argument, size_t member, size_t first, size_t end)
{
    const AttentionWork *a = argument;
    HeadScratch w;
    lay_out(&w, (Unit *)(void *)((char *)a->s->scratch + member * a->s->scratch_size), a->how, true);
    for (size_t b = 0; b < a->how->rows; b++)
        for (size_t head = first; head < end; head++) {
            HeadView h = head_view(a->how, a->state, a->q, a->k, a->v, b, head);
            pack_for_backward(&h, &w);
            for (size_t i = 0; i < h.queries; i += QUERIES)
                tile_backward(a, &h, &w, i, h.queries - i < QUERIES ? h.queries - i : QUERIES);
            give_keys(&h, a->d->k, a->d->add_k, w.dk, h.dk, h.dk_wide);
            give_keys(&h, a->d->v, a->d->add_v, w.dv, h.dv, h.dv_wide);
        }
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
        zero_behind(d->k, keys, how->keys, how->heads * how->key_size);
    if (d->v.data && !d->add_v)
        zero_behind(d->v, keys, how->keys, how->heads * how->value_size);
    if (stream_scratch(s, lay_out(&w, NULL, how, true) * sizeof(int32_t)))
        stream_share(s, how->heads, 1, backward_heads, &a);
}
