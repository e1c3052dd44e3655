/* A linear map of every vector, with bias and ReLU. See kernels/plain/linear.c; products are matmul.cu's.
 *
 * dbias is a sum over all positions: sums.h takes it in a fixed order. The ladder of ReLU's gradient:
 *   1. relu_backward_kernel: a thread for each number of dy.
 *   2. (BiasTerm) the sum of dy for dbias applies it on the way. */

static __global__ void relu_backward_kernel(Number *dy, const Number *y, size_t n)
{
    for (size_t i = thread_number(); i < n; i += thread_count())
        if (!(real(y[i]) > 0))
            dy[i] = number(0);
}

/* y NULL: there is no ReLU. */
typedef struct BiasTerm {
    Number *dy;
    const Number *y;
    size_t out;
    __device__ float operator()(size_t i, size_t j) const
    {
        float gradient = real(dy[i * out + j]);
        return y && !(real(y[i * out + j]) > 0) ? 0 : gradient;
    }
    __device__ void keep(size_t i, size_t j, float x) const
    {
        if (y && x == 0)
            dy[i * out + j] = number(0);
    }
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
    bool apart = relu && (s->naive || !dbias);
    if (apart)
        LAUNCH_EACH(s, relu_backward_kernel, n * out, (Number *)dy, (const Number *)y, n * out);
    if (dbias)
        sum_columns(s, AddTo{(float *)dbias, NULL, out},
                    BiasTerm{(Number *)dy, relu && !apart ? (const Number *)y : NULL, out}, n, out);
    if (dx)
        multiply<Number>(s, Product{matrix(dx, in), matrix(dy, out), matrix(w, in), add, false, 1, NULL, 1, n, in, out},
                         1);
    if (dw)
        multiply<float>(
            s, Product{matrix(dw, in), transposed(dy, out), matrix(x, in), true, false, 1, NULL, 1, out, in, n}, 1);
}
