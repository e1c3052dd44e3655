/* See experts.h. */
#include "core/nn/experts.h"

#include "core/tensor/nonfinite.h"
#include "core/tensor/operations.h"

#include <assert.h>
#include <stdio.h>

Experts experts_new(Parameters *p, const ExpertsOptions *o, size_t dim, const char *prefix)
{
    Experts x = {.options = *o};
    char name[sizeof(((Parameter *)0)->name)];
    assert(o->count <= EXPERTS_MOST && o->chosen <= o->count);
    snprintf(name, sizeof name, "%s.router", prefix);
    if (o->count)
        x.router = linear_new(p, dim, o->count, false, name);
    return x;
}

Linear experts_map(Parameters *p, const Experts *x, size_t in, size_t out, const char *prefix, const char *name,
                   bool last, double beta)
{
    char text[EXPERTS_MOST][32];
    const char *names[EXPERTS_MOST];
    size_t each[EXPERTS_MOST];
    Linear parts[EXPERTS_MOST];
    for (size_t e = 0; e < x->options.count; e++) {
        snprintf(text[e], sizeof text[e], "experts.%zu.%s", e, name);
        names[e] = text[e], each[e] = out;
    }
    Linear all = linear_joined(p, in, each, x->options.count, false, prefix, names, parts);
    for (size_t e = 0; e < x->options.count; e++) {
        if (last)
            linear_ends_branch(&parts[e]);
        if (parts[e].weight && beta > 0)
            parts[e].weight->times = beta;
    }
    all.out = out;
    return all;
}

typedef struct RouteNode {
    Node node;
    Tensor *scores;
    int32_t *expert;
} RouteNode;

static void route_back(Tape *t, Node *node)
{
    RouteNode *n = (RouteNode *)node;
    bool add;
    void *d = tensor_gradient(t, n->scores, &add);
    t->k->route_backward(t->stream, d, add, node->y->gradient, n->expert, n->scores->data, n->scores->rows,
                         n->scores->columns, node->y->columns);
}

/* expert [N,k] */
static Routes routes_of(Tape *t, Tensor *scores, size_t k, int32_t *expert)
{
    const size_t n = scores->rows, experts = scores->columns;
    Routes r = {experts, tape_tensor(t, n, k, false, scores->wanted), tape_integers(t, n * k), tape_integers(t, n * k),
                tape_integers(t, experts + 1)};
    t->k->route_forward(t->stream, r.weights->data, expert, r.slot, r.from, r.start, scores->data, n, experts, k);
    RouteNode *node = tape_node(t, sizeof *node, route_back, r.weights);
    if (node)
        node->scores = scores, node->expert = expert;
    return r;
}

typedef struct LoadNode {
    Node node;
    Tensor *scores;
    const int32_t *expert, *start, *scored;
    void *losses, *factors;
    size_t rows;
    const ExpertsOptions *o;
} LoadNode;

/* The whole of it: a segment may run its inside twice, but goes backward once. */
static void load_loss(Tape *t, Node *node)
{
    LoadNode *n = (LoadNode *)node;
    const size_t positions = n->scores->rows;
    bool add;
    void *d = tensor_gradient(t, n->scores, &add);
    t->k->load_loss_forward(t->stream, n->losses, n->factors, t->state, 0, n->scores->data, n->expert, n->o->load_loss,
                            n->start, n->scored, n->rows, positions, n->o->count, n->o->chosen);
    t->k->load_loss_backward(t->stream, d, add, t->state, 0, n->factors, n->scores->data, n->start, n->rows, positions,
                             n->o->count);
}

static void add_load_loss(Tape *t, Tensor *scores, const int32_t *expert, const ExpertsOptions *o, const Attend *rows)
{
    LoadNode *n = o->load_loss > 0 && rows ? tape_node(t, sizeof *n, load_loss, NULL) : NULL;
    if (!n)
        return;
    n->losses = tape_reals(t, scores->rows), n->factors = tape_reals(t, rows->rows * o->count);
    n->scores = scores, n->expert = expert, n->o = o;
    n->start = rows->query_start, n->scored = t->scored, n->rows = rows->rows;
}

Tensor *experts_enter(Tape *t, const Experts *x, Tensor *in, const Attend *rows, Routes *routes)
{
    const ExpertsOptions *o = &x->options;
    int32_t *expert = tape_integers(t, in->rows * o->chosen);
    Tensor *scores = linear_logits(t, &x->router, in);
    *routes = routes_of(t, scores, o->chosen, expert);
    add_load_loss(t, scores, expert, o, rows);
    return gather(t, in, routes->from, in->rows * o->chosen);
}

typedef struct ExpertsNode {
    Node node;
    const Linear *l;
    Tensor *x;
    const int32_t *start;
    size_t experts;
} ExpertsNode;

static void experts_back(Tape *t, Node *node)
{
    ExpertsNode *n = (ExpertsNode *)node;
    bool add;
    void *dx = tensor_gradient(t, n->x, &add);
    t->k->experts_backward(t->stream, dx, add, tape_gradient_of(t, n->l->weight), node->y->gradient, n->x->data,
                           tape_numbers_of(t, n->l->weight), n->start, n->x->rows, n->l->in, n->l->out, n->experts);
}

Tensor *experts_linear(Tape *t, const Linear *l, Tensor *x, const Routes *routes)
{
    Tensor *y = tape_tensor(t, x->rows, l->out, false, true);
    t->k->experts_forward(t->stream, y->data, tensor_whole(x), tape_numbers_of(t, l->weight), routes->start, x->rows,
                          l->in, l->out, routes->experts);
    tape_check(t, y, "the experts' product", l->weight);
    ExpertsNode *n = tape_node(t, sizeof *n, experts_back, y);
    if (n)
        n->l = l, n->x = x, n->start = routes->start, n->experts = routes->experts;
    return y;
}

Tensor *experts_leave(Tape *t, Tensor *y, const Routes *routes)
{
    const size_t k = routes->weights->columns, dim = y->columns, n = routes->weights->rows;
    const ProductShape shape = {.a = {.outer = k, .column = 1},
                                .b = {.outer = k * dim, .row = dim, .column = 1},
                                .c = {.outer = dim, .column = 1},
                                .outer = n,
                                .inner = 1,
                                .m = 1,
                                .n = dim,
                                .k = k,
                                .alpha = 1};
    return product(t, routes->weights, gather(t, y, routes->slot, n * k), &shape, n, dim);
}
