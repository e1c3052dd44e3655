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

/* WIDTH x WIDTH units: rows[i][j] becomes to[j * padded + i], for the first `columns` j */
static void turn_square(Unit *to, size_t padded, IVec rows[WIDTH], size_t columns)
{
#if defined __AVX512F__
    __m512i r[16], t[16];
    memcpy(r, rows, sizeof r);
    for (int i = 0; i < 8; i++) {
        t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 4; i++) { /* r[4i + c]: column c of each quarter, rows 4i .. 4i+3 */
        r[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
        r[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
    }
    for (int c = 0; c < 4; c++) { /* then the quarters themselves */
        __m512i even0 = _mm512_shuffle_i32x4(r[c], r[4 + c], 0x88), odd0 = _mm512_shuffle_i32x4(r[c], r[4 + c], 0xdd);
        __m512i even1 = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0x88);
        __m512i odd1 = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0xdd);
        rows[c] = (IVec)_mm512_shuffle_i32x4(even0, even1, 0x88);
        rows[4 + c] = (IVec)_mm512_shuffle_i32x4(odd0, odd1, 0x88);
        rows[8 + c] = (IVec)_mm512_shuffle_i32x4(even0, even1, 0xdd);
        rows[12 + c] = (IVec)_mm512_shuffle_i32x4(odd0, odd1, 0xdd);
    }
#else
    for (int i = 0; i < WIDTH; i++)
        for (int j = 0; j < i; j++) {
            int32_t kept = rows[i][j];
            rows[i][j] = rows[j][i];
            rows[j][i] = kept;
        }
#endif
    for (size_t c = 0; c < columns; c++)
        memcpy(to + c * padded, &rows[c], sizeof rows[c]);
}

/* to [wide / PER_UNIT, padded]: unit u of row i at to[u * padded + i] */
static void pack_transposed(Unit *to, const Number *from, size_t stride, Range rows, size_t padded, size_t size,
                            size_t wide)
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
            turn_square(to + u * padded + i, padded, block, units - u < WIDTH ? units - u : WIDTH);
        }
}

#if defined CPU_BF16
/* The next vector of numbers, 0 behind the end. */
INLINE HVec halves(const Number *p, size_t n)
{
    HVec h = {0};
    if (n >= WIDTH)
        memcpy(&h, p, sizeof h);
    else
        memcpy(&h, p, n * sizeof *p);
    return h;
}

INLINE void store_pairs(Unit *to, HVec low, HVec high)
{
#if defined __AVX512F__
    __m512i lower = _mm512_cvtepu16_epi32((__m256i)low), upper = _mm512_cvtepu16_epi32((__m256i)high);
    UVec both = (UVec)lower | (UVec)upper << 16;
#else
    UVec both = __builtin_convertvector(low, UVec) | __builtin_convertvector(high, UVec) << 16;
#endif
    memcpy(to, &both, sizeof both);
}
#endif

/* to [padded / PER_UNIT, wide]: pairs along the rows; in f32 the rows as they are */
static void pack_pairs(Unit *to, const Number *from, size_t stride, Range rows, size_t padded, size_t size, size_t wide)
{
#if defined CPU_BF16
    for (size_t i = 0; i < padded; i += 2, to += wide)
        for (size_t j = 0; j < wide; j += WIDTH) {
            size_t left = j < size ? size - j : 0;
            HVec low = i >= rows.from && i < rows.to ? halves(from + i * stride + j, left) : (HVec){0};
            HVec high = i + 1 >= rows.from && i + 1 < rows.to ? halves(from + (i + 1) * stride + j, left) : (HVec){0};
            store_pairs(to + j, low, high);
        }
#else
    pack_rows((float *)(void *)to, from, stride, rows, padded, size, wide);
#endif
}
