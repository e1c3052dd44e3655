/* See table.h. */
#include "core/plot/table.h"

#include "base/memory.h"

#include <math.h>

enum { MOST = 256 }; /* rows and columns that are drawn */

static size_t step_of(size_t count) { return (count + MOST - 1) / MOST; }

static void add_heading(Buffer *b, const char *title, const char *rows_are, const char *columns_are)
{
    buffer_print(b, "%s%s\t%s\t%s\n", b->size ? "\n\n" : "", title, rows_are, columns_are);
}

void table_add(Buffer *b, const Table *t)
{
    const size_t down = step_of(t->rows), across = step_of(t->columns);
    add_heading(b, t->title, t->rows_are, t->columns_are);
    for (size_t i = 0; i < t->rows; i += down)
        for (size_t j = 0; j < t->columns; j += across)
            buffer_print(b, "%.10g\t%.10g\t%.6g\n", t->first_row + (double)i, t->first_column + (double)j,
                         (double)t->value[i * t->columns + j]);
}

static double product(const Table *t, size_t i, size_t j)
{
    double sum = 0;
    for (size_t k = 0; k < t->columns; k++)
        sum += (double)t->value[i * t->columns + k] * (double)t->value[j * t->columns + k];
    return sum;
}

bool table_likeness(Buffer *b, const Table *t, Error *e)
{
    const size_t step = step_of(t->rows);
    double *length = memory_get(t->rows, sizeof *length);
    if (!length)
        return memory_error(e, "lengths of vectors", t->rows, sizeof *length);
    for (size_t i = 0; i < t->rows; i += step)
        length[i] = sqrt(product(t, i, i));
    add_heading(b, "cosine of two positions", t->rows_are, t->rows_are);
    for (size_t i = 0; i < t->rows; i += step)
        for (size_t j = 0; j < t->rows; j += step) {
            double both = length[i] * length[j];
            buffer_print(b, "%.10g\t%.10g\t%.6g\n", t->first_row + (double)i, t->first_row + (double)j,
                         both > 0 ? product(t, i, j) / both : 0);
        }
    memory_free(length);
    return true;
}
