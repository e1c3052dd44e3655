/* See norm.h. */
#include "core/nn/norm.h"

#include "core/tensor/nonfinite.h"
#include "core/tensor/operations.h"

#include <assert.h>

static Parameter *ones_new(Parameters *p, size_t dim, const char *name, const char *part)
{
    return parameters_constant(p, dim, 0, always_one, name, part);
}

static Parameter *factor_new(Parameters *p, NormKind kind, const char *name)
{
    Parameter *factor = parameters_add(p, ROLE_GAIN, 1, 0, "%s.%s", name, kind == NORM_TANH ? "alpha" : "scale");
    if (factor && kind == NORM_TANH)
        factor->constant = always_one, factor->times = 0.5;
    return factor;
}

/* Scale norm is x / |x| to 1e-10 where numbers of x are larger than 0.1. */
Norm norm_new(Parameters *p, NormKind kind, size_t dim, const char *name)
{
    bool plain = kind == NORM_RMS_PLAIN || kind == NORM_SCALE, bias = kind == NORM_LAYER || kind == NORM_TANH;
    const double given = p->norm_epsilon > 0 ? p->norm_epsilon : NORM_EPSILON;
    Norm l = {.kind = kind, .epsilon = kind == NORM_SCALE ? 1e-12 : given};
    l.gain = plain ? ones_new(p, dim, name, "weight") : parameters_add(p, ROLE_GAIN, dim, 0, "%s.weight", name);
    if (bias && !p->bias_free)
        l.bias = parameters_add(p, ROLE_BIAS, dim, 0, "%s.bias", name);
    if (kind == NORM_SCALE || kind == NORM_TANH) {
        l.factor = factor_new(p, kind, name);
        l.ones = plain ? l.gain : ones_new(p, dim, name, "ones");
    }
    return l;
}

typedef struct NormNode {
    Node node;
    const Norm *norm;
    Tensor *x, *f; /* f NULL: the norm alone */
    void *sum, *mean, *rstd;
    void *nowhere; /* [D] for the gradient of a gain that is not learned */
    Dropout drop;
} NormNode;

static void *gain_gradient(const Tape *t, const NormNode *n)
{
    return n->nowhere ? n->nowhere : tape_gradient_of(t, n->norm->gain);
}

static void *nowhere(Tape *t, const Norm *l)
{
    return l->gain->role == ROLE_CONSTANT && t->recording ? tape_reals(t, l->gain->shape[0]) : NULL;
}

static size_t vectors(const Norm *l, const Tensor *x) { return x->rows * (x->columns / l->gain->shape[0]); }

static void norm_back(Tape *t, Node *node)
{
    NormNode *n = (NormNode *)node;
    bool add;
    void *dx = tensor_gradient(t, n->x, &add);
    t->k->norm_backward(t->stream, dx, add, gain_gradient(t, n), tape_gradient_of(t, n->norm->bias), node->y->gradient,
                        n->mean, n->rstd, n->x->data, tape_reals_of(t, n->norm->gain), vectors(n->norm, n->x),
                        n->norm->gain->shape[0]);
}

static Tensor *normalized(Tape *t, const Norm *l, Tensor *x)
{
    size_t size = l->gain->shape[0], count = vectors(l, x);
    Tensor *y = tape_tensor(t, x->rows, x->columns, false, true);
    void *mean = l->kind == NORM_LAYER ? tape_reals(t, count) : NULL, *rstd = tape_reals(t, count);
    assert(x->columns % size == 0);
    t->k->norm_forward(t->stream, y->data, mean, rstd, tensor_whole(x), tape_reals_of(t, l->gain),
                       tape_reals_of(t, l->bias), l->epsilon, count, size);
    tape_check(t, y, "the norm", l->gain);
    NormNode *n = tape_node(t, sizeof *n, norm_back, y);
    if (n)
        n->norm = l, n->x = x, n->mean = mean, n->rstd = rstd, n->nowhere = nowhere(t, l);
    return y;
}

/* x times the norm's factor */
static Tensor *by_factor(Tape *t, const Norm *l, Tensor *x)
{
    return mul_row(t, x, spread(t, tape_parameter(t, l->factor), l->ones));
}

static Tensor *dynamic_tanh(Tape *t, const Norm *l, Tensor *x)
{
    Tensor *y = mul_row(t, activate(t, by_factor(t, l, x), ACTIVATION_TANH), tape_parameter(t, l->gain));
    return l->bias ? add(t, y, repeat_row(t, tape_parameter(t, l->bias), x->rows), (Dropout){0}) : y;
}

Tensor *norm(Tape *t, const Norm *l, Tensor *x)
{
    if (l->kind == NORM_TANH)
        return dynamic_tanh(t, l, x);
    Tensor *y = normalized(t, l, x);
    return l->kind == NORM_SCALE ? by_factor(t, l, y) : y;
}

static void add_norm_back(Tape *t, Node *node)
{
    NormNode *n = (NormNode *)node;
    bool add_x, add_f;
    void *dx = tensor_gradient(t, n->x, &add_x), *df = tensor_gradient(t, n->f, &add_f);
    t->k->add_norm_backward(t->stream, dx, add_x, df, add_f, gain_gradient(t, n), tape_gradient_of(t, n->norm->bias),
                            node->y->gradient, n->sum, n->mean, n->rstd, n->drop, t->state,
                            tape_reals_of(t, n->norm->gain), n->x->rows, n->x->columns);
}

Tensor *add_norm(Tape *t, const Norm *l, Tensor *x, Tensor *f, Dropout drop)
{
    assert(x->rows == f->rows && x->columns == f->columns);
    if (l->factor)
        return norm(t, l, add(t, x, f, drop));
    Tensor *y = tape_tensor(t, x->rows, x->columns, false, true);
    Tensor *sum = tape_tensor(t, x->rows, x->columns, false, false);
    void *mean = l->kind == NORM_LAYER ? tape_reals(t, x->rows) : NULL, *rstd = tape_reals(t, x->rows);
    drop = tape_dropout(t, drop);
    t->k->add_norm_forward(t->stream, y->data, sum->data, mean, rstd, tensor_whole(x), tensor_whole(f), drop, t->state,
                           tape_reals_of(t, l->gain), tape_reals_of(t, l->bias), l->epsilon, x->rows, x->columns);
    tape_check(t, y, "the norm", l->gain);
    NormNode *n = tape_node(t, sizeof *n, add_norm_back, y);
    if (n)
        n->norm = l, n->x = x, n->f = f, n->sum = sum->data, n->mean = mean, n->rstd = rstd, n->drop = drop,
        n->nowhere = nowhere(t, l);
    return y;
}
