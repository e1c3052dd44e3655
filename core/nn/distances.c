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
    const double heads = p->given[0];
    return (double)head < heads ? -(double)distance * exp2(-8 * (double)(head + 1) / heads) : 0;
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
    d->last = linear_new(p, BUCKETS, heads, false, name);
    p->again = again;
    if (d->last.weight)
        d->last.weight->edge = EDGE_IN;
    d->inputs = parameters_constant(p, d->count, BUCKETS, bucket, prefix, "bucket");
    if (d->inputs)
        d->inputs->given[0] = (double)d->ahead;
}

/* A distance as the network of mlp reads it. */
static double log_distance(const Parameter *p, size_t entry, size_t column)
{
    double distance = (double)entry - p->given[0];
    return (void)column, copysign(log1p(fabs(distance)), distance);
}

/* The sinusoids of a distance, which is negative for keys ahead. */
static double wave(const Parameter *p, size_t entry, size_t column)
{
    return sinusoid((double)entry - p->given[0], column, p->shape[1]);
}

static void add_mlp(Parameters *p, Distances *d, size_t dim, size_t heads, const char *prefix)
{
    const size_t width = dim / 4 ? dim / 4 : 1;
    char name[sizeof(((Parameter *)0)->name)];
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s.distance_mlp.%zu", prefix, i);
        *(i < 2 ? &d->hidden[i] : &d->last) = linear_new(p, i ? width : 1, i < 2 ? width : heads, true, name);
    }
    if (d->hidden[0].weight)
        d->hidden[0].weight->edge = EDGE_IN;
    d->inputs = parameters_constant(p, d->count, 1, log_distance, prefix, "log_distances");
    if (d->inputs)
        d->inputs->given[0] = (double)d->ahead;
}

/* 0 at first, however other weights are drawn: no distance counts yet. */
static Parameter *add_bias(Parameters *p, size_t rows, size_t columns, const char *prefix, const char *name)
{
    Parameter *bias = parameters_add(p, ROLE_BIAS, rows, columns, "%s.%s", prefix, name);
    if (bias)
        bias->fan_in = 0;
    return bias;
}

static void add_span(Parameters *p, Distances *d, const DistanceOptions *o, size_t heads, const char *prefix)
{
    d->span = add_bias(p, heads, 0, prefix, "span");
    d->span_ramp = o->span_ramp;
    d->span_loss = o->span_loss;
    if (d->span)
        d->span->unit = true;
}

Distances distances_new(Parameters *p, const DistanceOptions *o, size_t dim, size_t heads, size_t key_size,
                        const char *prefix)
{
    size_t count = o->reach + 1 + o->ahead, width = heads * key_size;
    Distances d = {.count = count, .ahead = o->ahead};
    char name[sizeof(((Parameter *)0)->name)];
    snprintf(name, sizeof name, "%s.relative", prefix);
    if (o->kind == DISTANCE_NONE && o->span_ramp <= 0)
        return (Distances){0};
    if (o->span_ramp > 0)
        add_span(p, &d, o, heads, prefix);
    switch (o->kind) {
    case DISTANCE_NONE: break;
    case DISTANCE_BIAS:
        d.bias = add_bias(p, count, heads, prefix, "distance_bias");
        if (d.bias && !o->ahead)
            d.bias->constant = alibi, d.bias->given[0] = (double)heads;
        break;
    case DISTANCE_ALIBI:
        assert(o->ahead == 0);
        d.bias = parameters_constant(p, count, heads, alibi, prefix, "distance_bias");
        if (d.bias)
            d.bias->given[0] = (double)(o->heads ? o->heads : heads);
        break;
    case DISTANCE_KEYS:
        d.keys = linear_new(p, count, width, false, name);
        if (d.keys.weight)
            d.keys.weight->edge = EDGE_IN;
        break;
    case DISTANCE_BUCKETS:
    case DISTANCE_T5: add_buckets(p, &d, o->kind == DISTANCE_T5, heads, prefix); break;
    case DISTANCE_MLP: add_mlp(p, &d, dim, heads, prefix); break;
    case DISTANCE_XL:
        d.features = parameters_constant(p, count, dim, wave, prefix, "distances");
        if (d.features)
            d.features->given[0] = (double)d.ahead;
        d.keys = linear_new(p, dim, width, false, name);
        d.content_bias = add_bias(p, width, 0, prefix, "content_bias");
        d.position_bias = add_bias(p, width, 0, prefix, "position_bias");
        break;
    }
    return d;
}

/* Distances from 0 to the farthest key that a query may see. */
static double span_reach(const Distances *d) { return (double)(d->count - d->ahead); }

static size_t span_numbers(const Distances *d) { return d->count * d->span->count; }

static bool bias_learns(const Distances *d) { return d->bias && d->bias->role != ROLE_CONSTANT; }

DistanceTensors distances_describe(Tape *t, const Distances *d, Attend *how)
{
    DistanceTensors tensors = {0};
    how->distances = d->count;
    how->ahead = d->ahead;
    how->distance_bias = tape_reals_of(t, d->bias);
    how->content_bias = tape_reals_of(t, d->content_bias);
    how->position_bias = tape_reals_of(t, d->position_bias);
    if (d->inputs) {
        Tensor *x = tape_constant(t, d->inputs);
        for (size_t i = 0; i < 2 && d->hidden[i].weight; i++)
            x = activate(t, linear(t, &d->hidden[i], x), ACTIVATION_SILU);
        tensors.bias = linear_logits(t, &d->last, x);
        tensors.bias_gradient = t->recording ? tape_reals(t, tensors.bias->rows * tensors.bias->columns) : NULL;
        how->distance_bias = tensors.bias->data;
    }
    if (d->span) {
        void *bias = tape_reals(t, span_numbers(d));
        t->k->span_forward(t->stream, bias, how->distance_bias, tape_reals_of(t, d->span), span_reach(d), d->span_ramp,
                           d->ahead, d->count, d->span->count);
        how->distance_bias = bias;
        tensors.bias_gradient = t->recording && !d->inputs ? tape_reals(t, span_numbers(d)) : tensors.bias_gradient;
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
    Tensor *relative = tensors->relative;
    gradients->distance_bias = bias_learns(d) ? tape_gradient_of(t, d->bias) : NULL;
    gradients->content_bias = tape_gradient_of(t, d->content_bias);
    gradients->position_bias = tape_gradient_of(t, d->position_bias);
    if (relative)
        gradients->relative = (Strided){tensor_gradient(t, relative, &gradients->add_relative), relative->stride};
    if (tensors->bias_gradient) {
        const size_t numbers = tensors->bias ? tensors->bias->rows * tensors->bias->columns : span_numbers(d);
        t->k->zero(t->stream, tensors->bias_gradient, numbers * t->k->real);
        gradients->distance_bias = tensors->bias_gradient;
    }
}

void distances_backward(Tape *t, const Distances *d, const DistanceTensors *tensors)
{
    Tensor *bias = tensors->bias;
    bool add;
    if (d->span)
        t->k->span_backward(t->stream, tape_gradient_of(t, d->span), tensors->bias_gradient, tape_reals_of(t, d->span),
                            t->state, d->span_loss / (double)d->span->count, span_reach(d), d->span_ramp, d->ahead,
                            d->count, d->span->count);
    if (d->span && bias_learns(d))
        t->k->accumulate(t->stream, tape_gradient_of(t, d->bias), tensors->bias_gradient, span_numbers(d));
    if (bias)
        t->k->convert(t->stream, tensor_gradient(t, bias, &add), tensors->bias_gradient, bias->rows * bias->columns);
}
