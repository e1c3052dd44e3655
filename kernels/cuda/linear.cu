/* A linear map of every vector, with bias and ReLU. See kernels/plain/linear.c; products are matmul.cu's.
 *
 * dbias is a sum over all positions: sums.h takes it in a fixed order. */

static __global__ void relu_backward_kernel(Number *dy, const Number *y, size_t n)
{
    for (size_t i = thread_number(); i < n; i += thread_count())
        if (!(real(y[i]) > 0))
            dy[i] = number(0);
}

typedef struct BiasTerm {
    const Number *dy;
    size_t out;
    __device__ float operator()(size_t i, size_t j) const { return real(dy[i * out + j]); }
} BiasTerm;

static void linear_forward(Stream *s, void *y, bool real_output, const void *x, const void *w, const void *bias,
                           bool relu, size_t n, size_t in, size_t out)
{
    Product p = {matrix(y, out), matrix(x, in), transposed(w, in), false, relu, 1, (const float *)bias, 1, n, out, in};
    if (real_output)
        multiply<float>(s, p, 1);
    else
        multiply<Number>(s, p, 1);
}

static void linear_backward(Stream *s, void *dx, bool add, void *dw, void *dbias, void *dy, const void *y,
                            const void *x, const void *w, bool relu, size_t n, size_t in, size_t out)
{
    if (relu)
        LAUNCH_EACH(s, relu_backward_kernel, n * out, (Number *)dy, (const Number *)y, n * out);
    if (dx)
        multiply<Number>(s, Product{matrix(dx, in), matrix(dy, out), matrix(w, in), add, false, 1, NULL, 1, n, in, out},
                         1);
    if (dw)
        multiply<float>(
            s, Product{matrix(dw, in), transposed(dy, out), matrix(x, in), true, false, 1, NULL, 1, out, in, n}, 1);
    if (dbias)
        add_column_sums(s, (float *)dbias, BiasTerm{(const Number *)dy, out}, n, out);
}
