/* Attention forward in bf16 by products of small matrices (mma.h): the third rung of attention.cu's ladder.
 *
 * The tiles are those of the second rung, but a warp multiplies: it has 16 queries, or twice 16, of a block's, and
 * keeps them, their scores and their y in registers, spread over its lanes as mma.h says. The lanes that hold the
 * scores of a query hold them as the next product wants its weights, so these never leave the registers either. Keys
 * and values lie in shared memory, bf16 as they are; while a tile is multiplied the next one is on its way (cp.async),
 * as far as rows begin at multiples of 16 bytes, else it is loaded number by number.
 *
 * Which keys of a tile a query sees is one word, a bit a key, made by one thread for a query; tiles that all of its
 * queries see whole, which are most, go without. Exponentials are powers of 2: scores count in units of log 2.
 *
 * Heads are filled up with zeros to 32, 64 or 128 columns. What a score holds beyond q . k is the distance bias alone;
 * relative keys and the biases of queries stay on the second rung, and so does a scale that is not positive. */

#if defined CUDA_BF16

constexpr unsigned MMA_WARPS = 4, MMA_THREADS = MMA_WARPS * LANES;
constexpr float LOG2_E = 1.44269504f, LOG_2 = 0.693147181f;

/* Of a tile of keys or queries in shared memory: rows are 8 numbers longer than they need be, so that the 8 rows that
 * are read at once lie in different banks. */
template <unsigned COLUMNS> struct Mma {
    static constexpr unsigned rows = COLUMNS <= 64 ? 64 : 32; /* of the tiles that are walked */
    static constexpr unsigned stride = COLUMNS + 8, steps = COLUMNS / 16, slices = COLUMNS / 8;
};

/* The rungs that run by products: how many columns, or 0. */
static unsigned mma_columns(const Attend &how)
{
    size_t columns = how.key_size > how.value_size ? how.key_size : how.value_size;
    if (how.relative.data || how.content_bias || how.position_bias || !(how.scale > 0) || columns > 128)
        return 0;
    return columns <= 32 ? 32 : columns <= 64 ? 64 : 128;
}

/* LAUNCH_MMA(s, kernel, columns, longest, each, arguments...): kernel<columns>, a block for `each` of the longest
 * row's positions, of each row and head; its last argument is how many blocks a row has. */
#define LAUNCH_MMA(s, kernel, columns, longest, each, a, ...)                                                          \
    do {                                                                                                               \
        size_t tiles_ = divide_up(longest, each), blocks_ = (a).how.rows * (a).how.heads * tiles_;                     \
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

/* One head of `count` positions from `first` on; zeros behind them, and behind the head's size. Where rows begin at
 * multiples of 16 bytes they are on their way on return, else there. */
template <unsigned COLUMNS>
static __device__ void bring_tile(Number *tile, const Strided &x, size_t first, size_t count, size_t head, size_t size)
{
    constexpr unsigned rows = Mma<COLUMNS>::rows, stride = Mma<COLUMNS>::stride, EIGHT = 8;
    if (((uintptr_t)x.data | (x.stride | head * size) * sizeof(Number)) % 16 != 0) {
        for (unsigned t = thread_of_block(); t < rows * COLUMNS; t += MMA_THREADS) {
            unsigned i = t / COLUMNS, c = t % COLUMNS;
            tile[i * stride + c] = i < count && c < size ? head_of(x, first + i, head, size)[c] : number(0);
        }
        return;
    }
    for (unsigned t = thread_of_block(); t < rows * COLUMNS / EIGHT; t += MMA_THREADS) {
        unsigned i = t / (COLUMNS / EIGHT), c = t % (COLUMNS / EIGHT) * EIGHT;
        size_t there = i < count && c < size ? size - c : 0;
        const void *from = there ? head_of(x, first + i, head, size) + c : x.data;
        copy_async(tile + i * stride + c, from, (unsigned)(there < EIGHT ? there : EIGHT) * sizeof(Number));
    }
}

/* Keys and values from key j0 on. */
template <unsigned COLUMNS>
static __device__ void bring_keys(Number *k, Number *v, const Attention &a, const AttentionRow &r, size_t j0)
{
    size_t count = r.keys.length - j0;
    bring_tile<COLUMNS>(k, a.k, r.keys.start + j0, count, r.head, a.how.key_size);
    bring_tile<COLUMNS>(v, a.v, r.keys.start + j0, count, r.head, a.how.value_size);
}

/* Two fragments b, each of 8 rows of a tile and 16 of its columns: x[0], x[1] and x[2], x[3]. */
template <unsigned COLUMNS>
static __device__ inline void rows_of_16(unsigned x[4], const Number *tile, unsigned row, unsigned column)
{
    unsigned l = lane();
    load_matrices(x, tile + (row + l / 16 * 8 + l % 8) * Mma<COLUMNS>::stride + column + l / 8 % 2 * 8);
}

/* Two fragments b, each of 16 rows of a tile, summed over, and 8 of its columns. */
template <unsigned COLUMNS>
static __device__ inline void columns_of_16(unsigned x[4], const Number *tile, unsigned row, unsigned column)
{
    unsigned l = lane();
    load_transposed(x, tile + (row + l / 8 % 2 * 8 + l % 8) * Mma<COLUMNS>::stride + column + l / 16 * 8);
}

/* ---- fragments from global memory */

static __device__ unsigned two_numbers(const Number *row, size_t column, size_t size)
{
    unsigned lower = column < size ? row[column].bits : 0u, upper = column + 1 < size ? row[column + 1].bits : 0u;
    return lower | upper << 16;
}

/* Fragments a: 16 positions from `first` on, of which `count` exist, and all columns of a head. */
template <unsigned COLUMNS>
static __device__ void take_rows(unsigned x[][4], const Strided &from, size_t first, size_t count, size_t head,
                                 size_t size)
{
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
        unsigned i = group_of_lane() + 8 * half;
        const Number *row = head_of(from, first + (i < count ? i : 0), head, size);
#pragma unroll
        for (unsigned step = 0; step < Mma<COLUMNS>::steps; step++) {
            x[step][half] = two_numbers(row, 16 * step + pair_of_lane(), i < count ? size : 0);
            x[step][half + 2] = two_numbers(row, 16 * step + pair_of_lane() + 8, i < count ? size : 0);
        }
    }
}

/* c [16, rows of the tile] = a tile^T */
template <unsigned COLUMNS>
static __device__ inline void multiply_rows(float c[][4], const unsigned a[][4], const Number *tile, size_t size)
{
#pragma unroll
    for (unsigned n = 0; n < Mma<COLUMNS>::rows / 8; n++)
#pragma unroll
        for (unsigned u = 0; u < 4; u++)
            c[n][u] = 0;
#pragma unroll
    for (unsigned step = 0; step < Mma<COLUMNS>::steps; step++) {
        if (16 * step >= size)
            break;
#pragma unroll
        for (unsigned n = 0; n < Mma<COLUMNS>::rows / 8; n += 2) {
            unsigned b[4];
            rows_of_16<COLUMNS>(b, tile, 8 * n, 16 * step);
            mma_bf16(c[n], a[step], b);
            mma_bf16(c[n + 1], a[step], b + 2);
        }
    }
}

/* A fragment a, of 16 rows of numbers that are a result: columns 16 step .. */
static __device__ inline void as_factor(unsigned a[4], const float c[][4], unsigned step)
{
    a[0] = two_bf16(c[2 * step][0], c[2 * step][1]);
    a[1] = two_bf16(c[2 * step][2], c[2 * step][3]);
    a[2] = two_bf16(c[2 * step + 1][0], c[2 * step + 1][1]);
    a[3] = two_bf16(c[2 * step + 1][2], c[2 * step + 1][3]);
}

/* sum [16, columns] += c [16, rows of the tile] tile */
template <unsigned COLUMNS>
static __device__ inline void multiply_columns(float sum[][4], const float c[][4], const Number *tile, size_t size)
{
#pragma unroll
    for (unsigned step = 0; step < Mma<COLUMNS>::rows / 16; step++) {
        unsigned a[4];
        as_factor(a, c, step);
#pragma unroll
        for (unsigned n = 0; n < Mma<COLUMNS>::slices; n += 2) {
            if (8 * n >= size)
                break;
            unsigned b[4];
            columns_of_16<COLUMNS>(b, tile, 16 * step, 8 * n);
            mma_bf16(sum[n], a, b);
            mma_bf16(sum[n + 1], a, b + 2);
        }
    }
}

/* ---- who sees what */

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
    return !a.how.block && keys_first(&a.how, r.keys, last) <= j0 && j0 + count <= keys_end(&a.how, r.keys, first);
}

/* Keys that no query of the block sees may hold anything, NaN too, which a weight of 0 does not hide: they become 0. */
template <unsigned COLUMNS> static __device__ void forget_unseen(Number *tile, const uint64_t *seen, unsigned queries)
{
    uint64_t any = 0;
    for (unsigned i = lane(); i < queries; i += LANES)
        any |= seen[i];
    for (int away = LANES / 2; away > 0; away /= 2)
        any |= __shfl_xor_sync(ALL_LANES, any, away);
    for (unsigned t = thread_of_block(); t < Mma<COLUMNS>::rows * COLUMNS; t += MMA_THREADS)
        if (!(any >> (t / COLUMNS) & 1))
            tile[t / COLUMNS * Mma<COLUMNS>::stride + t % COLUMNS] = number(0);
}

/* Does one of a warp's 16 queries see one of these keys? */
static __device__ bool any_sees(const uint64_t *seen, uint64_t keys)
{
    return __any_sync(ALL_LANES, (seen[lane() % 16] & keys) != 0);
}

/* The row of blocks [B, H, tiles] that this one belongs to. */
static __device__ AttentionRow row_of_block(const Attention &a, size_t tiles)
{
    return attention_row(a, blockIdx.x / tiles / a.how.heads, blockIdx.x / tiles % a.how.heads);
}

/* ---- forward */

/* 16 queries of a warp: a lane has some numbers of query first + group, and of the one 8 behind it. */
template <unsigned COLUMNS> struct Sixteen {
    size_t first;
    unsigned q[Mma<COLUMNS>::steps][4];
    float s[Mma<COLUMNS>::rows / 8][4], y[Mma<COLUMNS>::slices][4];
    float largest[2], sum[2]; /* sum: of this lane's keys */
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

/* Scores become weights, relative to the largest so far, which sum and y follow. unit: of scores, in log 2. */
template <unsigned COLUMNS> static __device__ void weigh(Sixteen<COLUMNS> &of, float unit)
{
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
        float largest = of.largest[half];
#pragma unroll
        for (unsigned n = 0; n < Mma<COLUMNS>::rows / 8; n++)
            largest = fmaxf(largest, fmaxf(of.s[n][2 * half], of.s[n][2 * half + 1]));
        largest = fmaxf(largest, __shfl_xor_sync(ALL_LANES, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(ALL_LANES, largest, 2));
        float base = largest == -INFINITY ? 0 : largest, shrink = power_of_2((of.largest[half] - base) * unit);
        of.largest[half] = largest;
        of.sum[half] *= shrink;
#pragma unroll
        for (unsigned n = 0; n < Mma<COLUMNS>::slices; n++)
            of.y[n][2 * half] *= shrink, of.y[n][2 * half + 1] *= shrink;
#pragma unroll
        for (unsigned n = 0; n < Mma<COLUMNS>::rows / 8; n++)
#pragma unroll
            for (unsigned u = 2 * half; u < 2 * half + 2; u++) {
                of.s[n][u] = power_of_2((of.s[n][u] - base) * unit);
                of.sum[half] += of.s[n][u];
            }
    }
}

/* Dropout's factors for what a lane holds of 8 keys from j on (a multiple of 8), of query i and of the one 8 behind it.
 * Philox makes four at once, which two lanes share: one makes those of the first query, the other of the second. */
static __device__ void lane_factors(float f[4], const Attention &a, const AttentionRow &r, size_t i, size_t j)
{
    unsigned odd = lane() % 2;
    Factors all = dropout_factors(a.how.dropout, a.state, r.first_query + i + group_of_lane() + 8 * odd, r.head,
                                  (j + pair_of_lane()) / 4);
    float mine[2] = {odd ? all.of[2] : all.of[0], odd ? all.of[3] : all.of[1]};
    float other[2] = {odd ? all.of[0] : all.of[2], odd ? all.of[1] : all.of[3]};
    other[0] = __shfl_xor_sync(ALL_LANES, other[0], 1);
    other[1] = __shfl_xor_sync(ALL_LANES, other[1], 1);
    f[0] = odd ? other[0] : mine[0];
    f[1] = odd ? other[1] : mine[1];
    f[2] = odd ? mine[0] : other[0];
    f[3] = odd ? mine[1] : other[1];
}

template <unsigned ROWS>
static __device__ void drop_weights(float s[][4], const Attention &a, const AttentionRow &r, size_t i, size_t j0)
{
#pragma unroll
    for (unsigned n = 0; n < ROWS / 8; n++) {
        float f[4];
        lane_factors(f, a, r, i, j0 + 8 * n);
#pragma unroll
        for (unsigned u = 0; u < 4; u++)
            s[n][u] *= f[u];
    }
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
static __device__ void take_keys(Sixteen<COLUMNS> &of, const Attention &a, const AttentionRow &r, const Number *k,
                                 const Number *v, const uint64_t *seen, size_t j0)
{
    constexpr unsigned rows = Mma<COLUMNS>::rows;
    multiply_rows<COLUMNS>(of.s, of.q, k, a.how.key_size);
    if (a.how.distance_bias)
        add_distances<rows>(of.s, a, r, of.first, j0);
    if (seen)
        hide_unseen<rows>(of.s, seen);
    weigh(of, a.how.distance_bias ? 1 : (float)a.how.scale * LOG2_E);
    if (a.how.dropout.rate > 0)
        drop_weights<rows>(of.s, a, r, of.first, j0);
    multiply_columns<COLUMNS>(of.y, of.s, v, a.how.value_size);
}

template <unsigned COLUMNS>
static __device__ void put_sixteen(Number *y, float *lse, const Sixteen<COLUMNS> &of, const Attention &a,
                                   const AttentionRow &r)
{
    size_t dv = a.how.value_size;
    float unit = a.how.distance_bias ? LOG_2 : (float)a.how.scale;
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
        size_t i = of.first + group_of_lane() + 8 * half, at = (r.first_query + i) * a.how.heads + r.head;
        float sum = of.sum[half];
        sum += __shfl_xor_sync(ALL_LANES, sum, 1);
        sum += __shfl_xor_sync(ALL_LANES, sum, 2);
        if (i >= r.queries)
            continue;
        if (pair_of_lane() == 0)
            lse[at] = of.largest[half] * unit + logf(sum);
        float factor = sum == 0 ? 0 : 1 / sum;
#pragma unroll
        for (unsigned n = 0; n < Mma<COLUMNS>::slices; n++)
#pragma unroll
            for (unsigned u = 0; u < 2; u++)
                if (8 * n + pair_of_lane() + u < dv)
                    y[at * dv + 8 * n + pair_of_lane() + u] = number(of.y[n][2 * half + u] * factor);
    }
}

/* Blocks are [B, H, tiles], of QUERIES queries each: 16 `of` a warp at a time. */
template <unsigned COLUMNS> struct MmaForward {
    static constexpr unsigned sixteens = COLUMNS <= 64 ? 2 : 1, queries = MMA_WARPS * 16 * sixteens;
};

template <unsigned COLUMNS>
static __global__ void __launch_bounds__(MMA_THREADS) attention_mma(Number *y, float *lse, Attention a, size_t tiles)
{
    constexpr unsigned rows = Mma<COLUMNS>::rows, queries = MmaForward<COLUMNS>::queries;
    constexpr unsigned sixteens = MmaForward<COLUMNS>::sixteens;
    __shared__ __align__(16) Number k[2][rows * Mma<COLUMNS>::stride], v[2][rows * Mma<COLUMNS>::stride];
    __shared__ uint64_t seen[queries];
    const Attend &how = a.how;
    AttentionRow r = row_of_block(a, tiles);
    size_t first = (tiles - 1 - blockIdx.x % tiles) * queries; /* where it is causal the longest come first */
    if (first >= r.queries)                                    /* all of the block */
        return;
    size_t last = first + queries <= r.queries ? first + queries - 1 : r.queries - 1;
    Sixteen<COLUMNS> of[sixteens] = {};
#pragma unroll
    for (unsigned x = 0; x < sixteens; x++) {
        of[x].first = first + (threadIdx.y * sixteens + x) * 16;
        of[x].largest[0] = of[x].largest[1] = -INFINITY;
        if (of[x].first < r.queries)
            take_rows<COLUMNS>(of[x].q, a.q, r.first_query + of[x].first, r.queries - of[x].first, r.head,
                               how.key_size);
    }
    size_t j0 = keys_first(&how, r.keys, first) / rows * rows, end = keys_end(&how, r.keys, last);
    if (j0 < end)
        bring_keys<COLUMNS>(k[0], v[0], a, r, j0);
    copy_commit();
    for (unsigned now = 0; j0 < end; j0 += rows, now ^= 1) {
        if (j0 + rows < end) /* the next one, while this one is multiplied */
            bring_keys<COLUMNS>(k[now ^ 1], v[now ^ 1], a, r, j0 + rows);
        copy_commit();
        bool whole = see_all(a, r, first, last, j0, rows);
        for (unsigned i = thread_of_block(); !whole && i < queries; i += MMA_THREADS)
            seen[i] = seen_by(a, r, first + i, j0);
        copy_wait<1>();
        __syncthreads();
        if (!whole) {
            forget_unseen<COLUMNS>(v[now], seen, queries);
            __syncthreads();
        }
#pragma unroll
        for (unsigned x = 0; x < sixteens; x++)
            if (of[x].first < r.queries && (whole || any_sees(seen + (of[x].first - first), ~0ull))) /* all lanes */
                take_keys(of[x], a, r, k[now], v[now], whole ? NULL : seen + (of[x].first - first), j0);
        __syncthreads(); /* before the next but one comes */
    }
#pragma unroll
    for (unsigned x = 0; x < sixteens; x++)
        put_sixteen(y, lse, of[x], a, r);
}

static void attention_by_mma(Stream *s, Number *y, float *lse, const Attention &a, unsigned columns)
{
    unsigned queries = columns <= 64 ? MmaForward<64>::queries : MmaForward<128>::queries;
    LAUNCH_MMA(s, attention_mma, columns, a.how.longest_query, queries, a, y, lse);
}

#else

static unsigned mma_columns(const Attend &) { return 0; }
static void attention_by_mma(Stream *, Number *, float *, const Attention &, unsigned) {}

#endif
