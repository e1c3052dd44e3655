/* A linear map of every vector, with bias and, if asked, ReLU in the same pass.
 *
 *     y = x w^T + bias        y[n,o] = sum over i of x[n,i] w[o,i] + bias[o]
 *
 * Backward:  dx = dy w,  dw += dy^T x,  dbias += sum over n of dy.  Of ReLU: dy counts where y > 0.
 *
 * The loops are in the order that walks memory forwards, in blocks that stay in registers: as fast as loops get
 * without hiding the formula. */

enum { BLOCK = 32 }; /* sums held at once */

/* Partial sums, because one running sum would have to wait for itself at every step. */
static Real dot(const Number *a, const Number *b, size_t n)
{
    Real part[BLOCK] = {0}, sum = 0;
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK)
        for (size_t j = 0; j < BLOCK; j++)
            part[j] += real(a[i + j]) * real(b[i + j]);
    for (; i < n; i++)
        sum += real(a[i]) * real(b[i]);
    for (size_t j = 0; j < BLOCK; j++)
        sum += part[j];
    return sum;
}

static void linear_forward(Stream *s, void *y_, bool real_output, const void *x_, const void *w_, const void *bias_,
                           bool relu, size_t n, size_t in, size_t out)
{
    (void)s;
    const Number *x = x_, *w = w_;
    const Real *bias = bias_;

    for (size_t i = 0; i < n; i++)
        for (size_t o = 0; o < out; o++) {
            Real sum = dot(x + i * in, w + o * in, in) + (bias ? bias[o] : 0);
            if (relu && sum < 0) /* not: sum > 0 ? sum : 0, which would turn NaN into 0 */
                sum = 0;
            if (real_output)
                ((Real *)y_)[i * out + o] = sum;
            else
                ((Number *)y_)[i * out + o] = number(sum);
        }
}

/* dx = dy w, BLOCK columns at a time */
static void linear_backward_input(Number *dx, bool add, const Number *dy, const Number *w, size_t n, size_t in,
                                  size_t out)
{
    for (size_t i = 0; i < n; i++, dx += in, dy += out)
        for (size_t from = 0; from < in; from += BLOCK) {
            size_t width = in - from < BLOCK ? in - from : BLOCK;
            Real sum[BLOCK] = {0};
            for (size_t o = 0; o < out; o++)
                for (size_t j = 0; j < width; j++)
                    sum[j] += real(dy[o]) * real(w[o * in + from + j]);
            for (size_t j = 0; j < width; j++)
                store_gradient(&dx[from + j], add, sum[j]);
        }
}

static void linear_backward(Stream *s, void *dx, bool add, void *dw_, void *dbias_, void *dy_, const void *y_,
                            const void *x_, const void *w, bool relu, size_t n, size_t in, size_t out)
{
    (void)s;
    const Number *x = x_, *y = y_;
    Number *dy = dy_;
    Real *dw = dw_, *dbias = dbias_;

    if (relu)
        for (size_t i = 0; i < n * out; i++)
            if (!(real(y[i]) > 0))
                dy[i] = number(0);
    if (dx)
        linear_backward_input(dx, add, dy, w, n, in, out);
    for (size_t o = 0; o < out; o++)
        for (size_t i = 0; i < n; i++) {
            Real gradient = real(dy[i * out + o]);
            if (dbias)
                dbias[o] += gradient;
            for (size_t j = 0; dw && j < in; j++)
                dw[o * in + j] += gradient * real(x[i * in + j]);
        }
}
