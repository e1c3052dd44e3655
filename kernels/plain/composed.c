/* The parts of attention, one operation each, so that any score can be built from them.
 *
 * Packed rows are padded to [B,T,D], so that one product serves all rows and heads; what the padding adds is masked
 * with -infinity before the softmax and so weighs exactly 0. */

static void pad(Stream *s, void *y_, Strided x, const int32_t *start, const int32_t *row, size_t b, size_t t, size_t d)
{
    const Number *from = x.data;
    Number *y = y_;

    zero(s, y, b * t * d * sizeof *y);
    for (size_t r = 0; r < b; r++) {
        size_t which = row ? (size_t)row[r] : r, first = (size_t)start[which];
        size_t length = (size_t)start[which + 1] - first;
        for (size_t i = 0; i < t && i < length; i++)
            memcpy(y + (r * t + i) * d, from + (first + i) * x.stride, d * sizeof *y);
    }
}

static void unpad(Stream *s, Strided y, bool add, const void *x_, const int32_t *start, const int32_t *row, size_t b,
                  size_t n, size_t t, size_t d)
{
    (void)s;
    const Number *x = x_;

    zero_gradient(y, add, n, d);
    for (size_t r = 0; r < b; r++) {
        size_t which = row ? (size_t)row[r] : r, first = (size_t)start[which];
        size_t length = (size_t)start[which + 1] - first;
        for (size_t i = 0; i < t && i < length; i++)
            for (size_t j = 0; j < d; j++)
                store_gradient((Number *)y.data + (first + i) * y.stride + j, true, real(x[(r * t + i) * d + j]));
    }
}

static void product(Stream *s, Operand c, bool add, Operand a, Operand b, double alpha, size_t outer, size_t inner,
                    size_t m, size_t n, size_t k)
{
    (void)s;
    for (size_t o = 0; o < outer; o++)
        for (size_t p = 0; p < inner; p++) {
            const Number *a_op = (const Number *)a.data + o * a.outer + p * a.inner;
            const Number *b_op = (const Number *)b.data + o * b.outer + p * b.inner;
            Number *c_op = (Number *)c.data + o * c.outer + p * c.inner;
            for (size_t i = 0; i < m; i++)
                for (size_t j = 0; j < n; j++) {
                    Real sum = 0;
                    for (size_t l = 0; l < k; l++)
                        sum += real(a_op[i * a.row + l * a.column]) * real(b_op[l * b.row + j * b.column]);
                    store_gradient(&c_op[i * c.row + j * c.column], add, (Real)alpha * sum);
                }
        }
}

static void mask(Stream *s, void *scores_, const Attend *how)
{
    (void)s;
    Number *scores = scores_;
    size_t longest_query = how->longest_query, longest_key = how->longest_key;

    for (size_t b = 0; b < how->rows; b++) {
        Keys keys = keys_of_row(how, b);
        size_t queries = (size_t)(how->query_start[b + 1] - how->query_start[b]);
        for (size_t h = 0; h < how->heads; h++)
            for (size_t i = 0; i < longest_query; i++, scores += longest_key) {
                for (size_t j = 0; j < longest_key; j++)
                    if (i >= queries || j >= keys.length || keys_next(how, keys, i, j) != j)
                        scores[j] = number(-(Real)INFINITY);
            }
    }
}

/* The k-th largest of x [n]: from the largest on down, one value at a time. */
static Real kth_largest(const Number *x, size_t n, size_t k)
{
    Real bound = INFINITY;
    for (size_t found = 0; found < k;) {
        Real next = -INFINITY;
        size_t equal = 0;
        for (size_t j = 0; j < n; j++) {
            Real one = real(x[j]);
            if ((found ? one < bound : one <= bound) && one >= next) {
                equal = one > next ? 1 : equal + 1;
                next = one;
            }
        }
        bound = next;
        found += equal ? equal : k;
    }
    return bound;
}

static void keep_largest(Stream *s, void *x_, size_t n, size_t columns, size_t k)
{
    (void)s;
    Number *x = x_;
    for (size_t i = 0; i < n; i++, x += columns) {
        Real least = kth_largest(x, columns, k);
        for (size_t j = 0; j < columns; j++)
            if (real(x[j]) < least)
                x[j] = number(-(Real)INFINITY);
    }
}

static void softmax_forward(Stream *s, void *y_, const void *x_, size_t n, size_t columns)
{
    (void)s;
    const Number *x = x_;
    Number *y = y_;

    for (size_t i = 0; i < n; i++, x += columns, y += columns) {
        Real largest = -(Real)INFINITY, sum = 0;
        bool dead = true; /* all are -infinity; largest does not tell, because NaN is never larger */
        for (size_t j = 0; j < columns; j++) {
            largest = real(x[j]) > largest ? real(x[j]) : largest;
            dead = dead && real(x[j]) == -(Real)INFINITY;
        }
        for (size_t j = 0; j < columns; j++)
            sum += real_exp(real(x[j]) - largest);
        for (size_t j = 0; j < columns; j++)
            y[j] = number(dead ? 0 : real_exp(real(x[j]) - largest) / sum);
    }
}

/* dx = y (dy - sum of y dy) */
static void softmax_backward(Stream *s, void *dx_, bool add, const void *dy_, const void *y_, size_t n, size_t columns)
{
    (void)s;
    const Number *dy = dy_, *y = y_;
    Number *dx = dx_;

    for (size_t i = 0; i < n; i++, dx += columns, dy += columns, y += columns) {
        Real sum = dot(dy, y, columns);
        for (size_t j = 0; j < columns; j++)
            store_gradient(&dx[j], add, real(y[j]) * (real(dy[j]) - sum));
    }
}

static void dropout_weights(Stream *s, void *y_, bool add, const void *x_, const Attend *how, const StepState *state)
{
    (void)s;
    const Number *x = x_;
    Number *y = y_;

    for (size_t b = 0; b < how->rows; b++)
        for (size_t h = 0; h < how->heads; h++)
            for (size_t i = 0; i < how->longest_query; i++)
                for (size_t j = 0; j < how->longest_key; j++, x++, y++) {
                    size_t position = (size_t)how->query_start[b] + i;
                    store_gradient(y, add, real(*x) * (Real)dropout_factor(how->dropout, state, position, h, j));
                }
}
