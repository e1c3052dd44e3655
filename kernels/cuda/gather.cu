/* Vectors by number. See kernels/plain/gather.c.
 *
 * The ladder of the backward pass:
 *   1. (here) a thread for each number of dx looks at all of index, and sums what is its own: no atomics, the order of
 *      positions, but N looks for each number. */

static __global__ void gather_kernel(Number *y, const Number *x, const int32_t *index, size_t n, size_t d)
{
    for (size_t t = thread_number(); t < n * d; t += thread_count()) {
        size_t i = t / d, j = t % d;
        y[t] = index[i] < 0 ? number(0) : x[(size_t)index[i] * d + j];
    }
}

static __global__ void gather_backward_kernel(Number *dx, bool add, const Number *dy, const int32_t *index, size_t n,
                                              size_t m, size_t d)
{
    for (size_t t = thread_number(); t < m * d; t += thread_count()) {
        size_t r = t / d, j = t % d;
        float sum = 0;
        for (size_t i = 0; i < n; i++)
            if (index[i] >= 0 && (size_t)index[i] == r)
                sum += real(dy[i * d + j]);
        give(&dx[t], add, sum);
    }
}

static void gather_forward(Stream *s, void *y, const void *x, const int32_t *index, size_t n, size_t d)
{
    LAUNCH_EACH(s, gather_kernel, n * d, (Number *)y, (const Number *)x, index, n, d);
}

static void gather_backward(Stream *s, void *dx, bool add, const void *dy, const int32_t *index, size_t n, size_t m,
                            size_t d)
{
    LAUNCH_EACH(s, gather_backward_kernel, m * d, (Number *)dx, add, (const Number *)dy, index, n, m, d);
}
