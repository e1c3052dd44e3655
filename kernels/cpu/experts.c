/* Linear maps of experts, one product each. See kernels/plain/experts.c, which the rest is taken from. */

/* Of expert e: its slots, as rows of a matrix that is so wide, and its weights. */
static Number *slots_of(const void *rows, const int32_t *start, size_t e, size_t width)
{
    return (Number *)(uintptr_t)rows + (size_t)start[e] * width;
}

static void experts_forward(Stream *s, void *y, const void *x, const void *w, const int32_t *start, size_t m, size_t in,
                            size_t out, size_t experts)
{
    (void)m;
    for (size_t e = 0; e < experts; e++)
        if (start[e + 1] > start[e])
            linear_forward(s, slots_of(y, start, e, out), false, slots_of(x, start, e, in),
                           (const Number *)w + e * out * in, NULL, false, (size_t)(start[e + 1] - start[e]), in, out);
}

static void experts_backward(Stream *s, void *dx, bool add, void *dw, void *dy, const void *x, const void *w,
                             const int32_t *start, size_t m, size_t in, size_t out, size_t experts)
{
    (void)m;
    for (size_t e = 0; e < experts; e++)
        if (start[e + 1] > start[e])
            linear_backward(s, dx ? slots_of(dx, start, e, in) : NULL, add, dw ? (float *)dw + e * out * in : NULL,
                            NULL, slots_of(dy, start, e, out), NULL, slots_of(x, start, e, in),
                            (const Number *)w + e * out * in, false, (size_t)(start[e + 1] - start[e]), in, out);
}
