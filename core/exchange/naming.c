/* See naming.h. */
#include "core/exchange/naming.h"

#include "base/file.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A name with the number of its block. */
static void naming_name(char name[NAMING_NAME], const char *pattern, size_t block)
{
    const char *mark = strchr(pattern, '#');
    if (mark)
        snprintf(name, NAMING_NAME, "%.*s%zu%s", (int)(mark - pattern), pattern, block, mark + 1);
    else
        snprintf(name, NAMING_NAME, "%s", pattern);
}

/* A tensor of theirs while it is put together or taken apart. */
typedef struct Whole {
    char name[NAMING_NAME], part[NAMING_PARTS][NAMING_NAME];
    size_t parts, rows[NAMING_PARTS], all_rows, columns; /* of ours; columns 0: vectors */
    Layout layout;
} Whole;

static Whole whole_of(const NamingTable *t, const Naming *n, size_t block)
{
    Whole w = {.layout = n->layout == LAYOUT_TRANSPOSED && t->never_transposed ? LAYOUT_SAME : n->layout};
    naming_name(w.name, n->theirs, block);
    for (; w.parts < NAMING_PARTS && n->ours[w.parts]; w.parts++)
        naming_name(w.part[w.parts], n->ours[w.parts], block);
    return w;
}

/* Row r of ours within a tensor of theirs: in each head of LAYOUT_PAIRS, 2 i is i and 2 i + 1 is i + n/2. */
static size_t row_of(const NamingTable *t, Layout layout, size_t row)
{
    const size_t inside = layout == LAYOUT_PAIRS ? row % t->head_size : 0, half = t->rotated / 2;
    if (layout != LAYOUT_PAIRS || inside >= t->rotated)
        return row;
    return row - inside + (inside < half ? 2 * inside : 2 * (inside - half) + 1);
}

static bool is_turned(const Whole *w) { return w->layout == LAYOUT_TRANSPOSED && w->columns; }

/* Copies part `ours` [rows, columns] to its place in `theirs` from row `first` on, or back. */
static void move(const NamingTable *t, const Whole *w, size_t first, size_t rows, float *theirs, float *ours, bool back)
{
    const size_t columns = w->columns ? w->columns : 1;
    for (size_t r = 0; r < rows; r++) {
        const size_t row = first + row_of(t, w->layout, r);
        for (size_t c = 0; c < columns; c++) {
            float *there = &theirs[is_turned(w) ? c * w->all_rows + row : row * columns + c];
            if (back)
                ours[r * columns + c] = *there;
            else
                *there = ours[r * columns + c];
        }
    }
}

/* Their shape. */
static size_t their_rows(const Whole *w) { return is_turned(w) ? w->columns : w->all_rows; }
static size_t their_columns(const Whole *w) { return is_turned(w) ? w->all_rows : w->columns; }

/* ---- writing */

/* The length of a vector that is absent: a map's bias is as long as its weight has rows, a norm's as the model is wide. */
static size_t absent_rows(const NamingTable *t, const Tensors *ours, const char *name)
{
    char weight[NAMING_NAME];
    snprintf(weight, sizeof weight, "%.*s.weight", (int)(strlen(name) - strlen(".bias")), name);
    const SafeTensor *map = name_ends(name, ".bias") ? tensors_find(ours, weight) : NULL;
    return map ? map->shape[0] : t->dim;
}

static bool measure(const NamingTable *t, const Tensors *ours, Whole *w, Error *e)
{
    for (size_t i = 0; i < w->parts; i++) {
        const SafeTensor *part = tensors_find(ours, w->part[i]);
        const bool vector = name_ends(w->part[i], ".bias") || strstr(w->part[i], "norm");
        if (!part && !vector)
            return fail(e, "the model has no '%s'", w->part[i]);
        const size_t columns = part && part->rank == 2 ? part->shape[1] : 0;
        if (i && columns != w->columns)
            return fail(e, "'%s' and '%s' have different widths", w->part[i], w->part[0]);
        w->columns = columns;
        w->rows[i] = part ? part->shape[0] : absent_rows(t, ours, w->part[i]);
        w->all_rows += w->rows[i];
    }
    return true;
}

static bool write_one(const NamingTable *t, const Naming *n, size_t block, const Tensors *ours, Tensors *theirs,
                      Error *e)
{
    Whole w = whole_of(t, n, block);
    if (n->optional && !tensors_find(ours, w.part[0]) && !(t->biases && name_ends(w.part[0], ".bias")))
        return true;
    float *values = measure(t, ours, &w, e) ? tensor_values(w.name, w.all_rows, w.columns, e) : NULL;
    if (!values)
        return false;
    for (size_t i = 0, first = 0; i < w.parts; first += w.rows[i++]) {
        const SafeTensor *part = tensors_find(ours, w.part[i]);
        if (part)
            move(t, &w, first, w.rows[i], values, (float *)(uintptr_t)part->data, false);
        else
            for (size_t r = 0; r < w.rows[i]; r++)
                values[first + r] = name_ends(w.part[i], ".bias") ? 0 : 1;
    }
    return tensors_add(theirs, w.name, values, their_rows(&w), their_columns(&w), e);
}

bool naming_write(const NamingTable *t, const Tensors *ours, Tensors *theirs, Error *e)
{
    for (size_t i = 0; i < t->count; i++) {
        const size_t blocks = strchr(t->rows[i].theirs, '#') ? t->blocks : 1;
        for (size_t b = 0; b < blocks; b++)
            if (!write_one(t, &t->rows[i], b, ours, theirs, e))
                return false;
    }
    return true;
}

/* ---- reading */

/* Theirs, which must be finite. */
static float *read_values(Source *theirs, const Whole *w, Error *e)
{
    const size_t rows = their_rows(w), columns = their_columns(w), count = rows * (columns ? columns : 1);
    float *values = theirs->read(theirs, w->name, rows, columns, e);
    for (size_t i = 0; values && i < count; i++)
        if (!isfinite(values[i])) {
            fail(e, "%s: value %zu of tensor '%s' is not finite", theirs->path, i, w->name);
            memory_free(values);
            return NULL;
        }
    return values;
}

static bool read_one(const NamingTable *t, const Naming *n, size_t block, Source *theirs, const Parameters *model,
                     Tensors *ours, Error *e)
{
    Whole w = whole_of(t, n, block);
    for (size_t i = 0; i < w.parts; i++) {
        const Parameter *p = parameters_find(model, w.part[i]);
        if (!p && !i)
            return true;
        if (!p)
            return fail(e, "the model has '%s' but no '%s'", w.part[0], w.part[i]);
        w.rows[i] = p->shape[0];
        w.columns = p->rank == 2 ? p->shape[1] : 0;
        w.all_rows += w.rows[i];
    }
    float *values = read_values(theirs, &w, e);
    bool fine = values;
    for (size_t i = 0, first = 0; fine && i < w.parts; first += w.rows[i++]) {
        float *part = tensor_values(w.part[i], w.rows[i], w.columns, e);
        if (part)
            move(t, &w, first, w.rows[i], values, part, true);
        fine = tensors_add(ours, w.part[i], part, w.rows[i], w.columns, e);
    }
    memory_free(values);
    return fine;
}

bool naming_read(const NamingTable *t, Source *theirs, const Parameters *model, Tensors *ours, Error *e)
{
    for (size_t i = 0; i < t->count; i++) {
        const size_t blocks = strchr(t->rows[i].theirs, '#') ? t->blocks : 1;
        for (size_t b = 0; b < blocks; b++)
            if (!read_one(t, &t->rows[i], b, theirs, model, ours, e))
                return false;
    }
    return true;
}
