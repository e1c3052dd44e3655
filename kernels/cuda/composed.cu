/* The parts of attention, one operation each. See kernels/plain/composed.c.
 *
 * A thread for each number, and a warp for each row of a softmax. Rows that share a row of x are summed in their order
 * by the thread that has that number of y. */

static __global__ void pad_kernel(Number *y, Strided x, const int32_t *start, const int32_t *row, size_t b, size_t t,
                                  size_t d)
{
    for (size_t e = thread_number(); e < b * t * d; e += thread_count()) {
        size_t r = e / d / t, i = e / d % t, which = row ? (size_t)row[r] : r;
        size_t first = (size_t)start[which], length = (size_t)start[which + 1] - first;
        y[e] = i < length ? ((const Number *)x.data)[(first + i) * x.stride + e % d] : number(0);
    }
}

/* Does row r of the padded ones hold position `at` of y? Then its position there, else t. */
static __device__ size_t padded_place(const int32_t *start, const int32_t *row, size_t r, size_t at, size_t t)
{
    size_t which = row ? (size_t)row[r] : r, first = (size_t)start[which], end = (size_t)start[which + 1];
    return at >= first && at < end && at - first < t ? at - first : t;
}

static __global__ void unpad_kernel(Strided y, bool add, const Number *x, const int32_t *start, const int32_t *row,
                                    size_t b, size_t n, size_t t, size_t d)
{
    for (size_t e = thread_number(); e < n * d; e += thread_count()) {
        size_t at = e / d, j = e % d;
        Number *to = (Number *)y.data + at * y.stride + j;
        if (!add)
            *to = number(0);
        for (size_t r = 0; r < b; r++) {
            size_t i = padded_place(start, row, r, at, t);
            if (i < t)
                store_gradient(to, true, real(x[(r * t + i) * d + j]));
        }
    }
}

static __global__ void mask_kernel(Number *scores, Attend how)
{
    size_t most = how.rows * how.heads * how.longest_query * how.longest_key;
    for (size_t e = thread_number(); e < most; e += thread_count()) {
        size_t j = e % how.longest_key, i = e / how.longest_key % how.longest_query;
        size_t b = e / how.longest_key / how.longest_query / how.heads;
        Keys keys = keys_of_row(&how, b);
        size_t queries = (size_t)(how.query_start[b + 1] - how.query_start[b]);
        if (i >= queries || j >= keys.length || keys_next(&how, keys, i, j) != j)
            scores[e] = number(-INFINITY);
    }
}

/* A warp a row: see kth_largest in kernels/plain/composed.c. */
static __global__ void keep_largest_kernel(Number *x, size_t n, size_t columns, size_t k)
{
    size_t i = warp_row();
    if (i >= n)
        return;
    x += i * columns;
    float bound = INFINITY;
    for (size_t found = 0; found < k;) {
        float next = -INFINITY;
        unsigned equal = 0;
        for (size_t j = lane(); j < columns; j += LANES) {
            float one = real(x[j]);
            next = (found ? one < bound : one <= bound) && one > next ? one : next;
        }
        next = warp_max(next);
        for (size_t j = lane(); j < columns; j += LANES)
            equal += real(x[j]) == next;
        for (int away = LANES / 2; away > 0; away /= 2)
            equal += __shfl_xor_sync(ALL_LANES, equal, away);
        bound = next;
        found += equal ? equal : k;
    }
    for (size_t j = lane(); j < columns; j += LANES)
        if (real(x[j]) < bound)
            x[j] = number(-INFINITY);
}

static __global__ void softmax_kernel(Number *y, const Number *x, size_t n, size_t columns)
{
    size_t i = warp_row();
    if (i >= n)
        return;
    x += i * columns, y += i * columns;
    float largest = -INFINITY, sum = 0;
    bool live = false; /* one is not -infinity; largest does not tell, because NaN is never larger */
    for (size_t j = lane(); j < columns; j += LANES) {
        largest = real(x[j]) > largest ? real(x[j]) : largest;
        live = live || real(x[j]) != -INFINITY;
    }
    largest = warp_max(largest);
    live = __any_sync(ALL_LANES, live);
    for (size_t j = lane(); j < columns; j += LANES)
        sum += expf(real(x[j]) - largest);
    sum = warp_sum(sum);
    for (size_t j = lane(); j < columns; j += LANES)
        y[j] = number(live ? expf(real(x[j]) - largest) / sum : 0);
}

static __global__ void softmax_backward_kernel(Number *dx, bool add, const Number *dy, const Number *y, size_t n,
                                               size_t columns)
{
    size_t i = warp_row();
    if (i >= n)
        return;
    dx += i * columns, dy += i * columns, y += i * columns;
    float sum = 0;
    for (size_t j = lane(); j < columns; j += LANES)
        sum += real(dy[j]) * real(y[j]);
    sum = warp_sum(sum);
    for (size_t j = lane(); j < columns; j += LANES)
        store_gradient(&dx[j], add, real(y[j]) * (real(dy[j]) - sum));
}

static __global__ void dropout_weights_kernel(Number *y, bool add, const Number *x, Attend how, Chance drop,
                                              const StepState *state)
{
    size_t most = how.rows * how.heads * how.longest_query * how.longest_key;
    for (size_t e = thread_number(); e < most; e += thread_count()) {
        size_t j = e % how.longest_key, i = e / how.longest_key % how.longest_query;
        size_t h = e / how.longest_key / how.longest_query % how.heads;
        size_t b = e / how.longest_key / how.longest_query / how.heads;
        size_t position = (size_t)how.query_start[b] + i;
        store_gradient(&y[e], add, real(x[e]) * dropout_factor(drop, state, position, h, j));
    }
}

static void pad(Stream *s, void *y, Strided x, const int32_t *start, const int32_t *row, size_t b, size_t t, size_t d)
{
    LAUNCH_EACH(s, pad_kernel, b * t * d, (Number *)y, x, start, row, b, t, d);
}

static void unpad(Stream *s, Strided y, bool add, const void *x, const int32_t *start, const int32_t *row, size_t b,
                  size_t n, size_t t, size_t d)
{
    LAUNCH_EACH(s, unpad_kernel, n * d, y, add, (const Number *)x, start, row, b, n, t, d);
}

static void mask(Stream *s, void *scores, const Attend *how)
{
    LAUNCH_EACH(s, mask_kernel, how->rows * how->heads * how->longest_query * how->longest_key, (Number *)scores, *how);
}

static void keep_largest(Stream *s, void *x, size_t n, size_t columns, size_t k)
{
    LAUNCH_ROWS(s, keep_largest_kernel, n, (Number *)x, n, columns, k);
}

static void softmax_forward(Stream *s, void *y, const void *x, size_t n, size_t columns)
{
    LAUNCH_ROWS(s, softmax_kernel, n, (Number *)y, (const Number *)x, n, columns);
}

static void softmax_backward(Stream *s, void *dx, bool add, const void *dy, const void *y, size_t n, size_t columns)
{
    LAUNCH_ROWS(s, softmax_backward_kernel, n, (Number *)dx, add, (const Number *)dy, (const Number *)y, n, columns);
}

static void dropout_weights(Stream *s, void *y, bool add, const void *x, const Attend *how, const StepState *state)
{
    LAUNCH_EACH(s, dropout_weights_kernel, how->rows * how->heads * how->longest_query * how->longest_key, (Number *)y,
                add, (const Number *)x, *how, chance_of(how->dropout), state);
}
