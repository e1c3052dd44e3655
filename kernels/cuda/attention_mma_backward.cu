/* Attention backward in bf16 by products of small matrices (mma.h): the third rung of attention.cu's ladder.
 *
 * The two passes of the second rung, with the tiles, copies and masks of forward's third. In the pass for dq a warp
 * has 16 queries with their dy, in the pass for dk and dv 16 keys with their values, as fragments in registers; of what
 * it walks, scores and dy . v are products with the rows of a tile, and what they become, rounded to bf16, is a factor
 * of the next product, with the same tile's columns:
 *
 *     dq [16, dk] += ds k            ds of  q k^T  and  dy v^T
 *     dk [16, dk] += ds^T q          ds^T of  k q^T  and  v dy^T
 *     dv [16, dv] += w^T dy                                                          w: the dropped weights */

#if defined CUDA_BF16

constexpr unsigned MMA_SIXTEENS = MMA_WARPS * 16; /* rows of a block */

/* What a lane needs of one pair: its score's product and dw's become ds, and the dropped weight. */
static __device__ inline Pair pair_of_products(const Attention &a, const AttentionRow &r, float s, float dw, float lse,
                                               float dot, float factor, size_t i, size_t j)
{
    const float *bias = (const float *)a.how.distance_bias;
    float score = s * (float)a.how.scale + (bias ? bias[entry_of(a, r, i, j) * a.how.heads + r.head] : 0);
    float weight = power_of_2((score - lse) * LOG2_E);
    return Pair{weight * (factor * dw - dot), factor * weight};
}

/* What a product summed goes to one head of 16 positions from `first` on, of which `count` exist. */
template <unsigned COLUMNS>
static __device__ void give_rows(Strided to, bool add, const float sum[][4], float scale, size_t first, size_t count,
                                 size_t head, size_t size)
{
#pragma unroll
    for (unsigned n = 0; n < Mma<COLUMNS>::slices; n++)
#pragma unroll
        for (unsigned u = 0; u < 4; u++) {
            size_t i = group_of_lane() + u / 2 * 8, c = 8 * n + pair_of_lane() + u % 2;
            if (i < count && c < size)
                give((Number *)to.data + (first + i) * to.stride + head * size + c, add, scale * sum[n][u]);
        }
}

/* ---- dq */

template <unsigned COLUMNS> struct MmaQueries {
    size_t first;
    unsigned q[Mma<COLUMNS>::steps][4], dy[Mma<COLUMNS>::steps][4];
    float s[Mma<COLUMNS>::rows / 8][4], dw[Mma<COLUMNS>::rows / 8][4], dq[Mma<COLUMNS>::slices][4];
    float lse[2], dot[2];
};

/* s becomes ds. */
template <unsigned COLUMNS>
static __device__ void gradients_of_queries(MmaQueries<COLUMNS> &of, const Attention &a, const AttentionRow &r,
                                            const uint64_t *seen, size_t j0)
{
    uint64_t word[2] = {seen ? seen[group_of_lane()] >> pair_of_lane() : ~0ull,
                        seen ? seen[group_of_lane() + 8] >> pair_of_lane() : ~0ull};
#pragma unroll
    for (unsigned n = 0; n < Mma<COLUMNS>::rows / 8; n++) {
        float f[4] = {1, 1, 1, 1};
        if (a.how.dropout.rate > 0)
            lane_factors(f, a, r, of.first, j0 + 8 * n);
#pragma unroll
        for (unsigned u = 0; u < 4; u++) {
            size_t i = of.first + group_of_lane() + u / 2 * 8, j = j0 + 8 * n + pair_of_lane() + u % 2;
            Pair pair = pair_of_products(a, r, of.s[n][u], of.dw[n][u], of.lse[u / 2], of.dot[u / 2], f[u], i, j);
            of.s[n][u] = word[u / 2] >> (8 * n + u % 2) & 1 ? pair.ds : 0;
        }
    }
}

template <unsigned COLUMNS>
static __device__ void begin_queries(MmaQueries<COLUMNS> &of, const Attention &a, const AttentionBack &back,
                                     const AttentionRow &r)
{
    size_t count = r.queries - of.first, dv = a.how.value_size;
    Strided dy = {(void *)back.dy, a.how.heads * dv};
    take_rows<COLUMNS>(of.q, a.q, r.first_query + of.first, count, r.head, a.how.key_size);
    take_rows<COLUMNS>(of.dy, dy, r.first_query + of.first, count, r.head, dv);
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
        size_t i = group_of_lane() + 8 * half, at = (r.first_query + of.first + i) * a.how.heads + r.head;
        of.lse[half] = i < count ? back.lse[at] : 0;
        of.dot[half] = i < count ? back.dot[at] : 0;
    }
}

/* Blocks are [B, H, tiles], of MMA_SIXTEENS queries each. */
template <unsigned COLUMNS>
static __global__ void __launch_bounds__(MMA_THREADS)
    attention_mma_queries(Strided dq, bool add, AttentionBack back, Attention a, size_t tiles)
{
    constexpr unsigned rows = Mma<COLUMNS>::rows;
    __shared__ __align__(16) Number k[2][rows * Mma<COLUMNS>::stride], v[2][rows * Mma<COLUMNS>::stride];
    __shared__ uint64_t seen[MMA_SIXTEENS];
    const Attend &how = a.how;
    AttentionRow r = row_of_block(a, tiles);
    size_t first = (tiles - 1 - blockIdx.x % tiles) * MMA_SIXTEENS;
    if (first >= r.queries) /* all of the block */
        return;
    size_t last = first + MMA_SIXTEENS <= r.queries ? first + MMA_SIXTEENS - 1 : r.queries - 1;
    MmaQueries<COLUMNS> of = {};
    of.first = first + threadIdx.y * 16;
    if (of.first < r.queries)
        begin_queries(of, a, back, r);
    size_t j0 = keys_first(&how, r.keys, first) / rows * rows, end = keys_end(&how, r.keys, last);
    if (j0 < end)
        bring_keys<COLUMNS>(k[0], v[0], a, r, j0);
    copy_commit();
    for (unsigned now = 0; j0 < end; j0 += rows, now ^= 1) {
        if (j0 + rows < end) /* the next one, while this one is multiplied */
            bring_keys<COLUMNS>(k[now ^ 1], v[now ^ 1], a, r, j0 + rows);
        copy_commit();
        bool whole = see_all(a, r, first, last, j0, rows);
        for (unsigned i = thread_of_block(); !whole && i < MMA_SIXTEENS; i += MMA_THREADS)
            seen[i] = seen_by(a, r, first + i, j0);
        copy_wait<1>();
        __syncthreads();
        if (!whole) {
            forget_unseen<COLUMNS>(k[now], seen, MMA_SIXTEENS);
            __syncthreads();
        }
        if (of.first < r.queries && (whole || any_sees(seen + threadIdx.y * 16, ~0ull))) { /* all lanes */
            multiply_rows<COLUMNS>(of.s, of.q, k[now], how.key_size);
            multiply_rows<COLUMNS>(of.dw, of.dy, v[now], how.value_size);
            gradients_of_queries(of, a, r, whole ? NULL : seen + threadIdx.y * 16, j0);
            multiply_columns<COLUMNS>(of.dq, of.s, k[now], how.key_size);
        }
        __syncthreads(); /* before the next but one comes */
    }
    if (of.first < r.queries)
        give_rows<COLUMNS>(dq, add, of.dq, (float)how.scale, r.first_query + of.first, r.queries - of.first, r.head,
                           how.key_size);
}

/* ---- dk and dv */

template <unsigned COLUMNS> struct MmaKeys {
    size_t first;
    unsigned k[Mma<COLUMNS>::steps][4], v[Mma<COLUMNS>::steps][4];
    float s[Mma<COLUMNS>::rows / 8][4], dw[Mma<COLUMNS>::rows / 8][4]; /* then w and ds */
    float dk[Mma<COLUMNS>::slices][4], dv[Mma<COLUMNS>::slices][4];
};

/* What a block keeps of a tile of queries beside q and dy: the keys that each sees, lse and dy . y. */
template <unsigned ROWS> struct QueryTile {
    uint64_t seen[ROWS];
    float lse[ROWS], dot[ROWS];
};

template <unsigned ROWS>
static __device__ void describe_queries(QueryTile<ROWS> &t, const Attention &a, const AttentionBack &back,
                                        const AttentionRow &r, size_t i0, size_t j0)
{
    for (unsigned i = thread_of_block(); i < ROWS; i += MMA_THREADS) {
        size_t at = (r.first_query + i0 + i) * a.how.heads + r.head;
        bool there = i0 + i < r.queries;
        t.seen[i] = seen_by(a, r, i0 + i, j0);
        t.lse[i] = there ? back.lse[at] : 0;
        t.dot[i] = there ? back.dot[at] : 0;
    }
}

template <unsigned COLUMNS>
static __device__ void gradients_of_keys(MmaKeys<COLUMNS> &of, const Attention &a, const AttentionRow &r,
                                         const QueryTile<Mma<COLUMNS>::rows> &t, size_t i0, size_t j0)
{
#pragma unroll
    for (unsigned n = 0; n < Mma<COLUMNS>::rows / 8; n++)
#pragma unroll
        for (unsigned u = 0; u < 4; u++) {
            unsigned query = 8 * n + pair_of_lane() + u % 2;
            size_t i = i0 + query, j = of.first + group_of_lane() + u / 2 * 8;
            bool sees = t.seen[query] >> (j - j0) & 1;
            Pair pair = pair_of_products(a, r, of.s[n][u], of.dw[n][u], t.lse[query], t.dot[query],
                                         drop_factor(a, r, i, j), i, j);
            of.s[n][u] = sees ? pair.weight : 0;
            of.dw[n][u] = sees ? pair.ds : 0;
        }
}

/* Queries and dy from query i0 on. */
template <unsigned COLUMNS>
static __device__ void bring_queries(Number *q, Number *dy, const Attention &a, const AttentionBack &back,
                                     const AttentionRow &r, size_t i0)
{
    size_t count = r.queries - i0, dv = a.how.value_size;
    bring_tile<COLUMNS>(q, a.q, r.first_query + i0, count, r.head, a.how.key_size);
    bring_tile<COLUMNS>(dy, Strided{(void *)back.dy, a.how.heads * dv}, r.first_query + i0, count, r.head, dv);
}

/* Blocks are [B, H, tiles], of MMA_SIXTEENS keys each. */
template <unsigned COLUMNS>
static __global__ void __launch_bounds__(MMA_THREADS)
    attention_mma_keys(Strided dk, Strided dv, AttentionBack back, Attention a, size_t tiles)
{
    constexpr unsigned rows = Mma<COLUMNS>::rows;
    __shared__ __align__(16) Number q[2][rows * Mma<COLUMNS>::stride], dy[2][rows * Mma<COLUMNS>::stride];
    __shared__ QueryTile<rows> t;
    const Attend &how = a.how;
    AttentionRow r = row_of_block(a, tiles);
    size_t first = blockIdx.x % tiles * MMA_SIXTEENS;
    if (first >= r.keys.length) /* all of the block */
        return;
    size_t left = r.keys.length - first;
    MmaKeys<COLUMNS> of = {};
    of.first = first + threadIdx.y * 16;
    bool live = of.first < r.keys.length;
    if (live) {
        take_rows<COLUMNS>(of.k, a.k, r.keys.start + of.first, r.keys.length - of.first, r.head, how.key_size);
        take_rows<COLUMNS>(of.v, a.v, r.keys.start + of.first, r.keys.length - of.first, r.head, how.value_size);
    }
    Range queries = queries_for(a, r, first, left < MMA_SIXTEENS ? left : MMA_SIXTEENS);
    size_t i0 = queries.from / rows * rows;
    if (i0 < queries.to)
        bring_queries<COLUMNS>(q[0], dy[0], a, back, r, i0);
    copy_commit();
    for (unsigned now = 0; i0 < queries.to; i0 += rows, now ^= 1) {
        if (i0 + rows < queries.to) /* the next one, while this one is multiplied */
            bring_queries<COLUMNS>(q[now ^ 1], dy[now ^ 1], a, back, r, i0 + rows);
        copy_commit();
        describe_queries(t, a, back, r, i0, first);
        copy_wait<1>();
        __syncthreads();
        bool seen = false;
        for (unsigned i = 0; i < rows; i += 16)
            seen |= any_sees(t.seen + i, 0xffffull << threadIdx.y * 16);
        if (live && seen) { /* all lanes */
            multiply_rows<COLUMNS>(of.s, of.k, q[now], how.key_size);
            multiply_rows<COLUMNS>(of.dw, of.v, dy[now], how.value_size);
            gradients_of_keys(of, a, r, t, i0, first);
            multiply_columns<COLUMNS>(of.dv, of.s, dy[now], how.value_size);
            multiply_columns<COLUMNS>(of.dk, of.dw, q[now], how.key_size);
        }
        __syncthreads(); /* before the next but one comes */
    }
    if (live && dk.data)
        give_rows<COLUMNS>(dk, true, of.dk, (float)how.scale, r.keys.start + of.first, r.keys.length - of.first, r.head,
                           how.key_size);
    if (live && dv.data)
        give_rows<COLUMNS>(dv, true, of.dv, 1, r.keys.start + of.first, r.keys.length - of.first, r.head,
                           how.value_size);
}

static void attention_queries_by_mma(Stream *s, const AttendGradients *d, const AttentionBack &back, const Attention &a,
                                     unsigned columns)
{
    LAUNCH_MMA(s, attention_mma_queries, columns, a.how.longest_query, MMA_SIXTEENS, a, d->q, d->add_q, back);
}

static void attention_keys_by_mma(Stream *s, const AttendGradients *d, const AttentionBack &back, const Attention &a,
                                  unsigned columns)
{
    LAUNCH_MMA(s, attention_mma_keys, columns, a.how.longest_key, MMA_SIXTEENS, a, d->k, d->v, back);
}

#else

static void attention_queries_by_mma(Stream *, const AttendGradients *, const AttentionBack &, const Attention &,
                                     unsigned)
{
}
static void attention_keys_by_mma(Stream *, const AttendGradients *, const AttentionBack &, const Attention &, unsigned)
{
}

#endif
