/* The two directions in which points differ most (principal components), and where each point is along them.
 *
 *     C = (X - mean)^T (X - mean)        direction 1 and 2: the eigenvectors of C with the largest eigenvalues
 *
 * A picture of points that have hundreds of coordinates shows two of them, and how much that is: `share`. */
#ifndef CORE_PLOT_PCA_H
#define CORE_PLOT_PCA_H

#include "base/error.h"

#include <stddef.h>

/* points [rows, columns] lose their mean; coordinates [rows, 2]; share: of all variance, 0 to 1. Of two signs of a direction
 * it is the one whose largest coordinate is positive. */
bool pca(double *points, size_t rows, size_t columns, double *coordinates, double share[2], Error *e);

#endif
