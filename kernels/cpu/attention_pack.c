/* Operands of attention's products, as `tiles` wants them: padded with zeros to whole vectors, transposed, or in pairs
 * along the dimension that is summed over. */

enum { PER_UNIT = sizeof(int32_t) / sizeof(Number) };

/* to [rows up to padded, wide]: the numbers side by side */
static void pack_rows(Number *to, const Number *from, size_t stride, Range rows, size_t padded, size_t size,
                      size_t wide)
{
    for (size_t i = 0; i < padded; i++, to += wide)
        for (size_t j = 0; j < wide; j += WIDTH) {
            bool there = i >= rows.from && i < rows.to && j < size;
            store_whole(to + j, there ? load(from + i * stride + j, size - j) : vec_set(0));
        }
}

/* to [wide / PER_UNIT, padded]: unit u of row i at to[u * to_row + i] */
static void pack_transposed(Unit *to, size_t to_row, const Number *from, size_t stride, Range rows, size_t padded,
                            size_t size, size_t wide)
{
    enum { AT_ONCE = WIDTH * PER_UNIT };
    size_t units = wide / PER_UNIT;
    IVec block[WIDTH];
    for (size_t i = 0; i < padded; i += WIDTH)
        for (size_t u = 0; u < units; u += WIDTH) {
            const Number *corner = from + i * stride + u * PER_UNIT;
            size_t left = u * PER_UNIT < size ? size - u * PER_UNIT : 0, bytes = (left < AT_ONCE ? left : AT_ONCE);
            bytes *= sizeof *from;
            if (i >= rows.from && i + WIDTH <= rows.to && bytes == sizeof *block) {
                for (size_t r = 0; r < WIDTH; r++)
                    block[r] = units_load(corner + r * stride);
            } else {
                for (size_t r = 0; r < WIDTH; r++)
                    block[r] = i + r >= rows.from && i + r < rows.to ? units_some(corner + r * stride, bytes)
                                                                     : (IVec){0};
            }
            units_transpose(to + u * to_row + i, to_row, block, units - u < WIDTH ? units - u : WIDTH);
        }
}

/* to [padded / PER_UNIT, wide]: pairs along the rows; in f32 the rows as they are */
static void pack_pairs(Unit *to, const Number *from, size_t stride, Range rows, size_t padded, size_t size, size_t wide)
{
#if defined CPU_BF16
    for (size_t i = 0; i < padded; i += 2, to += wide)
        for (size_t j = 0; j < wide; j += WIDTH) {
            size_t left = j < size ? size - j : 0;
            HVec low = i >= rows.from && i < rows.to ? bf16_some(from + i * stride + j, left) : (HVec){0};
            HVec high = i + 1 >= rows.from && i + 1 < rows.to ? bf16_some(from + (i + 1) * stride + j, left)
                                                              : (HVec){0};
            bf16_store_pairs(to + j, low, high);
        }
#else
    pack_rows((float *)(void *)to, from, stride, rows, padded, size, wide);
#endif
}
