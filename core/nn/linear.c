/* See linear.h. */
#include "core/nn/linear.h"

#include "core/tensor/nonfinite.h"
#include "core/tensor/operations.h"

#include <assert.h>
#include <stdio.h>

static Parameter *add_weight(Parameters *p, size_t in, size_t out, bool joined, const char *name)
{
    Parameter *weight = parameters_add(p, ROLE_WEIGHT, out, in, "%s.weight", name);
    if (weight)
        weight->joined = joined;
    return weight;
}

static Parameter *add_bias(Parameters *p, size_t in, size_t out, bool joined, const char *name)
{
    if (p->bias_free)
        return NULL;
    Parameter *bias = parameters_add(p, ROLE_BIAS, out, 0, "%s.bias", name);
    if (bias) {
        bias->joined = joined;
        bias->fan_in = in;
    }
    return bias;
}

Linear linear_new(Parameters *p, size_t in, size_t out, bool bias, const char *name)
{
    Parameter *weight = add_weight(p, in, out, false, name);
    return (Linear){.weight = weight, .bias = bias ? add_bias(p, in, out, false, name) : NULL, .in = in, .out = out};
}

Linear linear_joined(Parameters *p, size_t in, const size_t *out, size_t count, bool bias, const char *prefix,
                     const char *const *names, Linear *parts)
{
    Linear l = {.in = in};
    char name[sizeof(((Parameter *)0)->name)];
    for (size_t i = 0; i < count; i++, l.out += out[i - 1]) {
        snprintf(name, sizeof name, "%s.%s", prefix, names[i]);
        Parameter *weight = add_weight(p, in, out[i], i > 0, name);
        l.weight = i ? l.weight : weight;
        if (parts)
            parts[i] = (Linear){.weight = weight, .in = in, .out = out[i]};
    }
    for (size_t i = 0; bias && i < count; i++) {
        snprintf(name, sizeof name, "%s.%s", prefix, names[i]);
        Parameter *one = add_bias(p, in, out[i], i > 0, name);
        l.bias = i ? l.bias : one;
        if (parts)
            parts[i].bias = one;
    }
    return l;
}

void linear_ends_branch(const Linear *l)
{
    if (l->weight)
        l->weight->residual = true;
    if (l->bias)
        l->bias->residual = true;
}

Linear linear_tied(Parameter *table)
{
    return table ? (Linear){.weight = table, .in = table->shape[1], .out = table->shape[0]} : (Linear){0};
}

void linear_add_bias(Parameters *p, Linear *l, const char *name) { l->bias = add_bias(p, l->in, l->out, false, name); }

Linear linear_last(Parameters *p, Parameter *table, size_t in, size_t out, const char *name)
{
    Linear l = table ? linear_tied(table) : linear_new(p, in, out, true, name);
    l.out = out; /* a table may have more rows: those of registers */
    if (l.weight)
        l.weight->edge = EDGE_OUT;
    if (p->wider > 0 && (p->wider < 1 || p->wider > 1) &&
        (l.multiplier = parameters_constant(p, 1, in, always_one, name, "multiplier")))
        l.multiplier->times = 1 / p->wider;
    return l;
}

typedef struct LinearNode {
    Node node;
    const Linear *l;
    Tensor *x;
    bool relu;
    double cap;
} LinearNode;

static void linear_back(Tape *t, Node *node)
{
    LinearNode *n = (LinearNode *)node;
    bool add;
    void *dx = tensor_gradient(t, n->x, &add), *dy = node->y->gradient;
    if (n->cap > 0)
        t->k->softcap_backward(t->stream, dy, false, dy, node->y->data, n->cap, node->y->rows * node->y->columns);
    t->k->linear_backward(t->stream, dx, add, tape_gradient_of(t, n->l->weight), tape_gradient_of(t, n->l->bias), dy,
                          node->y->data, n->x->data, tape_numbers_of(t, n->l->weight), n->relu, n->x->rows, n->l->in,
                          n->l->out);
}

static Tensor *run(Tape *t, const Linear *l, Tensor *x, bool relu, bool real)
{
    assert(x->columns == l->in);
    Tensor *y = tape_tensor(t, x->rows, l->out, real, true);
    t->k->linear_forward(t->stream, y->data, real, tensor_whole(x), tape_numbers_of(t, l->weight),
                         tape_reals_of(t, l->bias), relu, x->rows, l->in, l->out);
    tape_check(t, y, "the product", l->weight);
    const double cap = real ? l->cap : 0;
    if (cap > 0)
        t->k->softcap_forward(t->stream, y->data, y->data, cap, y->rows * y->columns);
    LinearNode *n = tape_node(t, sizeof *n, linear_back, y);
    if (n)
        n->l = l, n->x = x, n->relu = relu, n->cap = cap;
    return y;
}

Tensor *linear(Tape *t, const Linear *l, Tensor *x) { return run(t, l, x, false, false); }
Tensor *linear_relu(Tape *t, const Linear *l, Tensor *x) { return run(t, l, x, true, false); }

Tensor *linear_logits(Tape *t, const Linear *l, Tensor *x)
{
    return run(t, l, l->multiplier ? mul(t, x, tape_constant(t, l->multiplier)) : x, false, true);
}
