/* See blend.h. */
#include "core/nn/blend.h"

#include "core/tensor/operations.h"

static Parameter *weights(Parameters *p, size_t dim, double first, const char *name, const char *part)
{
    Parameter *w = parameters_add(p, ROLE_GAIN, dim, 0, "%s.%s", name, part);
    if (w)
        w->constant = first > 0 ? always_one : always_zero, w->times = first;
    return w;
}

Blend blend_new(Parameters *p, size_t dim, double own, double other, const char *name)
{
    return (Blend){weights(p, dim, own, name, "own"), weights(p, dim, other, name, "other")};
}

Tensor *blend(Tape *t, const Blend *m, Tensor *x, Tensor *z)
{
    x = mul_row(t, x->base ? concat(t, &x, 1) : x, tape_parameter(t, m->own));
    z = mul_row(t, z, tape_parameter(t, m->other));
    return add(t, x, z, (Dropout){0});
}
