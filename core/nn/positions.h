/* The position of a token, as a vector that is added to its embedding. (Rotary positions change only queries and keys:
 * rotary.h.) */
#ifndef CORE_NN_POSITIONS_H
#define CORE_NN_POSITIONS_H

#include "core/tensor/parameters.h"

typedef enum Positions { POSITIONS_NONE, POSITIONS_LEARNED, POSITIONS_SINUSOID, POSITIONS_ROTARY } Positions;

/* A table [context, dim] that is learned or computed, or NULL for none and rotary. */
Parameter *positions_new(Parameters *p, Positions kind, size_t context, size_t dim, const char *name);

/* sin(position / 10000^(2i / columns)) in column 2i, the cosine of the same angle in column 2i+1. */
double sinusoid(size_t position, size_t column, size_t columns);
double sinusoid_of(const Parameter *table, size_t position, size_t column);

#endif
