/* The linear map as matrix products. See kernels/plain/linear.c.
 *
 * For a few positions the work is reading w once, so it is done as dot products that stream along w's rows, shared out
 * among the team; otherwise one product, with bias and ReLU done while its result is still in registers. */

typedef struct LinearWork {
    Stream *s;
    void *y;
    bool real_output, relu, add;
    const Number *x, *w;
    const float *bias;
    size_t n, in, out;
} LinearWork;

/* Columns from .. from+count-1 <= from+WIDTH-1 of position i of y. */
static void end_few(const LinearWork *k, const float *sums, size_t i, size_t from, size_t count)
{
    const size_t at = i * k->out + from;
    Vec y = vec_load(sums) + (k->bias ? load_real(k->bias + from, count) : vec_set(0));
    y = k->relu ? vec_select(y < 0, vec_set(0), y) : y;
    if (k->real_output)
        store_real((float *)k->y + at, y, count);
    else
        store((Number *)k->y + at, y, count);
}

static void linear_few(void *argument, size_t member, size_t first, size_t end)
{
    const LinearWork *k = argument;
    float sums[FEW * WIDTH];
    (void)member;
    for (size_t from = first; from < end; from += WIDTH) {
        const size_t count = end - from < WIDTH ? end - from : WIDTH;
        dot_few(sums, k->x, k->n, k->w + from * k->in, count, k->in);
        for (size_t i = 0; i < k->n; i++)
            end_few(k, sums + i * WIDTH, i, from, count);
    }
}

static MatmulShape linear_shape(const LinearWork *k)
{
    return (MatmulShape){.m = k->n,
                         .n = k->out,
                         .k = k->in,
                         .a_stride = k->in,
                         .b_stride = k->in,
                         .c_stride = k->out,
                         .b_transposed = true,
                         .bias = k->bias != NULL,
                         .relu = k->relu,
                         .inputs = ELEMENT,
                         .output = k->real_output ? ELEMENT_F32 : ELEMENT};
}

static void linear_positions(void *argument, size_t member, size_t first, size_t end)
{
    const LinearWork *k = argument;
    const size_t size = k->real_output ? sizeof(float) : sizeof(Number);
    MatmulShape shape = linear_shape(k);
    shape.m = end - first;
    matmul_run(&k->s->matmul[member], &shape, (char *)k->y + first * k->out * size, k->x + first * k->in, k->w,
               k->bias);
}

/* Each member reads a part of w, not all of it. */
static void linear_outputs(void *argument, size_t member, size_t first, size_t end)
{
    const LinearWork *k = argument;
    const size_t size = k->real_output ? sizeof(float) : sizeof(Number);
    MatmulShape shape = linear_shape(k);
    shape.n = end - first;
    matmul_run(&k->s->matmul[member], &shape, (char *)k->y + first * size, k->x, k->w + first * k->in,
               k->bias ? k->bias + first : NULL);
}

static void linear_forward(Stream *s, void *y, bool real_output, const void *x, const void *w, const void *bias,
                           bool relu, size_t n, size_t in, size_t out)
{
    LinearWork k = {s, y, real_output, relu, false, x, w, bias, n, in, out};
    const MatmulShape all = linear_shape(&k);
    if (n <= FEW)
        stream_share_on(s, w, out * in * sizeof(Number), (Shared){out, 16, (n + STREAMED) * in * out, linear_few, &k});
    else if (n < out && matmul_is_ours(s->matmul, &all, w))
        stream_share(s, (Shared){out, 32, n * in * out, linear_outputs, &k});
    else
        stream_share(s, (Shared){n, 32, n * in * out, linear_positions, &k});
}

/* dy becomes the gradient before ReLU, and dbias gains its sum, in one pass. */
static void mask_and_sum(Number *dy, const Number *y, float *dbias, bool relu, size_t n, size_t out)
{
    enum { ROWS = 4 }; /* at once, so that dbias is updated less often */
    for (size_t first = 0; first < n; first += ROWS) {
        size_t end = first + ROWS < n ? first + ROWS : n;
        for (size_t j = 0; j < out; j += WIDTH) {
            size_t left = out - j;
            Vec sum = {0};
            for (size_t i = first; i < end; i++) {
                Vec gradient = load(dy + i * out + j, left);
                if (relu) {
                    gradient = vec_select(load(y + i * out + j, left) > 0, gradient, vec_set(0));
                    store(dy + i * out + j, gradient, left);
                }
                sum += gradient;
            }
            if (dbias)
                store_real(dbias + j, load_real(dbias + j, left) + sum, left);
        }
    }
}

static void linear_input(void *argument, size_t member, size_t first, size_t end)
{
    const LinearWork *k = argument; /* here x is dy and y is dx */
    MatmulShape shape = {.m = end - first,
                         .n = k->in,
                         .k = k->out,
                         .a_stride = k->out,
                         .b_stride = k->in,
                         .c_stride = k->in,
                         .add = k->add,
                         .inputs = ELEMENT,
                         .output = ELEMENT};
    matmul_run(&k->s->matmul[member], &shape, (Number *)k->y + first * k->in, k->x + first * k->out, k->w, NULL);
}

static void linear_weights(void *argument, size_t member, size_t first, size_t end)
{
    const LinearWork *k = argument; /* here y is dw and w is dy */
    MatmulShape shape = {.m = end - first,
                         .n = k->in,
                         .k = k->n,
                         .a_stride = k->out,
                         .b_stride = k->in,
                         .c_stride = k->in,
                         .a_transposed = true,
                         .add = true,
                         .inputs = ELEMENT,
                         .output = ELEMENT_F32};
    matmul_run(&k->s->matmul[member], &shape, (float *)k->y + first * k->in, k->w + first, k->x, NULL);
}

static void linear_backward(Stream *s, void *dx, bool add, void *dw, void *dbias, void *dy, const void *y,
                            const void *x, const void *w, bool relu, size_t n, size_t in, size_t out)
{
    if (relu || dbias)
        mask_and_sum(dy, y, dbias, relu, n, out);
    if (dx) {
        LinearWork k = {s, dx, false, false, add, dy, w, NULL, n, in, out};
        stream_share(s, (Shared){n, 32, n * in * out, linear_input, &k});
    }
    if (dw && n) {
        LinearWork k = {s, dw, true, false, true, x, dy, NULL, n, in, out};
        stream_share(s, (Shared){out, 32, n * in * out, linear_weights, &k});
    }
}
