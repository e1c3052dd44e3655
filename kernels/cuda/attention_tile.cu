/* Attention forward, a tile of queries and a tile of keys at a time (Dao et al. 2022): the second rung of
 * attention.cu's ladder.
 *
 * A block has TILE queries of one head; its TILE_THREADS threads share them, so that each query has a few. It walks the
 * keys of the row TILE at a time: queries, keys and values are in shared memory, where each is read by all threads that need it.
 * Scores of a tile never leave it: a query keeps its largest score so far, the sum of exp(score - largest), and y for
 * that largest; where a larger one turns up, sum and y are scaled down to it. At the end y is divided by the sum.
 *
 * TILE is 32, or 16 or 8 where heads are too wide for that: tiles fit the 48 KiB that every GPU has, and a thread's
 * part of y its registers. Rows of a tile are one number longer than they need be, so that threads that read down a
 * column meet different banks. */

constexpr unsigned TILE_THREADS = 128, PART = 32; /* PART: columns of a result that a thread sums at most */
constexpr size_t SHARED_ROOM = 48 << 10;

/* A thread's place: it is number `share` of the `threads` that have row `row` of the tile. They are of one warp. Of the
 * other side's TILE rows it looks at `each`, from share * each on; of columns it has share, share + threads, .. */
template <unsigned TILE> struct Place {
    static constexpr unsigned threads = TILE_THREADS / TILE, each = TILE > threads ? TILE / threads : 1;
    unsigned row, share;
    __device__ Place() : row(threadIdx.x / threads), share(threadIdx.x % threads) {}
    __device__ unsigned other(unsigned u) const { return share * each + u; }
    __device__ size_t column(unsigned x) const { return x * threads + share; }
};

/* Rows of a tile, `size` numbers each. */
typedef struct Tile {
    float *at;
    size_t size;
    __device__ float *row(size_t i) const { return at + i * (size + 1); }
} Tile;

/* What a block keeps in shared memory: TILE rows each. Backward adds the rows of dy, and a second matrix. */
typedef struct Tiles {
    Tile q, k, v, dy, w, ds;
} Tiles;

static __host__ __device__ size_t tiles_bytes(const Attend &how, unsigned tile, bool backward)
{
    size_t sides = backward ? 2 : 1;
    return tile * (2 * (how.key_size + 1) + sides * (how.value_size + 1) + sides * (tile + 1)) * sizeof(float);
}

static __device__ Tiles tiles_in(float *memory, const Attend &how, unsigned tile, bool backward)
{
    Tiles t = {};
    t.q = Tile{memory, how.key_size};
    t.k = Tile{t.q.row(tile), how.key_size};
    t.v = Tile{t.k.row(tile), how.value_size};
    t.w = Tile{t.v.row(tile), tile};
    if (backward) {
        t.ds = Tile{t.w.row(tile), tile};
        t.dy = Tile{t.ds.row(tile), how.value_size};
    }
    return t;
}

/* The largest tile that can be had, or 0: heads are too wide for any. */
static unsigned tile_for(const Attend &how, bool backward)
{
    size_t columns = backward && how.key_size > how.value_size ? how.key_size : how.value_size;
    for (unsigned tile = 32; tile >= 8; tile /= 2)
        if (columns <= PART * (TILE_THREADS / tile) && tiles_bytes(how, tile, backward) <= SHARED_ROOM)
            return tile;
    return 0;
}

/* LAUNCH_TILES(s, kernel, tile, heads, n, backward, arguments...): kernel<tile>, a block for each tile of the n longest
 * rows' positions, of each row and head; its last argument is how many tiles a row has. */
#define LAUNCH_TILES(s, kernel, tile, heads, longest, backward, a, ...)                                                \
    do {                                                                                                               \
        size_t tiles_ = divide_up(longest, tile), blocks_ = (a).how.rows * tiles_ * (heads);                           \
        size_t bytes_ = tiles_bytes((a).how, tile, backward);                                                          \
        if (blocks_ > 0 && (tile) == 32)                                                                               \
            LAUNCH_SHARED(s, kernel<32>, (unsigned)blocks_, TILE_THREADS, bytes_, __VA_ARGS__, a, tiles_);             \
        else if (blocks_ > 0 && (tile) == 16)                                                                          \
            LAUNCH_SHARED(s, kernel<16>, (unsigned)blocks_, TILE_THREADS, bytes_, __VA_ARGS__, a, tiles_);             \
        else if (blocks_ > 0)                                                                                          \
            LAUNCH_SHARED(s, kernel<8>, (unsigned)blocks_, TILE_THREADS, bytes_, __VA_ARGS__, a, tiles_);              \
    } while (0)

/* One head of `count` positions from `first` on, with a bias if there is one; zeros after them. */
static __device__ void load_tile(const Tile &tile, unsigned rows, const Strided &x, size_t first, size_t count,
                                 size_t head, const float *bias)
{
    for (size_t t = threadIdx.x; t < rows * tile.size; t += TILE_THREADS) {
        size_t i = t / tile.size, c = t % tile.size;
        float number = i < count ? real(head_of(x, first + i, head, tile.size)[c]) + (bias ? bias[c] : 0) : 0;
        tile.row(i)[c] = number;
    }
}

/* How many of a tile's rows there are. */
static __device__ size_t rows_of_tile(size_t all, size_t first, unsigned tile)
{
    return all - first < tile ? all - first : tile;
}

static __device__ void load_keys(const Tiles &t, unsigned tile, const Attention &a, const AttentionRow &r, size_t first,
                                 size_t count)
{
    load_tile(t.k, tile, a.k, r.keys.start + first, count, r.kv, NULL);
    load_tile(t.v, tile, a.v, r.keys.start + first, count, r.kv, NULL);
}

/* Does one of queries first .. first + count - 1, at most as many as a block has threads, see one of keys from .. to - 1?
 * All of a block ask at once, and where keys have no gaps it does not matter. */
static __device__ bool any_sees_keys(const Attention &a, const AttentionRow &r, size_t first, size_t count, Range keys)
{
    if (!keys_have_gaps(&a.how))
        return true;
    bool sees = threadIdx.x < count && next_key(a, r, first + threadIdx.x, keys.from) < keys.to;
    return __syncthreads_or(sees) != 0;
}

/* take(j0) for each tile of the keys, from key j0 on, that queries first .. first + count - 1 see. */
template <unsigned TILE, class Take>
static __device__ inline void walk_tiles(const Tiles &t, const Attention &a, const AttentionRow &r, size_t first,
                                         size_t count, Take take)
{
    size_t j0 = keys_first(&a.how, r.keys, first) / TILE * TILE, end = keys_end(&a.how, r.keys, first + count - 1);
    for (; j0 < end; j0 += TILE) {
        if (!any_sees_keys(a, r, first, count, Range{j0, j0 + TILE < r.keys.length ? j0 + TILE : r.keys.length}))
            continue;
        load_keys(t, TILE, a, r, j0, rows_of_tile(r.keys.length, j0, TILE));
        __syncthreads();
        take(j0);
        __syncthreads(); /* before the next tile comes */
    }
}

static __device__ float tile_dot(const float *x, const float *y, size_t n)
{
    float sum[4] = {};
    size_t c = 0;
    for (; c + 4 <= n; c += 4)
#pragma unroll
        for (unsigned u = 0; u < 4; u++)
            sum[u] += x[c + u] * y[c + u];
    for (; c < n; c++)
        sum[0] += x[c] * y[c];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* The score of query i and key j, from their rows in shared memory. */
static __device__ float tile_score(const Attention &a, const AttentionRow &r, const float *q, size_t i, const float *k,
                                   size_t j)
{
    const Attend &how = a.how;
    const float *bias = (const float *)how.distance_bias;
    float sum = tile_dot(q, k, how.key_size);
    if (how.relative.data)
        sum += biased_dot(head_of(a.q, r.first_query + i, r.head, how.key_size),
                          head_of_bias(how.position_bias, r.head, how.key_size), relative_key(a, r, i, j),
                          how.key_size);
    sum *= (float)how.scale;
    return capped(how, bias ? sum + bias[entry_of(a, r, i, j) * how.heads + r.head] : sum);
}

/* sum += factor x, each thread its columns. */
template <unsigned TILE>
static __device__ inline void add_row(float sum[PART], const Place<TILE> &at, float factor, const float *x, size_t n)
{
#pragma unroll
    for (unsigned u = 0; u < PART; u++)
        if (at.column(u) < n)
            sum[u] += factor * x[at.column(u)];
}

/* A query under way, in each of its threads. */
typedef struct Query {
    size_t i;           /* in its row */
    bool live;          /* there is such a query */
    float largest, sum; /* sum: of this thread's keys */
    float y[PART];
} Query;

/* The scores of this thread's keys; seen: a bit for each that the query sees, but for scores of -infinity. */
template <unsigned TILE>
static __device__ unsigned tile_scores(float s[], const Place<TILE> &at, const Attention &a, const AttentionRow &r,
                                       const Tiles &t, const Query &q, size_t j0)
{
    unsigned seen = 0;
    for (unsigned u = 0; u < at.each; u++) {
        size_t j = j0 + at.other(u);
        s[u] = 0;
        if (!q.live || at.other(u) >= TILE || j >= r.keys.length || next_key(a, r, q.i, j) != j)
            continue;
        s[u] = tile_score(a, r, t.q.row(at.row), q.i, t.k.row(at.other(u)), j);
        seen |= s[u] == -INFINITY ? 0 : 1u << u;
    }
    return seen;
}

/* Largest score so far, over the threads of a query; sum and y follow it. */
template <unsigned TILE> static __device__ void follow_largest(Query *q, const float s[], unsigned seen)
{
    float largest = q->largest;
    for (unsigned u = 0; u < Place<TILE>::each; u++)
        if (seen >> u & 1 && s[u] > largest)
            largest = s[u];
    for (int away = Place<TILE>::threads / 2; away > 0; away /= 2) {
        float other = __shfl_xor_sync(ALL_LANES, largest, away);
        largest = other > largest ? other : largest;
    }
    if (!(largest > q->largest))
        return;
    float shrink = expf(q->largest - largest);
    q->largest = largest;
    q->sum *= shrink;
#pragma unroll
    for (unsigned x = 0; x < PART; x++)
        q->y[x] *= shrink;
}

template <unsigned TILE>
static __device__ void take_tile(Query *q, const Place<TILE> &at, const Attention &a, const AttentionRow &r,
                                 const Tiles &t, size_t j0)
{
    float s[Place<TILE>::each], *weights = t.w.row(at.row);
    unsigned seen = tile_scores(s, at, a, r, t, *q, j0);
    follow_largest<TILE>(q, s, seen);
    for (unsigned u = 0; u < at.each && at.other(u) < TILE; u++) {
        float weight = seen >> u & 1 ? expf(s[u] - q->largest) : 0;
        q->sum += weight;
        weights[at.other(u)] = seen >> u & 1 ? weight * drop_factor(a, r, q->i, j0 + at.other(u)) : 0;
    }
    __syncwarp(); /* a query's threads are of one warp */
    for (unsigned key = 0; key < TILE; key++)
        if (weights[key] != 0) /* what no query sees may hold anything, NaN too */
            add_row(q->y, at, weights[key], t.v.row(key), t.v.size);
    __syncwarp();
}

template <unsigned TILE>
static __device__ void put_query(Number *y, float *lse, const Query &q, const Place<TILE> &here, const Attention &a,
                                 const AttentionRow &r)
{
    size_t dv = a.how.value_size, at = (r.first_query + q.i) * a.how.heads + r.head;
    float sum = q.sum;
    for (int away = Place<TILE>::threads / 2; away > 0; away /= 2)
        sum += __shfl_xor_sync(ALL_LANES, sum, away);
    if (!q.live)
        return;
    if (here.share == 0)
        lse[at] = q.largest + logf(sum);
#pragma unroll
    for (unsigned x = 0; x < PART; x++)
        if (here.column(x) < dv)
            y[at * dv + here.column(x)] = number(sum == 0 ? 0 : q.y[x] / sum);
}

/* Blocks are [B, H, tiles]; TILE_THREADS threads. */
template <unsigned TILE> static __global__ void attention_tiled(Number *y, float *lse, Attention a, size_t tiles)
{
    DYNAMIC_SHARED(float, memory);
    const Attend &how = a.how;
    AttentionRow r = row_of_block(a, tiles);
    size_t first = blockIdx.x % tiles * TILE;
    zero_outside_queries(how, Strided{y, how.heads * how.value_size}, false, how.value_size);
    if (first >= r.queries) /* all of the block */
        return;
    size_t count = rows_of_tile(r.queries, first, TILE);
    Tiles t = tiles_in(memory, how, TILE, false);
    Place<TILE> at;
    Query q = {};
    q.i = first + at.row;
    q.live = at.row < count;
    q.largest = -INFINITY;
    load_tile(t.q, TILE, a.q, r.first_query + first, count, r.head,
              head_of_bias(how.content_bias, r.head, how.key_size));
    walk_tiles<TILE>(t, a, r, first, count, [&](size_t j0) { take_tile(&q, at, a, r, t, j0); });
    put_query(y, lse, q, at, a, r);
}
