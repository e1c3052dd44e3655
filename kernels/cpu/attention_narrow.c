/* Heads of up to 16 numbers where every query sees every key and a score is q . k alone: what an encoder with many
 * heads does. See attention.c, whose formulas these are; the way back is in attention_narrow_backward.c.
 *
 * Products of such heads are short, so scores that go to memory and come back as weights take longer than they. Here a
 * vector's lanes are 16 queries, a key's numbers are met one by one, and a score stays in its register until it is a
 * weight; so do sums over keys, and nothing is added up across lanes.
 *
 * Forward, no largest score is asked for: where scores are between -55 and 55 (of a logarithm to the base of 2), as
 * |q| |k| tells before, their powers and sums of them are neither 0 nor infinity. Elsewhere, and where values are so
 * large that a sum is no float, head_forward does the work. */

#if defined __AVX512DQ__ && (!defined CPU_BF16 || (defined __AVX512BF16__ && defined __AVX512VBMI__))

#define NARROW_SCORE 55.0f /* of a logarithm to the base of 2 */

enum {
    NARROW_MOST = 1 << 15,          /* keys: weights are at least 2^(-2 * 55 - 15) */
    NARROW = WIDTH,                 /* numbers of a head, padded */
    UNITS = NARROW / PER_UNIT,      /* of a padded row */
    NARROW_TILE = WIDTH * PER_UNIT, /* queries */
    STRETCH = 64,                   /* keys whose weights and gradients stay in the first cache */
    MET = 8 * PER_UNIT,             /* keys at once: enough sums that one does not wait for itself */
};

/* --- 2^x --- */

#define POWER_PARTS 32 /* of a doubling, which is what scores are counted in */

/* 2^(i/32) as bits, less i << 18: n << 18 added to entry n % 32 is 2^(n/32). */
static const uint32_t power_table[POWER_PARTS] = {
    0x3f800000, 0x3f7ecd87, 0x3f7daac3, 0x3f7c980f, 0x3f7b95c2, 0x3f7aa43a, 0x3f79c3d3, 0x3f78f4f0,
    0x3f7837f0, 0x3f778d3a, 0x3f76f532, 0x3f767043, 0x3f75fed7, 0x3f75a15b, 0x3f75583f, 0x3f7523f6,
    0x3f7504f3, 0x3f74fbaf, 0x3f7508a4, 0x3f752c4d, 0x3f75672a, 0x3f75b9be, 0x3f76248c, 0x3f76a81e,
    0x3f7744fd, 0x3f77fbb8, 0x3f78ccdf, 0x3f79b907, 0x3f7ac0c7, 0x3f7be4ba, 0x3f7d257d, 0x3f7e83b3,
};

/* 2^(x/32) for |x| < 4000: a table, and a polynomial for what is left of x (error 5e-8). Most of it is additions and
 * shifts, which take no time from products. */
INLINE Vec narrow_power(const Vec table[2], Vec x)
{
    Vec shifted = x + SHIFT, f = x - (shifted - SHIFT);
    Vec near = (Vec)_mm512_permutex2var_ps((__m512)table[0], (__m512i)shifted, (__m512)table[1]);
    near = (Vec)((UVec)near + ((UVec)shifted << 18));
    Vec rest = f * (f * 2.345961982e-4f + 2.166116699e-2f);
    return near * rest + near;
}

/* --- which heads --- */

/* The largest |x|^2 among rows of one head; NaN where a number is not finite. */
static float largest_square(Strided x, size_t position, size_t rows, size_t head, size_t size)
{
    Vec largest = {0}, sum = {0};
    for (size_t i = 0; i < rows; i += WIDTH) {
        Vec lanes[WIDTH];
        for (size_t r = 0; r < WIDTH; r++) { /* after the last row that one once more */
            size_t at = i + r < rows ? i + r : rows - 1;
            IVec row = units_some(numbers_of(x, position + at, head, size), size * sizeof(Number));
            lanes[r] = units_multiply(vec_set(0), row, row, PAIRS);
        }
        Vec squares = vec_sums(lanes);
        largest = vec_max(largest, squares);
        sum += squares;
    }
    return vec_largest(largest) + 0 * vec_sum(sum);
}

static bool is_narrow(const HeadView *h)
{
    const Attend *how = h->how;
    return h->dk_wide == NARROW && h->dv_wide == NARROW && !h->terms && !how->causal && !how->window && !how->weights &&
           !(how->dropout.rate > 0) && h->keys.length && h->keys.length <= NARROW_MOST;
}

/* Whether scores are within NARROW_SCORE, of the largest |q|^2 and |k|^2; false for NaN. (A scale is not to be so small
 * that lse / scale is no float.) */
static bool scores_fit(const HeadView *h, float q, float k)
{
    const float most = NARROW_SCORE / LOG2_E;
    return q * k * h->scale * h->scale <= most * most && h->scale >= 1e-6f;
}

/* --- what both directions do --- */

/* Rows of one head's keys, padded: [keys, UNITS] */
static void narrow_rows(Unit *to, const HeadView *h, Strided x, size_t size)
{
    pack_rows((Number *)(void *)to, keys_from(h, x, 0, size), x.stride, (Range){0, h->keys.length},
              round_up(h->keys.length, MET), size, NARROW);
}

/* Sixteen rows of a packed tile, transposed: unit u of queries half * 16 on */
INLINE void narrow_lanes(IVec lanes[UNITS], const Unit *tile, size_t half)
{
    for (size_t u = 0; u < UNITS; u++)
        lanes[u] = units_load(tile + u * NARROW_TILE + half * WIDTH);
}

/* The same of queries, so that their products with keys are scores in 32nds: in f32; in bf16 products are still to be
 * multiplied with it. */
INLINE void narrow_queries(IVec lanes[UNITS], const Unit *tile, size_t half, float factor)
{
    narrow_lanes(lanes, tile, half);
    for (size_t u = 0; !PAIRS && u < UNITS; u++)
        lanes[u] = (IVec)((Vec)lanes[u] * factor);
}

/* s [count] = products of 16 queries with the next rows of keys */
INLINE void narrow_meet(Vec *s, size_t count, const IVec lanes[UNITS], const Unit *rows)
{
    for (size_t r = 0; r < count; r++)
        s[r] = vec_set(0);
#pragma GCC unroll 16
    for (size_t u = 0; u < UNITS; u++)
        for (size_t r = 0; r < count; r++)
            s[r] = units_multiply(s[r], lanes[u], (IVec){0} + rows[r * UNITS + u], PAIRS);
}

/* sum [NARROW, 16 queries] += what [units of keys, 16 queries] and x [units of keys, NARROW] make */
static void narrow_sum(float *to, const Unit *weights, const Unit *x, size_t keys)
{
    Vec sum[NARROW];
#pragma GCC unroll 16
    for (int d = 0; d < NARROW; d++)
        sum[d] = vec_load(to + d * WIDTH);
    for (size_t j = 0; j < keys; j += PER_UNIT, x += NARROW, weights += WIDTH) {
        IVec weight = units_load(weights);
#pragma GCC unroll 16
        for (int d = 0; d < NARROW; d++)
            sum[d] = units_multiply(sum[d], weight, (IVec){0} + x[d], PAIRS);
    }
#pragma GCC unroll 16
    for (int d = 0; d < NARROW; d++)
        vec_store(to + d * WIDTH, sum[d]);
}

/* [NARROW, 16 queries] becomes [16 queries, NARROW]. */
static void narrow_transpose(float *x)
{
    IVec lanes[NARROW];
    memcpy(lanes, x, sizeof lanes);
    units_transpose((Unit *)(void *)x, NARROW, lanes, WIDTH);
}

/* --- forward --- */

/* The next `count` of MET keys, after which are others that do not count: their weights as units of keys, and the sum
 * of them added to sum. */
INLINE Vec narrow_weigh(Unit *to, const IVec query[UNITS], const Unit *k, const Vec table[2], float factor,
                        size_t count, Vec sum)
{
    Vec s[MET];
    narrow_meet(s, MET, query, k);
    for (size_t r = 0; r < MET; r++) {
        s[r] = r < count ? narrow_power(table, PAIRS ? s[r] * factor : s[r]) : vec_set(0);
        sum += s[r];
    }
    for (size_t r = 0; r < MET; r += PER_UNIT, to += WIDTH)
#if defined CPU_BF16
        bf16_store_both(NULL, NULL, to, s[r], s[r + 1]);
#else
        vec_store((float *)(void *)to, s[r]);
#endif
    return sum;
}

/* Weights of 16 queries and a stretch of keys; returns their sum. */
static Vec narrow_weights(Unit *to, const Unit *queries, size_t half, const Unit *k, size_t keys, float factor)
{
    IVec query[UNITS];
    Vec table[2], sum = {0};
    narrow_queries(query, queries, half, factor);
    memcpy(table, power_table, sizeof table);
    size_t j = 0;
    for (; j + MET <= keys; j += MET)
        sum = narrow_weigh(to + j / PER_UNIT * WIDTH, query, k + j * UNITS, table, factor, MET, sum);
    if (j < keys)
        sum = narrow_weigh(to + j / PER_UNIT * WIDTH, query, k + j * UNITS, table, factor, keys - j, sum);
    return sum;
}

/* |q|^2 of 16 queries */
static Vec narrow_squares(const Unit *queries, size_t half)
{
    Vec sum = {0};
    IVec lanes[UNITS];
    narrow_lanes(lanes, queries, half);
    for (size_t u = 0; u < UNITS; u++)
        sum = units_multiply(sum, lanes[u], lanes[u], PAIRS);
    return sum;
}

/* y [count, dv] and lse of up to 16 queries. Returns whether all numbers were finite. */
static bool narrow_half_forward(const AttentionWork *a, const HeadView *h, const HeadScratch *w, size_t half,
                                size_t first, size_t count)
{
    const float factor = h->scale * LOG2_E * POWER_PARTS;
    const size_t heads = a->how->heads;
    Unit *p = (Unit *)(void *)w->s;
    Vec sum = {0}, zeros = {0};
    float sums[WIDTH], lse[WIDTH];

    memset(w->y, 0, NARROW * WIDTH * sizeof *w->y);
    for (size_t from = 0; from < h->keys.length; from += STRETCH) {
        size_t left = h->keys.length - from, keys = left < STRETCH ? left : STRETCH;
        sum += narrow_weights(p, w->q, half, w->k_transposed + from * UNITS, keys, factor);
        narrow_sum(w->y, p, w->v_pairs + from * UNITS, keys);
    }
    narrow_transpose(w->y);
    vec_store(sums, sum);
    vec_store(lse, vec_log2(sum) * LN_2);
    for (size_t i = 0; i < count; i++) {
        size_t at = (h->first_query + first + i) * heads + h->head;
        Vec y = vec_load(w->y + i * NARROW) / sums[i];
        zeros += y * 0;
        a->lse[at] = lse[i];
        store(a->y + at * h->dv, y, h->dv);
    }
    return vec_sum(zeros) == 0;
}

/* Returns whether that was possible; otherwise y and lse are still to be computed. */
static bool narrow_forward(const AttentionWork *a, const HeadView *h, const HeadScratch *w)
{
    narrow_rows(w->k_transposed, h, h->k, h->dk);
    pack_pairs(w->v_pairs, keys_from(h, h->v, 0, h->dv), h->v.stride, (Range){0, h->keys.length},
               round_up(h->keys.length, PER_UNIT), h->dv, NARROW);
    float k = largest_square((Strided){w->k_transposed, NARROW}, 0, h->keys.length, 0, NARROW);
    bool fine = true;
    for (size_t first = 0; fine && first < h->queries; first += NARROW_TILE) {
        size_t left = h->queries - first, count = left < NARROW_TILE ? left : NARROW_TILE;
        pack_transposed(w->q, NARROW_TILE, numbers_of(h->q, h->first_query + first, h->head, h->dk), h->q.stride,
                        (Range){0, count}, NARROW_TILE, h->dk, NARROW);
        for (size_t half = 0; fine && half * WIDTH < count; half++) {
            size_t rest = count - half * WIDTH;
            Vec q = narrow_squares(w->q, half);
            fine = scores_fit(h, vec_largest(q) + 0 * vec_sum(q), k) &&
                   narrow_half_forward(a, h, w, half, first + half * WIDTH, rest < WIDTH ? rest : WIDTH);
        }
    }
    return fine;
}

#else

static bool is_narrow(const HeadView *h)
{
    (void)h;
    return false;
}

static bool narrow_forward(const AttentionWork *a, const HeadView *h, const HeadScratch *w)
{
    (void)a, (void)h, (void)w;
    return false;
}

#endif
