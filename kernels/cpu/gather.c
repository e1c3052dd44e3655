/* Vectors by number. See kernels/plain/gather.c, which the way forward is taken from. */

enum { NONE = -1 };

/* For each vector a chain of those that read it, in their order: first [M] and next [N] of it, or NONE. */
static void gather_backward(Stream *s, void *dx_, bool add, const void *dy_, const int32_t *index, size_t n, size_t m,
                            size_t d)
{
    const Number *dy = dy_;
    Number *dx = dx_;
    int32_t *first = m ? stream_scratch(s, (m + n) * sizeof *first) : NULL;
    if (!first)
        return;
    int32_t *next = first + m;
    for (size_t r = 0; r < m; r++)
        first[r] = NONE;
    for (size_t i = n; i-- > 0;)
        if (index[i] >= 0) {
            next[i] = first[index[i]];
            first[index[i]] = (int32_t)i;
        }
    for (size_t r = 0; r < m; r++, dx += d)
        for (size_t j = 0; j < d; j += WIDTH) {
            Vec sum = {0};
            for (int32_t i = first[r]; i != NONE; i = next[i])
                sum += load(dy + (size_t)i * d + j, d - j);
            store_gradient(dx + j, add, sum, d - j);
        }
}
