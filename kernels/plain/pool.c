/* A row of vectors as one: its first, their mean, or the largest number of each column.
 *
 *     first  y = x[0]
 *     mean   y = sum of x[i] / T
 *     max    y[j] = x[w][j], w the first i of the largest x[i][j]
 *
 * Backward: dy goes to the position it came from, or is shared out evenly. A row of no positions gives zeros and takes
 * no gradient. */

/* NaN is above all, so that no number hides one. */
static bool above(Real x, Real y) { return x > y || (x != x && y == y); }

static void pool_forward(Stream *s, void *y_, int32_t *which, const void *x_, Pooling how, const int32_t *start,
                         size_t b, size_t d)
{
    (void)s;
    const Number *x = x_;
    Number *y = y_;
    for (size_t r = 0; r < b; r++)
        for (size_t j = 0; j < d; j++) {
            size_t first = (size_t)start[r], end = (size_t)start[r + 1], at = first;
            Real sum = 0;
            for (size_t i = first; i < end; i++) {
                sum += real(x[i * d + j]);
                if (how == POOLING_MAX && above(real(x[i * d + j]), real(x[at * d + j])))
                    at = i;
            }
            if (first == end)
                y[r * d + j] = number(0);
            else
                y[r * d + j] = how == POOLING_MEAN ? number(sum / (Real)(end - first)) : x[at * d + j];
            if (how == POOLING_MAX)
                which[r * d + j] = first == end ? -1 : (int32_t)at;
        }
}

static void pool_backward(Stream *s, void *dx_, bool add, const void *dy_, const int32_t *which, Pooling how,
                          const int32_t *start, size_t b, size_t n, size_t d)
{
    (void)s;
    const Number *dy = dy_;
    Number *dx = dx_;
    for (size_t r = 0; r < b; r++)
        for (size_t j = 0; j < d; j++) {
            size_t first = (size_t)start[r], end = (size_t)start[r + 1];
            Real mean = real(dy[r * d + j]) / (Real)(end - first);
            for (size_t i = first; i < end; i++) {
                bool source = i == (how == POOLING_MAX ? (size_t)which[r * d + j] : first);
                store_gradient(&dx[i * d + j], add, how == POOLING_MEAN ? mean : source ? real(dy[r * d + j]) : 0);
            }
        }
    for (size_t i = (size_t)start[b] * d; !add && i < n * d; i++)
        dx[i] = number(0);
}
