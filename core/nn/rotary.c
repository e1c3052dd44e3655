/* See rotary.h. */
#include "core/nn/rotary.h"

#include "core/tensor/operations.h"

#include <assert.h>
#include <math.h>

static double angle(size_t position, size_t column, size_t columns)
{
    size_t pair = column % (columns / 2);
    return (double)position * pow(10000, -2 * (double)pair / (double)columns);
}

static double cosine(size_t position, size_t column, size_t columns) { return cos(angle(position, column, columns)); }
static double sine(size_t position, size_t column, size_t columns) { return sin(angle(position, column, columns)); }

/* What number `row` of a head adds to number `column` of half(x). */
static double half(size_t row, size_t column, size_t columns)
{
    return row == column + columns / 2 ? -1 : row + columns / 2 == column;
}

Rotary rotary_new(Parameters *p, size_t context, size_t size, const char *prefix)
{
    if (!context)
        return (Rotary){0};
    return (Rotary){size, parameters_constant(p, context, size, cosine, prefix, "cosine"),
                    parameters_constant(p, context, size, sine, prefix, "sine"),
                    parameters_constant(p, size, size, half, prefix, "half")};
}

/* The rows of a table [context, size] at these positions, once for each head: [N, heads * size] */
static Tensor *for_heads(Tape *t, const Parameter *table, RowPositions positions, size_t n, size_t heads)
{
    Tensor *one = gather(t, tape_constant(t, table), positions.position, positions.count);
    if (positions.index)
        one = gather(t, one, positions.index, n);
    Tensor **each = arena_take(&t->host, heads * sizeof *each);
    for (size_t h = 0; h < heads; h++)
        each[h] = one;
    return concat(t, each, heads);
}

Tensor *rotate(Tape *t, const Rotary *r, Tensor *x, RowPositions positions)
{
    if (!r->cosine)
        return x;
    assert(positions.index || positions.count == x->rows);
    size_t size = r->size, width = x->columns, heads = width / size;
    const ProductShape shape = {.a = {0, size, width, 1},
                                .b = {0, 0, size, 1},
                                .c = {0, size, width, 1},
                                .outer = 1,
                                .inner = heads,
                                .m = x->rows,
                                .n = size,
                                .k = size,
                                .alpha = 1};
    x = concat(t, &x, 1); /* it was columns of a wider tensor */
    Tensor *turned = product(t, x, tape_constant(t, r->half), &shape, x->rows, width);
    return add(t, mul(t, x, for_heads(t, r->cosine, positions, x->rows, heads)),
               mul(t, turned, for_heads(t, r->sine, positions, x->rows, heads)), (Dropout){0});
}
