/* Products of matrices: c (+)= alpha a b, with bias and ReLU if asked, for each outer and inner.
 *
 * By cuBLAS (blas.cu) where it is there and the operands are laid out as it can read them, each along rows or down
 * columns; bias and ReLU come after then. Else by ours, in f32 for each type. The ladder:
 *   1. product_naive: a thread for each element of c walks a row of a and a column of b. Each number of a and b comes
 *      from memory as often as c is wide or high.
 *   2. (product_tiled) a block makes a tile of TILE x TILE elements. Its threads carry slices of a and b, DEPTH deep,
 *      to shared memory together, and read them there TILE times.
 *   3. (also there) each thread makes SIDE x SIDE elements in registers: of 2 SIDE numbers that it reads from shared
 *      memory it makes SIDE^2 products, so that reading no longer is the limit.
 *
 * Sums are taken slice by slice, which also keeps their rounding small. */

constexpr unsigned TILE = 64, DEPTH = 16, SIDE = 4, ACROSS = TILE / SIDE;

/* Where the operands are, and how large: c [m,n], a [m,k], b [k,n]. */
typedef struct Product {
    Operand c, a, b;
    bool add, relu;
    float alpha;
    const float *bias; /* [n] or NULL */
    size_t inner, m, n, k;
    bool tf32 = false; /* of the stand-in for cuBLAS: what it reads is rounded so */
} Product;

/* To nearest, ties to even, with 10 bits of fraction; what is not finite stays. */
static __device__ float rounded(float x, bool tf32)
{
    unsigned bits = __float_as_uint(x);
    if (!tf32 || (bits & 0x7f800000u) == 0x7f800000u)
        return x;
    return __uint_as_float((bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu);
}

/* Of the batch's matrix number `which`: element (i, j). */
template <class T> __device__ T *element_at(const Operand &x, size_t which, size_t inner, size_t i, size_t j)
{
    return (T *)x.data + which / inner * x.outer + which % inner * x.inner + i * x.row + j * x.column;
}

template <class C> __device__ void product_store(const Product &p, size_t which, size_t i, size_t j, float sum)
{
    sum = p.alpha * sum + (p.bias ? p.bias[j] : 0);
    if (p.relu && sum < 0) /* NaN stays */
        sum = 0;
    store_gradient(element_at<C>(p.c, which, p.inner, i, j), p.add, sum);
}

template <class C> __global__ void product_naive(Product p, size_t count)
{
    for (size_t t = thread_number(); t < count; t += thread_count()) {
        size_t which = t / (p.m * p.n), i = t / p.n % p.m, j = t % p.n;
        float sum = 0;
        for (size_t from = 0; from < p.k; from += DEPTH) {
            float part = 0;
            for (size_t l = from; l < from + DEPTH && l < p.k; l++)
                part += real(*element_at<const Number>(p.a, which, p.inner, i, l)) *
                        real(*element_at<const Number>(p.b, which, p.inner, l, j));
            sum += part;
        }
        product_store<C>(p, which, i, j, sum);
    }
}

/* A slice to shared memory: slice[l][i] = x(first + i, from + l), zeros after its ends. Neighbours in a warp read
 * neighbours in memory, along rows or down columns, as x is stored. */
static __device__ void load_slice(float slice[DEPTH][TILE + 1], const Operand &x, size_t which, size_t inner,
                                  size_t first, size_t rows, size_t from, size_t k, bool tf32)
{
    for (unsigned t = threadIdx.x; t < TILE * DEPTH; t += blockDim.x) {
        unsigned i = x.column == 1 ? t / DEPTH : t % TILE, l = x.column == 1 ? t % DEPTH : t / TILE;
        bool inside = first + i < rows && from + l < k;
        slice[l][i] = inside ? rounded(real(*element_at<const Number>(x, which, inner, first + i, from + l)), tf32) : 0;
    }
}

static __host__ __device__ Operand transpose(Operand x)
{
    size_t row = x.row;
    x.row = x.column;
    x.column = row;
    return x;
}

/* The tile of c that begins at a row and a column of matrix number `which`, by ACROSS^2 threads, one in a row for each SIDE
 * columns and each SIDE rows of the tile. */
template <class C> __device__ inline void product_tile(const Product &p, size_t which, size_t row, size_t column)
{
    __shared__ float a[DEPTH][TILE + 1], b[DEPTH][TILE + 1];
    unsigned i0 = threadIdx.x / ACROSS, j0 = threadIdx.x % ACROSS;
    float sum[SIDE][SIDE] = {};
    for (size_t from = 0; from < p.k; from += DEPTH) {
        load_slice(a, p.a, which, p.inner, row, p.m, from, p.k, p.tf32);
        load_slice(b, transpose(p.b), which, p.inner, column, p.n, from, p.k, p.tf32);
        __syncthreads();
        float part[SIDE][SIDE] = {};
#pragma unroll
        for (unsigned l = 0; l < DEPTH; l++)
#pragma unroll
            for (unsigned i = 0; i < SIDE; i++)
#pragma unroll
                for (unsigned j = 0; j < SIDE; j++)
                    part[i][j] += a[l][i0 + i * ACROSS] * b[l][j0 + j * ACROSS];
#pragma unroll
        for (unsigned i = 0; i < SIDE; i++)
#pragma unroll
            for (unsigned j = 0; j < SIDE; j++)
                sum[i][j] += part[i][j];
        __syncthreads(); /* before the next slice comes */
    }
#pragma unroll
    for (unsigned i = 0; i < SIDE; i++)
#pragma unroll
        for (unsigned j = 0; j < SIDE; j++)
            if (row + i0 + i * ACROSS < p.m && column + j0 + j * ACROSS < p.n)
                product_store<C>(p, which, row + i0 + i * ACROSS, column + j0 + j * ACROSS, sum[i][j]);
}

template <class C> __global__ void product_tiled(Product p)
{
    size_t across = (p.n + TILE - 1) / TILE, down = (p.m + TILE - 1) / TILE;
    product_tile<C>(p, blockIdx.x / (across * down), blockIdx.x / across % down * TILE, blockIdx.x % across * TILE);
}

template <class C> static void product_by_tiles(Stream *s, const Product &p, size_t batch)
{
    LAUNCH(s, product_tiled<C>, (unsigned)(batch * divide_up(p.m, TILE) * divide_up(p.n, TILE)), ACROSS * ACROSS, p);
}

/* A matrix that is in one piece: [rows, columns], or that one transposed. */
static Operand matrix(const void *data, size_t columns) { return Operand{(void *)data, 0, 0, columns, 1}; }
static Operand transposed(const void *data, size_t columns) { return Operand{(void *)data, 0, 0, 1, columns}; }

/* ---- by cuBLAS */

/* One operand as a matrix down columns. */
typedef struct Columns {
    bool transposed, fits;
    int next;
} Columns;

/* x [rows, columns] down columns; transposed, where it is along rows. */
static Columns columns_of(const Operand &x, size_t rows, size_t columns)
{
    bool down = x.row == 1 && (columns == 1 || x.column >= rows);
    size_t next = down ? x.column : x.row, least = down ? rows : columns;
    next = (down ? columns : rows) == 1 ? least : next; /* there is no next one */
    return Columns{!down, (down || x.column == 1) && next >= least && next <= INT_MAX, (int)next};
}

/* The matrices of a batch are apart by one distance, which is the inner one where outer continues after inner. */
static bool evenly(const Operand &x, size_t outer, size_t inner)
{
    return outer == 1 || inner == 1 || x.outer == inner * x.inner;
}

static long long apart(const Operand &x, size_t inner) { return (long long)(inner == 1 ? x.outer : x.inner); }

#ifdef __CUDACC__
template <class C> static void gemm(Stream *s, const Gemm &g)
{
    int status = blas_gemm(&s->blas, g);
    if (status != 0 && !s->failed) {
        s->failed = true;
        fail(&s->error,
             "cublasGemmStridedBatchedEx: a product of [%d,%d] and [%d,%d] gives status %d (%s:%d); "
             "ATTEND_KERNELS=own does without cuBLAS",
             g.m, g.k, g.k, g.n, status, __FILE__, __LINE__);
    }
}
#else
template <class C> static void gemm(Stream *s, const Gemm &g)
{
    Operand a = {(void *)g.a, 0, (size_t)g.a_apart, g.transpose_a ? (size_t)g.a_next : 1,
                 g.transpose_a ? 1 : (size_t)g.a_next};
    Operand b = {(void *)g.b, 0, (size_t)g.b_apart, g.transpose_b ? (size_t)g.b_next : 1,
                 g.transpose_b ? 1 : (size_t)g.b_next};
    Operand c = {g.c, 0, (size_t)g.c_apart, 1, (size_t)g.c_next};
    Product p = {c,           a,           b,           g.beta > 0, false, g.alpha, NULL, (size_t)g.count,
                 (size_t)g.m, (size_t)g.n, (size_t)g.k, g.tf32};
    product_by_tiles<C>(s, p, (size_t)g.count);
}
#endif

/* c = sums + bias, ReLU; sums [m,n], and where they are c itself, in its place. A warp for each row, so that no
 * thread divides; a lane asks for several numbers before it writes the first. */
template <class C>
__global__ void bias_relu_kernel(Operand c, const float *sums, size_t row, const float *bias, bool relu, size_t m,
                                 size_t n)
{
    constexpr unsigned together = 4;
    size_t i = warp_row();
    for (size_t from = lane(); i < m && from < n; from += together * LANES) {
        float sum[together];
#pragma unroll
        for (unsigned u = 0; u < together; u++) {
            size_t j = from + u * LANES;
            sum[u] = j < n ? sums[i * row + j] + (bias ? bias[j] : 0) : 0;
        }
#pragma unroll
        for (unsigned u = 0; u < together; u++)
            if (from + u * LANES < n) /* NaN stays */
                store_gradient((C *)c.data + i * c.row + from + u * LANES, false, relu && sum[u] < 0 ? 0 : sum[u]);
    }
}

template <class C> static bool product_by_blas(Stream *s, const Product &p, size_t outer);

/* The product as reals, and what comes after it: rounded once, or what is near 0 might come out on its other side.
 */
template <class C> static bool product_and_behind(Stream *s, const Product &p, size_t outer)
{
    bool in_place = sizeof(C) == sizeof(float);
    Product sums = p;
    sums.bias = NULL;
    sums.relu = false;
    if (!in_place)
        sums.c = matrix(scratch(s, p.m * p.n * sizeof(float)), p.n);
    if (p.add || outer * p.inner > 1 || p.c.column != 1 || (sums.c.data && !product_by_blas<float>(s, sums, outer)))
        return false;
    if (sums.c.data)
        LAUNCH_ROWS(s, bias_relu_kernel<C>, p.m, p.c, (const float *)sums.c.data, sums.c.row, p.bias, p.relu, p.m, p.n);
    return true;
}

/* False: it is nothing for cuBLAS. What is along rows is, down columns, the transposed matrix: c^T = b^T a^T. */
template <class C> static bool product_by_blas(Stream *s, const Product &p, size_t outer)
{
    size_t batch = outer * p.inner;
    if (p.bias || p.relu)
        return !s->own && product_and_behind<C>(s, p, outer);
    if (p.c.column != 1 && p.c.row == 1) {
        Product by_columns = p;
        by_columns.c = transpose(p.c);
        by_columns.a = transpose(p.b);
        by_columns.b = transpose(p.a);
        by_columns.m = p.n;
        by_columns.n = p.m;
        return by_columns.c.column == 1 && product_by_blas<C>(s, by_columns, outer);
    }
    Columns a = columns_of(transpose(p.a), p.k, p.m), b = columns_of(transpose(p.b), p.n, p.k);
    Columns c = columns_of(transpose(p.c), p.n, p.m);
    if (s->own || p.k == 0 || !a.fits || !b.fits || !c.fits || c.transposed || p.m > INT_MAX || p.n > INT_MAX ||
        p.k > INT_MAX || batch > UINT16_MAX || !evenly(p.a, outer, p.inner) || !evenly(p.b, outer, p.inner) ||
        !evenly(p.c, outer, p.inner) || !blas_there(&s->blas, s->queue, &s->failed, &s->error))
        return false;
    Gemm g = {};
    g.a = p.b.data, g.b = p.a.data, g.c = p.c.data;
    g.transpose_a = b.transposed, g.transpose_b = a.transposed;
    g.a_next = b.next, g.b_next = a.next, g.c_next = c.next;
    g.a_apart = apart(p.b, p.inner), g.b_apart = apart(p.a, p.inner), g.c_apart = apart(p.c, p.inner);
    g.m = (int)p.n, g.n = (int)p.m, g.k = (int)p.k, g.count = (int)batch;
    g.real_c = sizeof(C) == sizeof(float);
    g.tf32 = s->tf32;
    g.alpha = p.alpha, g.beta = p.add ? 1 : 0;
    gemm<C>(s, g);
    return true;
}

/* C: what c is made of, numbers or reals. */
template <class C> static void multiply(Stream *s, const Product &p, size_t outer)
{
    size_t batch = outer * p.inner, count = batch * p.m * p.n;
    if (count == 0)
        return;
    if (s->naive)
        LAUNCH_EACH(s, product_naive<C>, count, p, count);
    else if (!product_by_blas<C>(s, p, outer))
        product_by_tiles<C>(s, p, batch);
}

static void product(Stream *s, Operand c, bool add, Operand a, Operand b, double alpha, size_t outer, size_t inner,
                    size_t m, size_t n, size_t k)
{
    multiply<Number>(s, Product{c, a, b, add, false, (float)alpha, NULL, inner, m, n, k}, outer);
}
