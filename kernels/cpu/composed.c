/* The parts of attention, for --attention composed. See kernels/plain/composed.c: what moves or masks is plain's. */

/* A matrix that is laid out in rows or in columns goes to the product as it is; anything else is plain's. */
static bool operand_layout(const Operand *o, size_t rows, size_t columns, size_t *stride, bool *transposed)
{
    *transposed = o->column != 1 && columns > 1;
    *stride = *transposed ? o->column : o->row;
    if (rows == 1 && !*transposed)
        *stride = columns;
    return *transposed ? o->row == 1 || rows == 1 : true;
}

static Operand turned(Operand x) { return (Operand){x.data, x.outer, x.inner, x.column, x.row}; }

static void product(Stream *s, Operand c, bool add, Operand a, Operand b, double alpha, size_t outer, size_t inner,
                    size_t m, size_t n, size_t k)
{
    if (c.row == 1 && c.column != 1 && n > 1) { /* c^T = b^T a^T, as for gradients of values */
        product(s, turned(c), add, turned(b), turned(a), alpha, outer, inner, n, m, k);
        return;
    }
    MatmulShape shape = {.m = m, .n = n, .k = k, .add = add, .inputs = ELEMENT, .output = ELEMENT};
    bool c_transposed, fine = operand_layout(&a, m, k, &shape.a_stride, &shape.a_transposed) &&
                              operand_layout(&b, k, n, &shape.b_stride, &shape.b_transposed) &&
                              operand_layout(&c, m, n, &shape.c_stride, &c_transposed);
    if (!fine || c_transposed || (add && alpha != 1)) {
        PLAIN.product(s, c, add, a, b, alpha, outer, inner, m, n, k);
        return;
    }
    for (size_t o = 0; o < outer; o++)
        for (size_t p = 0; p < inner; p++)
            matmul_run(&s->matmul[0], &shape, (Number *)c.data + o * c.outer + p * c.inner,
                       (const Number *)a.data + o * a.outer + p * a.inner,
                       (const Number *)b.data + o * b.outer + p * b.inner, NULL);
    for (size_t i = 0; alpha != 1 && i < outer * inner * m; i++) {
        Number *row = (Number *)c.data + i / m / inner * c.outer + i / m % inner * c.inner + i % m * shape.c_stride;
        for (size_t j = 0; j < n; j += WIDTH)
            store(row + j, load(row + j, n - j) * (float)alpha, n - j);
    }
}

static void softmax_forward(Stream *s, void *y_, const void *x_, size_t n, size_t columns)
{
    (void)s;
    const Number *x = x_;
    Number *y = y_;

    for (size_t i = 0; i < n; i++, x += columns, y += columns) {
        Vec best = vec_set(-INFINITY), sum = {0};
        for (size_t j = 0; j < columns; j += WIDTH) {
            Vec now = load(x + j, columns - j);
            best = vec_max(columns - j < WIDTH ? vec_select(vec_first(columns - j), now, best) : now, best);
        }
        float largest = vec_largest(best);
        if (largest == -INFINITY) {
            PLAIN.softmax_forward(s, y, x, 1, columns); /* nothing, or nothing but NaN, is there */
            continue;
        }
        for (size_t j = 0; j < columns; j += WIDTH) {
            Vec power = vec_exp(load(x + j, columns - j) - largest);
            sum += columns - j < WIDTH ? vec_select(vec_first(columns - j), power, vec_set(0)) : power;
        }
        float total = vec_sum(sum);
        for (size_t j = 0; j < columns; j += WIDTH)
            store(y + j, vec_exp(load(x + j, columns - j) - largest) / total, columns - j);
    }
}

static void softmax_backward(Stream *s, void *dx_, bool add, const void *dy_, const void *y_, size_t n, size_t columns)
{
    (void)s;
    const Number *dy = dy_, *y = y_;
    Number *dx = dx_;

    for (size_t i = 0; i < n; i++, dx += columns, dy += columns, y += columns) {
        float sum = dot(dy, y, columns);
        for (size_t j = 0; j < columns; j += WIDTH)
            store_gradient(dx + j, add, load(y + j, columns - j) * (load(dy + j, columns - j) - sum), columns - j);
    }
}
