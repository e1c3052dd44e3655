/* The sum of rows as they are in memory, each times its weight: values under the weights of one query. See rows.c. */

/* Two vectors of columns of the next ROWS_AT_ONCE rows, each times its weight. In bf16 the numbers of two rows make
 * pairs. */
#if defined CPU_BF16
enum { ROWS_AT_ONCE = 2 };

INLINE float weight_of(const Number *weight) { return bf16_to_float(*weight); }

INLINE void add_rows(Vec sum[2], const Number *rows, size_t stride, const Number *weights)
{
    IVec zipped[2];
    Unit both;
    memcpy(&both, weights, sizeof both);
    bf16_zip(zipped, rows, rows + stride);
    for (size_t c = 0; c < 2; c++)
        sum[c] = vec_pairs(sum[c], (IVec){0} + both, zipped[c]);
}
#else
enum { ROWS_AT_ONCE = 1 };

INLINE float weight_of(const Number *weight) { return *weight; }

INLINE void add_rows(Vec sum[2], const Number *rows, size_t stride, const Number *weights)
{
    (void)stride;
    for (size_t c = 0; c < 2; c++)
        sum[c] += vec_load(rows + c * WIDTH) * weights[0];
}
#endif

/* y = scale * the sum of the rows, each times its weight */
static void weighted_sum(Number *y, float scale, const Number *rows, size_t stride, const Number *weights, size_t count,
                         size_t columns)
{
    size_t c = 0;
    for (; c + 2 * WIDTH <= columns; c += 2 * WIDTH) {
        Vec sum[4][2] = {{{0}}};
        size_t j = 0;
        for (; j + 4 * ROWS_AT_ONCE <= count; j += 4 * ROWS_AT_ONCE)
            for (size_t l = 0; l < 4; l++)
                add_rows(sum[l], rows + (j + l * ROWS_AT_ONCE) * stride + c, stride, weights + j + l * ROWS_AT_ONCE);
        for (; j < count; j++)
            for (size_t i = 0; i < 2; i++)
                sum[0][i] += load_whole(rows + j * stride + c + i * WIDTH) * weight_of(weights + j);
        for (size_t i = 0; i < 2; i++)
            store_whole(y + c + i * WIDTH, ((sum[0][i] + sum[1][i]) + (sum[2][i] + sum[3][i])) * scale);
    }
    for (; c < columns; c += WIDTH) {
        Vec sum = {0};
        for (size_t j = 0; j < count; j++)
            sum += load(rows + j * stride + c, columns - c) * weight_of(weights + j);
        store(y + c, sum * scale, columns - c);
    }
}
