/* The one small product that attention and our own matrix product are made of: a tile of ROWS x 2 vectors that stays in
 * registers while k runs.
 *
 * Operands are `units` of 32 bits: a float, or two neighbouring bfloat16 along k, multiplied in one instruction. */
#ifndef KERNELS_CPU_TILE_H
#define KERNELS_CPU_TILE_H

#include "kernels/cpu/vector.h"

#include <stdbool.h>

#if defined __AVX512F__ || defined __aarch64__
#define TILE_ROWS     8 /* 16 sums of 32 registers */
#define TILE_MOST     8
#define TILE_FUNCTION INLINE /* calls cost tiles of few steps a tenth of their time */
#else
#define TILE_ROWS 4 /* what rows are padded to a multiple of */
#define TILE_MOST 6 /* 12 sums of 16 registers */
#define TILE_FUNCTION                                                                                                  \
    static __attribute__((noinline, unused)) /* inside a large one, other vectors take its registers */
#endif

#define TILE_COLUMNS (2 * WIDTH)

typedef int32_t Unit __attribute__((may_alias)); /* reads what was written as numbers */

INLINE size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

INLINE IVec units_load(const void *p)
{
    IVec v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* The next units of a row that ends after this many bytes, 0 past its end. */
INLINE IVec units_some(const void *p, size_t bytes)
{
    if (bytes >= sizeof(IVec)) /* mostly; a size that is known takes one instruction, and no mask */
        return units_load(p);
#if defined __AVX512BW__
    return (IVec)_mm512_maskz_loadu_epi8(((__mmask64)1 << bytes) - 1, p);
#else
    IVec v = {0};
    memcpy(&v, p, bytes);
    return v;
#endif
}

/* WIDTH x WIDTH units: rows[i][j] becomes to[j * padded + i], for the first `columns` j */
static inline void units_transpose(Unit *to, size_t padded, IVec rows[WIDTH], size_t columns)
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

INLINE Vec units_multiply(Vec sum, IVec a, IVec b, bool pairs)
{
    return pairs ? vec_pairs(sum, a, b) : sum + (Vec)a * (Vec)b;
}

/* c [rows, vectors * WIDTH] (+)= a b; a(i,l) at a[i*a_row + l*a_column], b(l,j) at b[l*b_row + j]. */
typedef struct Tile {
    float *c;
    size_t c_row;
    const Unit *a;
    size_t a_row, a_column;
    const Unit *b;
    size_t b_row, k;
    bool add;
} Tile;

INLINE void tile_sums(const Tile *t, int rows, int vectors, bool pairs)
{
    Vec sum[TILE_MOST][2];
    const Unit *a = t->a, *b = t->b;
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            sum[i][v] = t->add ? vec_load(t->c + (size_t)i * t->c_row + v * WIDTH) : vec_set(0);
    for (size_t l = 0; l < t->k; l++, a += t->a_column, b += t->b_row) {
        IVec b0 = vec_keep(units_load(b)), b1 = vectors > 1 ? vec_keep(units_load(b + WIDTH)) : b0;
        for (int i = 0; i < rows; i++) {
            IVec factor = (IVec){0} + a[(size_t)i * t->a_row];
            sum[i][0] = units_multiply(sum[i][0], factor, b0, pairs);
            if (vectors > 1)
                sum[i][1] = units_multiply(sum[i][1], factor, b1, pairs);
        }
    }
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            vec_store(t->c + (size_t)i * t->c_row + v * WIDTH, sum[i][v]);
}

#define TILE(name, rows, vectors)                                                                                      \
    TILE_FUNCTION void name(const Tile *t, bool pairs)                                                                 \
    {                                                                                                                  \
        if (pairs)                                                                                                     \
            tile_sums(t, rows, vectors, true);                                                                         \
        else                                                                                                           \
            tile_sums(t, rows, vectors, false);                                                                        \
    }
TILE(tile_rows_one, TILE_ROWS, 1)
TILE(tile_rows_two, TILE_ROWS, 2)
TILE(tile_most_one, TILE_MOST, 1)
TILE(tile_most_two, TILE_MOST, 2)
#undef TILE

/* The same for any m that is a multiple of ROWS and any n that is one of WIDTH: memory after odd sizes is padded. */
static inline void tiles(float *c, size_t c_row, bool add, const Unit *a, size_t a_row, size_t a_column, const Unit *b,
                         size_t b_row, size_t m, size_t n, size_t k, bool pairs)
{
    for (size_t i = 0, rows; i < m; i += rows) {
        const size_t left = m - i;
        rows = left == TILE_MOST || left >= TILE_MOST + TILE_ROWS ? TILE_MOST : TILE_ROWS; /* ends with whole tiles */
        Tile t = {c + i * c_row, c_row, a + i * a_row, a_row, a_column, b, b_row, k, add};
        for (size_t j = 0, columns; j < n; j += columns, t.c += columns, t.b += columns) {
            columns = j + TILE_COLUMNS <= n ? TILE_COLUMNS : WIDTH;
            if (rows == TILE_ROWS && columns == TILE_COLUMNS) /* by name: gcc inlines no choice of functions */
                tile_rows_two(&t, pairs);
            else if (rows == TILE_ROWS)
                tile_rows_one(&t, pairs);
            else if (columns == TILE_COLUMNS)
                tile_most_two(&t, pairs);
            else
                tile_most_one(&t, pairs);
        }
    }
}

#endif
