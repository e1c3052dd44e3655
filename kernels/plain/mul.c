/* The product of two tensors, element by element: y = a b, da = dy b, db = dy a. */

static void mul_forward(Stream *s, void *y_, const void *a_, const void *b_, size_t n)
{
    (void)s;
    const Number *a = a_, *b = b_;
    Number *y = y_;
    for (size_t i = 0; i < n; i++)
        y[i] = number(real(a[i]) * real(b[i]));
}

static void mul_backward(Stream *s, void *da_, bool add_a, void *db_, bool add_b, const void *dy_, const void *a_,
                         const void *b_, size_t n)
{
    (void)s;
    const Number *dy = dy_, *a = a_, *b = b_;
    Number *da = da_, *db = db_;
    for (size_t i = 0; i < n; i++) {
        if (da)
            store_gradient(&da[i], add_a, real(dy[i]) * real(b[i]));
        if (db)
            store_gradient(&db[i], add_b, real(dy[i]) * real(a[i]));
    }
}
