/* Vectors by number. See kernels/plain/gather.c.
 *
 * The ladder of the backward pass:
 *   1. gather_backward_naive: a thread for each number of dx looks at all of index, and sums what is its own: no
 *      atomics, the order of positions, but N looks for each number.
 *   2. positions in the order of the vectors that they read (order.cu): a warp for each of those and 32 columns. */

static __global__ void gather_kernel(Number *y, const Number *x, const int32_t *index, size_t n, size_t d)
{
    for (size_t t = thread_number(); t < n * d; t += thread_count()) {
        size_t i = t / d, j = t % d;
        y[t] = index[i] < 0 ? number(0) : x[(size_t)index[i] * d + j];
    }
}

static __global__ void gather_backward_naive(Number *dx, bool add, const Number *dy, const int32_t *index, size_t n,
                                             size_t m, size_t d)
{
    for (size_t t = thread_number(); t < m * d; t += thread_count()) {
        size_t r = t / d, j = t % d;
        float sum = 0;
        for (size_t i = 0; i < n; i++)
            if (index[i] >= 0 && (size_t)index[i] == r)
                sum += real(dy[i * d + j]);
        store_gradient(&dx[t], add, sum);
    }
}

typedef struct GatherTerm {
    const Number *dy;
    size_t d;
    __device__ float operator()(size_t i, size_t j) const { return real(dy[i * d + j]); }
} GatherTerm;

typedef struct GatherSum {
    Number *dx;
    bool add;
    size_t d;
    __device__ void operator()(size_t row, size_t j, float sum) const { store_gradient(&dx[row * d + j], add, sum); }
} GatherSum;

static void gather_forward(Stream *s, void *y, const void *x, const int32_t *index, size_t n, size_t d)
{
    LAUNCH_EACH(s, gather_kernel, n * d, (Number *)y, (const Number *)x, index, n, d);
}

static void gather_backward(Stream *s, void *dx, bool add, const void *dy, const int32_t *index, size_t n, size_t m,
                            size_t d)
{
    if (s->naive) {
        LAUNCH_EACH(s, gather_backward_naive, m * d, (Number *)dx, add, (const Number *)dy, index, n, m, d);
        return;
    }
    Sorting rows = sorting(Used{index, index}, (int32_t *)scratch(s, order_bytes(n)), n);
    if (!add)
        zero(s, dx, m * d * sizeof(Number)); /* vectors that no index names */
    sort_positions(s, rows, rows, 1, n);
    add_used(s, rows, GatherTerm{(const Number *)dy, d}, GatherSum{(Number *)dx, add, d}, n, d);
}
