/* A row of vectors as one: its first, their mean, or the largest of each column. See kernels/plain/pool.c.
 *
 * There is one step: a thread for each column of each row walks down it; neighbours read neighbours. */

/* NaN is above all, so that no number hides one. */
static __device__ bool above(float x, float y) { return x > y || (x != x && y == y); }

static __global__ void pool_kernel(Number *y, int32_t *which, const Number *x, Pooling how, const int32_t *start,
                                   size_t b, size_t d)
{
    for (size_t t = thread_number(); t < b * d; t += thread_count()) {
        size_t r = t / d, j = t % d, first = (size_t)start[r], end = (size_t)start[r + 1], at = first;
        float sum = 0;
        for (size_t i = first; how != POOLING_FIRST && i < end; i++) {
            sum += real(x[i * d + j]);
            if (how == POOLING_MAX && above(real(x[i * d + j]), real(x[at * d + j])))
                at = i;
        }
        if (first == end)
            y[t] = number(0);
        else
            y[t] = how == POOLING_MEAN ? number(sum / (float)(end - first)) : x[at * d + j];
        if (how == POOLING_MAX)
            which[t] = first == end ? -1 : (int32_t)at;
    }
}

static __global__ void pool_backward_kernel(Number *dx, bool add, const Number *dy, const int32_t *which, Pooling how,
                                            const int32_t *start, size_t b, size_t d)
{
    for (size_t t = thread_number(); t < b * d; t += thread_count()) {
        size_t r = t / d, j = t % d, first = (size_t)start[r], end = (size_t)start[r + 1];
        size_t source = how == POOLING_MAX && first < end ? (size_t)which[t] : first;
        float mean = real(dy[t]) / (float)(end - first);
        for (size_t i = first; i < end; i++)
            store_gradient(&dx[i * d + j], add, how == POOLING_MEAN ? mean : i == source ? real(dy[t]) : 0);
    }
}

/* Positions of no row. */
static __global__ void pool_behind_kernel(Number *dx, const int32_t *start, size_t b, size_t n, size_t d)
{
    for (size_t t = (size_t)start[b] * d + thread_number(); t < n * d; t += thread_count())
        dx[t] = number(0);
}

static void pool_forward(Stream *s, void *y, int32_t *which, const void *x, Pooling how, const int32_t *start, size_t b,
                         size_t d)
{
    LAUNCH_EACH(s, pool_kernel, b * d, (Number *)y, which, (const Number *)x, how, start, b, d);
}

static void pool_backward(Stream *s, void *dx, bool add, const void *dy, const int32_t *which, Pooling how,
                          const int32_t *start, size_t b, size_t n, size_t d)
{
    LAUNCH_EACH(s, pool_backward_kernel, b * d, (Number *)dx, add, (const Number *)dy, which, how, start, b, d);
    if (!add)
        LAUNCH_EACH(s, pool_behind_kernel, n * d, (Number *)dx, start, b, n, d);
}
