/* See blocked.h.
 *
 * Both operands are read as `units` along k (tile.h). b is packed, a panel of TILE_COLUMNS columns at a time, padded
 * with zeros: [k units, TILE_COLUMNS]. a is read where it lies if its units lie there: floats always do, pairs of
 * bfloat16 in rows of even length; what else there is, and the last rows if they do not fill a tile, is copied. While a
 * panel stays in the first or second cache, a and c go by. */
#include "kernels/cpu/blocked.h"

#include "kernels/cpu/tile.h"

static size_t per_unit(const MatmulShape *s) { return s->inputs == ELEMENT_BF16 ? 2 : 1; }
static size_t units_of(const MatmulShape *s) { return (s->k + per_unit(s) - 1) / per_unit(s); }

size_t blocked_scratch(const MatmulShape *s)
{
    size_t copied = (round_up(s->m, WIDTH) + TILE_ROWS) * units_of(s), panel = units_of(s) * TILE_COLUMNS;
    return (copied + panel + TILE_ROWS * TILE_COLUMNS) * sizeof(Unit);
}

/* --- b --- */

/* Columns first .. of a b that lies as [k,n] */
static void pack_rows(Unit *to, const MatmulShape *s, const void *b, size_t first)
{
    size_t left = s->n - first;
    for (size_t l = 0; l < s->k; l += per_unit(s), to += TILE_COLUMNS)
        for (size_t v = 0; v < TILE_COLUMNS; v += WIDTH) {
            size_t some = v < left ? left - v : 0, at = l * s->b_stride + first + v;
            if (s->inputs == ELEMENT_F32) {
                IVec row = some ? units_some((const float *)b + at, some * sizeof(float)) : (IVec){0};
                memcpy(to + v, &row, sizeof row);
            } else {
                const Bf16 *row = (const Bf16 *)b + at;
                HVec low = some ? bf16_some(row, some) : (HVec){0};
                bf16_store_pairs(to + v, low, some && l + 1 < s->k ? bf16_some(row + s->b_stride, some) : (HVec){0});
            }
        }
}

/* The same of one that lies as [n,k] */
static void pack_turned(Unit *to, const MatmulShape *s, const void *b, size_t first)
{
    size_t bytes = per_unit(s) == 2 ? sizeof(Bf16) : sizeof(float), units = units_of(s), row = s->k * bytes;
    IVec block[WIDTH];
    for (size_t v = 0; v < TILE_COLUMNS; v += WIDTH)
        for (size_t u = 0; u < units; u += WIDTH) {
            for (size_t r = 0; r < WIDTH; r++) {
                size_t column = first + v + r, at = u * sizeof(Unit);
                block[r] = column < s->n ? units_some((const char *)b + column * s->b_stride * bytes + at, row - at)
                                         : (IVec){0};
            }
            units_turn(to + u * TILE_COLUMNS + v, TILE_COLUMNS, block, units - u < WIDTH ? units - u : WIDTH);
        }
}

/* --- a --- */

/* Strips of TILE_ROWS rows: unit l of row i at whole[i * row + l * column]; the last one, if it is not whole, at
 * rest[(i - i0) * units + l]. */
typedef struct Strips {
    const Unit *whole, *rest;
    size_t row, column, units;
} Strips;

static uint32_t bits_at(const MatmulShape *s, const void *a, size_t i, size_t l)
{
    size_t at = s->a_transposed ? l * s->a_stride + i : i * s->a_stride + l;
    uint32_t bits = 0;
    if (i >= s->m || l >= s->k)
        return 0;
    memcpy(&bits, (const char *)a + at * (4 / per_unit(s)), 4 / per_unit(s));
    return bits;
}

/* Rows first .. first+count-1, padded with zeros */
static void copy_strips(Unit *to, const MatmulShape *s, const void *a, size_t first, size_t count)
{
    size_t units = units_of(s), each = per_unit(s);
    for (size_t i = first; i < first + count; i++)
        for (size_t u = 0; u < units; u++)
            *to++ = (Unit)(bits_at(s, a, i, u * each) | (each == 2 ? bits_at(s, a, i, 2 * u + 1) << 16 : 0));
}

/* to [k pairs, wide] of an a that lies as bfloat16 [k,m] */
static void pair_rows(Unit *to, const MatmulShape *s, const Bf16 *a, size_t wide)
{
    for (size_t l = 0; l < s->k; l += 2, a += 2 * s->a_stride, to += wide)
        for (size_t i = 0; i < s->m; i += WIDTH) {
            HVec low = bf16_some(a + i, s->m - i);
            bf16_store_pairs(to + i, low, l + 1 < s->k ? bf16_some(a + s->a_stride + i, s->m - i) : (HVec){0});
        }
}

static Strips strips_of(const MatmulShape *s, const void *a, Unit *scratch)
{
    size_t units = units_of(s), whole = s->m / TILE_ROWS * TILE_ROWS, each = per_unit(s);
    Strips strips = {.whole = a, .rest = scratch, .row = s->a_stride / each, .column = 1, .units = units};
    if (s->a_transposed && each == 1) {
        strips.row = 1, strips.column = s->a_stride;
    } else if (s->a_transposed) {
        size_t wide = round_up(s->m, WIDTH);
        pair_rows(scratch, s, a, wide);
        strips.whole = scratch, strips.row = 1, strips.column = wide;
        strips.rest = scratch + units * wide;
    } else if (each == 2 && (s->k % 2 || s->a_stride % 2 || (uintptr_t)a % sizeof(Unit))) {
        copy_strips(scratch, s, a, 0, whole);
        strips.whole = scratch, strips.row = units;
        strips.rest = scratch + units * whole;
    }
    if (whole < s->m)
        copy_strips((Unit *)(uintptr_t)strips.rest, s, a, whole, TILE_ROWS);
    return strips;
}

/* --- c --- */

INLINE Vec c_load(const MatmulShape *s, const void *c, size_t at, size_t left)
{
    if (s->output == ELEMENT_BF16)
        return vec_from_bf16(bf16_some((const Bf16 *)c + at, left));
    return left >= WIDTH ? vec_load((const float *)c + at) : vec_load_some((const float *)c + at, left);
}

INLINE void c_store(const MatmulShape *s, void *c, size_t at, Vec x, size_t left)
{
    if (s->output == ELEMENT_BF16)
        bf16_store_some((Bf16 *)c + at, x, left < WIDTH ? left : WIDTH);
    else if (left >= WIDTH)
        vec_store((float *)c + at, x);
    else
        vec_store_some((float *)c + at, x, left);
}

/* Adds sums to c, or writes them over it; bias, ReLU, and rounding. */
static void put_tile(const MatmulShape *s, void *c, const float *sums, const float *bias, size_t i, size_t j)
{
    for (size_t r = i; r < i + TILE_ROWS && r < s->m; r++, sums += TILE_COLUMNS)
        for (size_t v = 0; v < TILE_COLUMNS && j + v < s->n; v += WIDTH) {
            size_t at = r * s->c_stride + j + v, left = s->n - j - v;
            Vec x = vec_load(sums + v);
            if (s->bias)
                x += left >= WIDTH ? vec_load(bias + j + v) : vec_load_some(bias + j + v, left);
            if (s->add)
                x += c_load(s, c, at, left);
            if (s->relu)
                x = vec_select(x < 0, vec_set(0), x);
            c_store(s, c, at, x, left);
        }
}

/* A strip meets a panel. */
static void meet(const MatmulShape *s, void *c, const Strips *a, const Unit *panel, const float *bias, float *sums,
                 size_t i, size_t j)
{
    bool whole = i + TILE_ROWS <= s->m,
         as_it_is = whole && j + TILE_COLUMNS <= s->n && s->output == ELEMENT_F32 && !s->bias && !s->relu;
    const Unit *strip = whole ? a->whole + i * a->row : a->rest;
    size_t row = whole ? a->row : a->units, column = whole ? a->column : 1;
    float *to = as_it_is ? (float *)c + i * s->c_stride + j : sums;
    size_t to_row = as_it_is ? s->c_stride : TILE_COLUMNS;
    if (s->inputs == ELEMENT_BF16)
        tile(to, to_row, as_it_is && s->add, strip, row, column, panel, TILE_COLUMNS, a->units, 2, true);
    else
        tile(to, to_row, as_it_is && s->add, strip, row, column, panel, TILE_COLUMNS, a->units, 2, false);
    if (!as_it_is)
        put_tile(s, c, sums, bias, i, j);
}

void blocked_product(const MatmulShape *s, void *c, const void *a, const void *b, const float *bias, void *scratch)
{
    Unit *panel = scratch;
    float *sums = (float *)(void *)(panel + units_of(s) * TILE_COLUMNS);
    Strips strips = strips_of(s, a, (Unit *)(void *)(sums + TILE_ROWS * TILE_COLUMNS));
    for (size_t j = 0; j < s->n; j += TILE_COLUMNS) {
        if (s->b_transposed)
            pack_turned(panel, s, b, j);
        else
            pack_rows(panel, s, b, j);
        for (size_t i = 0; i < s->m; i += TILE_ROWS)
            meet(s, c, &strips, panel, bias, sums, i, j);
    }
}
