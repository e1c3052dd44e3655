/* The product of two tensors, element by element: a thread for each. See kernels/plain/mul.c. */

static __global__ void mul_kernel(Number *y, const Number *a, const Number *b, size_t n)
{
    for_each(
        n, [&](size_t i) { return real(a[i]) * real(b[i]); }, [&](size_t i, float product) { y[i] = number(product); });
}

static __global__ void mul_backward_kernel(Number *da, bool add_a, Number *db, bool add_b, const Number *dy,
                                           const Number *a, const Number *b, size_t n)
{
    for (size_t i = thread_number(); i < n; i += thread_count()) {
        if (da)
            store_gradient(&da[i], add_a, real(dy[i]) * real(b[i]));
        if (db)
            store_gradient(&db[i], add_b, real(dy[i]) * real(a[i]));
    }
}

static void mul_forward(Stream *s, void *y, const void *a, const void *b, size_t n)
{
    LAUNCH_EACH(s, mul_kernel, n, (Number *)y, (const Number *)a, (const Number *)b, n);
}

static void mul_backward(Stream *s, void *da, bool add_a, void *db, bool add_b, const void *dy, const void *a,
                         const void *b, size_t n)
{
    LAUNCH_EACH(s, mul_backward_kernel, n, (Number *)da, add_a, (Number *)db, add_b, (const Number *)dy,
                (const Number *)a, (const Number *)b, n);
}
