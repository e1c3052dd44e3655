/* Attention forward, a tile of queries and a tile of keys at a time (Dao et al. 2022): the second rung of
 * attention.cu's ladder.
 *
 * A block has QUERIES queries of one head; QUADS threads share a query. It walks the keys of the row KEYS at a time:
 * queries, keys and values lie in shared memory, where each is read by all who need it. Scores of a tile never leave
 * it: a query keeps its largest score so far, the sum of exp(score - largest), and y for that largest; where a larger
 * one turns up, sum and y are scaled down to it. At the end y is divided by the sum.
 *
 * Rows of a tile are one number longer than they need be, so that threads that read down a column meet different banks.
 */

constexpr unsigned QUERIES = 32, KEYS = 32, QUADS = 4, KEYS_EACH = KEYS / QUADS, MOST_VALUES = 128;
constexpr size_t SHARED_ROOM = 48 << 10;

/* Where a block's tiles lie in its shared memory; rows of `q` and `k` are dk + 1 long, of `v` dv + 1, of `w` KEYS + 1.
 */
typedef struct Tiles {
    float *q, *k, *v, *w;
} Tiles;

static __host__ __device__ size_t tiles_room(const Attend &how)
{
    return (QUERIES + KEYS) * (how.key_size + 1) + KEYS * (how.value_size + 1) + QUERIES * (KEYS + 1);
}

static __device__ Tiles tiles_in(float *memory, const Attend &how)
{
    Tiles t;
    t.q = memory;
    t.k = t.q + QUERIES * (how.key_size + 1);
    t.v = t.k + KEYS * (how.key_size + 1);
    t.w = t.v + KEYS * (how.value_size + 1);
    return t;
}

/* One head of `count` positions from `first` on, with a bias if there is one; zeros behind them. */
static __device__ void load_tile(float *tile, const Strided &x, size_t first, size_t count, size_t head, size_t size,
                                 const float *bias, unsigned rows)
{
    for (size_t t = threadIdx.x; t < rows * size; t += blockDim.x) {
        size_t i = t / size, c = t % size;
        tile[i * (size + 1) + c] = i < count ? real(head_of(x, first + i, head, size)[c]) + (bias ? bias[c] : 0) : 0;
    }
}

/* A query under way, in each of its QUADS threads: which it is, and what it has so far. */
typedef struct Query {
    size_t i;               /* in its row */
    unsigned in_tile, quad; /* this thread's keys are quad KEYS_EACH .., its columns of y quad, quad + QUADS, .. */
    bool live;              /* there is such a query */
    float largest, sum;     /* sum: of this thread's keys */
    float y[MOST_VALUES / QUADS];
} Query;

/* The scores of this thread's keys; seen: a bit for each that the query sees. */
static __device__ unsigned tile_scores(float s[KEYS_EACH], const Attention &a, const AttentionRow &r, const Tiles &t,
                                       const Query &q, size_t j0)
{
    const Attend &how = a.how;
    size_t dk = how.key_size;
    const float *bias = (const float *)how.distance_bias;
    unsigned seen = 0;
    for (unsigned u = 0; u < KEYS_EACH; u++) {
        size_t key = q.quad * KEYS_EACH + u, j = j0 + key;
        s[u] = 0;
        if (!q.live || j >= r.keys.length || next_key(a, r, q.i, j) != j)
            continue;
        seen |= 1u << u;
        float sum[4] = {};
        for (size_t c = 0; c < dk; c++)
            sum[c % 4] += t.q[q.in_tile * (dk + 1) + c] * t.k[key * (dk + 1) + c];
        s[u] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        if (how.relative.data)
            s[u] += biased_dot(head_of(a.q, r.first_query + q.i, r.head, dk),
                               head_of_bias(how.position_bias, r.head, dk), relative_key(a, r, q.i, j), dk);
        s[u] *= (float)how.scale;
        if (bias)
            s[u] += bias[entry_of(a, r, q.i, j) * how.heads + r.head];
    }
    return seen;
}

/* Largest score so far, over the threads of a query; sum and y follow it. */
static __device__ void follow_largest(Query *q, const float s[KEYS_EACH], unsigned seen)
{
    float largest = q->largest;
    for (unsigned u = 0; u < KEYS_EACH; u++)
        if (seen >> u & 1 && s[u] > largest)
            largest = s[u];
    for (int away = QUADS / 2; away > 0; away /= 2) {
        float other = __shfl_xor_sync(ALL_LANES, largest, away);
        largest = other > largest ? other : largest;
    }
    if (!(largest > q->largest))
        return;
    float shrink = expf(q->largest - largest);
    q->largest = largest;
    q->sum *= shrink;
    for (unsigned x = 0; x < MOST_VALUES / QUADS; x++)
        q->y[x] *= shrink;
}

static __device__ void take_tile(Query *q, const Attention &a, const AttentionRow &r, const Tiles &t, size_t j0)
{
    float s[KEYS_EACH], *weights = t.w + q->in_tile * (KEYS + 1);
    unsigned seen = tile_scores(s, a, r, t, *q, j0);
    follow_largest(q, s, seen);
    for (unsigned u = 0; u < KEYS_EACH; u++) {
        unsigned key = q->quad * KEYS_EACH + u;
        float weight = seen >> u & 1 ? expf(s[u] - q->largest) : 0;
        q->sum += weight;
        weights[key] = seen >> u & 1 ? weight * drop_factor(a, r, q->i, j0 + key) : 0;
    }
    __syncwarp(); /* a query's threads are of one warp */
    size_t dv = a.how.value_size;
    for (unsigned key = 0; key < KEYS; key++) {
        float weight = weights[key];
        if (weight == 0) /* what nobody sees may hold anything, NaN too */
            continue;
        for (size_t x = 0; x * QUADS + q->quad < dv; x++)
            q->y[x] += weight * t.v[key * (dv + 1) + x * QUADS + q->quad];
    }
    __syncwarp();
}

static __device__ void put_query(Number *y, float *lse, Query *q, const Attention &a, const AttentionRow &r)
{
    size_t dv = a.how.value_size, at = (r.first_query + q->i) * a.how.heads + r.head;
    float sum = q->sum;
    for (int away = QUADS / 2; away > 0; away /= 2)
        sum += __shfl_xor_sync(ALL_LANES, sum, away);
    if (!q->live)
        return;
    if (q->quad == 0)
        lse[at] = q->largest + logf(sum);
    for (size_t x = 0; x * QUADS + q->quad < dv; x++)
        y[at * dv + x * QUADS + q->quad] = number(sum == 0 ? 0 : q->y[x] / sum);
}

/* Blocks are [B, H, tiles of queries]; QUERIES * QUADS threads. */
static __global__ void attention_tiled(Number *y, float *lse, Attention a, size_t tiles)
{
    DYNAMIC_SHARED(float, memory);
    const Attend &how = a.how;
    AttentionRow r = attention_row(a, blockIdx.x / tiles / how.heads, blockIdx.x / tiles % how.heads);
    size_t first = blockIdx.x % tiles * QUERIES;
    if (first >= r.queries) /* all of the block */
        return;
    size_t count = r.queries - first < QUERIES ? r.queries - first : QUERIES;
    Tiles t = tiles_in(memory, how);
    Query q = {};
    q.in_tile = threadIdx.x / QUADS;
    q.quad = threadIdx.x % QUADS;
    q.i = first + q.in_tile;
    q.live = q.in_tile < count;
    q.largest = -INFINITY;
    load_tile(t.q, a.q, r.first_query + first, count, r.head, how.key_size,
              head_of_bias(how.content_bias, r.head, how.key_size), QUERIES);
    size_t j0 = keys_first(&how, r.keys, first) / KEYS * KEYS, end = keys_end(&how, r.keys, first + count - 1);
    for (; j0 < end; j0 += KEYS) {
        size_t keys = r.keys.length - j0 < KEYS ? r.keys.length - j0 : KEYS;
        load_tile(t.k, a.k, r.keys.start + j0, keys, r.head, how.key_size, NULL, KEYS);
        load_tile(t.v, a.v, r.keys.start + j0, keys, r.head, how.value_size, NULL, KEYS);
        __syncthreads();
        take_tile(&q, a, r, t, j0);
        __syncthreads(); /* before the next tile comes */
    }
    put_query(y, lse, &q, a, r);
}
