/* Attention forward in bf16 by products of small matrices (mma.h): the third rung of attention.cu's ladder.
 *
 * The tiles are those of the second rung, but a warp multiplies: it has 16 queries, or twice 16, of a block's, and
 * keeps them, their scores and their y in registers, spread over its lanes as mma.h says. The lanes that hold the
 * scores of a query hold them as the next product wants its weights, so these never leave the registers either. Keys
 * and values are in shared memory, bf16 as they are; while a tile is multiplied the next one is on its way (cp.async),
 * as far as rows begin at multiples of 16 bytes, else it is loaded number by number.
 *
 * What a warp loads of a tile serves all of its queries: with twice 16 that halves what is read from shared memory.
 * Weights are relative to a score that need not be the largest any more: y is scaled again only when they would grow
 * beyond 2^8. What either gains is not measured: no GPU was at hand.
 *
 * Which keys of a tile a query sees is one word, a bit a key, made by one thread for a query; tiles that all of its
 * queries see whole, which are most, go without. Exponentials are powers of 2: scores count in units of log 2.
 *
 * Heads are filled up with zeros to 32, 64 or 128 columns. What a score holds beyond q . k is the distance bias alone;
 * relative keys and the biases of queries stay on the second rung, and so does a scale that is not positive. */

#if defined CUDA_BF16

constexpr unsigned MMA_WARPS = 4, MMA_THREADS = MMA_WARPS * LANES;
constexpr float LOG2_E = 1.44269504f, LOG_2 = 0.693147181f, LARGE = 8;

/* Heads of up to COLUMNS: how many products are side by side in a row, and how long the tiles are that are walked. */
template <unsigned COLUMNS> struct Mma {
    static constexpr unsigned steps = COLUMNS / 16, slices = COLUMNS / 8, rows = COLUMNS <= 64 ? 64 : 32;
};

/* Of keys or queries, in shared memory: rows are 8 numbers longer than they need be, so that the 8 rows that are read
 * at once are in different banks. */
template <unsigned ROWS, unsigned COLUMNS> struct __align__(16) MmaTile
{
    static constexpr unsigned stride = COLUMNS + 8;
    Number numbers[ROWS * stride];
    __device__ Number *at(unsigned row, unsigned column) { return &numbers[row * stride + column]; }
    __device__ const Number *at(unsigned row, unsigned column) const { return &numbers[row * stride + column]; }
};

/* The rungs that run by products: how many columns, or 0. */
static unsigned mma_columns(const Attend &how)
{
    size_t columns = how.key_size > how.value_size ? how.key_size : how.value_size;
    if (how.relative.data || how.content_bias || how.position_bias || how.cap > 0 || !(how.scale > 0) || columns > 128)
        return 0;
    return columns <= 32 ? 32 : columns <= 64 ? 64 : 128;
}

/* LAUNCH_MMA(s, kernel, columns, heads, longest, each, arguments...): kernel<columns>, a block for `each` of the
 * longest row's positions, of each row and head; its last argument is how many blocks a row has. */
#define LAUNCH_MMA(s, kernel, columns, heads, longest, each, a, ...)                                                   \
    do {                                                                                                               \
        size_t tiles_ = divide_up(longest, each), blocks_ = (a).how.rows * tiles_ * (heads);                           \
        dim3 threads_ = dim3(LANES, MMA_WARPS);                                                                        \
        if (blocks_ > 0 && (columns) == 32)                                                                            \
            LAUNCH(s, kernel<32>, (unsigned)blocks_, threads_, __VA_ARGS__, a, tiles_);                                \
        else if (blocks_ > 0 && (columns) == 64)                                                                       \
            LAUNCH(s, kernel<64>, (unsigned)blocks_, threads_, __VA_ARGS__, a, tiles_);                                \
        else if (blocks_ > 0)                                                                                          \
            LAUNCH(s, kernel<128>, (unsigned)blocks_, threads_, __VA_ARGS__, a, tiles_);                               \
    } while (0)

static __device__ unsigned thread_of_block() { return threadIdx.y * LANES + threadIdx.x; }

/* A lane's place in a fragment: see mma.h. */
static __device__ unsigned group_of_lane() { return lane() / 4; }
static __device__ unsigned pair_of_lane() { return lane() % 4 * 2; }

/* ---- tiles in shared memory */

/* One head of `count` positions from `first` on; zeros after them, and after the head's size. Where rows begin at
 * multiples of 16 bytes they are on their way on return, else there. */
template <unsigned ROWS, unsigned COLUMNS>
static __device__ void bring_tile(MmaTile<ROWS, COLUMNS> &tile, const Strided &x, size_t first, size_t count,
                                  size_t head, size_t size)
{
    constexpr unsigned EIGHT = 8;
    if (((uintptr_t)x.data | (x.stride | head * size) * sizeof(Number)) % 16 != 0) {
        for (unsigned t = thread_of_block(); t < ROWS * COLUMNS; t += MMA_THREADS) {
            unsigned i = t / COLUMNS, c = t % COLUMNS;
            *tile.at(i, c) = i < count && c < size ? head_of(x, first + i, head, size)[c] : number(0);
        }
        return;
    }
    for (unsigned t = thread_of_block(); t < ROWS * COLUMNS / EIGHT; t += MMA_THREADS) {
        unsigned i = t / (COLUMNS / EIGHT), c = t % (COLUMNS / EIGHT) * EIGHT;
        size_t there = i < count && c < size ? size - c : 0;
        const void *from = there ? head_of(x, first + i, head, size) + c : x.data;
        copy_async(tile.at(i, c), from, (unsigned)(there < EIGHT ? there : EIGHT) * sizeof(Number));
    }
}

/* Two fragments b, each of 8 rows of a tile and 16 of its columns: x[0], x[1] and x[2], x[3]. */
template <unsigned ROWS, unsigned COLUMNS>
static __device__ inline void rows_of_16(unsigned x[4], const MmaTile<ROWS, COLUMNS> &tile, unsigned row,
                                         unsigned column)
{
    unsigned l = lane();
    load_matrices(x, tile.at(row + l / 16 * 8 + l % 8, column + l / 8 % 2 * 8));
}

/* Two fragments b, each of 16 rows of a tile, summed over, and 8 of its columns. */
template <unsigned ROWS, unsigned COLUMNS>
static __device__ inline void columns_of_16(unsigned x[4], const MmaTile<ROWS, COLUMNS> &tile, unsigned row,
                                            unsigned column)
{
    unsigned l = lane();
    load_transposed(x, tile.at(row + l % 16, column + l / 16 * 8));
}

/* ---- fragments a: 16 rows and 16 columns */

/* Two numbers that are side by side, where that is a multiple of 4 bytes: one access in place of two. */
typedef unsigned __attribute__((may_alias)) TwoNumbers;

static __device__ bool side_by_side(const Number *row, size_t column, size_t size)
{
    return column + 1 < size && (uintptr_t)(row + column) % sizeof(TwoNumbers) == 0;
}

static __device__ unsigned two_numbers(const Number *row, size_t column, size_t size)
{
    if (side_by_side(row, column, size))
        return *(const TwoNumbers *)(row + column);
    unsigned lower = column < size ? row[column].bits : 0u, upper = column + 1 < size ? row[column + 1].bits : 0u;
    return lower | upper << 16;
}

static __device__ void put_two(Number *row, size_t column, size_t size, float lower, float upper)
{
    Number *to = row + column, first = number(lower), second = number(upper);
    if (side_by_side(row, column, size)) {
        *(TwoNumbers *)to = first.bits | (unsigned)second.bits << 16;
        return;
    }
    if (column < size)
        to[0] = first;
    if (column + 1 < size)
        to[1] = second;
}

/* MANY times 16 positions from `first` on, of which those before `end` exist, and all columns of a head. */
template <unsigned STEPS, unsigned MANY>
static __device__ void take_rows(unsigned (&x)[STEPS][MANY][4], const Strided &from, size_t first, size_t end,
                                 size_t head, size_t size)
{
#pragma unroll
    for (unsigned half = 0; half < 2 * MANY; half++) {
        size_t i = first + group_of_lane() + 8 * half;
        const Number *row = head_of(from, i < end ? i : 0, head, size);
#pragma unroll
        for (unsigned step = 0; step < STEPS; step++) {
            x[step][half / 2][half % 2] = two_numbers(row, 16 * step + pair_of_lane(), i < end ? size : 0);
            x[step][half / 2][half % 2 + 2] = two_numbers(row, 16 * step + pair_of_lane() + 8, i < end ? size : 0);
        }
    }
}

/* 16 rows of a tile from `row` on, columns 16 step .. */
template <unsigned ROWS, unsigned COLUMNS>
static __device__ inline void take_rows_of(unsigned x[4], const MmaTile<ROWS, COLUMNS> &tile, unsigned row,
                                           unsigned step)
{
    unsigned l = lane();
    load_matrices(x, tile.at(row + l % 16, 16 * step + l / 16 * 8));
}

/* Of numbers that are a result. */
static __device__ inline void take_result(unsigned x[4], const float c[][4], unsigned step)
{
    x[0] = two_bf16(c[2 * step][0], c[2 * step][1]);
    x[1] = two_bf16(c[2 * step][2], c[2 * step][3]);
    x[2] = two_bf16(c[2 * step + 1][0], c[2 * step + 1][1]);
    x[3] = two_bf16(c[2 * step + 1][2], c[2 * step + 1][3]);
}

/* ---- products with a tile: what is loaded of it serves all of a warp's 16s */

template <unsigned MANY, unsigned N> static __device__ inline void set_zero(float (&c)[MANY][N][4])
{
#pragma unroll
    for (unsigned m = 0; m < MANY; m++)
#pragma unroll
        for (unsigned n = 0; n < N; n++)
#pragma unroll
            for (unsigned u = 0; u < 4; u++)
                c[m][n][u] = 0;
}

/* c [16, ROWS] += a tile^T, of columns 16 step .. */
template <unsigned MANY, unsigned N, unsigned ROWS, unsigned COLUMNS>
static __device__ inline void add_step(float (&c)[MANY][N][4], const unsigned (&a)[MANY][4],
                                       const MmaTile<ROWS, COLUMNS> &tile, unsigned step)
{
#pragma unroll
    for (unsigned n = 0; n < ROWS / 8; n += 2) {
        unsigned b[4];
        rows_of_16(b, tile, 8 * n, 16 * step);
#pragma unroll
        for (unsigned m = 0; m < MANY; m++) {
            mma_bf16(c[m][n], a[m], b);
            mma_bf16(c[m][n + 1], a[m], b + 2);
        }
    }
}

/* c [16, ROWS] = a tile^T */
template <unsigned MANY, unsigned N, unsigned STEPS, unsigned ROWS, unsigned COLUMNS>
static __device__ inline void multiply_rows(float (&c)[MANY][N][4], const unsigned (&a)[STEPS][MANY][4],
                                            const MmaTile<ROWS, COLUMNS> &tile, size_t size)
{
    set_zero(c);
#pragma unroll
    for (unsigned step = 0; step < STEPS; step++)
        if (16 * step < size)
            add_step(c, a[step], tile, step);
}

/* The same, a: rows of another tile from `row` on, which registers have no room for. */
template <unsigned N, unsigned OF, unsigned ROWS, unsigned COLUMNS>
static __device__ inline void multiply_rows(float (&c)[1][N][4], const MmaTile<OF, COLUMNS> &of, unsigned row,
                                            const MmaTile<ROWS, COLUMNS> &tile, size_t size)
{
    set_zero(c);
#pragma unroll
    for (unsigned step = 0; step < COLUMNS / 16; step++) {
        unsigned a[1][4];
        take_rows_of(a[0], of, row, step);
        if (16 * step < size)
            add_step(c, a, tile, step);
    }
}

/* sum [16, columns] += c [16, ROWS] tile */
template <unsigned MANY, unsigned N, unsigned SLICES, unsigned ROWS, unsigned COLUMNS>
static __device__ inline void multiply_columns(float (&sum)[MANY][SLICES][4], const float (&c)[MANY][N][4],
                                               const MmaTile<ROWS, COLUMNS> &tile, size_t size)
{
#pragma unroll
    for (unsigned step = 0; step < ROWS / 16; step++) {
        unsigned a[MANY][4];
#pragma unroll
        for (unsigned m = 0; m < MANY; m++)
            take_result(a[m], c[m], step);
#pragma unroll
        for (unsigned n = 0; n < SLICES; n += 2)
            if (8 * n < size) {
                unsigned b[4];
                columns_of_16(b, tile, 16 * step, 8 * n);
#pragma unroll
                for (unsigned m = 0; m < MANY; m++) {
                    mma_bf16(sum[m][n], a[m], b);
                    mma_bf16(sum[m][n + 1], a[m], b + 2);
                }
            }
    }
}

/* ---- which keys a query sees */

/* Keys j0 .. j0 + 63 that query i sees, a bit each. */
static __device__ uint64_t seen_by(const Attention &a, const AttentionRow &r, size_t i, size_t j0)
{
    uint64_t seen = 0;
    if (i >= r.queries)
        return 0;
    for (Range run = keys_run(&a.how, r.keys, i, j0); run.from < run.to && run.from < j0 + 64;
         run = keys_run(&a.how, r.keys, i, run.to)) {
        size_t from = run.from - j0, to = run.to - j0 < 64 ? run.to - j0 : 64;
        seen |= (to - from < 64 ? (1ull << (to - from)) - 1 : ~0ull) << from;
    }
    return seen;
}

/* Do queries first .. last all see all of keys j0 .. j0 + count - 1? */
static __device__ bool see_all(const Attention &a, const AttentionRow &r, size_t first, size_t last, size_t j0,
                               size_t count)
{
    return !keys_have_gaps(&a.how) && keys_first(&a.how, r.keys, last) <= j0 &&
           j0 + count <= keys_end(&a.how, r.keys, first);
}

/* Which keys does one of these queries see? */
static __device__ uint64_t seen_by_any(const uint64_t *seen, unsigned queries)
{
    uint64_t any = 0;
    for (unsigned i = lane(); i < queries; i += LANES)
        any |= seen[i];
    for (int away = LANES / 2; away > 0; away /= 2)
        any |= __shfl_xor_sync(ALL_LANES, any, away);
    return any;
}

/* Keys that no query of the block sees may hold anything, NaN too, which a weight of 0 does not hide: they become 0. */
template <unsigned ROWS, unsigned COLUMNS>
static __device__ void forget_rows(MmaTile<ROWS, COLUMNS> &tile, uint64_t rows)
{
    for (unsigned t = thread_of_block(); t < ROWS * COLUMNS; t += MMA_THREADS)
        if (rows >> t / COLUMNS & 1)
            *tile.at(t / COLUMNS, t % COLUMNS) = number(0);
}

/* ---- the walk over keys, which forward and the pass for dq have in common: a block has QUERIES of a row, a warp its
 * share of them */

/* Two tiles of keys and of values: one is multiplied while the other is on its way. */
template <unsigned QUERIES, unsigned COLUMNS> struct KeyTiles {
    MmaTile<Mma<COLUMNS>::rows, COLUMNS> k[2], v[2];
    uint64_t seen[QUERIES];
};

/* From key j0 on. */
template <unsigned ROWS, unsigned COLUMNS>
static __device__ void bring_keys(MmaTile<ROWS, COLUMNS> &k, MmaTile<ROWS, COLUMNS> &v, const Attention &a,
                                  const AttentionRow &r, size_t j0)
{
    size_t count = r.keys.length - j0;
    bring_tile(k, a.k, r.keys.start + j0, count, r.kv, a.how.key_size);
    bring_tile(v, a.v, r.keys.start + j0, count, r.kv, a.how.value_size);
}

/* Hides what none of a block's queries sees; left: keys from here to the row's end. */
template <unsigned ROWS, unsigned COLUMNS>
static __device__ void hide_keys(MmaTile<ROWS, COLUMNS> &k, MmaTile<ROWS, COLUMNS> &v, const uint64_t *seen,
                                 unsigned queries, size_t left)
{
    uint64_t there = left < 64 ? (1ull << left) - 1 : ~0ull, unseen = there & ~seen_by_any(seen, queries);
    if (unseen) { /* all of the block */
        forget_rows(k, unseen);
        forget_rows(v, unseen);
        __syncthreads();
    }
}

/* The queries that a block of [B, H, tiles] has, QUERIES of a row from `first` on. Where attention is causal the
 * longest come first. */
template <unsigned QUERIES> static __device__ size_t first_of_block(size_t tiles)
{
    return (tiles - 1 - blockIdx.x % tiles) * QUERIES;
}

/* multiply(k, v, seen, j0) for each tile of the keys that queries first .. see, as far as one of the warp's does; seen
 * is of the warp's queries, NULL: they see all. */
template <unsigned QUERIES, unsigned COLUMNS, class Multiply>
static __device__ inline void walk_keys(KeyTiles<QUERIES, COLUMNS> &t, const Attention &a, const AttentionRow &r,
                                        size_t first, Multiply multiply)
{
    constexpr unsigned rows = Mma<COLUMNS>::rows, each = QUERIES / MMA_WARPS;
    size_t last = first + QUERIES <= r.queries ? first + QUERIES - 1 : r.queries - 1;
    unsigned j0 = (unsigned)(keys_first(&a.how, r.keys, first) / rows * rows),
             end = (unsigned)keys_end(&a.how, r.keys, last);
    const uint64_t *mine = t.seen + threadIdx.y * each;
    if (j0 < end)
        bring_keys(t.k[0], t.v[0], a, r, j0);
    copy_commit();
    for (unsigned now = 0; j0 < end; j0 += rows, now ^= 1) {
        if (j0 + rows < end) /* the next one, while this one is multiplied */
            bring_keys(t.k[now ^ 1], t.v[now ^ 1], a, r, j0 + rows);
        copy_commit();
        bool whole = see_all(a, r, first, last, j0, rows);
        for (unsigned i = thread_of_block(); !whole && i < QUERIES; i += MMA_THREADS)
            t.seen[i] = seen_by(a, r, first + i, j0);
        copy_wait<1>();
        __syncthreads();
        if (!whole)
            hide_keys(t.k[now], t.v[now], t.seen, QUERIES, r.keys.length - j0);
        if (whole ? first + threadIdx.y * each < r.queries : seen_by_any(mine, each) != 0) /* all lanes */
            multiply(t.k[now], t.v[now], whole ? NULL : mine, j0);
        __syncthreads(); /* before the next but one comes */
    }
}

/* ---- forward */

/* The queries of a warp, 16 or twice 16: a lane has some numbers of query first + group, of the one 8 after it, and so
 * on. */
template <unsigned COLUMNS> struct MmaForward {
    static constexpr unsigned sixteens = COLUMNS <= 64 ? 2 : 1, queries = MMA_WARPS * 16 * sixteens; /* of a block */
    size_t first;
    unsigned q[Mma<COLUMNS>::steps][sixteens][4];
    float s[sixteens][Mma<COLUMNS>::rows / 8][4], y[sixteens][Mma<COLUMNS>::slices][4];
    float base[sixteens][2], sum[sixteens][2]; /* sum: of this lane's keys; base: see weigh */
};

/* Adds the bias of distances; scores then count in units of log 2. */
template <unsigned ROWS>
static __device__ void add_distances(float s[][4], const Attention &a, const AttentionRow &r, size_t i, size_t j0)
{
    const float *bias = (const float *)a.how.distance_bias;
#pragma unroll
    for (unsigned n = 0; n < ROWS / 8; n++)
#pragma unroll
        for (unsigned u = 0; u < 4; u++) {
            size_t query = i + group_of_lane() + u / 2 * 8, key = j0 + 8 * n + pair_of_lane() + u % 2;
            float term = bias[entry_of(a, r, query, key) * a.how.heads + r.head];
            s[n][u] = LOG2_E * ((float)a.how.scale * s[n][u] + term);
        }
}

/* Scores of 16 queries become weights, relative to a score that is, or was, the largest: it changes, and sum and y
 * follow it, when weights would become larger than 2^LARGE, which is seldom. unit: of scores, in log 2. */
template <unsigned KEYS, unsigned SLICES>
static __device__ void weigh(float (&s)[KEYS][4], float (&y)[SLICES][4], float base[2], float sum[2], float unit)
{
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
        float largest = base[half];
#pragma unroll
        for (unsigned n = 0; n < KEYS; n++)
            largest = fmaxf(largest, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
        largest = fmaxf(largest, __shfl_xor_sync(ALL_LANES, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(ALL_LANES, largest, 2));
        if (__any_sync(ALL_LANES, (largest - base[half]) * unit > LARGE)) { /* the first one, too: from -infinity */
            float shrink = largest == -INFINITY ? 1 : power_of_2((base[half] - largest) * unit);
            base[half] = largest;
            sum[half] *= shrink;
#pragma unroll
            for (unsigned n = 0; n < SLICES; n++)
                y[n][2 * half] *= shrink, y[n][2 * half + 1] *= shrink;
        }
        float less = base[half] == -INFINITY ? 0 : base[half] * unit;
#pragma unroll
        for (unsigned n = 0; n < KEYS; n++)
#pragma unroll
            for (unsigned u = 2 * half; u < 2 * half + 2; u++) {
                s[n][u] = power_of_2(s[n][u] * unit - less);
                sum[half] += s[n][u];
            }
    }
}

/* Which weights stay, of what a lane holds of keys j .. j + 7 (j a multiple of 8), of query i and of the one 8 after
 * it: a bit each, as they are stored in a result. Philox decides over four keys at once, which two lanes have: one asks
 * for the first query, the other for the second. */
static __device__ unsigned keys_that_stay(const Attention &a, const AttentionRow &r, size_t i, size_t j)
{
    unsigned odd = lane() % 2, bits = 0;
    Words words = dropout_words(a.drop, a.state, r.first_query + i + group_of_lane() + 8 * odd, r.head,
                                (j + pair_of_lane()) / 4);
#pragma unroll
    for (unsigned w = 0; w < 4; w++)
        bits |= (unsigned)stays(a.drop, words.word[w]) << (4 * odd + w);
    bits = (bits | __shfl_xor_sync(ALL_LANES, bits, 1)) >> 2 * odd;
    return (bits & 3) | (bits >> 2 & 12);
}

/* The same of all keys of a tile, from key j0 on: 4 bits for each 8. It is a loop, because registers that are written
 * at once ask for copies of Philox, and what an attention is made of no longer fits where instructions are kept. */
template <unsigned ROWS>
static __device__ inline unsigned tile_that_stays(const Attention &a, const AttentionRow &r, size_t i, size_t j0)
{
    unsigned stay = 0;
#pragma unroll 2
    for (unsigned n = 0; n < ROWS / 8; n++)
        stay |= keys_that_stay(a, r, i, j0 + 8 * n) << 4 * n;
    return stay;
}

template <unsigned ROWS>
static __device__ void drop_weights(float s[][4], const Attention &a, const AttentionRow &r, size_t i, size_t j0)
{
    unsigned stay = tile_that_stays<ROWS>(a, r, i, j0);
#pragma unroll
    for (unsigned n = 0; n < ROWS / 8; n++)
#pragma unroll
        for (unsigned u = 0; u < 4; u++)
            s[n][u] *= stay >> (4 * n + u) & 1 ? a.drop.factor : 0;
}

/* What queries do not see gets a score of -infinity. seen: of the warp's 16 queries. */
template <unsigned ROWS> static __device__ void hide_unseen(float s[][4], const uint64_t *seen)
{
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
        uint64_t word = seen[group_of_lane() + 8 * half] >> pair_of_lane();
#pragma unroll
        for (unsigned n = 0; n < ROWS / 8; n++) {
            s[n][2 * half] = word >> 8 * n & 1 ? s[n][2 * half] : -INFINITY;
            s[n][2 * half + 1] = word >> 8 * n & 2 ? s[n][2 * half + 1] : -INFINITY;
        }
    }
}

/* seen: of these queries; NULL: they see all. */
template <unsigned COLUMNS>
static __device__ inline void take_keys(MmaForward<COLUMNS> &of, const Attention &a, const AttentionRow &r,
                                        const MmaTile<Mma<COLUMNS>::rows, COLUMNS> &k,
                                        const MmaTile<Mma<COLUMNS>::rows, COLUMNS> &v, const uint64_t *seen, size_t j0)
{
    constexpr unsigned rows = Mma<COLUMNS>::rows;
    multiply_rows(of.s, of.q, k, a.how.key_size);
#pragma unroll
    for (unsigned m = 0; m < of.sixteens; m++) {
        if (a.how.distance_bias)
            add_distances<rows>(of.s[m], a, r, of.first + 16 * m, j0);
        if (seen)
            hide_unseen<rows>(of.s[m], seen + 16 * m);
        weigh(of.s[m], of.y[m], of.base[m], of.sum[m], a.how.distance_bias ? 1 : (float)a.how.scale * LOG2_E);
        if (a.drop.least > 0)
            drop_weights<rows>(of.s[m], a, r, of.first + 16 * m, j0);
    }
    multiply_columns(of.y, of.s, v, a.how.value_size);
}

/* y and lse of a query, of which this lane has some columns and summed some keys. */
template <unsigned COLUMNS>
static __device__ void put_queries(Number *y, float *lse, const MmaForward<COLUMNS> &of, const Attention &a,
                                   const AttentionRow &r)
{
    size_t dv = a.how.value_size;
    float unit = a.how.distance_bias ? LOG_2 : (float)a.how.scale;
#pragma unroll
    for (unsigned half = 0; half < 2 * of.sixteens; half++) {
        unsigned m = half / 2, which = half % 2;
        size_t i = of.first + group_of_lane() + 8 * half, at = (r.first_query + i) * a.how.heads + r.head;
        float sum = of.sum[m][which];
        sum += __shfl_xor_sync(ALL_LANES, sum, 1);
        sum += __shfl_xor_sync(ALL_LANES, sum, 2);
        if (i >= r.queries)
            continue;
        if (pair_of_lane() == 0)
            lse[at] = of.base[m][which] * unit + logf(sum);
        float factor = sum == 0 ? 0 : 1 / sum;
#pragma unroll
        for (unsigned n = 0; n < Mma<COLUMNS>::slices; n++)
            put_two(y + at * dv, 8 * n + pair_of_lane(), dv, of.y[m][n][2 * which] * factor,
                    of.y[m][n][2 * which + 1] * factor);
    }
}

/* Blocks are [B, H, tiles]. */
template <unsigned COLUMNS>
static __global__ void __launch_bounds__(MMA_THREADS) attention_mma(Number *y, float *lse, Attention a, size_t tiles)
{
    constexpr unsigned queries = MmaForward<COLUMNS>::queries, rows = Mma<COLUMNS>::rows;
    __shared__ KeyTiles<queries, COLUMNS> tiles_of_keys;
    AttentionRow r = row_of_block(a, tiles);
    size_t first = first_of_block<queries>(tiles);
    zero_outside_queries(a.how, Strided{y, a.how.heads * a.how.value_size}, false, a.how.value_size);
    if (first >= r.queries) /* all of the block */
        return;
    MmaForward<COLUMNS> of = {};
    of.first = first + threadIdx.y * 16 * of.sixteens;
#pragma unroll
    for (unsigned m = 0; m < of.sixteens; m++)
        of.base[m][0] = of.base[m][1] = -INFINITY;
    take_rows(of.q, a.q, r.first_query + of.first, r.first_query + r.queries, r.head, a.how.key_size);
    walk_keys(tiles_of_keys, a, r, first,
              [&](const MmaTile<rows, COLUMNS> &k, const MmaTile<rows, COLUMNS> &v, const uint64_t *seen, size_t j0) {
                  take_keys(of, a, r, k, v, seen, j0);
              });
    put_queries(y, lse, of, a, r);
}

static void attention_by_mma(Stream *s, Number *y, float *lse, const Attention &a, unsigned columns)
{
    unsigned queries = columns <= 64 ? MmaForward<64>::queries : MmaForward<128>::queries;
    LAUNCH_MMA(s, attention_mma, columns, a.how.heads, a.how.longest_query, queries, a, y, lse);
}

#else

static unsigned mma_columns(const Attend &) { return 0; }
static void attention_by_mma(Stream *, Number *, float *, const Attention &, unsigned) {}

#endif
