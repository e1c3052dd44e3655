/* Keys and values of positions that were read before: cache [rows, capacity, D], length [B]. See kernels/plain/cache.c.
 */

static __global__ void cache_lengths_kernel(int32_t *valid, const int32_t *length, const int32_t *start, size_t b)
{
    for (size_t r = thread_number(); r < b; r += thread_count())
        valid[r] = length[r] + start[r + 1] - start[r];
}

/* A block for each row: how many positions it has, only the device knows. */
static __global__ void cache_append_kernel(Number *cache, const int32_t *length, size_t capacity, Strided x,
                                           const int32_t *start, size_t d)
{
    size_t r = blockIdx.x, first = (size_t)start[r], count = (size_t)(start[r + 1] - start[r]);
    for (size_t t = threadIdx.x; t < count * d; t += blockDim.x)
        cache[(r * capacity + (size_t)length[r]) * d + t] =
            ((const Number *)x.data)[(first + t / d) * x.stride + t % d];
}

static void cache_lengths(Stream *s, int32_t *valid, const int32_t *length, const int32_t *start, size_t b)
{
    LAUNCH_EACH(s, cache_lengths_kernel, b, valid, length, start, b);
}

static void cache_append(Stream *s, void *cache, const int32_t *length, size_t capacity, Strided x,
                         const int32_t *start, size_t b, size_t d)
{
    if (b > 0)
        LAUNCH(s, cache_append_kernel, (unsigned)b, BLOCK, (Number *)cache, length, capacity, x, start, d);
}
