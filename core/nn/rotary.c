/* See rotary.h. */
#include "core/nn/rotary.h"

#include "core/tensor/operations.h"

#include <assert.h>
#include <math.h>

/* Of a table with given = {numbers that are rotated, base, stretch of positions}; 0 for numbers that are not. */
static double angle(const Parameter *p, size_t position, size_t column)
{
    size_t rotated = (size_t)p->given[0];
    if (column >= rotated)
        return 0;
    double pair = (double)(column % (rotated / 2));
    return (double)position / p->given[2] * pow(p->given[1], -2 * pair / (double)rotated);
}

static double cosine(const Parameter *p, size_t position, size_t column) { return cos(angle(p, position, column)); }
static double sine(const Parameter *p, size_t position, size_t column) { return sin(angle(p, position, column)); }

/* The factor with which number `row` of a head enters number `column` of half(x). */
static double half(const Parameter *p, size_t row, size_t column)
{
    size_t half = (size_t)p->given[0] / 2;
    return column < half && row == column + half ? -1 : row < half && row + half == column;
}

/* How many numbers of a head are rotated: even, at least 2. */
static size_t rotary_size(const RotaryOptions *o, size_t size)
{
    size_t pairs = (size_t)((o->share > 0 ? o->share : 1) * (double)size / 2);
    return pairs ? 2 * pairs : 2;
}

static Parameter *table(Parameters *p, const RotaryOptions *o, size_t rows, size_t size,
                        double (*value)(const Parameter *, size_t, size_t), const char *prefix, const char *name)
{
    Parameter *new = parameters_constant(p, rows, size, value, prefix, name);
    double rotated = (double)rotary_size(o, size), stretch = o->stretch > 0 ? o->stretch : 1;
    if (!new)
        return NULL;
    new->given[0] = rotated;
    new->given[1] = o->base > 0 ? o->base : 10000;
    new->given[2] = o->ntk ? 1 : stretch;
    if (o->ntk && rotated > 2)
        new->given[1] *= pow(stretch, rotated / (rotated - 2));
    return new;
}

Rotary rotary_new(Parameters *p, const RotaryOptions *o, size_t size, const char *prefix)
{
    if (!o->context)
        return (Rotary){0};
    return (Rotary){size, table(p, o, o->context, size, cosine, prefix, "cosine"),
                    table(p, o, o->context, size, sine, prefix, "sine"), table(p, o, size, size, half, prefix, "half")};
}

/* The rows of a table [context, size] at these positions, once for each head: [N, heads * size] */
static Tensor *for_heads(Tape *t, const Parameter *angles, RowPositions positions, size_t n, size_t heads)
{
    Tensor *one = gather(t, tape_constant(t, angles), positions.position, positions.count);
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
    x = concat(t, &x, 1); /* a copy: x may be columns of a wider tensor */
    Tensor *quarter = product(t, x, tape_constant(t, r->half), &shape, x->rows, width);
    return add(t, mul(t, x, for_heads(t, r->cosine, positions, x->rows, heads)),
               mul(t, quarter, for_heads(t, r->sine, positions, x->rows, heads)), (Dropout){0});
}
