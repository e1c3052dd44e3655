/* See blocked.h.
 *
 * Both operands are copied into the order in which the tile reads them, as floats and padded with zeros: a in strips
 * of TILE_ROWS rows (for each k their numbers side by side), b a panel of TILE_COLUMNS columns at a time. A strip
 * stays in the first cache while it meets a panel in the second. */
#include "kernels/cpu/blocked.h"

#include "kernels/cpu/tile.h"

size_t blocked_scratch(const MatmulShape *s)
{
    size_t numbers = round_up(s->m, TILE_ROWS) * s->k + s->k * TILE_COLUMNS + TILE_ROWS * TILE_COLUMNS;
    return (numbers + 1) * sizeof(float);
}

static float element(const void *matrix, size_t at, Element e)
{
    return e == ELEMENT_BF16 ? bf16_to_float(((const Bf16 *)matrix)[at]) : ((const float *)matrix)[at];
}

static void pack_strips(float *to, const MatmulShape *s, const void *a)
{
    for (size_t i = 0; i < s->m; i += TILE_ROWS)
        for (size_t l = 0; l < s->k; l++)
            for (size_t r = i; r < i + TILE_ROWS; r++)
                *to++ = r < s->m ? element(a, s->a_transposed ? l * s->a_stride + r : r * s->a_stride + l, s->inputs)
                                 : 0;
}

static void pack_panel(float *to, const MatmulShape *s, const void *b, size_t first)
{
    for (size_t l = 0; l < s->k; l++)
        for (size_t j = first; j < first + TILE_COLUMNS; j++)
            *to++ = j < s->n ? element(b, s->b_transposed ? j * s->b_stride + l : l * s->b_stride + j, s->inputs) : 0;
}

/* Adds to c, or writes over it, and rounds. */
static void put_tile(const MatmulShape *s, void *c, const float *sums, const float *bias, size_t i, size_t j)
{
    for (size_t r = i; r < i + TILE_ROWS && r < s->m; r++)
        for (size_t l = j; l < j + TILE_COLUMNS && l < s->n; l++) {
            size_t at = r * s->c_stride + l;
            float x = sums[(r - i) * TILE_COLUMNS + l - j] + (s->bias ? bias[l] : 0);
            x += s->add ? element(c, at, s->output) : 0;
            x = s->relu && x < 0 ? 0 : x;
            if (s->output == ELEMENT_BF16)
                ((Bf16 *)c)[at] = bf16_from_float(x);
            else
                ((float *)c)[at] = x;
        }
}

void blocked_product(const MatmulShape *s, void *c, const void *a, const void *b, const float *bias, void *scratch)
{
    float *strips = scratch, *panel = strips + round_up(s->m, TILE_ROWS) * s->k, *sums = panel + s->k * TILE_COLUMNS;
    pack_strips(strips, s, a);
    for (size_t j = 0; j < s->n; j += TILE_COLUMNS) {
        pack_panel(panel, s, b, j);
        for (size_t i = 0; i < s->m; i += TILE_ROWS) {
            tile(sums, TILE_COLUMNS, false, (const Unit *)(const void *)(strips + i * s->k), 1, TILE_ROWS,
                 (const Unit *)(const void *)panel, TILE_COLUMNS, s->k, 2, false);
            put_tile(s, c, sums, bias, i, j);
        }
    }
}
