/* See norm.h. */
#include "core/nn/norm.h"

#include "core/tensor/nonfinite.h"

#include <assert.h>

static double one(const Parameter *p, size_t row, size_t column) { return (void)p, (void)row, (void)column, 1; }

Norm norm_new(Parameters *p, NormKind kind, size_t dim, const char *name)
{
    Parameter *gain = kind == NORM_RMS_PLAIN ? parameters_constant(p, dim, 0, one, name, "weight")
                                             : parameters_add(p, ROLE_GAIN, dim, 0, "%s.weight", name);
    bool bias = kind == NORM_LAYER && !p->bias_free;
    return (Norm){kind, gain, bias ? parameters_add(p, ROLE_BIAS, dim, 0, "%s.bias", name) : NULL, 1e-5};
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
    return l->kind == NORM_RMS_PLAIN && t->recording ? tape_reals(t, l->gain->shape[0]) : NULL;
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

Tensor *norm(Tape *t, const Norm *l, Tensor *x)
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
