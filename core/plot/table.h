/* Tables of numbers as maps in two colours, as plots/tables.gp draws them: of positions, say, and how alike they are.
 */
#ifndef CORE_PLOT_TABLE_H
#define CORE_PLOT_TABLE_H

#include "base/buffer.h"
#include "base/error.h"

typedef struct Table {
    const char *title, *rows_are, *columns_are; /* names of its axes */
    const float *value;                         /* [rows, columns] */
    size_t rows, columns;
    double first_row, first_column; /* what they are called; the next ones count up */
} Table;

/* Adds a block. Of a table with many rows or columns each second, third .. alone, the first with them. */
void table_add(Buffer *b, const Table *t);

/* Adds the cosines between rows, in the same way. */
bool table_likeness(Buffer *b, const Table *t, Error *e);

#endif
