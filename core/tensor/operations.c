/* See operations.h. */
#include "core/tensor/operations.h"

#include "core/tensor/nonfinite.h"

#include <assert.h>
#include <string.h>

typedef struct GatherNode {
    Node node;
    Tensor *x;
    const int32_t *index;
} GatherNode;

static void gather_back(Tape *t, Node *node)
{
    GatherNode *n = (GatherNode *)node;
    bool add_x;
    void *dx = tensor_gradient(t, n->x, &add_x);
    t->k->gather_backward(t->stream, dx, add_x, node->y->gradient, n->index, node->y->rows, n->x->rows, n->x->columns);
}

Tensor *gather(Tape *t, Tensor *x, const int32_t *index, size_t n)
{
    Tensor *y = tape_tensor(t, n, x->columns, false, x->wanted);
    t->k->gather_forward(t->stream, y->data, tensor_whole(x), index, n, x->columns);
    GatherNode *g = tape_node(t, sizeof *g, gather_back, y);
    if (g)
        g->x = x, g->index = index;
    return y;
}

Tensor *repeat_row(Tape *t, Tensor *x, size_t n)
{
    assert(x->rows == 1);
    int32_t *index = tape_integers(t, n);
    t->k->zero(t->stream, index, n * sizeof *index);
    return gather(t, x, index, n);
}

static Tensor *over_rows(Tape *t, Tensor *x, size_t n) { return x->rows == n ? x : repeat_row(t, x, n); }

static size_t most_rows(const Tensor *a, const Tensor *b) { return a->rows == 1 ? b->rows : a->rows; }

typedef struct AddNode {
    Node node;
    Tensor *x, *f;
    Dropout drop;
} AddNode;

static void add_back(Tape *t, Node *node)
{
    AddNode *n = (AddNode *)node;
    bool add_x = false, add_f;
    void *dx = n->x ? tensor_gradient(t, n->x, &add_x) : NULL, *df = tensor_gradient(t, n->f, &add_f);
    t->k->add_backward(t->stream, dx, add_x, df, add_f, node->y->gradient, n->drop, t->state, n->f->rows,
                       n->f->columns);
}

Tensor *add(Tape *t, Tensor *x, Tensor *f, Dropout drop)
{
    if (x) {
        size_t rows = most_rows(x, f);
        assert(x->columns == f->columns);
        x = over_rows(t, x, rows), f = over_rows(t, f, rows);
    }
    drop = tape_dropout(t, drop);
    if (!x && drop.rate == 0)
        return f;
    Tensor *y = tape_tensor(t, f->rows, f->columns, false, f->wanted || (x && x->wanted));
    t->k->add_forward(t->stream, y->data, x ? tensor_whole(x) : NULL, tensor_whole(f), drop, t->state, f->rows,
                      f->columns);
    tape_check(t, y, x ? "the sum" : "the dropout", NULL);
    AddNode *n = tape_node(t, sizeof *n, add_back, y);
    if (n)
        n->x = x, n->f = f, n->drop = drop;
    return y;
}

typedef struct ActivateNode {
    Node node;
    Tensor *x;
    Activation function;
} ActivateNode;

static void activate_back(Tape *t, Node *node)
{
    ActivateNode *n = (ActivateNode *)node;
    bool add_x;
    void *dx = tensor_gradient(t, n->x, &add_x);
    t->k->activation_backward(t->stream, dx, add_x, node->y->gradient, n->x->data, n->function,
                              n->x->rows * n->x->columns);
}

Tensor *activate(Tape *t, Tensor *x, Activation function)
{
    Tensor *y = tape_tensor(t, x->rows, x->columns, false, x->wanted);
    t->k->activation_forward(t->stream, y->data, tensor_whole(x), function, x->rows * x->columns);
    tape_check(t, y, "the activation", NULL);
    ActivateNode *n = tape_node(t, sizeof *n, activate_back, y);
    if (n)
        n->x = x, n->function = function;
    return y;
}

typedef struct MulNode {
    Node node;
    Tensor *a, *b;
} MulNode;

static void mul_back(Tape *t, Node *node)
{
    MulNode *n = (MulNode *)node;
    bool add_a, add_b;
    void *da = tensor_gradient(t, n->a, &add_a), *db = tensor_gradient(t, n->b, &add_b);
    t->k->mul_backward(t->stream, da, add_a, db, add_b, node->y->gradient, n->a->data, n->b->data,
                       node->y->rows * node->y->columns);
}

Tensor *mul(Tape *t, Tensor *a, Tensor *b)
{
    size_t rows = most_rows(a, b);
    assert(a->columns == b->columns);
    a = over_rows(t, a, rows), b = over_rows(t, b, rows);
    Tensor *y = tape_tensor(t, a->rows, a->columns, false, a->wanted || b->wanted);
    t->k->mul_forward(t->stream, y->data, tensor_whole(a), tensor_whole(b), a->rows * a->columns);
    tape_check(t, y, "the elementwise product", NULL);
    MulNode *n = tape_node(t, sizeof *n, mul_back, y);
    if (n)
        n->a = a, n->b = b;
    return y;
}

Tensor *mul_row(Tape *t, Tensor *x, Tensor *row) { return mul(t, x, repeat_row(t, row, x->rows)); }

typedef struct PoolNode {
    Node node;
    Tensor *x;
    const Rows *rows;
    const int32_t *which;
    Pooling how;
} PoolNode;

static void pool_back(Tape *t, Node *node)
{
    PoolNode *n = (PoolNode *)node;
    bool add_x;
    void *dx = tensor_gradient(t, n->x, &add_x);
    t->k->pool_backward(t->stream, dx, add_x, node->y->gradient, n->which, n->how, n->rows->start, n->rows->rows,
                        n->x->rows, n->x->columns);
}

Tensor *pool_rows(Tape *t, Tensor *x, Pooling how, const Rows *rows)
{
    Tensor *y = tape_tensor(t, rows->rows, x->columns, false, x->wanted);
    int32_t *which = how == POOLING_MAX ? tape_integers(t, rows->rows * x->columns) : NULL;
    t->k->pool_forward(t->stream, y->data, which, tensor_whole(x), how, rows->start, rows->rows, x->columns);
    PoolNode *n = tape_node(t, sizeof *n, pool_back, y);
    if (n)
        n->x = x, n->rows = rows, n->which = which, n->how = how;
    return y;
}

typedef struct ConcatNode {
    Node node;
    Tensor **parts;
    size_t count;
} ConcatNode;

/* Columns first .. of a matrix, where it is. */
static Strided columns_of(const Tape *t, void *data, size_t stride, size_t first)
{
    return (Strided){(char *)data + first * t->k->number, stride};
}

static void concat_back(Tape *t, Node *node)
{
    ConcatNode *n = (ConcatNode *)node;
    for (size_t i = 0, first = 0; i < n->count; first += n->parts[i++]->columns) {
        Tensor *x = n->parts[i];
        bool add_x;
        void *dx = tensor_gradient(t, x, &add_x);
        if (dx)
            t->k->move(t->stream, (Strided){dx, x->stride}, add_x,
                       columns_of(t, node->y->gradient, node->y->columns, first), x->rows, x->columns);
    }
}

Tensor *concat(Tape *t, Tensor *const *parts, size_t count)
{
    size_t columns = 0;
    bool wanted = false;
    for (size_t i = 0; i < count; i++) {
        assert(parts[i]->rows == parts[0]->rows);
        columns += parts[i]->columns;
        wanted = wanted || parts[i]->wanted;
    }
    Tensor *y = tape_tensor(t, parts[0]->rows, columns, false, wanted);
    for (size_t i = 0, first = 0; i < count; first += parts[i++]->columns)
        t->k->move(t->stream, columns_of(t, y->data, columns, first), false, tensor_strided(parts[i]), y->rows,
                   parts[i]->columns);
    ConcatNode *n = tape_node(t, sizeof *n, concat_back, y);
    if (n) {
        n->parts = memcpy(arena_take(&t->host, count * sizeof *parts), parts, count * sizeof *parts);
        n->count = count;
    }
    return y;
}

typedef struct SliceNode {
    Node node;
    Tensor *x;
    size_t first;
} SliceNode;

static void slice_back(Tape *t, Node *node)
{
    SliceNode *n = (SliceNode *)node;
    Tensor *x = n->x, *y = node->y;
    bool add_x;
    void *dx = tensor_gradient(t, x, &add_x);
    if (!add_x) /* the other columns, too */
        t->k->zero(t->stream, dx, x->rows * x->columns * t->k->number);
    t->k->move(t->stream, columns_of(t, dx, x->columns, n->first), add_x, (Strided){y->gradient, y->columns}, y->rows,
               y->columns);
}

Tensor *slice(Tape *t, Tensor *x, size_t first, size_t columns)
{
    assert(first + columns <= x->columns);
    Tensor *y = tape_tensor(t, x->rows, columns, false, x->wanted);
    t->k->move(t->stream, tensor_strided(y), false, columns_of(t, tensor_whole(x), x->columns, first), x->rows,
               columns);
    SliceNode *n = tape_node(t, sizeof *n, slice_back, y);
    if (n)
        n->x = x, n->first = first;
    return y;
}

typedef struct TransposeNode {
    Node node;
    Tensor *x;
} TransposeNode;

static void transpose_back(Tape *t, Node *node)
{
    TransposeNode *n = (TransposeNode *)node;
    bool add_x;
    void *dx = tensor_gradient(t, n->x, &add_x);
    t->k->transpose(t->stream, (Strided){dx, n->x->stride}, add_x, (Strided){node->y->gradient, node->y->columns},
                    node->y->rows, node->y->columns);
}

Tensor *transpose(Tape *t, Tensor *x)
{
    Tensor *y = tape_tensor(t, x->columns, x->rows, false, x->wanted);
    t->k->transpose(t->stream, tensor_strided(y), false, tensor_strided(x), x->rows, x->columns);
    TransposeNode *n = tape_node(t, sizeof *n, transpose_back, y);
    if (n)
        n->x = x;
    return y;
}

typedef struct PairsNode {
    Node node;
    Tensor *q, *k, *ones;
    size_t b;
} PairsNode;

/* [n, 1]: each the softmax of one number. */
static Tensor *ones(Tape *t, size_t n)
{
    Tensor *x = tape_tensor(t, n, 1, false, false), *y = tape_tensor(t, n, 1, false, false);
    t->k->zero(t->stream, x->data, n * t->k->number);
    t->k->softmax_forward(t->stream, y->data, x->data, n, 1);
    return y;
}

/* dq sums over keys and dk over queries, which are products with ones: rounded once. */
static void pairs_back(Tape *t, Node *node)
{
    PairsNode *n = (PairsNode *)node;
    Tensor *y = node->y;
    bool add_q, add_k;
    void *dq = tensor_gradient(t, n->q, &add_q), *dk = tensor_gradient(t, n->k, &add_k);
    size_t d = y->columns, queries = n->q->rows / n->b, keys = n->k->rows / n->b;
    Operand one = {n->ones->data, 0, 0, 1, 1};
    if (dq)
        t->k->product(t->stream, (Operand){dq, d, 0, d, 1}, add_q, one, (Operand){y->gradient, keys * d, 0, d, 1}, 1,
                      n->q->rows, 1, 1, d, keys);
    if (dk)
        t->k->product(t->stream, (Operand){dk, keys * d, 0, keys * d, 1}, add_k, one,
                      (Operand){y->gradient, queries * keys * d, 0, keys * d, 1}, 1, n->b, 1, 1, keys * d, queries);
}

Tensor *add_pairs(Tape *t, Tensor *q, Tensor *k, size_t b)
{
    size_t d = q->columns, queries = b ? q->rows / b : 0, keys = b ? k->rows / b : 0;
    assert(k->columns == d && q->rows == b * queries && k->rows == b * keys);
    Tensor *y = tape_tensor(t, b * queries * keys, d, false, q->wanted || k->wanted);
    Tensor *sums = b && t->recording ? ones(t, queries > keys ? queries : keys) : NULL;
    for (size_t i = 0; i < keys; i++) /* each query beside key i of its row */
        t->k->move(t->stream, columns_of(t, y->data, keys * d, i * d), false, tensor_strided(q), q->rows, d);
    for (size_t i = 0; i < queries; i++) /* and all keys of a row beside its query i */
        t->k->move(t->stream, columns_of(t, y->data, queries * keys * d, i * keys * d), true,
                   (Strided){tensor_whole(k), keys * d}, b, keys * d);
    tape_check(t, y, "the sums of pairs", NULL);
    PairsNode *n = b ? tape_node(t, sizeof *n, pairs_back, y) : NULL;
    if (n)
        n->q = q, n->k = k, n->ones = sums, n->b = b;
    return y;
}

typedef struct ProductNode {
    Node node;
    Tensor *a, *b;
    ProductShape shape;
} ProductNode;

static Operand operand(void *data, Layout l, bool transposed)
{
    return (Operand){data, l.outer, l.inner, transposed ? l.column : l.row, transposed ? l.row : l.column};
}

static Operand operand_of(const Tape *t, Operand x, size_t outer)
{
    x.data = (char *)x.data + outer * x.outer * t->k->number;
    return x;
}

/* c (+)= alpha a b [m,k] [k,n], where c is a gradient: one that all outer matrices share is their sum. */
static void product_into(Tape *t, Operand c, bool add, Operand a, Operand b, const ProductShape *s, size_t m, size_t n,
                         size_t k)
{
    bool shared = c.outer == 0 && s->outer != 1;
    size_t times = shared && s->outer ? s->outer : 1;
    for (size_t o = 0; o < times; o++)
        t->k->product(t->stream, c, add || o, operand_of(t, a, o), operand_of(t, b, o), s->alpha, shared ? 1 : s->outer,
                      s->inner, m, n, shared && !s->outer ? 0 : k);
}

/* da = alpha dc b^T, db = alpha a^T dc. The layouts cover a and b without overlap but for outer 0. */
static void product_back(Tape *t, Node *node)
{
    ProductNode *n = (ProductNode *)node;
    const ProductShape *s = &n->shape;
    bool add_a, add_b;
    void *da = tensor_gradient(t, n->a, &add_a), *db = tensor_gradient(t, n->b, &add_b);
    Operand dc = operand(node->y->gradient, s->c, false), dct = operand(node->y->gradient, s->c, true);
    if (da)
        product_into(t, operand(da, s->a, false), add_a, dc, operand(n->b->data, s->b, true), s, s->m, s->k, s->n);
    if (db)
        product_into(t, operand(db, s->b, true), add_b, dct, operand(n->a->data, s->a, false), s, s->n, s->k, s->m);
}

Tensor *product(Tape *t, Tensor *a, Tensor *b, const ProductShape *s, size_t rows, size_t columns)
{
    Tensor *c = tape_tensor(t, rows, columns, false, a->wanted || b->wanted);
    t->k->product(t->stream, operand(c->data, s->c, false), false, operand(a->data, s->a, false),
                  operand(b->data, s->b, false), s->alpha, s->outer, s->inner, s->m, s->n, s->k);
    tape_check(t, c, "the product of two tensors", NULL);
    ProductNode *n = tape_node(t, sizeof *n, product_back, c);
    if (n)
        n->a = a, n->b = b, n->shape = *s;
    return c;
}

Tensor *spread(Tape *t, Tensor *x, const Parameter *ones)
{
    size_t heads = x->columns, d = ones->count;
    const ProductShape shape = {.c = {.row = d, .column = 1},
                                .a = {.row = 1, .column = 1},
                                .b = {.row = d, .column = 1},
                                .outer = 1,
                                .inner = 1,
                                .m = heads,
                                .n = d,
                                .k = 1,
                                .alpha = 1};
    assert(x->rows == 1);
    return product(t, x, tape_constant(t, ones), &shape, 1, heads * d);
}

typedef struct PadNode {
    Node node;
    Tensor *x;
    const int32_t *start, *row;
    size_t b, longest;
} PadNode;

static void pad_back(Tape *t, Node *node)
{
    PadNode *n = (PadNode *)node;
    bool add_x;
    void *dx = tensor_gradient(t, n->x, &add_x);
    t->k->unpad(t->stream, (Strided){dx, n->x->stride}, add_x, node->y->gradient, n->start, n->row, n->b, n->x->rows,
                n->longest, n->x->columns);
}

Tensor *pad_rows(Tape *t, Tensor *x, const int32_t *start, const int32_t *row, size_t b, size_t longest)
{
    Tensor *y = tape_tensor(t, b * longest, x->columns, false, x->wanted);
    t->k->pad(t->stream, y->data, tensor_strided(x), start, row, b, longest, x->columns);
    PadNode *n = tape_node(t, sizeof *n, pad_back, y);
    if (n)
        n->x = x, n->start = start, n->row = row, n->b = b, n->longest = longest;
    return y;
}

/* Padding has no gradient of its own, so the way back is to pad the gradient. */
static void unpad_back(Tape *t, Node *node)
{
    PadNode *n = (PadNode *)node;
    bool add_x;
    void *dx = tensor_gradient(t, n->x, &add_x);
    assert(!add_x); /* what is unpadded is read by nothing else */
    t->k->pad(t->stream, dx, (Strided){node->y->gradient, node->y->columns}, n->start, NULL, n->b, n->longest,
              n->x->columns);
}

Tensor *unpad_rows(Tape *t, Tensor *x, const int32_t *start, size_t b, size_t positions, size_t longest)
{
    Tensor *y = tape_tensor(t, positions, x->columns, false, x->wanted);
    t->k->unpad(t->stream, tensor_strided(y), false, tensor_whole(x), start, NULL, b, positions, longest, x->columns);
    PadNode *n = tape_node(t, sizeof *n, unpad_back, y);
    if (n)
        n->x = x, n->start = start, n->b = b, n->longest = longest;
    return y;
}

typedef struct WeightsNode {
    Node node;
    Tensor *x;
    Attend how;
} WeightsNode;

void mask_scores(Tape *t, Tensor *scores, const Attend *how, size_t top)
{
    t->k->mask(t->stream, scores->data, how);
    if (top)
        t->k->keep_largest(t->stream, scores->data, scores->rows, scores->columns, top);
}

static void softmax_back(Tape *t, Node *node)
{
    WeightsNode *n = (WeightsNode *)node;
    bool add_x;
    void *dx = tensor_gradient(t, n->x, &add_x);
    t->k->softmax_backward(t->stream, dx, add_x, node->y->gradient, node->y->data, node->y->rows, node->y->columns);
}

Tensor *softmax(Tape *t, Tensor *x)
{
    Tensor *y = tape_tensor(t, x->rows, x->columns, false, x->wanted);
    t->k->softmax_forward(t->stream, y->data, x->data, x->rows, x->columns);
    tape_check(t, y, "the softmax", NULL);
    WeightsNode *n = tape_node(t, sizeof *n, softmax_back, y);
    if (n)
        n->x = x;
    return y;
}

static void drop_weights_back(Tape *t, Node *node)
{
    WeightsNode *n = (WeightsNode *)node;
    bool add_x;
    void *dx = tensor_gradient(t, n->x, &add_x);
    t->k->dropout_weights(t->stream, dx, add_x, node->y->gradient, &n->how, t->state);
}

Tensor *drop_weights(Tape *t, Tensor *weights, const Attend *how)
{
    if (how->dropout.rate == 0)
        return weights;
    Tensor *y = tape_tensor(t, weights->rows, weights->columns, false, weights->wanted);
    t->k->dropout_weights(t->stream, y->data, false, weights->data, how, t->state);
    tape_check(t, y, "the dropout", NULL);
    WeightsNode *n = tape_node(t, sizeof *n, drop_weights_back, y);
    if (n)
        n->x = weights, n->how = *how;
    return y;
}
