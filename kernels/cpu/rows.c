/* One vector and many rows as they are in memory: where each row is needed once, so that packing would not pay.
 *
 *     dot_rows       x . row, for each row             (a linear map of one position; scores of one query)
 *     dot_few        the same for a few vectors at once (a linear map of a few positions)
 *
 * The work is done at the speed at which rows arrive; so those of a linear map are read strictly in the order in which
 * they are in memory, which is what a processor fetches ahead best. Each row's result depends on that row alone, so it
 * is the same to the bit however rows are shared out. */

enum {
    STEP = sizeof(Vec) / sizeof(Number), /* numbers in a vector of units */
    SHORT = 4 * STEP                     /* rows of no more come four at a time, one vector of each */
};

/* a b in one running sum for each lane, */
INLINE Vec short_product(const Number *a, const Number *b, size_t n)
{
    Vec sum = {0};
    size_t j = 0;
    for (; j + STEP <= n; j += STEP)
        sum = units_multiply(sum, units_load(a + j), units_load(b + j), PAIRS);
    if (j < n)
        sum = units_multiply(sum, units_some(a + j, (n - j) * sizeof *a), units_some(b + j, (n - j) * sizeof *a),
                             PAIRS);
    return sum;
}

/* and in four, so that no sum has to wait for itself. */
INLINE Vec long_product(const Number *a, const Number *b, size_t n)
{
    Vec sum[4] = {{0}};
    size_t j = 0;
    for (; j + 4 * STEP <= n; j += 4 * STEP)
        for (size_t l = 0; l < 4; l++)
            sum[l] = units_multiply(sum[l], units_load(a + j + l * STEP), units_load(b + j + l * STEP), PAIRS);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]) + short_product(a + j, b + j, n - j);
}

static float dot(const Number *a, const Number *b, size_t n) { return vec_sum(long_product(a, b, n)); }

/* The same for four rows: those of short rows need not wait for one another. */
INLINE void short_products(Vec sum[4], const Number *x, const Number *rows, size_t stride, size_t n)
{
    size_t j = 0, left;
    for (size_t r = 0; r < 4; r++)
        sum[r] = vec_set(0);
    for (; j + STEP <= n; j += STEP) {
        IVec factor = units_load(x + j);
        for (size_t r = 0; r < 4; r++)
            sum[r] = units_multiply(sum[r], factor, units_load(rows + r * stride + j), PAIRS);
    }
    if (j == n)
        return;
    left = (n - j) * sizeof *x;
    for (size_t r = 0; r < 4; r++)
        sum[r] = units_multiply(sum[r], units_some(x + j, left), units_some(rows + r * stride + j, left), PAIRS);
}

/* x times each of WIDTH rows: a lane each. */
INLINE Vec dots(const Number *x, const Number *rows, size_t stride, size_t n)
{
    Vec lanes[WIDTH];
    if (n <= SHORT) {
#pragma GCC unroll 4
        for (size_t r = 0; r < WIDTH; r += 4)
            short_products(lanes + r, x, rows + r * stride, stride, n);
    } else {
        for (size_t r = 0; r < WIDTH; r++)
            lanes[r] = long_product(x, rows + r * stride, n);
    }
    return vec_sums(lanes);
}

/* The same for fewer rows, to the bit. (Kept out of the loop over whole vectors, which is faster alone.) */
static __attribute__((noinline)) Vec dots_some(const Number *x, const Number *rows, size_t stride, size_t count,
                                               size_t n)
{
    Vec lanes[WIDTH] = {{0}};
    for (size_t r = 0; r < count; r++)
        lanes[r] = n <= SHORT ? short_product(x, rows + r * stride, n) : long_product(x, rows + r * stride, n);
    return vec_sums(lanes);
}

/* y [count] = x times each of the rows */
static void dot_rows(float *y, const Number *x, const Number *rows, size_t stride, size_t count, size_t n)
{
    size_t r = 0;
    for (; r + WIDTH <= count; r += WIDTH)
        vec_store(y + r, dots(x, rows + r * stride, stride, n));
    if (r < count)
        vec_store_some(y + r, dots_some(x, rows + r * stride, stride, count - r, n), count - r);
}

enum {
    FEW = 8,               /* vectors that dot_few takes */
    AHEAD = 4,             /* rows that are asked for before they are needed */
    SHARED = TILE_ROWS / 2 /* vectors at once for one row: each takes four sums */
};

/* long_product of SHARED vectors x [SHARED, n] and one row, whose numbers are loaded once for all of them; asks for the
 * numbers at `next`. Sum i goes to lanes[i * WIDTH]. */
INLINE void long_products(Vec *lanes, const Number *x, const Number *row, size_t n, const Number *next)
{
    Vec sum[SHARED][4];
    size_t j = 0;
#pragma GCC unroll 16
    for (size_t i = 0; i < SHARED * 4; i++)
        sum[i / 4][i % 4] = vec_set(0);
    for (; j + 4 * STEP <= n; j += 4 * STEP)
#pragma GCC unroll 4
        for (size_t l = 0; l < 4; l++) {
            const IVec factor = units_load(row + j + l * STEP);
            __builtin_prefetch(next + j + l * STEP);
#pragma GCC unroll 4
            for (size_t i = 0; i < SHARED; i++)
                sum[i][l] = units_multiply(sum[i][l], units_load(x + i * n + j + l * STEP), factor, PAIRS);
        }
#pragma GCC unroll 4
    for (size_t i = 0; i < SHARED; i++)
        lanes[i * WIDTH] = (sum[i][0] + sum[i][1]) + (sum[i][2] + sum[i][3]) +
                           short_product(x + i * n + j, row + j, n - j);
}

/* y [vectors, WIDTH] = each of a few x [vectors, n] times each of `count` <= WIDTH rows [n]: what dot_rows gives for each
 * of them, to the bit. Rows are read from far once. */
static void dot_few(float *y, const Number *x, size_t vectors, const Number *rows, size_t count, size_t n)
{
    Vec lanes[FEW][WIDTH];
    const size_t shared = n > SHORT && count == WIDTH ? vectors / SHARED * SHARED : 0;
    for (size_t r = 0; r < WIDTH && shared; r++)
        for (size_t i = 0; i < shared; i += SHARED)
            long_products(lanes[i] + r, x + i * n, rows + r * n, n, rows + (r + AHEAD) * n);
    for (size_t i = 0; i < shared; i++)
        vec_store(y + i * WIDTH, vec_sums(lanes[i]));
    for (size_t i = shared; i < vectors; i++)
        dot_rows(y + i * WIDTH, x + i * n, rows, n, count, n);
}
