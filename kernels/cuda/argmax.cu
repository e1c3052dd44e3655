/* The likeliest class: a warp for each position; of equal ones the first, NaN above all. See kernels/plain/argmax.c. */

static __global__ void argmax_kernel(int32_t *y, const float *logits, size_t n, size_t v)
{
    size_t i = warp_row();
    if (i >= n)
        return;
    const float *z = logits + i * v;
    size_t best = lane() < v ? lane() : 0;
    for (size_t j = lane(); j < v; j += LANES)
        if (above(z[j], z[best]))
            best = j;
    for (int away = LANES / 2; away > 0; away /= 2) {
        size_t other = __shfl_xor_sync(ALL_LANES, best, away);
        bool same = !above(z[other], z[best]) && !above(z[best], z[other]);
        if (above(z[other], z[best]) || (same && other < best))
            best = other;
    }
    if (lane() == 0)
        y[i] = (int32_t)best;
}

static void argmax(Stream *s, int32_t *y, const void *logits, size_t n, size_t v)
{
    LAUNCH_ROWS(s, argmax_kernel, n, y, (const float *)logits, n, v);
}
