/* Keys and values of positions that were read before: cache [rows, capacity, D], length [B]. */

static void cache_lengths(Stream *s, int32_t *valid, const int32_t *length, const int32_t *start, size_t b)
{
    (void)s;
    for (size_t r = 0; r < b; r++)
        valid[r] = length[r] + start[r + 1] - start[r];
}

static void cache_append(Stream *s, void *cache_, const int32_t *length, size_t capacity, Strided x_,
                         const int32_t *start, size_t b, size_t d)
{
    (void)s;
    const Number *x = x_.data;
    Number *cache = cache_;
    for (size_t r = 0; r < b; r++) {
        size_t first = (size_t)start[r], count = (size_t)(start[r + 1] - start[r]);
        for (size_t i = 0; i < count; i++)
            memcpy(cache + (r * capacity + (size_t)length[r] + i) * d, x + (first + i) * x_.stride, d * sizeof *x);
    }
}
