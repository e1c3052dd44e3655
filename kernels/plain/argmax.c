/* The likeliest class: y[n] = the first j with the largest logits[n][j]. */

static void argmax(Stream *s, int32_t *y, const void *logits, size_t n, size_t v)
{
    (void)s;
    const Real *z = logits;
    for (size_t i = 0; i < n; i++, z += v) {
        y[i] = 0;
        for (size_t j = 1; j < v; j++)
            if (above(z[j], z[y[i]]))
                y[i] = (int32_t)j;
    }
}
