/* Numbers that go to another place. See kernels/plain/move.c.
 *
 * The ladder of `transpose`:
 *   1. a thread for each number reads x along a row and writes y down a column: neighbours in a warp write far apart,
 *      and each write takes a whole line of memory with it.
 *   2. (here) a block carries a square tile through shared memory: rows are read and rows are written. A column more
 *      than the tile has keeps the threads of a warp in different banks when they read down it. */

constexpr unsigned MOVE_TILE = 32, MOVE_ROWS = 8;

static __global__ void move_kernel(Strided y, bool add, Strided x, size_t n, size_t d)
{
    for (size_t t = thread_number(); t < n * d; t += thread_count()) {
        size_t i = t / d, j = t % d;
        store_gradient((Number *)y.data + i * y.stride + j, add, real(((const Number *)x.data)[i * x.stride + j]));
    }
}

static __global__ void transpose_naive(Strided y, bool add, Strided x, size_t n, size_t d)
{
    for (size_t t = thread_number(); t < n * d; t += thread_count()) {
        size_t i = t / d, j = t % d;
        store_gradient((Number *)y.data + j * y.stride + i, add, real(((const Number *)x.data)[i * x.stride + j]));
    }
}

static __global__ void transpose_kernel(Strided y, bool add, Strided x, size_t n, size_t d)
{
    __shared__ Number tile[MOVE_TILE][MOVE_TILE + 1];
    size_t tiles = (d + MOVE_TILE - 1) / MOVE_TILE;
    size_t row = blockIdx.x / tiles * MOVE_TILE, column = blockIdx.x % tiles * MOVE_TILE;
    for (size_t r = threadIdx.y; r < MOVE_TILE; r += MOVE_ROWS)
        if (row + r < n && column + threadIdx.x < d)
            tile[r][threadIdx.x] = ((const Number *)x.data)[(row + r) * x.stride + column + threadIdx.x];
    __syncthreads();
    for (size_t r = threadIdx.y; r < MOVE_TILE; r += MOVE_ROWS)
        if (column + r < d && row + threadIdx.x < n)
            store_gradient((Number *)y.data + (column + r) * y.stride + row + threadIdx.x, add,
                           real(tile[threadIdx.x][r]));
}

static void move(Stream *s, Strided y, bool add, Strided x, size_t n, size_t d)
{
    LAUNCH_EACH(s, move_kernel, n * d, y, add, x, n, d);
}

static void transpose(Stream *s, Strided y, bool add, Strided x, size_t n, size_t d)
{
    if (s->naive)
        LAUNCH_EACH(s, transpose_naive, n * d, y, add, x, n, d);
    else if (n * d > 0)
        LAUNCH(s, transpose_kernel, (unsigned)(divide_up(n, MOVE_TILE) * divide_up(d, MOVE_TILE)),
               dim3(MOVE_TILE, MOVE_ROWS), y, add, x, n, d);
}
