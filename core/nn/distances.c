/* See distances.h. */
#include "core/nn/distances.h"

#include "core/nn/positions.h"
#include "core/tensor/operations.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static double alibi(const Parameter *p, size_t distance, size_t head)
{
    return -(double)distance * exp2(-8 * (double)(head + 1) / (double)p->shape[1]);
}

/* T5's bucket of a distance: half of them for keys ahead, if there are any; of these, half have one distance each. */
static size_t bucket_of(const Parameter *p, size_t entry)
{
    const size_t ahead = (size_t)p->given[0], buckets = ahead ? BUCKETS / 2 : BUCKETS, exact = buckets / 2;
    const bool before = entry >= ahead;
    const size_t distance = before ? entry - ahead : ahead - entry, first = before ? 0 : buckets;
    if (distance < exact)
        return first + distance;
    double share = log((double)distance / (double)exact) / log((double)BUCKETS_REACH / (double)exact);
    size_t far = exact + (size_t)(share * (double)(buckets - exact));
    return first + (far < buckets ? far : buckets - 1);
}

static double bucket(const Parameter *p, size_t entry, size_t column) { return bucket_of(p, entry) == column; }

/* t5: of the stack that the block of this prefix is in, "blocks" of "blocks.0.attention". */
static void add_buckets(Parameters *p, Distances *d, bool of_stack, size_t heads, const char *prefix)
{
    char name[sizeof(((Parameter *)0)->name)];
    const bool again = p->again;
    snprintf(name, sizeof name, "%.*s.distance_bias", of_stack ? (int)strcspn(prefix, ".") : (int)strlen(prefix),
             prefix);
    p->again = again || of_stack;
    d->buckets = linear_new(p, BUCKETS, heads, false, name);
    p->again = again;
    if (d->buckets.weight)
        d->buckets.weight->edge = EDGE_IN;
    d->bucket = parameters_constant(p, d->count, BUCKETS, bucket, prefix, "bucket");
    if (d->bucket)
        d->bucket->given[0] = (double)d->ahead;
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
    case DISTANCE_BUCKETS:
    case DISTANCE_T5: add_buckets(p, &d, o->kind == DISTANCE_T5, heads, prefix); break;
    case DISTANCE_XL:
        d.features = parameters_constant(p, count, dim, sinusoid_of, prefix, "distances");
        d.keys = linear_new(p, dim, width, false, name);
        d.content_bias = add_bias(p, width, 0, prefix, "content_bias");
        d.position_bias = add_bias(p, width, 0, prefix, "position_bias");
        break;
    }
    return d;
}

DistanceTensors distances_describe(Tape *t, const Distances *d, Attend *how)
{
    DistanceTensors tensors = {0};
    how->distances = d->count;
    how->ahead = d->ahead;
    how->distance_bias = tape_reals_of(t, d->bias);
    how->content_bias = tape_reals_of(t, d->content_bias);
    how->position_bias = tape_reals_of(t, d->position_bias);
    if (d->bucket) {
        tensors.bias = linear_logits(t, &d->buckets, tape_constant(t, d->bucket));
        tensors.bias_gradient = t->recording ? tape_reals(t, tensors.bias->rows * tensors.bias->columns) : NULL;
        how->distance_bias = tensors.bias->data;
    }
    if (d->keys.weight) {
        tensors.relative = d->features ? linear(t, &d->keys, tape_constant(t, d->features))
                                       : transpose(t, tape_parameter(t, d->keys.weight));
        how->relative = tensor_strided(tensors.relative);
    }
    return tensors;
}

void distances_gradients(Tape *t, const Distances *d, const DistanceTensors *tensors, AttendGradients *gradients)
{
    bool learned = d->bias && d->bias->role != ROLE_CONSTANT;
    Tensor *relative = tensors->relative;
    gradients->distance_bias = learned ? tape_gradient_of(t, d->bias) : NULL;
    gradients->content_bias = tape_gradient_of(t, d->content_bias);
    gradients->position_bias = tape_gradient_of(t, d->position_bias);
    if (relative)
        gradients->relative = (Strided){tensor_gradient(t, relative, &gradients->add_relative), relative->stride};
    if (tensors->bias) {
        t->k->zero(t->stream, tensors->bias_gradient, tensors->bias->rows * tensors->bias->columns * t->k->real);
        gradients->distance_bias = tensors->bias_gradient;
    }
}

void distances_backward(Tape *t, const DistanceTensors *tensors)
{
    Tensor *bias = tensors->bias;
    bool add;
    if (bias)
        t->k->convert(t->stream, tensor_gradient(t, bias, &add), tensors->bias_gradient, bias->rows * bias->columns);
}
