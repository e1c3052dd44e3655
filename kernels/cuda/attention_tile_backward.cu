/* Attention backward, a tile of queries and a tile of keys at a time: the second rung of attention.cu's ladder.
 *
 * Two passes over the same tiles as forward. In one a block has a tile of queries, walks the keys that these see, and
 * sums dq; in the other a block has a tile of keys, walks the queries that see these, and sums dk and dv. So each
 * gradient is summed by one thread, in the order of positions, and needs no atomics; the price is that scores are
 * computed twice more. A tile's ds and dropped weights are in shared memory and are forgotten with it: weights are
 * exp(score - lse), because forward has saved lse. */

/* What both passes want of query i and key j: ds, and the dropped weight; zeros where the query does not see the key.
 */
typedef struct Pair {
    float ds, weight;
} Pair;

static __device__ Pair pair_of(const Attention &a, const AttentionBack &back, const AttentionRow &r, const Tiles &t,
                               unsigned query, size_t i, unsigned key, size_t j)
{
    if (i >= r.queries || j >= r.keys.length || next_key(a, r, i, j) != j)
        return Pair{0, 0};
    size_t at = (r.first_query + i) * a.how.heads + r.head;
    float s = tile_score(a, r, t.q.row(query), i, t.k.row(key), j), weight = expf(s - lse_of_scores(back.lse[at]));
    float factor = drop_factor(a, r, i, j), dw = factor * tile_dot(t.dy.row(query), t.v.row(key), t.v.size);
    return Pair{weight * (dw - back.dot[at]) * cap_slope(a.how, s), factor * weight};
}

static __device__ void load_queries(const Tiles &t, unsigned tile, const Attention &a, const AttentionBack &back,
                                    const AttentionRow &r, size_t first, size_t count)
{
    Strided dy = {(void *)back.dy, a.how.heads * a.how.value_size};
    load_tile(t.q, tile, a.q, r.first_query + first, count, r.head,
              head_of_bias(a.how.content_bias, r.head, a.how.key_size));
    load_tile(t.dy, tile, dy, r.first_query + first, count, r.head, NULL);
}

/* A query's thread: ds of its keys, from key j0 of its row on. first: the tile's query 0. */
template <unsigned TILE>
static __device__ void put_key_gradients(const Tiles &t, const Place<TILE> &at, const Attention &a,
                                         const AttentionBack &back, const AttentionRow &r, size_t first, size_t j0)
{
    for (unsigned u = 0; u < at.each && at.other(u) < TILE; u++) {
        Pair pair = pair_of(a, back, r, t, at.row, first + at.row, at.other(u), j0 + at.other(u));
        t.ds.row(at.row)[at.other(u)] = pair.ds;
    }
}

/* ---- dq */

/* What a query's thread sums in its columns: ds k, and ds r where there are relative keys. */
typedef struct QuerySums {
    float keys[PART], relative[PART];
} QuerySums;

template <unsigned TILE>
static __device__ void add_keys(QuerySums *sums, const Place<TILE> &at, const Attention &a, const AttentionRow &r,
                                const Tiles &t, size_t i, size_t j0)
{
    size_t dk = a.how.key_size;
    for (unsigned key = 0; key < TILE; key++) {
        float ds = t.ds.row(at.row)[key];
        if (ds == 0) /* what no query sees may hold anything, NaN too */
            continue;
        add_row(sums->keys, at, ds, t.k.row(key), dk);
        if (!a.how.relative.data)
            continue;
        const Number *e = relative_key(a, r, i, j0 + key);
#pragma unroll
        for (unsigned x = 0; x < PART; x++)
            if (at.column(x) < dk)
                sums->relative[x] += ds * real(e[at.column(x)]);
    }
}

template <unsigned TILE>
static __device__ void put_gradient(Strided dq, bool add, const AttentionBack &back, const QuerySums &sums,
                                    const Place<TILE> &at, const Attention &a, const AttentionRow &r, size_t position)
{
    size_t dk = a.how.key_size;
    float scale = (float)a.how.scale;
#pragma unroll
    for (unsigned x = 0; x < PART; x++) {
        size_t column = r.head * dk + at.column(x), share = position * a.how.heads * dk + column;
        bool there = at.column(x) < dk;
        if (there && dq.data)
            store_gradient((Number *)dq.data + position * dq.stride + column, add,
                           scale * (sums.keys[x] + sums.relative[x]));
        if (there && back.content)
            back.content[share] = scale * sums.keys[x];
        if (there && back.relative)
            back.relative[share] = scale * sums.relative[x];
    }
}

/* Blocks are [B, H, tiles of queries]. */
template <unsigned TILE>
static __global__ void attention_tiled_queries(Strided dq, bool add, AttentionBack back, Attention a, size_t tiles)
{
    DYNAMIC_SHARED(float, memory);
    const Attend &how = a.how;
    AttentionRow r = row_of_block(a, tiles);
    size_t first = blockIdx.x % tiles * TILE;
    zero_outside_queries(how, dq, add, how.key_size);
    if (first >= r.queries) /* all of the block */
        return;
    size_t count = rows_of_tile(r.queries, first, TILE);
    Tiles t = tiles_in(memory, how, TILE, true);
    Place<TILE> at;
    QuerySums sums = {};
    load_queries(t, TILE, a, back, r, first, count);
    walk_tiles<TILE>(t, a, r, first, count, [&](size_t j0) {
        put_key_gradients(t, at, a, back, r, first, j0);
        __syncwarp(); /* a query's threads are of one warp */
        add_keys(&sums, at, a, r, t, first + at.row, j0);
    });
    if (at.row < count)
        put_gradient(dq, add, back, sums, at, a, r, r.first_query + first + at.row);
}

/* ---- dk and dv */

/* The queries that may see one of keys j .. j + count - 1: those before them do not, where attention is causal, nor
 * those for which the window has moved on, unless there are sinks among the keys. */
static __device__ Range queries_for(const Attention &a, const AttentionRow &r, size_t j, size_t count)
{
    Range i = {first_query_for(a, r, j), r.queries};
    size_t beyond = j + count - 1 + a.how.window; /* this position sees none of them */
    if (a.how.window && j >= a.how.sinks && beyond < r.queries + r.keys.offset)
        i.to = beyond > r.keys.offset ? beyond - r.keys.offset : 0;
    return i;
}

/* The columns of one row. */
template <unsigned TILE>
static __device__ void give_row(Strided to, bool add, size_t position, size_t head, size_t size, const float sum[PART],
                                float scale, const Place<TILE> &at)
{
    Number *row = (Number *)to.data + position * to.stride + head * size;
#pragma unroll
    for (unsigned x = 0; x < PART; x++)
        if (at.column(x) < size)
            store_gradient(&row[at.column(x)], add, scale * sum[x]);
}

/* Adds to dk and dv of a tile of keys what one head of the queries that see them gives. */
template <unsigned TILE>
static __device__ void add_queries(float keys[PART], float values[PART], const Tiles &t, const Place<TILE> &at,
                                   const Attention &a, const AttentionBack &back, const AttentionRow &r, size_t first,
                                   Range queries)
{
    Range keys_of_tile = {first, first + TILE < r.keys.length ? first + TILE : r.keys.length};
    for (size_t i0 = queries.from / TILE * TILE; i0 < queries.to; i0 += TILE) {
        size_t count = rows_of_tile(r.queries, i0, TILE);
        if (!any_sees_keys(a, r, i0, count, keys_of_tile))
            continue;
        load_queries(t, TILE, a, back, r, i0, count);
        __syncthreads();
        for (unsigned u = 0; u < at.each && at.other(u) < TILE; u++) {
            Pair pair = pair_of(a, back, r, t, at.other(u), i0 + at.other(u), at.row, first + at.row);
            t.ds.row(at.row)[at.other(u)] = pair.ds;
            t.w.row(at.row)[at.other(u)] = pair.weight;
        }
        __syncwarp(); /* a key's threads are of one warp */
        for (unsigned query = 0; query < TILE; query++) {
            float ds = t.ds.row(at.row)[query], weight = t.w.row(at.row)[query];
            if (ds != 0)
                add_row(keys, at, ds, t.q.row(query), a.how.key_size);
            if (weight != 0)
                add_row(values, at, weight, t.dy.row(query), a.how.value_size);
        }
        __syncthreads(); /* before the next tile comes */
    }
}

/* Blocks are [B, G, tiles of keys]. */
template <unsigned TILE>
static __global__ void attention_tiled_keys(AttendGradients d, AttentionBack back, Attention a, size_t tiles)
{
    DYNAMIC_SHARED(float, memory);
    const Attend &how = a.how;
    AttentionRow r = row_of_block(a, tiles, heads_per_kv(&how));
    size_t first = blockIdx.x % tiles * TILE;
    zero_outside_keys(how, d.k, d.add_k, how.key_size);
    zero_outside_keys(how, d.v, d.add_v, how.value_size);
    if (first >= r.keys.length) /* all of the block */
        return;
    size_t count = rows_of_tile(r.keys.length, first, TILE);
    Tiles t = tiles_in(memory, how, TILE, true);
    Place<TILE> at;
    float keys[PART] = {}, values[PART] = {};
    load_keys(t, TILE, a, r, first, count);
    Range queries = queries_for(a, r, first, count);
    for (size_t end = r.head + heads_per_kv(&how); r.head < end; r.head++)
        add_queries(keys, values, t, at, a, back, r, first, queries);
    if (at.row < count && d.k.data)
        give_row(d.k, d.add_k, r.keys.start + first + at.row, r.kv, how.key_size, keys, (float)how.scale, at);
    if (at.row < count && d.v.data)
        give_row(d.v, d.add_v, r.keys.start + first + at.row, r.kv, how.value_size, values, 1, at);
}
