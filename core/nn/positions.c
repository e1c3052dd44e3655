/* See positions.h. */
#include "core/nn/positions.h"

#include <math.h>

double sinusoid(double position, size_t column, size_t columns)
{
    double angle = position / pow(10000, (double)(column / 2 * 2) / (double)columns);
    return column % 2 ? cos(angle) : sin(angle);
}

double sinusoid_of(const Parameter *table, size_t position, size_t column)
{
    return sinusoid((double)position, column, table->shape[1]);
}

/* Column c is the sine, and column half + c the cosine, of position / 10000^(2c / columns). */
static double halves_of(const Parameter *table, size_t position, size_t column)
{
    const size_t columns = table->shape[1], half = (columns + 1) / 2;
    return sinusoid((double)position, column < half ? 2 * column : 2 * (column - half) + 1, columns);
}

/* The same of position / 10000^(c / (half - 1)). */
static double slower_of(const Parameter *table, size_t position, size_t column)
{
    const size_t half = table->shape[1] / 2, c = column < half ? column : column - half;
    const double angle = (double)position / pow(10000, half > 1 ? (double)c / ((double)half - 1) : 0);
    return column < half ? sin(angle) : cos(angle);
}

Parameter *positions_new(Parameters *p, Positions kind, size_t context, size_t dim, const char *name)
{
    if (kind == POSITIONS_NONE || kind == POSITIONS_ROTARY)
        return NULL;
    const bool learned = kind == POSITIONS_LEARNED;
    Parameter *table = parameters_add(p, learned ? ROLE_TABLE : ROLE_CONSTANT, context, dim, "%s", name);
    if (table && !learned)
        table->constant = kind == POSITIONS_HALVES ? halves_of : kind == POSITIONS_SLOWER ? slower_of : sinusoid_of;
    return table;
}
