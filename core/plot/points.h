/* Tokens as points in a plane, as plots/embeddings.gp draws them. */
#ifndef CORE_PLOT_POINTS_H
#define CORE_PLOT_POINTS_H

#include "core/inspect/labels.h"

/* Adds a block: where the tokens of a table [rows, columns] are along its two principal components (which changes the
 * table: see pca.h). All are dots; those that are farthest out have their names written, and others as far as there is
 * room for them. */
bool points_add(Buffer *b, const char *title, double *table, size_t rows, size_t columns, const Labels *names,
                Error *e);

#endif
