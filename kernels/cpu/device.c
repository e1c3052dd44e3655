/* The device of this backend is this processor, and operations are over when they return. What moves numbers without
 * computing, and clip, which sums a few partial sums, are plain's: there is nothing to be made faster. */

static void *device_allocate(size_t bytes) { return memory_get(bytes, 1); }

static void device_copy(Stream *s, void *to, const void *from, size_t bytes)
{
    (void)s;
    if (bytes)
        memcpy(to, from, bytes);
}

static void device_zero(Stream *s, void *to, size_t bytes)
{
    (void)s;
    if (bytes)
        memset(to, 0, bytes);
}

static void cache_lengths(Stream *s, int32_t *valid, const int32_t *length, const int32_t *start, size_t b)
{
    PLAIN.cache_lengths(s, valid, length, start, b);
}

static void cache_append(Stream *s, void *cache, const int32_t *length, size_t capacity, Strided x,
                         const int32_t *start, size_t b, size_t d)
{
    PLAIN.cache_append(s, cache, length, capacity, x, start, b, d);
}

static void gather_lengths(Stream *s, int32_t *y, const int32_t *length, const int32_t *order, size_t b)
{
    PLAIN.gather_lengths(s, y, length, order, b);
}

static void clip(Stream *s, StepState *state, const double *parts, size_t count, double max_norm)
{
    PLAIN.clip(s, state, parts, count, max_norm);
}
