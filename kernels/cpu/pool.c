/* Pooling, a vector of columns at a time. See kernels/plain/pool.c. */

static void pool_forward(Stream *s, void *y_, int32_t *which, const void *x_, Pooling how, const int32_t *start,
                         size_t b, size_t d)
{
    (void)s;
    const Number *x = x_;
    Number *y = y_;
    for (size_t r = 0; r < b; r++)
        for (size_t j = 0; j < d; j += WIDTH) {
            int32_t first = start[r], end = start[r + 1];
            Vec all = {0};
            IVec at = (IVec){0} + (first < end ? first : -1);
            if (first < end)
                all = load(x + (size_t)first * d + j, d - j);
            for (int32_t i = first + 1; how != POOLING_FIRST && i < end; i++) {
                Vec next = load(x + (size_t)i * d + j, d - j);
                IVec above = (next > all) | ((next != next) & (all == all));
                all = how == POOLING_MEAN ? all + next : vec_select(above, next, all);
                at = (above & i) | (~above & at);
            }
            if (how == POOLING_MEAN && first < end)
                all /= (float)(end - first);
            store(y + r * d + j, all, d - j);
            if (how == POOLING_MAX)
                memcpy(which + r * d + j, &at, (d - j < WIDTH ? d - j : WIDTH) * sizeof *which);
        }
}

static void pool_backward(Stream *s, void *dx_, bool add, const void *dy_, const int32_t *which, Pooling how,
                          const int32_t *start, size_t b, size_t n, size_t d)
{
    (void)s;
    const Number *dy = dy_;
    Number *dx = dx_;
    for (size_t r = 0; r < b; r++)
        for (size_t j = 0; j < d; j += WIDTH) {
            int32_t first = start[r], end = start[r + 1];
            IVec at = (IVec){0} + first;
            Vec given = load(dy + r * d + j, d - j);
            if (how == POOLING_MEAN)
                given /= (float)(end - first);
            if (how == POOLING_MAX)
                memcpy(&at, which + r * d + j, (d - j < WIDTH ? d - j : WIDTH) * sizeof *which);
            for (int32_t i = first; i < end; i++) {
                Vec share = how == POOLING_MEAN ? given : vec_select(at == i, given, vec_set(0));
                store_gradient(dx + (size_t)i * d + j, add, share, d - j);
            }
        }
    if (!add && (size_t)start[b] < n)
        memset(dx + (size_t)start[b] * d, 0, (n - (size_t)start[b]) * d * sizeof *dx);
}
