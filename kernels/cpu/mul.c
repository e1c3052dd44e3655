/* The product of two tensors, a vector at a time. See kernels/plain/mul.c. */

static void mul_forward(Stream *s, void *y_, const void *a_, const void *b_, size_t n)
{
    (void)s;
    const Number *a = a_, *b = b_;
    Number *y = y_;
    for (size_t i = 0; i < n; i += WIDTH)
        store(y + i, load(a + i, n - i) * load(b + i, n - i), n - i);
}

static void mul_backward(Stream *s, void *da_, bool add_a, void *db_, bool add_b, const void *dy_, const void *a_,
                         const void *b_, size_t n)
{
    (void)s;
    const Number *dy = dy_, *a = a_, *b = b_;
    Number *da = da_, *db = db_;
    for (size_t i = 0; i < n; i += WIDTH) {
        Vec gradient = load(dy + i, n - i);
        if (da)
            store_gradient(da + i, add_a, gradient * load(b + i, n - i), n - i);
        if (db)
            store_gradient(db + i, add_b, gradient * load(a + i, n - i), n - i);
    }
}
