/* See positions.h. */
#include "core/nn/positions.h"

#include <math.h>

double sinusoid(size_t position, size_t column, size_t columns)
{
    double angle = (double)position / pow(10000, (double)(column / 2 * 2) / (double)columns);
    return column % 2 ? cos(angle) : sin(angle);
}

double sinusoid_of(const Parameter *table, size_t position, size_t column)
{
    return sinusoid(position, column, table->shape[1]);
}

Parameter *positions_new(Parameters *p, Positions kind, size_t context, size_t dim, const char *name)
{
    if (kind == POSITIONS_NONE || kind == POSITIONS_ROTARY)
        return NULL;
    bool learned = kind == POSITIONS_LEARNED;
    Parameter *table = parameters_add(p, learned ? ROLE_TABLE : ROLE_CONSTANT, context, dim, "%s", name);
    if (table && !learned)
        table->constant = sinusoid_of;
    return table;
}
