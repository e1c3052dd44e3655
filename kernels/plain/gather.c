/* Vectors by number: y[n] = x[index[n]]. Backward: dx[m] (+)= the sum of all dy[n] with index[n] = m. */

static void gather_forward(Stream *s, void *y_, const void *x_, const int32_t *index, size_t n, size_t d)
{
    (void)s;
    const Number *x = x_;
    Number *y = y_;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            y[i * d + j] = index[i] < 0 ? number(0) : x[(size_t)index[i] * d + j];
}

static void gather_backward(Stream *s, void *dx_, bool add, const void *dy_, const int32_t *index, size_t n, size_t m,
                            size_t d)
{
    (void)s;
    const Number *dy = dy_;
    Number *dx = dx_;
    for (size_t r = 0; r < m; r++)
        for (size_t j = 0; j < d; j++) {
            Real sum = 0;
            for (size_t i = 0; i < n; i++)
                sum += index[i] >= 0 && (size_t)index[i] == r ? real(dy[i * d + j]) : 0;
            store_gradient(&dx[r * d + j], add, sum);
        }
}
