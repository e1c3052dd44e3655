/* Attention backward in bf16 by products of small matrices (mma.h): the third rung of attention.cu's ladder.
 *
 * The two passes of the second rung, with the tiles, copies and masks of forward's third. In the pass for dq a warp
 * has 16 queries with their dy as fragments in registers, in the pass for dk and dv the values of 16 keys; of what
 * it walks, scores and dy . v are products with the rows of a tile, and what they become, rounded to bf16, is a factor
 * of the next product, with the same tile's columns:
 *
 *     dq [16, dk] += ds k            ds of  q k^T  and  dy v^T
 *     dk [16, dk] += ds^T q          ds^T of  k q^T  and  v dy^T
 *     dv [16, dv] += w^T dy                                                          w: the dropped weights
 *
 * dk and dv of 128 columns take 128 registers. So the pass for them has its own keys in shared memory, which costs a
 * load for each 16 by 16 of them and tile, and where heads are wider than 64 it walks 16 queries at a time: 35 KB a
 * block, and nothing spilled. What that gains is not measured. */

#if defined CUDA_BF16

constexpr unsigned MMA_SIXTEENS = MMA_WARPS * 16; /* rows of a block */

/* What a lane needs of one pair: its score's product and dw's become ds, and the dropped weight. lse: in log 2. */
static __device__ inline Pair pair_of_products(const Attention &a, const AttentionRow &r, float s, float dw, float lse,
                                               float dot, float factor, size_t i, size_t j)
{
    const float *bias = (const float *)a.how.distance_bias;
    float less = bias ? lse - LOG2_E * bias[entry_of(a, r, i, j) * a.how.heads + r.head] : lse;
    float weight = power_of_2(s * ((float)a.how.scale * LOG2_E) - less);
    return Pair{weight * (factor * dw - dot), factor * weight};
}

/* Dropout's factors of what stays and what does not, a bit each. */
static __device__ inline void factors_of(float f[4], const Attention &a, unsigned stay)
{
#pragma unroll
    for (unsigned u = 0; u < 4; u++)
        f[u] = stay >> u & 1 ? a.drop.factor : 0;
}

/* What a product summed goes to one head of 16 positions from `first` on, of which `count` exist. */
template <unsigned SLICES>
static __device__ void give_rows(Strided to, bool add, const float (&sum)[SLICES][4], float scale, size_t first,
                                 size_t count, size_t head, size_t size)
{
#pragma unroll
    for (unsigned n = 0; n < SLICES; n++)
#pragma unroll
        for (unsigned u = 0; u < 4; u++) {
            size_t i = group_of_lane() + u / 2 * 8, c = 8 * n + pair_of_lane() + u % 2;
            if (i < count && c < size)
                store_gradient((Number *)to.data + (first + i) * to.stride + head * size + c, add, scale * sum[n][u]);
        }
}

/* ---- dq */

template <unsigned COLUMNS> struct MmaQueries {
    size_t first;
    unsigned q[Mma<COLUMNS>::steps][1][4], dy[Mma<COLUMNS>::steps][1][4];
    float s[1][Mma<COLUMNS>::rows / 8][4], dw[1][Mma<COLUMNS>::rows / 8][4], dq[1][Mma<COLUMNS>::slices][4];
    float lse[2], dot[2]; /* lse: in log 2 */
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
        if (a.drop.least > 0)
            factors_of(f, a, keys_that_stay(a, r, of.first, j0 + 8 * n));
#pragma unroll
        for (unsigned u = 0; u < 4; u++) {
            size_t i = of.first + group_of_lane() + u / 2 * 8, j = j0 + 8 * n + pair_of_lane() + u % 2;
            Pair pair = pair_of_products(a, r, of.s[0][n][u], of.dw[0][n][u], of.lse[u / 2], of.dot[u / 2], f[u], i, j);
            of.s[0][n][u] = word[u / 2] >> (8 * n + u % 2) & 1 ? pair.ds : 0;
        }
    }
}

template <unsigned COLUMNS>
static __device__ void begin_queries(MmaQueries<COLUMNS> &of, const Attention &a, const AttentionBack &back,
                                     const AttentionRow &r)
{
    size_t dv = a.how.value_size, end = r.first_query + r.queries;
    Strided dy = {(void *)back.dy, a.how.heads * dv};
    take_rows(of.q, a.q, r.first_query + of.first, end, r.head, a.how.key_size);
    take_rows(of.dy, dy, r.first_query + of.first, end, r.head, dv);
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
        size_t i = of.first + group_of_lane() + 8 * half, at = (r.first_query + i) * a.how.heads + r.head;
        of.lse[half] = i < r.queries ? LOG2_E * lse_of_scores(back.lse[at]) : 0;
        of.dot[half] = i < r.queries ? back.dot[at] : 0;
    }
}

/* Blocks are [B, H, tiles], of MMA_SIXTEENS queries each. */
template <unsigned COLUMNS>
static __global__ void __launch_bounds__(MMA_THREADS)
    attention_mma_queries(Strided dq, bool add, AttentionBack back, Attention a, size_t tiles)
{
    constexpr unsigned rows = Mma<COLUMNS>::rows;
    __shared__ KeyTiles<MMA_SIXTEENS, COLUMNS> tiles_of_keys;
    const Attend &how = a.how;
    AttentionRow r = row_of_block(a, tiles);
    size_t first = first_of_block<MMA_SIXTEENS>(tiles);
    zero_outside_queries(how, dq, add, how.key_size);
    if (first >= r.queries) /* all of the block */
        return;
    MmaQueries<COLUMNS> of = {};
    of.first = first + threadIdx.y * 16;
    begin_queries(of, a, back, r);
    walk_keys(tiles_of_keys, a, r, first,
              [&](const MmaTile<rows, COLUMNS> &k, const MmaTile<rows, COLUMNS> &v, const uint64_t *seen, size_t j0) {
                  multiply_rows(of.s, of.q, k, how.key_size);
                  multiply_rows(of.dw, of.dy, v, how.value_size);
                  gradients_of_queries(of, a, r, seen, j0);
                  multiply_columns(of.dq, of.s, k, how.key_size);
              });
    if (of.first < r.queries)
        give_rows(dq, add, of.dq[0], (float)how.scale, r.first_query + of.first, r.queries - of.first, r.head,
                  how.key_size);
}

/* ---- dk and dv */

/* Queries at a time: as many as registers have room for beside dk and dv. */
template <unsigned COLUMNS> struct MmaKeys {
    static constexpr unsigned rows = COLUMNS <= 64 ? 64 : 16;
    size_t first;
    unsigned v[Mma<COLUMNS>::steps][1][4];
    float s[1][rows / 8][4], dw[1][rows / 8][4]; /* then w and ds */
    float dk[1][Mma<COLUMNS>::slices][4], dv[1][Mma<COLUMNS>::slices][4];
};

/* What a block keeps of a tile of queries beside q and dy: the keys that each sees, lse in log 2, and dy . y. */
template <unsigned ROWS> struct QueryTile {
    uint64_t seen[ROWS];
    float lse[ROWS], dot[ROWS];
};

/* A block's own keys, and two tiles of queries: one is multiplied while the other is on its way. */
template <unsigned COLUMNS> struct QueryTiles {
    MmaTile<MMA_SIXTEENS, COLUMNS> k;
    MmaTile<MmaKeys<COLUMNS>::rows, COLUMNS> q[2], dy[2];
    QueryTile<MmaKeys<COLUMNS>::rows> beside;
};

template <unsigned ROWS>
static __device__ void describe_queries(QueryTile<ROWS> &t, const Attention &a, const AttentionBack &back,
                                        const AttentionRow &r, size_t i0, size_t j0)
{
    for (unsigned i = thread_of_block(); i < ROWS; i += MMA_THREADS) {
        size_t at = (r.first_query + i0 + i) * a.how.heads + r.head;
        bool there = i0 + i < r.queries;
        t.seen[i] = seen_by(a, r, i0 + i, j0);
        t.lse[i] = there ? LOG2_E * lse_of_scores(back.lse[at]) : 0;
        t.dot[i] = there ? back.dot[at] : 0;
    }
}

/* Which weights stay, of what a lane holds of keys j .. j + 15 (j a multiple of 16) and 8 queries from i on: a bit
 * each, as they are stored in a result. Philox decides over four keys at once, which four lanes have, each of two
 * queries and in two halves: so each of these lanes asks for one of the four. */
static __device__ unsigned queries_that_stay(const Attention &a, const AttentionRow &r, size_t i, size_t j)
{
    unsigned mine = group_of_lane() % 4, bits = 0;
    Words words = dropout_words(a.drop, a.state, r.first_query + i + pair_of_lane() + mine % 2, r.head,
                                (j + mine / 2 * 8 + group_of_lane()) / 4);
#pragma unroll
    for (unsigned w = 0; w < 4; w++)
        bits |= (unsigned)stays(a.drop, words.word[w]) << (4 * mine + w);
    bits |= __shfl_xor_sync(ALL_LANES, bits, 4); /* those lanes are 4, 8 and 12 away */
    bits = (bits | __shfl_xor_sync(ALL_LANES, bits, 8)) >> mine;
    return (bits & 1) | (bits >> 3 & 2) | (bits >> 6 & 4) | (bits >> 9 & 8);
}

template <unsigned COLUMNS>
static __device__ void gradients_of_keys(MmaKeys<COLUMNS> &of, const Attention &a, const AttentionRow &r,
                                         const QueryTile<MmaKeys<COLUMNS>::rows> &t, size_t i0, size_t j0)
{
#pragma unroll
    for (unsigned n = 0; n < MmaKeys<COLUMNS>::rows / 8; n++) {
        float f[4] = {1, 1, 1, 1};
        if (a.drop.least > 0)
            factors_of(f, a, queries_that_stay(a, r, i0 + 8 * n, of.first));
#pragma unroll
        for (unsigned u = 0; u < 4; u++) {
            unsigned query = 8 * n + pair_of_lane() + u % 2;
            size_t i = i0 + query, j = of.first + group_of_lane() + u / 2 * 8;
            bool sees = t.seen[query] >> (j - j0) & 1;
            Pair pair = pair_of_products(a, r, of.s[0][n][u], of.dw[0][n][u], t.lse[query], t.dot[query], f[u], i, j);
            of.s[0][n][u] = sees ? pair.weight : 0;
            of.dw[0][n][u] = sees ? pair.ds : 0;
        }
    }
}

/* Queries and dy from query i0 on. */
template <unsigned COLUMNS>
static __device__ void bring_queries(QueryTiles<COLUMNS> &t, unsigned which, const Attention &a,
                                     const AttentionBack &back, const AttentionRow &r, size_t i0)
{
    size_t count = r.queries - i0, dv = a.how.value_size;
    bring_tile(t.q[which], a.q, r.first_query + i0, count, r.head, a.how.key_size);
    bring_tile(t.dy[which], Strided{(void *)back.dy, a.how.heads * dv}, r.first_query + i0, count, r.head, dv);
}

/* Does one of a tile's queries see one of the warp's keys? */
template <unsigned ROWS> static __device__ bool any_sees(const QueryTile<ROWS> &t)
{
    return (seen_by_any(t.seen, ROWS) >> threadIdx.y * 16 & 0xffff) != 0;
}

/* Adds to dk and dv of a block's keys, from key `first` on, what one head of the queries that see them gives. */
template <unsigned COLUMNS>
static __device__ inline void walk_queries(MmaKeys<COLUMNS> &of, QueryTiles<COLUMNS> &t, const Attention &a,
                                           const AttentionBack &back, const AttentionRow &r, size_t first,
                                           Range queries)
{
    constexpr unsigned rows = MmaKeys<COLUMNS>::rows;
    size_t i0 = queries.from / rows * rows;
    if (i0 < queries.to)
        bring_queries(t, 0, a, back, r, i0);
    copy_commit();
    for (unsigned now = 0; i0 < queries.to; i0 += rows, now ^= 1) {
        if (i0 + rows < queries.to) /* the next one, while this one is multiplied */
            bring_queries(t, now ^ 1, a, back, r, i0 + rows);
        copy_commit();
        describe_queries(t.beside, a, back, r, i0, first);
        copy_wait<1>();
        __syncthreads();
        if (any_sees(t.beside)) { /* all lanes */
            multiply_rows(of.s, t.k, threadIdx.y * 16, t.q[now], a.how.key_size);
            multiply_rows(of.dw, of.v, t.dy[now], a.how.value_size);
            gradients_of_keys(of, a, r, t.beside, i0, first);
            multiply_columns(of.dv, of.s, t.dy[now], a.how.value_size);
            multiply_columns(of.dk, of.dw, t.q[now], a.how.key_size);
        }
        __syncthreads(); /* before the next but one comes */
    }
}

/* Blocks are [B, G, tiles], of MMA_SIXTEENS keys each. */
template <unsigned COLUMNS>
static __global__ void __launch_bounds__(MMA_THREADS)
    attention_mma_keys(AttendGradients d, AttentionBack back, Attention a, size_t tiles)
{
    __shared__ QueryTiles<COLUMNS> t;
    const Attend &how = a.how;
    AttentionRow r = row_of_block(a, tiles, heads_per_kv(&how));
    size_t first = blockIdx.x % tiles * MMA_SIXTEENS;
    zero_outside_keys(how, d.k, d.add_k, how.key_size);
    zero_outside_keys(how, d.v, d.add_v, how.value_size);
    if (first >= r.keys.length) /* all of the block */
        return;
    size_t left = r.keys.length - first, end = r.keys.start + r.keys.length;
    MmaKeys<COLUMNS> of = {};
    of.first = first + threadIdx.y * 16;
    take_rows(of.v, a.v, r.keys.start + of.first, end, r.kv, how.value_size);
    Range queries = queries_for(a, r, first, left < MMA_SIXTEENS ? left : MMA_SIXTEENS);
    bring_tile(t.k, a.k, r.keys.start + first, left, r.kv, how.key_size);
    for (size_t last = r.head + heads_per_kv(&how); r.head < last; r.head++)
        walk_queries(of, t, a, back, r, first, queries);
    bool live = of.first < r.keys.length;
    size_t count = live ? r.keys.length - of.first : 0;
    if (live && d.k.data)
        give_rows(d.k, d.add_k, of.dk[0], (float)how.scale, r.keys.start + of.first, count, r.kv, how.key_size);
    if (live && d.v.data)
        give_rows(d.v, d.add_v, of.dv[0], 1, r.keys.start + of.first, count, r.kv, how.value_size);
}

static void attention_queries_by_mma(Stream *s, const AttendGradients *d, const AttentionBack &back, const Attention &a,
                                     unsigned columns)
{
    LAUNCH_MMA(s, attention_mma_queries, columns, a.how.heads, a.how.longest_query, MMA_SIXTEENS, a, d->q, d->add_q,
               back);
}

static void attention_keys_by_mma(Stream *s, const AttendGradients *d, const AttentionBack &back, const Attention &a,
                                  unsigned columns)
{
    LAUNCH_MMA(s, attention_mma_keys, columns, kv_heads(&a.how), a.how.longest_key, MMA_SIXTEENS, a, *d, back);
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
