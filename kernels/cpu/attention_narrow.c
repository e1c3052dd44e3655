/* The backward pass of heads of up to 16 numbers in bf16, where every query sees every key and a score is q . k alone:
 * what an encoder with many heads does. See attention.c, whose formulas these are.
 *
 * Products of such heads are short, so scores that go to memory and come back as weights take longer than they. Here a
 * vector's lanes are 16 queries, keys come two at a time, and a score stays in its register until it is a weight.
 * Weights, which are rounded to bfloat16 anyway, are made as pairs of them from whole numbers of 16 bits:
 * y = 128 (x + 127) holds the exponent of 2^x in its upper bits, and in its lower ones the mantissa but for what a
 * straight line is above 2^x there. That is right to 3/4 of a bfloat16's last place, x having been rounded.
 *
 * Exponents have room where scores lie between -55 and 55, as |q| |k| tells before; elsewhere head_backward does the
 * work. (Forward, the sum of such weights is not right to the last places of a float, as lse is to be.) */

#if defined CPU_BF16 && defined __AVX512BF16__ && defined __AVX512VBMI__

#define NARROW_SCORE 55.0f /* of a logarithm to the base of 2 */

enum {
    NARROW_MOST = 1 << 15, /* keys: weights are at least 2^(-2 * 55 - 15) */
    NARROW = WIDTH,        /* numbers of a head, padded */
    UNITS = NARROW / 2,    /* of a padded row */
    STRETCH = 64,          /* keys whose weights and gradients stay in the first cache */
};

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

/* The largest |x|^2 among rows of one head; NaN where a number is not finite. */
static float largest_square(Strided x, size_t position, size_t rows, size_t head, size_t size)
{
    Vec largest = {0}, sum = {0};
    for (size_t i = 0; i < rows; i += WIDTH) {
        Vec lanes[WIDTH];
        for (size_t r = 0; r < WIDTH; r++) { /* behind the last row that one once more */
            size_t at = i + r < rows ? i + r : rows - 1;
            IVec row = units_some(numbers_of(x, position + at, head, size), size * sizeof(Number));
            lanes[r] = vec_pairs(vec_set(0), row, row);
        }
        Vec squares = vec_sums(lanes);
        largest = vec_max(largest, squares);
        sum += squares;
    }
    return vec_largest(largest) + 0 * vec_sum(sum);
}

/* (A scale is not to be so small that lse / scale is no float.) */
static bool is_narrow(const HeadView *h)
{
    const Attend *how = h->how;
    if (h->dk_wide != NARROW || h->dv_wide != NARROW || h->terms || how->causal || how->window || how->weights ||
        how->dropout.rate > 0 || h->scale < 1e-6f || !h->keys.length || h->keys.length > NARROW_MOST)
        return false;
    float q = largest_square(h->q, h->first_query, h->queries, h->head, h->dk),
          k = largest_square(h->k, h->keys.start, h->keys.length, h->head, h->dk), most = NARROW_SCORE / LOG2_E;
    return q * k * h->scale * h->scale <= most * most; /* false for NaN */
}

/* s [2]: 16 queries, [UNITS, 16], meet the next two rows of keys */
INLINE void meet_two(Vec s[2], const IVec query[UNITS], const Unit *k)
{
    for (int u = 0; u < UNITS; u++)
        for (int r = 0; r < 2; r++)
            s[r] = vec_pairs(s[r], query[u], (IVec){0} + k[r * UNITS + u]);
}

/* Rows of one head's keys, padded: [keys, UNITS] */
static void narrow_rows(Unit *to, const HeadView *h, Strided x, size_t size)
{
    pack_rows((Number *)(void *)to, numbers_of(x, h->keys.start, h->head, size), x.stride, (Range){0, h->keys.length},
              h->key_wide, size, NARROW);
}

/* Of a tile of QUERIES queries and a chunk of keys: weights and gradients of scores, each half of the queries by
 * itself, as rows [2, STRETCH, UNITS] and as pairs of keys [2, STRETCH / 2, 16]. */
typedef struct NarrowTile {
    Unit *k, *v;          /* rows of all keys */
    Unit *p, *ds, *pairs; /* of the chunk */
    float *dq;            /* [2, NARROW, 16 queries] */
    Vec lse[2], shared[2];
} NarrowTile;

/* Weights and gradients of half a tile, for keys first .. first+keys-1. */
static void narrow_gradients(const Weigher *weigher, const NarrowTile *t, const HeadScratch *scratch, size_t half,
                             size_t first, size_t keys)
{
    const Weigher w = *weigher;
    const Unit *k = t->k + first * UNITS, *v = t->v + first * UNITS;
    const Vec lse = t->lse[half], shared = t->shared[half];
    size_t at = half * STRETCH * UNITS;
    IVec query[UNITS], dy[UNITS];
    for (int u = 0; u < UNITS; u++) {
        query[u] = units_load(scratch->q + u * QUERIES + half * WIDTH);
        dy[u] = units_load(scratch->dy + u * QUERIES + half * WIDTH);
    }
    for (size_t j = 0; j < keys; j += 2, k += 2 * UNITS, v += 2 * UNITS, at += 2 * UNITS) {
        Vec s[2] = {-lse, -lse}, dp[2] = {-shared, -shared};
        meet_two(s, query, k);
        meet_two(dp, dy, v);
        IVec p = weights_of(&w, s[0], s[1]);
        dp[0] *= (Vec)(p << 16);
        dp[1] *= (Vec)(p & (int32_t)0xffff0000);
        __m512i ds = (__m512i)_mm512_cvtne2ps_pbh((__m512)dp[1], (__m512)dp[0]);
        _mm512_storeu_si512(t->p + at, _mm512_permutexvar_epi16(w.unzip, (__m512i)p));
        _mm512_storeu_si512(t->ds + at, ds);
        _mm512_storeu_si512(t->pairs + at, _mm512_permutexvar_epi16(w.rezip, ds));
    }
}

/* dQ += dS K of half a tile and a chunk */
static void narrow_queries(const NarrowTile *t, const Unit *k, size_t half, size_t keys)
{
    const Unit *ds = t->pairs + half * STRETCH * UNITS;
    float *dq = t->dq + half * NARROW * WIDTH;
    Vec sum[NARROW];
    for (int d = 0; d < NARROW; d++)
        sum[d] = vec_load(dq + d * WIDTH);
    for (size_t j = 0; j < keys; j += 2, k += NARROW, ds += WIDTH) {
        IVec pair = units_load(ds);
        for (int d = 0; d < NARROW; d++)
            sum[d] = vec_pairs(sum[d], pair, (IVec){0} + k[d]);
    }
    for (int d = 0; d < NARROW; d++)
        vec_store(dq + d * WIDTH, sum[d]);
}

/* to [keys, NARROW] += rows^T x: dV and dK of a chunk, x being dY and Q of the whole tile as pairs */
static void narrow_keys(float *to, const Unit *rows, const Unit *pairs, size_t keys)
{
    enum { AT_ONCE = 4 };
    IVec x[2][UNITS];
    for (int u = 0; u < 2 * UNITS; u++)
        x[u / UNITS][u % UNITS] = units_load(pairs + u * NARROW);
    for (size_t j = 0; j < keys; j += AT_ONCE, rows += AT_ONCE * UNITS, to += AT_ONCE * NARROW) {
        Vec sum[AT_ONCE];
        for (int r = 0; r < AT_ONCE; r++)
            sum[r] = vec_load(to + r * NARROW);
        for (int half = 0; half < 2; half++)
            for (int u = 0; u < UNITS; u++)
                for (int r = 0; r < AT_ONCE; r++)
                    sum[r] = vec_pairs(sum[r], x[half][u], (IVec){0} + rows[(half * STRETCH + r) * UNITS + u]);
        for (int r = 0; r < AT_ONCE; r++)
            vec_store(to + r * NARROW, sum[r]);
    }
}

static void pack_narrow_tile(NarrowTile *t, const AttentionWork *a, const HeadView *h, const HeadScratch *w,
                             size_t first, size_t count)
{
    size_t heads = a->how->heads, at = (h->first_query + first) * heads + h->head;
    const Number *q = numbers_of(h->q, h->first_query + first, h->head, h->dk), *dy = a->dy + at * h->dv;
    Range rows = {0, count};
    float lse[QUERIES] = {0}, shared[QUERIES];

    shared_of_tile(shared, a, h, first, count);
    for (size_t i = 0; i < count; i++)
        lse[i] = a->lse[at + i * heads] / h->scale;
    memcpy(t->lse, lse, sizeof lse);
    memcpy(t->shared, shared, sizeof shared);
    pack_transposed(w->q, q, h->q.stride, rows, QUERIES, h->dk, NARROW);
    pack_transposed(w->dy, dy, heads * h->dv, rows, QUERIES, h->dv, NARROW);
    pack_pairs(w->q_pairs, q, h->q.stride, rows, QUERIES, h->dk, NARROW);
    pack_pairs(w->dy_pairs, dy, heads * h->dv, rows, QUERIES, h->dv, NARROW);
    memset(t->dq, 0, QUERIES * NARROW * sizeof *t->dq);
}

static void narrow_tile_backward(const AttentionWork *a, const HeadView *h, const HeadScratch *w,
                                 const Weigher *weigher, NarrowTile *t, size_t first, size_t count)
{
    pack_narrow_tile(t, a, h, w, first, count);
    for (size_t from = 0; from < h->keys.length; from += STRETCH) {
        size_t left = round_up(h->keys.length - from, 4), keys = left < STRETCH ? left : STRETCH;
        for (size_t half = 0; half < 2; half++) {
            narrow_gradients(weigher, t, w, half, from, keys);
            narrow_queries(t, w->k_pairs + from * UNITS, half, keys);
        }
        narrow_keys(w->dv + from * NARROW, t->p, w->dy_pairs, keys);
        narrow_keys(w->dk + from * NARROW, t->ds, w->q_pairs, keys);
    }
    for (size_t half = 0; half < 2; half++) {
        Unit *dq = (Unit *)(void *)t->dq + half * NARROW * WIDTH;
        IVec lanes[NARROW];
        memcpy(lanes, dq, sizeof lanes);
        units_turn(dq, NARROW, lanes, WIDTH);
    }
    for (size_t i = 0; a->d->q.data && i < count; i++)
        give((Number *)a->d->q.data + (h->first_query + first + i) * a->d->q.stride + h->head * h->dk, a->d->add_q,
             vec_load(t->dq + i * NARROW) * h->scale, h->dk);
}

/* All but giving dK and dV on. */
static void narrow_backward(const AttentionWork *a, const HeadView *h, const HeadScratch *w)
{
    const Weigher weigher = weigher_of(h->scale);
    NarrowTile t = {
        .k = w->k_transposed, .v = w->v_transposed, .p = w->p, .ds = w->ds, .pairs = w->ds_pairs, .dq = w->s};
    narrow_rows(t.k, h, h->k, h->dk);
    narrow_rows(t.v, h, h->v, h->dv);
    pack_pairs(w->k_pairs, numbers_of(h->k, h->keys.start, h->head, h->dk), h->k.stride, (Range){0, h->keys.length},
               h->key_wide, h->dk, NARROW);
    memset(w->dk, 0, h->key_wide * NARROW * sizeof *w->dk);
    memset(w->dv, 0, h->key_wide * NARROW * sizeof *w->dv);
    for (size_t i = 0; i < h->queries; i += QUERIES)
        narrow_tile_backward(a, h, w, &weigher, &t, i, h->queries - i < QUERIES ? h->queries - i : QUERIES);
}

#else

static bool is_narrow(const HeadView *h)
{
    (void)h;
    return false;
}

static void narrow_backward(const AttentionWork *a, const HeadView *h, const HeadScratch *w)
{
    (void)a, (void)h, (void)w;
}

#endif
