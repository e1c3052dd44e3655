/* The position of a token, as a vector that is added to its embedding. (Rotary positions change only queries and keys:
 * rotary.h.) */
#ifndef CORE_NN_POSITIONS_H
#define CORE_NN_POSITIONS_H

#include "core/tensor/parameters.h"

typedef enum Positions {
    POSITIONS_NONE,
    POSITIONS_LEARNED,
    POSITIONS_SINUSOID,
    POSITIONS_ROTARY,
    POSITIONS_HALVES, /* sinusoids whose sines come first, then the cosines */
    POSITIONS_SLOWER /* the same, as Tensor2Tensor and Marian have them: the slowest turns 10000 times as slowly as the first */
} Positions;

/* Whether they are computed, as a table. */
static inline bool positions_are_sinusoids(Positions kind)
{
    return kind == POSITIONS_SINUSOID || kind == POSITIONS_HALVES || kind == POSITIONS_SLOWER;
}

/* A table [context, dim] that is learned or computed, or NULL for none and rotary. */
Parameter *positions_new(Parameters *p, Positions kind, size_t context, size_t dim, const char *name);

/* sin(position / 10000^(2i / columns)) in column 2i, the cosine of the same angle in column 2i+1. */
double sinusoid(double position, size_t column, size_t columns);
double sinusoid_of(const Parameter *table, size_t position, size_t column);

#endif
