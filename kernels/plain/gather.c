/* Vectors by number: y[n] = x[index[n]]; backward adds each gradient to the vector it came from. */

static void gather_forward(Stream *s, void *y_, const void *x_, const int32_t *index, size_t n, size_t d)
{
    (void)s;
    const Number *x = x_;
    Number *y = y_;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            y[i * d + j] = index[i] < 0 ? number(0) : x[(size_t)index[i] * d + j];
}

static void gather_backward(Stream *s, void *dx_, const void *dy_, const int32_t *index, size_t n, size_t d)
{
    (void)s;
    const Number *dy = dy_;
    Number *dx = dx_;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; index[i] >= 0 && j < d; j++)
            give(&dx[(size_t)index[i] * d + j], true, real(dy[i * d + j]));
}
