/* Products of matrices: c (+)= alpha a b, with bias and ReLU if asked, for each outer and inner.
 *
 * Ours, in f32 for each type. The ladder:
 *   1. product_naive: a thread for each element of c walks a row of a and a column of b. Each number of a and b comes
 *      from memory as often as c is wide or high.
 *   2. (product_tiled) a block makes a tile of TILE x TILE elements. Its threads carry slices of a and b, DEPTH deep,
 * to shared memory together, and read them there TILE times.
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
} Product;

/* Of the batch's matrix number `which`: element (i, j). */
template <class T> __device__ T *element_at(const Operand &x, size_t which, size_t inner, size_t i, size_t j)
{
    return (T *)x.data + which / inner * x.outer + which % inner * x.inner + i * x.row + j * x.column;
}

template <class C> __device__ void product_give(const Product &p, size_t which, size_t i, size_t j, float sum)
{
    sum = p.alpha * sum + (p.bias ? p.bias[j] : 0);
    if (p.relu && sum < 0) /* NaN stays */
        sum = 0;
    give(element_at<C>(p.c, which, p.inner, i, j), p.add, sum);
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
        product_give<C>(p, which, i, j, sum);
    }
}

/* A slice to shared memory: slice[l][i] = x(first + i, from + l), zeros behind its ends. Neighbours in a warp read
 * neighbours in memory, along rows or down columns, as x lies. */
static __device__ void load_slice(float slice[DEPTH][TILE + 1], const Operand &x, size_t which, size_t inner,
                                  size_t first, size_t rows, size_t from, size_t k)
{
    for (unsigned t = threadIdx.x; t < TILE * DEPTH; t += blockDim.x) {
        unsigned i = x.column == 1 ? t / DEPTH : t % TILE, l = x.column == 1 ? t % DEPTH : t / TILE;
        bool inside = first + i < rows && from + l < k;
        slice[l][i] = inside ? real(*element_at<const Number>(x, which, inner, first + i, from + l)) : 0;
    }
}

static __device__ Operand turned(Operand x)
{
    size_t row = x.row;
    x.row = x.column;
    x.column = row;
    return x;
}

/* ACROSS^2 threads, one in a row for each SIDE columns and each SIDE rows of the tile. */
template <class C> __global__ void product_tiled(Product p)
{
    __shared__ float a[DEPTH][TILE + 1], b[DEPTH][TILE + 1];
    size_t across = (p.n + TILE - 1) / TILE, down = (p.m + TILE - 1) / TILE, which = blockIdx.x / (across * down);
    size_t row = blockIdx.x / across % down * TILE, column = blockIdx.x % across * TILE;
    unsigned i0 = threadIdx.x / ACROSS, j0 = threadIdx.x % ACROSS;
    float sum[SIDE][SIDE] = {};
    for (size_t from = 0; from < p.k; from += DEPTH) {
        load_slice(a, p.a, which, p.inner, row, p.m, from, p.k);
        load_slice(b, turned(p.b), which, p.inner, column, p.n, from, p.k);
        __syncthreads();
        float part[SIDE][SIDE] = {};
        for (unsigned l = 0; l < DEPTH; l++)
            for (unsigned i = 0; i < SIDE; i++)
                for (unsigned j = 0; j < SIDE; j++)
                    part[i][j] += a[l][i0 + i * ACROSS] * b[l][j0 + j * ACROSS];
        for (unsigned i = 0; i < SIDE; i++)
            for (unsigned j = 0; j < SIDE; j++)
                sum[i][j] += part[i][j];
        __syncthreads(); /* before the next slice comes */
    }
    for (unsigned i = 0; i < SIDE; i++)
        for (unsigned j = 0; j < SIDE; j++)
            if (row + i0 + i * ACROSS < p.m && column + j0 + j * ACROSS < p.n)
                product_give<C>(p, which, row + i0 + i * ACROSS, column + j0 + j * ACROSS, sum[i][j]);
}

/* C: what c is made of, numbers or reals. */
template <class C> static void multiply(Stream *s, const Product &p, size_t outer)
{
    size_t batch = outer * p.inner, count = batch * p.m * p.n;
    if (count == 0)
        return;
    if (s->naive)
        LAUNCH_EACH(s, product_naive<C>, count, p, count);
    else
        LAUNCH(s, product_tiled<C>, (unsigned)(batch * divide_up(p.m, TILE) * divide_up(p.n, TILE)), ACROSS * ACROSS,
               p);
}

/* A matrix that lies in one piece: [rows, columns], or that one transposed. */
static Operand matrix(const void *data, size_t columns) { return Operand{(void *)data, 0, 0, columns, 1}; }
static Operand transposed(const void *data, size_t columns) { return Operand{(void *)data, 0, 0, 1, columns}; }

static void product(Stream *s, Operand c, bool add, Operand a, Operand b, double alpha, size_t outer, size_t inner,
                    size_t m, size_t n, size_t k)
{
    multiply<Number>(s, Product{c, a, b, add, false, (float)alpha, NULL, inner, m, n, k}, outer);
}
