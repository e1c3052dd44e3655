/* The backward pass of heads of up to 16 numbers, see attention_narrow.c.
 *
 * In f32 weights are made as forward, but for what is 0 next to the largest one, and kept while dP is made, as lanes of
 * queries and of dY do not fit into registers together.
 *
 * In bf16 weights, which are rounded to bfloat16 anyway, are made as pairs of them from whole numbers of 16 bits:
 * y = 128 (x + 127) holds the exponent of 2^x in its upper bits, and in its lower ones the mantissa but for what a
 * straight line is above 2^x there. That is right to 3/4 of a bfloat16's last place, x having been rounded. (Forward,
 * the sum of such weights is not right to the last places of a float, as lse is to be.) */

#if defined __AVX512DQ__ && (!defined CPU_BF16 || (defined __AVX512BF16__ && defined __AVX512VBMI__))

enum { MET_BACK = 8 }; /* keys at once: there are scores and their gradients */

/* Of a tile of queries and a stretch of keys: weights and gradients of scores, each half of the queries by itself, as
 * rows [halves, STRETCH, UNITS] and as units of keys [halves, STRETCH / PER_UNIT, 16], which in f32 is the same. */
typedef struct NarrowTile {
    size_t length;        /* how many keys there are */
    Unit *k, *v;          /* rows of all keys, to whole MET_BACKs with zeros */
    Unit *p, *ds, *pairs; /* of the stretch */
    float *dq;            /* [halves, NARROW, 16 queries] */
    Vec lse[PER_UNIT], shared[PER_UNIT];
} NarrowTile;

#if defined CPU_BF16

/* Of m = 0 .. 127: m - 128 (2^(m/128) - 1) */
static const uint8_t above_power[128] = {
    0,  0,  1,  1,  1,  1,  2,  2,  2,  3,  3,  3,  3,  4,  4,  4,  4,  5,  5,  5,  5,  6,  6,  6,  6,  6,
    7,  7,  7,  7,  7,  8,  8,  8,  8,  8,  8,  9,  9,  9,  9,  9,  9,  9,  10, 10, 10, 10, 10, 10, 10, 10,
    10, 10, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11,
    11, 11, 11, 11, 10, 10, 10, 10, 10, 10, 10, 10, 10, 9,  9,  9,  9,  9,  9,  9,  8,  8,  8,  8,  8,  7,
    7,  7,  7,  7,  6,  6,  6,  6,  5,  5,  5,  4,  4,  4,  3,  3,  3,  3,  2,  2,  1,  1,  1,  0,
};

typedef struct Weigher {
    __m512i above[2], zip, rezip, unzip;
    Vec factor, shift;
} Weigher;

static Weigher weigher_of(float scale)
{
    Weigher w = {.factor = vec_set(128 * scale * LOG2_E), .shift = vec_set(SHIFT + 128 * 127)};
    memcpy(w.above, above_power, sizeof w.above);
    UVec zip, rezip, unzip;
    for (unsigned i = 0; i < WIDTH; i++) {
        zip[i] = 2 * i | (32 + 2 * i) << 16; /* the lower halves of one vector's lanes and of another's, in pairs */
        rezip[i] = i | (16 + i) << 16;       /* two rows of 16 as pairs */
        unzip[i] = (i < 8 ? 4 * i : 4 * i - 31) | (i < 8 ? 4 * i + 2 : 4 * i - 29) << 16; /* and back */
    }
    w.zip = (__m512i)zip, w.rezip = (__m512i)rezip, w.unzip = (__m512i)unzip;
    return w;
}

/* Products of 16 queries with two keys become pairs of weights. SHIFT leaves whole numbers in a float's lowest bits. */
INLINE IVec weights_of(const Weigher *w, Vec first, Vec second)
{
    const __mmask64 lower_bytes = 0x5555555555555555u;
    first = first * w->factor + w->shift;
    second = second * w->factor + w->shift;
    __m512i y = _mm512_permutex2var_epi16((__m512i)first, w->zip, (__m512i)second);
    __m512i above = _mm512_maskz_permutex2var_epi8(lower_bytes, w->above[0], y, w->above[1]);
    return (IVec)_mm512_sub_epi16(y, above);
}

/* A logarithm as the sum of products that it is subtracted from */
static float narrow_log(const HeadView *h, float lse) { return lse / h->scale; }

/* Weights and gradients of half a tile, for keys first .. first+keys-1. */
static void narrow_gradients(const Weigher *weigher, const NarrowTile *t, const HeadScratch *scratch, size_t half,
                             size_t first, size_t keys)
{
    const Weigher w = *weigher;
    const Unit *k = t->k + first * UNITS, *v = t->v + first * UNITS;
    const Vec lse = t->lse[half], shared = t->shared[half];
    size_t at = half * STRETCH * UNITS;
    IVec query[UNITS], dy[UNITS];
    narrow_lanes(query, scratch->q, half);
    narrow_lanes(dy, scratch->dy, half);
    for (size_t j = 0; j < keys; j += MET_BACK, k += MET_BACK * UNITS, v += MET_BACK * UNITS) {
        Vec s[MET_BACK], dp[MET_BACK];
        narrow_meet(s, MET_BACK, query, k);
        narrow_meet(dp, MET_BACK, dy, v);
        for (size_t r = 0; r < MET_BACK; r += 2, at += 2 * UNITS) {
            IVec p = weights_of(&w, s[r] - lse, s[r + 1] - lse);
            Vec low = (dp[r] - shared) * (Vec)(p << 16), high = (dp[r + 1] - shared) * (Vec)(p & (int32_t)0xffff0000);
            __m512i ds = (__m512i)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
            _mm512_storeu_si512(t->p + at, _mm512_permutexvar_epi16(w.unzip, (__m512i)p));
            _mm512_storeu_si512(t->ds + at, ds);
            _mm512_storeu_si512(t->pairs + at, _mm512_permutexvar_epi16(w.rezip, ds));
        }
    }
}

static bool narrow_weights_fit(const HeadView *h)
{
    float q = largest_square(h->q, h->first_query, h->queries, h->head, h->dk),
          k = largest_square(h->k, h->keys.start, h->keys.length, kv_head(h->how, h->head), h->dk);
    return scores_fit(h, q, k);
}

#else

#define LEAST_POWER (-125.0f * POWER_PARTS)

typedef struct Weigher {
    Vec table[2];
    float factor;
} Weigher;

static Weigher weigher_of(float scale)
{
    Weigher w = {.factor = scale * LOG2_E * POWER_PARTS};
    memcpy(w.table, power_table, sizeof w.table);
    return w;
}

/* A logarithm as a score in 32nds */
static float narrow_log(const HeadView *h, float lse)
{
    (void)h;
    return lse * LOG2_E * POWER_PARTS;
}

/* Weights and gradients of a tile, which in f32 has one half, for keys first .. first+keys-1. */
static void narrow_gradients(const Weigher *weigher, const NarrowTile *t, const HeadScratch *scratch, size_t half,
                             size_t first, size_t keys)
{
    const Weigher w = *weigher;
    const Unit *k = t->k + first * UNITS, *v = t->v + first * UNITS;
    const Vec lse = t->lse[half], shared = t->shared[half];
    float *p = (float *)(void *)t->p, *ds = (float *)(void *)t->ds;
    IVec lanes[UNITS];
    Vec s[MET_BACK];
    narrow_queries(lanes, scratch->q, half, w.factor);
    for (size_t j = 0; j < keys; j += MET_BACK) {
        narrow_meet(s, MET_BACK, lanes, k + j * UNITS);
        for (size_t r = 0; r < MET_BACK; r++)
            vec_store(p + (j + r) * WIDTH, narrow_power(w.table, vec_max(vec_set(LEAST_POWER), s[r] - lse)));
    }
    narrow_lanes(lanes, scratch->dy, half);
    for (size_t j = 0; j < keys; j += MET_BACK) {
        narrow_meet(s, MET_BACK, lanes, v + j * UNITS);
        for (size_t r = 0; r < MET_BACK; r++)
            vec_store(ds + (j + r) * WIDTH, vec_load(p + (j + r) * WIDTH) * (s[r] - shared));
    }
    for (size_t j = t->length - first; j < keys; j++) /* no keys: next to low scores their 0 has no finite weight */
        vec_store(ds + j * WIDTH, vec_set(0));
}

static bool narrow_weights_fit(const HeadView *h)
{
    (void)h;
    return true;
}

#endif

/* to [keys, NARROW] += rows^T x: dV and dK of a stretch, x being dY and Q of the whole tile as units of queries */
static void narrow_keys(float *to, const Unit *rows, const Unit *units, size_t keys)
{
    IVec x[PER_UNIT][UNITS];
    for (int u = 0; u < PER_UNIT * UNITS; u++)
        x[u / UNITS][u % UNITS] = units_load(units + u * NARROW);
    for (size_t j = 0; j < keys; j += MET_BACK, rows += MET_BACK * UNITS, to += MET_BACK * NARROW) {
        Vec sum[MET_BACK];
        for (int r = 0; r < MET_BACK; r++)
            sum[r] = vec_load(to + r * NARROW);
        for (int half = 0; half < PER_UNIT; half++)
            for (int u = 0; u < UNITS; u++)
                for (int r = 0; r < MET_BACK; r++)
                    sum[r] = units_multiply(sum[r], x[half][u], (IVec){0} + rows[(half * STRETCH + r) * UNITS + u],
                                            PAIRS);
        for (int r = 0; r < MET_BACK; r++)
            vec_store(to + r * NARROW, sum[r]);
    }
}

static void pack_narrow_tile(NarrowTile *t, const AttentionWork *a, const HeadView *h, const HeadScratch *w,
                             size_t first, size_t count)
{
    size_t heads = a->how->heads, at = (h->first_query + first) * heads + h->head;
    const Number *q = numbers_of(h->q, h->first_query + first, h->head, h->dk), *dy = a->dy + at * h->dv;
    Range rows = {0, count};
    float lse[NARROW_TILE] = {0}, shared[QUERIES];

    shared_of_tile(shared, a, h, first, count);
    for (size_t i = 0; i < count; i++)
        lse[i] = narrow_log(h, a->lse[at + i * heads]);
    memcpy(t->lse, lse, sizeof t->lse);
    memcpy(t->shared, shared, sizeof t->shared);
    pack_transposed(w->q, NARROW_TILE, q, h->q.stride, rows, NARROW_TILE, h->dk, NARROW);
    pack_transposed(w->dy, NARROW_TILE, dy, heads * h->dv, rows, NARROW_TILE, h->dv, NARROW);
    pack_pairs(w->q_pairs, q, h->q.stride, rows, NARROW_TILE, h->dk, NARROW);
    pack_pairs(w->dy_pairs, dy, heads * h->dv, rows, NARROW_TILE, h->dv, NARROW);
    memset(t->dq, 0, NARROW_TILE * NARROW * sizeof *t->dq);
}

static void narrow_tile_backward(const AttentionWork *a, const HeadView *h, const HeadScratch *w,
                                 const Weigher *weigher, NarrowTile *t, size_t first, size_t count)
{
    pack_narrow_tile(t, a, h, w, first, count);
    for (size_t from = 0; from < h->keys.length; from += STRETCH) {
        size_t left = round_up(h->keys.length - from, MET_BACK), keys = left < STRETCH ? left : STRETCH;
        for (size_t half = 0; half < PER_UNIT; half++) {
            narrow_gradients(weigher, t, w, half, from, keys);
            narrow_sum(t->dq + half * NARROW * WIDTH, t->pairs + half * STRETCH * UNITS, w->k_pairs + from * UNITS,
                       keys);
        }
        narrow_keys(w->dv + from * NARROW, t->p, w->dy_pairs, keys);
        narrow_keys(w->dk + from * NARROW, t->ds, w->q_pairs, keys);
    }
    for (size_t half = 0; half < PER_UNIT; half++)
        narrow_transpose(t->dq + half * NARROW * WIDTH);
    for (size_t i = 0; a->d->q.data && i < count; i++)
        store_gradient((Number *)a->d->q.data + (h->first_query + first + i) * a->d->q.stride + h->head * h->dk,
                       a->d->add_q, vec_load(t->dq + i * NARROW) * h->scale, h->dk);
}

/* All but giving dK and dV on. */
static void narrow_backward(const AttentionWork *a, const HeadView *h, const HeadScratch *w)
{
    const Weigher weigher = weigher_of(h->scale);
    NarrowTile t = {.length = h->keys.length,
                    .k = w->k_transposed,
                    .v = w->v_transposed,
                    .p = w->p,
                    .ds = w->ds,
                    .pairs = w->ds_pairs,
                    .dq = w->y};
    narrow_rows(t.k, h, h->k, h->dk);
    narrow_rows(t.v, h, h->v, h->dv);
    pack_pairs(w->k_pairs, keys_from(h, h->k, 0, h->dk), h->k.stride, (Range){0, h->keys.length},
               round_up(h->keys.length, MET_BACK), h->dk, NARROW);
    for (size_t i = 0; i < h->queries; i += NARROW_TILE)
        narrow_tile_backward(a, h, w, &weigher, &t, i, h->queries - i < NARROW_TILE ? h->queries - i : NARROW_TILE);
}

#else

static bool narrow_weights_fit(const HeadView *h)
{
    (void)h;
    return false;
}

static void narrow_backward(const AttentionWork *a, const HeadView *h, const HeadScratch *w)
{
    (void)a, (void)h, (void)w;
}

#endif
