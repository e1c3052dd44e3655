/* See distances.h. */
#include "core/nn/distances.h"

#include "core/nn/positions.h"
#include "core/tensor/operations.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

static double alibi(const Parameter *p, size_t distance, size_t head)
{
    return -(double)distance * exp2(-8 * (double)(head + 1) / (double)p->shape[1]);
}

/* 0 to begin with, whatever else is drawn: no distance counts yet. */
static Parameter *add_bias(Parameters *p, size_t rows, size_t columns, const char *prefix, const char *name)
{
    Parameter *bias = parameters_add(p, ROLE_BIAS, rows, columns, "%s.%s", prefix, name);
    if (bias)
        bias->fan_in = 0;
    return bias;
}

Distances distances_new(Parameters *p, const DistanceOptions *o, size_t dim, size_t heads, size_t key_size,
                        const char *prefix)
{
    size_t count = o->reach + 1 + o->ahead, width = heads * key_size;
    Distances d = {.count = count, .ahead = o->ahead};
    char name[sizeof(((Parameter *)0)->name)];
    snprintf(name, sizeof name, "%s.relative", prefix);
    switch (o->kind) {
    case DISTANCE_NONE: return (Distances){0};
    case DISTANCE_BIAS:
        d.bias = add_bias(p, count, heads, prefix, "distance_bias");
        if (d.bias && !o->ahead)
            d.bias->constant = alibi;
        break;
    case DISTANCE_ALIBI:
        assert(o->ahead == 0);
        d.bias = parameters_constant(p, count, heads, alibi, prefix, "distance_bias");
        break;
    case DISTANCE_KEYS:
        d.keys = linear_new(p, count, width, false, name);
        if (d.keys.weight)
            d.keys.weight->edge = EDGE_IN;
        break;
    case DISTANCE_XL:
        d.features = parameters_constant(p, count, dim, sinusoid_of, prefix, "distances");
        d.keys = linear_new(p, dim, width, false, name);
        d.content_bias = add_bias(p, width, 0, prefix, "content_bias");
        d.position_bias = add_bias(p, width, 0, prefix, "position_bias");
        break;
    }
    return d;
}

Tensor *distances_describe(Tape *t, const Distances *d, Attend *how)
{
    how->distances = d->count;
    how->ahead = d->ahead;
    how->distance_bias = tape_reals_of(t, d->bias);
    how->content_bias = tape_reals_of(t, d->content_bias);
    how->position_bias = tape_reals_of(t, d->position_bias);
    if (!d->keys.weight)
        return NULL;
    Tensor *relative = d->features ? linear(t, &d->keys, tape_constant(t, d->features))
                                   : transpose(t, tape_parameter(t, d->keys.weight));
    how->relative = tensor_strided(relative);
    return relative;
}

void distances_gradients(Tape *t, const Distances *d, Tensor *relative, AttendGradients *gradients)
{
    bool learned = d->bias && d->bias->role != ROLE_CONSTANT;
    gradients->distance_bias = learned ? tape_gradient_of(t, d->bias) : NULL;
    gradients->content_bias = tape_gradient_of(t, d->content_bias);
    gradients->position_bias = tape_gradient_of(t, d->position_bias);
    if (relative)
        gradients->relative = (Strided){tensor_gradient(t, relative, &gradients->add_relative), relative->stride};
}
