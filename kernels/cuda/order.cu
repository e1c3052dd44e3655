/* Which rows of a table were used, and by which positions: a list of positions in the order of the rows that they read,
 * made on the device. A sum of gradients for a row then walks the positions of that row, which are adjacent, and in
 * their order: so each sum is one thread's, has one order and needs no atomics.
 *
 * The ladder:
 *   1. no list: see the first rungs of embed.cu and gather.cu, where a thread looks at all positions.
 *   2. (order_kernel) one block sorts, four bits of the row's number at a time, from the lowest on: each thread counts
 *      the digits of its part of the list, sums over all counts say where each thread's positions of each digit go, and
 *      each thread takes its own there, in their order. Several lists are sorted side by side, a block each.
 *   3. (chunk_sums) what many positions read is summed chunk by chunk, by a warp each, and then over the chunks: a row
 *      that every tenth position reads is not one warp's walk. */

constexpr unsigned DIGITS = 16, DIGIT_BITS = 4;

/* Row key[i] was used by position i, where valid[i] is not negative. */
typedef struct Used {
    const int32_t *key, *valid;
} Used;

/* order [n]; other [n]: room for what is half sorted */
typedef struct Sorting {
    Used used;
    int32_t *order, *other;
} Sorting;

/* Positions that used none come after all others. */
static __device__ unsigned key_of(const Used &used, int32_t i, unsigned none)
{
    return used.valid[i] < 0 ? none : (unsigned)used.key[i];
}

/* The sum of what the threads before this one have, of BLOCK threads. */
static __device__ unsigned sum_before(unsigned mine)
{
    __shared__ unsigned of_warp[BLOCK / LANES];
    unsigned in_warp = threadIdx.x % LANES, sum = mine;
    for (unsigned away = 1; away < LANES; away *= 2) {
        unsigned other = __shfl_up_sync(ALL_LANES, sum, away);
        sum += in_warp >= away ? other : 0;
    }
    if (in_warp == LANES - 1)
        of_warp[threadIdx.x / LANES] = sum;
    __syncthreads();
    for (unsigned w = 0; w < threadIdx.x / LANES; w++)
        sum += of_warp[w];
    __syncthreads(); /* before the next call writes there */
    return sum - mine;
}

/* Counts become places: of all digits, and for each of all threads, in this order. */
static __device__ void counts_to_places(unsigned (*count)[BLOCK])
{
    unsigned *mine = &count[0][0] + threadIdx.x * DIGITS, sum = 0;
    __syncthreads();
    for (unsigned c = 0; c < DIGITS; c++)
        sum += mine[c];
    sum = sum_before(sum);
    for (unsigned c = 0; c < DIGITS; c++) {
        unsigned was = mine[c];
        mine[c] = sum;
        sum += was;
    }
    __syncthreads();
}

/* Sorts by one digit: what was in order stays so where digits are equal. */
static __device__ void sort_by_digit(int32_t *to, const int32_t *from, const Used &used, unsigned none, unsigned shift,
                                     size_t n)
{
    __shared__ unsigned count[DIGITS][BLOCK];
    size_t begin = n * threadIdx.x / BLOCK, end = n * (threadIdx.x + 1) / BLOCK;
    for (unsigned c = 0; c < DIGITS; c++)
        count[c][threadIdx.x] = 0;
    for (size_t i = begin; i < end; i++)
        count[key_of(used, from[i], none) >> shift & (DIGITS - 1)][threadIdx.x]++;
    counts_to_places(count);
    for (size_t i = begin; i < end; i++)
        to[count[key_of(used, from[i], none) >> shift & (DIGITS - 1)][threadIdx.x]++] = from[i];
    __syncthreads();
}

static __global__ void order_kernel(Sorting first, Sorting second, size_t n)
{
    __shared__ int largest;
    const Sorting s = blockIdx.x == 0 ? first
                                      : second; /* a reference to either would put both into the thread's memory */
    if (threadIdx.x == 0)
        largest = -1;
    __syncthreads();
    for (size_t i = threadIdx.x; i < n; i += BLOCK) {
        s.order[i] = (int32_t)i;
        if (s.used.valid[i] >= 0)
            atomicMax(&largest, s.used.key[i]);
    }
    __syncthreads();
    unsigned none = (unsigned)largest + 1;
    for (unsigned shift = 0; shift < 32 && none >> shift > 0; shift += 2 * DIGIT_BITS) { /* there and back */
        sort_by_digit(s.other, s.order, s.used, none, shift, n);
        sort_by_digit(s.order, s.other, s.used, none, shift + DIGIT_BITS, n);
    }
}

/* The list is cut into chunks of this many entries. */
constexpr size_t ORDER_CHUNK = 64;

/* Whether entry `at` of the list reads this row. */
static __device__ bool reads(const Used &used, const int32_t *order, size_t at, int32_t row)
{
    return used.valid[order[at]] >= 0 && used.key[order[at]] == row;
}

/* The sum over positions i of term(i, j), from entry `at` on, as far as they read this row and are in one chunk. */
template <class Term>
static __device__ float sum_in_chunk(const Used &used, const int32_t *order, Term term, int32_t row, size_t at,
                                     size_t j, size_t n)
{
    size_t end = (at / ORDER_CHUNK + 1) * ORDER_CHUNK;
    float sum = 0;
    for (; at < end && at < n && reads(used, order, at, row); at++)
        sum += term((size_t)order[at], j);
    return sum;
}

/* sums [chunks, d]: of each chunk that begins within a row's positions, those of that row; a warp for 32 columns. */
template <class Term>
static __global__ void chunk_sums(float *sums, Used used, const int32_t *order, Term term, size_t n, size_t d)
{
    size_t parts = (d + LANES - 1) / LANES, chunk = warp_row() / parts, j = warp_row() % parts * LANES + lane();
    size_t at = chunk * ORDER_CHUNK;
    if (at == 0 || at >= n || j >= d)
        return;
    int32_t row = used.key[order[at]];
    if (reads(used, order, at, row) && reads(used, order, at - 1, row))
        sums[chunk * d + j] = sum_in_chunk(used, order, term, row, at, j, n);
}

/* For each row that was used, the sum over its positions: a warp for 32 columns. It stands at the first of the row's
 * positions; the warps of the others find that they do not, and are done. */
template <class Term, class Put>
static __global__ void sum_used(Used used, const int32_t *order, Term term, Put put, const float *sums, size_t n,
                                size_t d)
{
    size_t parts = (d + LANES - 1) / LANES, at = warp_row() / parts, j = warp_row() % parts * LANES + lane();
    if (at >= n || j >= d)
        return;
    int32_t row = used.key[order[at]];
    if (!reads(used, order, at, row) || (at > 0 && reads(used, order, at - 1, row)))
        return;
    float sum = sum_in_chunk(used, order, term, row, at, j, n);
    for (size_t chunk = at / ORDER_CHUNK + 1; chunk * ORDER_CHUNK < n && reads(used, order, chunk * ORDER_CHUNK, row);
         chunk++)
        sum += sums[chunk * d + j];
    put((size_t)row, j, sum);
}

/* Room for one list of n positions, and for sorting it. */
static size_t order_bytes(size_t n) { return 2 * n * sizeof(int32_t); }

static Sorting sorting(Used used, int32_t *memory, size_t n) { return Sorting{used, memory, memory + n}; }

static void sort_positions(Stream *s, Sorting first, Sorting second, size_t lists, size_t n)
{
    if (n > 0)
        LAUNCH(s, order_kernel, (unsigned)lists, BLOCK, first, second, n);
}

template <class Term, class Put>
static void add_used(Stream *s, const Sorting &sorted, Term term, Put put, size_t n, size_t d)
{
    const int32_t *order = sorted.order;
    size_t chunks = divide_up(n, ORDER_CHUNK), warps = divide_up(d, LANES);
    float *sums = chunks > 1 ? partial_sums(s, chunks, d) : NULL;
    if (chunks > 1 && !sums)
        return;
    if (chunks > 1)
        LAUNCH_ROWS(s, chunk_sums<Term>, chunks * warps, sums, sorted.used, order, term, n, d);
    LAUNCH_ROWS(s, (sum_used<Term, Put>), n * warps, sorted.used, order, term, put, (const float *)sums, n, d);
}
