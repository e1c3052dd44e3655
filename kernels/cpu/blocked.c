/* See blocked.h.
 *
 * Both operands are read as `units` along k (tile.h). b is packed, padded with zeros, in panels of PANEL columns:
 * [k units, PANEL]. A row panel of up to ROWS rows of a is multiplied by one panel of b after the other. Panels of b
 * stay in the second-level cache, the row panel in the first, and their product, a micro-tile [ROWS, PANEL] of c, in
 * registers while k runs, in chunks if it is long. So a, b and c are each read from memory once; meanwhile the operands
 * of the next micro-tiles are prefetched.
 *
 * a is read in place if its rows are stored in units: floats always are, pairs of bfloat16 are in rows of even length.
 * Otherwise the row panel is copied. Of a transposed a, units that follow each other along k are a row apart: if rows
 * are 4 KiB long, they all fall into one set of the first-level cache. So columns of it are copied, too, those of several
 * row panels in one pass.
 *
 * At a level without instructions for pairs, bfloat16 becomes floats while it is packed or copied, so that its products
 * are those of f32. */
#include "kernels/cpu/blocked.h"

#include "kernels/cpu/tile.h"
#include "kernels/cpu/tuning.h"

#if defined __AVX512F__ || defined __aarch64__
#define ROWS 12 /* 24 sums of 32 registers */
#else
#define ROWS 6 /* 12 sums of 16 registers */
#endif

#define PANEL (2 * WIDTH)
#define TOGETHER                                                                                                       \
    (48 / ROWS) /* row panels of a transposed a that are copied at once, so that cache lines are read once */

static size_t bytes_of(const MatmulShape *s) { return s->inputs == ELEMENT_BF16 ? sizeof(Bf16) : sizeof(float); }
static size_t per_unit(const MatmulShape *s) { return s->inputs == ELEMENT_BF16 && DOTS ? 2 : 1; }
static size_t units_of(const MatmulShape *s) { return (s->k + per_unit(s) - 1) / per_unit(s); }

/* --- b --- */

/* A vector of units: rows l .. of an operand stored as [k, columns], from a column that has `left` after it in its row,
 * zeros past the last. */
INLINE void pack_vector(Unit *to, const MatmulShape *s, const void *x, size_t stride, size_t l, size_t column,
                        size_t left)
{
    const size_t at = l * stride + column;
    if (s->inputs == ELEMENT_F32) {
        IVec row = left ? units_some((const float *)x + at, left * sizeof(float)) : (IVec){0};
        memcpy(to, &row, sizeof row);
    } else if (!DOTS) {
        vec_store((float *)to, vec_from_bf16(left ? bf16_some((const Bf16 *)x + at, left) : (HVec){0}));
    } else {
        const Bf16 *row = (const Bf16 *)x + at;
        HVec low = left ? bf16_some(row, left) : (HVec){0};
        bf16_store_pairs(to, low, left && l + 1 < s->k ? bf16_some(row + stride, left) : (HVec){0});
    }
}

/* Columns first .. of b, stored as [k,n] */
static void pack_rows(Unit *to, const MatmulShape *s, const void *b, size_t first)
{
    const size_t left = s->n - first;
    for (size_t l = 0; l < s->k; l += per_unit(s), to += PANEL)
        for (size_t v = 0; v < PANEL; v += WIDTH)
            pack_vector(to + v, s, b, s->b_stride, l, first + v, v < left ? left - v : 0);
}

/* The same of a transposed one, stored as [n,k] */
static void pack_transposed(Unit *to, const MatmulShape *s, const void *b, size_t first)
{
    const bool widened = bytes_of(s) == sizeof(Bf16) && !DOTS;
    size_t bytes = bytes_of(s), units = units_of(s), row = s->k * bytes;
    IVec block[WIDTH];
    for (size_t v = 0; v < PANEL; v += WIDTH)
        for (size_t u = 0; u < units; u += WIDTH) {
            for (size_t r = 0; r < WIDTH; r++) {
                size_t column = first + v + r, at = u * (widened ? sizeof(Bf16) : sizeof(Unit));
                const char *from = (const char *)b + column * s->b_stride * bytes + at;
                if (column >= s->n)
                    block[r] = (IVec){0};
                else
                    block[r] = widened ? (IVec)vec_from_bf16(bf16_some((const Bf16 *)(const void *)from, s->k - u))
                                       : units_some(from, row - at);
            }
            units_transpose(to + u * PANEL + v, PANEL, block, units - u < WIDTH ? units - u : WIDTH);
        }
}

/* Memory to prefetch: this many rows of this many bytes */
typedef struct Prefetch {
    const char *at;
    size_t stride, rows, bytes;
} Prefetch;

/* Prefetches its next rows. */
INLINE void prefetch(Prefetch *a, size_t rows)
{
    for (; rows && a->rows; rows--, a->rows--, a->at += a->stride)
        for (size_t i = 0; i < a->bytes; i += 64)
            __builtin_prefetch(a->at + i);
}

/* The panel of columns first .. */
static Prefetch prefetch_panel(const MatmulShape *s, const void *b, size_t first)
{
    size_t bytes = bytes_of(s), stride = s->b_stride * bytes, columns = s->n - first < PANEL ? s->n - first : PANEL;
    if (s->b_transposed)
        return (Prefetch){(const char *)b + first * stride, stride, columns, s->k * bytes};
    return (Prefetch){(const char *)b + first * bytes, stride, s->k, columns * bytes};
}

/* --- a --- */

/* Unit l of row i is at[i * row + l * column]. */
typedef struct RowPanel {
    const Unit *at;
    size_t row, column;
} RowPanel;

static uint32_t bits_at(const MatmulShape *s, const void *a, size_t i, size_t l)
{
    size_t at = s->a_transposed ? l * s->a_stride + i : i * s->a_stride + l;
    uint32_t bits = 0;
    if (l >= s->k)
        return 0;
    memcpy(&bits, (const char *)a + at * bytes_of(s), bytes_of(s));
    return bits;
}

static void widen(Unit *to, const Bf16 *from, size_t count)
{
    for (size_t i = 0; i < count; i += WIDTH) {
        Vec x = vec_from_bf16(bf16_some(from + i, count - i));
        if (count - i >= WIDTH)
            vec_store((float *)to + i, x);
        else
            vec_store_some((float *)to + i, x, count - i);
    }
}

static void copy_rows(Unit *to, const MatmulShape *s, const void *a, size_t first, size_t rows)
{
    size_t units = units_of(s), each = per_unit(s);
    for (size_t i = first; !DOTS && i < first + rows; i++, to += units)
        widen(to, (const Bf16 *)a + i * s->a_stride, units);
    for (size_t i = first; DOTS && i < first + rows; i++)
        for (size_t u = 0; u < units; u++)
            *to++ = (Unit)(bits_at(s, a, i, u * each) | (each == 2 ? bits_at(s, a, i, 2 * u + 1) << 16 : 0));
}

/* The first row of a row panel, of which there are `panels`. */
static size_t first_row(const MatmulShape *s, size_t t, size_t panels) { return t * s->m / panels; }

/* Room for a copied row panel: units, ROWS of each, and what the last vector of a transposed a has more. */
static size_t copied_panel(size_t units) { return units * ROWS + WIDTH; }

/* Row panels t .. end-1 of an a stored as [k,m], one copied after the other. */
static void copy_columns(Unit *to, const MatmulShape *s, const void *a, size_t t, size_t end, size_t panels)
{
    const size_t size = copied_panel(units_of(s));
    size_t first[TOGETHER];
    for (size_t p = t; p < end; p++)
        first[p - t] = first_row(s, p, panels);
    for (size_t l = 0; l < s->k; l += per_unit(s), to += ROWS)
        for (size_t p = 0; p < end - t; p++)
            for (size_t v = 0; v < ROWS; v += WIDTH) {
                const size_t column = first[p] + v;
                pack_vector(to + p * size + v, s, a, s->a_stride, l, column, column < s->m ? s->m - column : 0);
            }
}

/* Of an a stored as [m,k] */
static RowPanel row_panel(const MatmulShape *s, const void *a, size_t first, size_t rows, Unit *copied)
{
    const size_t each = per_unit(s);
    const bool floats = s->inputs == ELEMENT_F32;
    if (floats || (DOTS && !(s->k % 2 || s->a_stride % 2 || (uintptr_t)a % sizeof(Unit))))
        return (RowPanel){(const Unit *)a + first * (s->a_stride / each), s->a_stride / each, 1};
    copy_rows(copied, s, a, first, rows);
    return (RowPanel){copied, units_of(s), 1};
}

/* Of the next row panel, chunk p of this many */
static Prefetch prefetch_rows(const MatmulShape *s, const void *a, size_t first, size_t p, size_t chunks)
{
    size_t bytes = bytes_of(s), rows = s->m - first < ROWS ? s->m - first : ROWS;
    size_t from = p * s->k / chunks, count = (p + 1) * s->k / chunks - from;
    if (s->a_transposed)
        return (Prefetch){0};
    return (Prefetch){(const char *)a + (first * s->a_stride + from) * bytes, s->a_stride * bytes, rows, count * bytes};
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

/* The initial value of a sum */
INLINE Vec begin(const MatmulShape *s, const void *c, const float *bias, size_t at, size_t left)
{
    Vec x = vec_set(0);
    if (s->bias)
        x = left >= WIDTH ? vec_load(bias) : vec_load_some(bias, left);
    return s->add ? x + c_load(s, c, at, left) : x;
}

/* Stores a sum after ReLU, rounded */
INLINE void end(const MatmulShape *s, void *c, size_t at, Vec sum, size_t left)
{
    c_store(s, c, at, s->relu ? vec_select(sum < 0, vec_set(0), sum) : sum, left);
}

void blocked_relu(const MatmulShape *s, void *c, const float *bias)
{
    const MatmulShape sum = {.add = true, .bias = bias != NULL, .output = s->output};
    for (size_t i = 0; i < s->m; i++)
        for (size_t j = 0; j < s->n; j += WIDTH) {
            size_t at = i * s->c_stride + j, left = s->n - j;
            end(s, c, at, begin(&sum, c, bias ? bias + j : NULL, at, left), left);
        }
}

/* The product of a row panel of a and a panel of b, from c[at] on; the row of c has `left` columns left there. */
typedef struct MicroTile {
    const MatmulShape *shape;
    void *c;
    size_t at, left, units;
    RowPanel a;
    const Unit *panel;
    const float *bias;
    Prefetch next[3];
} MicroTile;

INLINE void multiply(Vec sum[ROWS][2], MicroTile *t, int rows, bool pairs)
{
    const Unit *a[3] = {t->a.at, t->a.at + (rows > 4 ? 4 : 0) * t->a.row, t->a.at + (rows > 8 ? 8 : 0) * t->a.row};
    const Unit *panel = t->panel;
    const size_t row = t->a.row, third = 3 * row, column = t->a.column; /* few registers for many rows */
    const size_t units = t->units, part = (units + (size_t)rows - 1) / (size_t)rows;
    size_t share[3];
    for (int i = 0; i < 3; i++)
        share[i] = (t->next[i].rows + (size_t)rows - 1) / (size_t)rows;
    for (size_t l = 0; l < units;) {
        for (int i = 0; i < 3; i++)
            prefetch(&t->next[i], share[i]);
        for (size_t until = l + part < units ? l + part : units; l < until; l++, panel += PANEL) {
            IVec b0 = units_load(panel), b1 = units_load(panel + WIDTH);
            for (int i = 0; i < rows; i++) {
                IVec factor = (IVec){0} + a[i / 4][i % 4 == 3 ? third : (size_t)(i % 4) * row];
                sum[i][0] = units_multiply(sum[i][0], factor, b0, pairs);
                sum[i][1] = units_multiply(sum[i][1], factor, b1, pairs);
            }
            for (int i = 0; i < 3; i++)
                a[i] += column;
        }
    }
}

INLINE void tile_some(MicroTile *t, int rows, bool pairs, size_t left, size_t more)
{
    Vec sum[ROWS][2];
    const MatmulShape *s = t->shape;
    for (int i = 0; i < rows; i++) {
        size_t at = t->at + (size_t)i * s->c_stride;
        sum[i][0] = begin(s, t->c, t->bias, at, left);
        sum[i][1] = more ? begin(s, t->c, t->bias + WIDTH, at + WIDTH, more) : vec_set(0);
    }
    multiply(sum, t, rows, pairs);
    for (int i = 0; i < rows; i++) {
        size_t at = t->at + (size_t)i * s->c_stride;
        end(s, t->c, at, sum[i][0], left);
        if (more)
            end(s, t->c, at + WIDTH, sum[i][1], more);
    }
}

INLINE void tile_rows(MicroTile *t, int rows, bool pairs)
{
    if (t->left >= PANEL)
        tile_some(t, rows, pairs, WIDTH, WIDTH);
    else
        tile_some(t, rows, pairs, t->left, t->left > WIDTH ? t->left - WIDTH : 0);
}

/* Each number of rows has its own code. */
INLINE void tile_of(MicroTile *t, size_t rows, bool pairs)
{
    switch (rows) {
#if ROWS > 6
    case 12: tile_rows(t, 12, pairs); break;
    case 11: tile_rows(t, 11, pairs); break;
    case 10: tile_rows(t, 10, pairs); break;
    case 9: tile_rows(t, 9, pairs); break;
    case 8: tile_rows(t, 8, pairs); break;
    case 7: tile_rows(t, 7, pairs); break;
#endif
    case 6: tile_rows(t, 6, pairs); break;
    case 5: tile_rows(t, 5, pairs); break;
    case 4: tile_rows(t, 4, pairs); break;
    case 3: tile_rows(t, 3, pairs); break;
    case 2: tile_rows(t, 2, pairs); break;
    default: tile_rows(t, 1, pairs);
    }
}

static void micro_tile(MicroTile *t, size_t rows)
{
    if (per_unit(t->shape) == 2)
        tile_of(t, rows, true);
    else
        tile_of(t, rows, false);
}

/* --- the product --- */

/* Panels of b from column `first` on, packed; the copied rows of a follow them in memory. */
typedef struct Group {
    size_t first, panels;
    Unit *packed, *copied;
} Group;

/* What the micro-tile after rows i .. next-1 and panel p will need */
static void plan_prefetch(MicroTile *t, const Group *g, const void *a, const void *b, size_t i, size_t next, size_t p)
{
    const MatmulShape *s = t->shape;
    const size_t bytes = s->output == ELEMENT_BF16 ? sizeof(Bf16) : sizeof(float);
    bool last = p + 1 == g->panels;
    if (!i && !last)
        t->next[0] = prefetch_panel(s, b, g->first + (p + 1) * PANEL);
    if (next < s->m)
        t->next[1] = prefetch_rows(s, a, next, p, g->panels);
    if (!last || next < s->m) {
        size_t at = last ? next * s->c_stride + g->first : t->at + PANEL;
        t->next[2] = (Prefetch){(const char *)t->c + at * bytes, s->c_stride * bytes, next - i, PANEL * bytes};
    }
}

static void group_product(const MatmulShape *s, void *c, const void *a, const void *b, const float *bias,
                          const Group *g)
{
    const size_t units = units_of(s), row_panels = (s->m + ROWS - 1) / ROWS;
    size_t copied = 0, end = 0; /* row panels that are, of a transposed a */
    for (size_t t = 0; t < row_panels; t++) {
        size_t i = first_row(s, t, row_panels), next = first_row(s, t + 1, row_panels);
        RowPanel rows;
        if (s->a_transposed) {
            if (t == end) {
                copied = t;
                end = t + TOGETHER < row_panels ? t + TOGETHER : row_panels;
                copy_columns(g->copied, s, a, t, end, row_panels);
            }
            rows = (RowPanel){g->copied + (t - copied) * copied_panel(units), 1, ROWS};
        } else
            rows = row_panel(s, a, i, next - i, g->copied);
        for (size_t p = 0; p < g->panels; p++) {
            size_t j = g->first + p * PANEL;
            Unit *panel = g->packed + p * units * PANEL;
            MicroTile tile = {s,    c,     i * s->c_stride + j,       s->n - j, units,
                              rows, panel, s->bias ? bias + j : NULL, {{0}}};
            if (!i)
                (s->b_transposed ? pack_transposed : pack_rows)(panel, s, b, j);
            plan_prefetch(&tile, g, a, b, i, next, p);
            micro_tile(&tile, next - i);
        }
    }
}

/* A sum over k is split into `count` chunks of k numbers; the last has `rest` more. In floats that changes no bit: what a
 * chunk leaves in c is where the next one begins. */
typedef struct Chunks {
    size_t count, k, rest;
} Chunks;

static Chunks chunks_of(const MatmulShape *s)
{
    const size_t most = tuning_now.chunk * per_unit(s);
    bool one = s->k <= most || s->output != ELEMENT_F32;
    size_t count = one ? 1 : (s->k + most - 1) / most, k = one ? s->k : s->k / count / 2 * 2;
    return (Chunks){count, k, s->k - count * k};
}

static size_t longest_units(const MatmulShape *s, const Chunks *chunks)
{
    return (chunks->k + chunks->rest + per_unit(s) - 1) / per_unit(s);
}

/* The part of c in a group's columns, chunk after chunk, so that it stays in the second-level cache. */
static void group_of_chunks(const MatmulShape *s, void *c, const void *a, const void *b, const float *bias,
                            const Group *g, const Chunks *chunks)
{
    const size_t a_step = (s->a_transposed ? s->a_stride : 1) * bytes_of(s),
                 b_step = (s->b_transposed ? 1 : s->b_stride) * bytes_of(s);
    for (size_t i = 0; i < chunks->count; i++) {
        const size_t from = i * chunks->k;
        const bool first = !i, last = i + 1 == chunks->count;
        MatmulShape chunk = *s;
        chunk.k = last ? s->k - from : chunks->k;
        chunk.add = s->add || !first;
        chunk.bias = s->bias && first;
        chunk.relu = s->relu && last;
        group_product(&chunk, c, (const char *)a + from * a_step, (const char *)b + from * b_step, bias, g);
    }
}

size_t blocked_scratch(const MatmulShape *s)
{
    const Chunks chunks = chunks_of(s);
    const size_t units = longest_units(s, &chunks), panel = units * PANEL * sizeof(Unit);
    const size_t all = round_up(s->n, PANEL) * units * sizeof(Unit);
    const size_t most = tuning_now.panels > panel ? tuning_now.panels : panel;
    return (all < most ? all : most) + (s->a_transposed ? TOGETHER : 1) * copied_panel(units) * sizeof(Unit);
}

void blocked_product(const MatmulShape *s, void *c, const void *a, const void *b, const float *bias, void *scratch)
{
    const Chunks chunks = chunks_of(s);
    const size_t units = longest_units(s, &chunks), panel = units * PANEL * sizeof(Unit);
    const size_t panels = (s->n + PANEL - 1) / PANEL;
    const size_t most = panel && panel < tuning_now.panels ? tuning_now.panels / panel : 1;
    Group g = {.packed = scratch, .copied = (Unit *)scratch + (panels < most ? panels : most) * PANEL * units};
    const size_t groups = (panels + most - 1) / most; /* of nearly equal size: each reads all of a */
    for (size_t p = 0, i = 0; i < groups; i++, p += g.panels) {
        g.first = p * PANEL;
        g.panels = (i + 1) * panels / groups - p;
        group_of_chunks(s, c, a, b, bias, &g, &chunks);
    }
}
