/* The gradients of what is at a distance, a tile of queries and a tile of keys at a time: of the bias of distances
 * and of relative keys. The second rung of attention.cu's ladder.
 *
 * Rows of queries are cut into tiles, and these dealt to GROUPS of blocks for each head; a block walks the keys of each
 * of its tiles. In a tile of TILE by TILE pairs each distance is a diagonal, and at the ends of the table, where what
 * is farther away counts too, what is left of the square. A block sums into memory of its own, and at the end the sums
 * of all blocks are added in their order. */

constexpr unsigned GROUPS = 32;

/* What a block sums: bias [H, distances] and relative [H, distances, dk] of each group. NULL: not wanted. */
typedef struct DistanceSums {
    float *bias, *relative;
} DistanceSums;

/* The keys of a row that are at entry e from query i, as far as they are among `within`. */
static __device__ Range keys_at(const Attention &a, const AttentionRow &r, size_t e, size_t i, Range within)
{
    size_t position = i + r.keys.offset + a.how.ahead, last = a.how.distances - 1;
    Range keys = {e < last && position > e ? position - e : 0, e > 0 ? position + 1 - e : within.to};
    if (e > position)
        return Range{0, 0}; /* that far back is no key */
    keys.from = keys.from > within.from ? keys.from : within.from;
    keys.to = keys.to < within.to ? keys.to : within.to;
    return keys;
}

/* The sum of ds over the keys of a tile that are at entry e from query i. */
static __device__ float sum_at(const Tiles &t, unsigned tile, const Attention &a, const AttentionRow &r, size_t e,
                               unsigned row, size_t i, size_t j0)
{
    Range keys = keys_at(a, r, e, i, Range{j0, j0 + tile});
    float sum = 0;
    for (size_t j = keys.from; j < keys.to; j++)
        sum += t.ds.row(row)[j - j0];
    return sum;
}

/* Adds a tile's ds, for each entry that it holds; t.k holds queries with their position bias by now. */
static __device__ void add_distances_of_tile(const DistanceSums &to, const Tiles &t, unsigned tile, const Attention &a,
                                             const AttentionRow &r, size_t i0, size_t count, size_t j0)
{
    size_t dk = a.how.key_size, lowest = entry_of(a, r, i0, j0 + tile - 1),
           highest = entry_of(a, r, i0 + count - 1, j0);
    size_t entries = highest - lowest + 1, first = r.head * a.how.distances + lowest;
    for (size_t x = threadIdx.x; to.bias && x < entries; x += TILE_THREADS) {
        float sum = 0;
        for (unsigned row = 0; row < count; row++)
            sum += sum_at(t, tile, a, r, lowest + x, row, i0 + row, j0);
        to.bias[first + x] += sum;
    }
    for (size_t x = threadIdx.x; to.relative && x < entries * dk; x += TILE_THREADS) {
        float sum = 0;
        for (unsigned row = 0; row < count; row++)
            sum += sum_at(t, tile, a, r, lowest + x / dk, row, i0 + row, j0) * t.k.row(row)[x % dk];
        to.relative[first * dk + x] += sum;
    }
}

/* One tile of queries. */
template <unsigned TILE>
static __device__ void walk_distances(const DistanceSums &to, const Tiles &t, const Attention &a,
                                      const AttentionBack &back, const AttentionRow &r, size_t first)
{
    const Attend &how = a.how;
    Place<TILE> at;
    size_t count = rows_of_tile(r.queries, first, TILE);
    load_queries(t, TILE, a, back, r, first, count);
    walk_tiles<TILE>(t, a, r, first, count, [&](size_t j0) {
        put_key_gradients(t, at, a, back, r, first, j0);
        __syncthreads();
        if (to.relative)
            load_tile(t.k, TILE, a.q, r.first_query + first, count, r.head,
                      head_of_bias(how.position_bias, r.head, how.key_size));
        __syncthreads();
        add_distances_of_tile(to, t, TILE, a, r, first, count, j0);
    });
}

/* Blocks are [GROUPS, H]; `tiles`: of the longest row of queries. */
template <unsigned TILE>
static __global__ void attention_tiled_distances(DistanceSums to, AttentionBack back, Attention a, size_t tiles)
{
    DYNAMIC_SHARED(float, memory);
    const Attend &how = a.how;
    size_t group = blockIdx.x / how.heads, head = blockIdx.x % how.heads, entries = how.heads * how.distances;
    Tiles t = tiles_in(memory, how, TILE, true);
    to.bias = to.bias ? to.bias + group * entries : NULL;
    to.relative = to.relative ? to.relative + group * entries * how.key_size : NULL;
    for (size_t x = group; x < how.rows * tiles; x += GROUPS) {
        AttentionRow r = attention_row(a, x / tiles, head);
        if (x % tiles * TILE < r.queries)
            walk_distances<TILE>(to, t, a, back, r, x % tiles * TILE);
    }
}

/* The sum of all groups, [H, distances, width]; goes to [distances, H * width]. */
template <class To>
static __global__ void sum_groups(To *to, size_t stride, bool add, const float *sums, float scale, size_t heads,
                                  size_t distances, size_t width)
{
    size_t all = heads * distances * width;
    for (size_t x = thread_number(); x < all; x += thread_count()) {
        float sum = 0;
        for (unsigned group = 0; group < GROUPS; group++)
            sum += sums[group * all + x];
        size_t head = x / width / distances, e = x / width % distances;
        store_gradient(&to[e * stride + head * width + x % width], add, scale * sum);
    }
}

/* Floats that it wants beside what it is given. */
static size_t distances_size(const AttendGradients &d, const Attend &how)
{
    size_t entries = GROUPS * how.heads * how.distances;
    return (d.distance_bias ? entries : 0) + (d.relative.data ? entries * how.key_size : 0);
}

static void attention_distances_by_tiles(Stream *s, const AttendGradients &d, const AttentionBack &back,
                                         const Attention &a, unsigned tile, float *memory)
{
    const Attend &how = a.how;
    size_t entries = GROUPS * how.heads * how.distances, tiles = divide_up(how.longest_query, tile);
    size_t bytes = tiles_bytes(how, tile, true), blocks = GROUPS * how.heads;
    DistanceSums to = {d.distance_bias ? memory : NULL,
                       d.relative.data ? memory + (d.distance_bias ? entries : 0) : NULL};
    zero(s, memory, distances_size(d, how) * sizeof *memory);
    if (tile == 32)
        LAUNCH_SHARED(s, attention_tiled_distances<32>, (unsigned)blocks, TILE_THREADS, bytes, to, back, a, tiles);
    else if (tile == 16)
        LAUNCH_SHARED(s, attention_tiled_distances<16>, (unsigned)blocks, TILE_THREADS, bytes, to, back, a, tiles);
    else
        LAUNCH_SHARED(s, attention_tiled_distances<8>, (unsigned)blocks, TILE_THREADS, bytes, to, back, a, tiles);
    if (to.bias)
        LAUNCH_EACH(s, sum_groups<float>, how.heads * how.distances, (float *)d.distance_bias, how.heads, true,
                    (const float *)to.bias, 1.0f, how.heads, how.distances, (size_t)1);
    if (to.relative)
        LAUNCH_EACH(s, sum_groups<Number>, how.heads * how.distances * how.key_size, (Number *)d.relative.data,
                    d.relative.stride, d.add_relative, (const float *)to.relative, (float)how.scale, how.heads,
                    how.distances, how.key_size);
}
