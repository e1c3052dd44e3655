/* See guide.h. */
#include "core/nn/guide.h"

#include "core/tensor/operations.h"

typedef struct GuideNode {
    Node node;
    Tensor *scores;
    const int32_t *key;
    size_t which;
    void *losses, *lse;
    void *reals; /* scores as such; NULL: they are reals */
} GuideNode;

static void guide_back(Tape *t, Node *node)
{
    GuideNode *n = (GuideNode *)node;
    const size_t which = n->which, rows = n->scores->rows, columns = n->scores->columns;
    bool add;
    void *d = tensor_gradient(t, n->scores, &add);
    const void *scores = n->reals ? n->reals : n->scores->data;
    if (n->reals)
        t->k->widen(t->stream, n->reals, n->scores->data, rows * columns);
    t->k->cross_entropy_forward(t->stream, n->losses, n->lse, t->state, which, scores, n->key, 0, rows, columns);
    t->k->cross_entropy_backward(t->stream, d, add, t->state, which, n->lse, scores, n->key, 0, rows, columns);
}

/* The columns of one head, in rows that are padded: [B*T, dk]. */
static Tensor *one_head(Tape *t, Tensor *x, size_t head, size_t dk, const int32_t *start, const int32_t *row, size_t b,
                        size_t longest)
{
    return slice(t, pad_rows(t, x, start, row, b, longest), head * dk, dk);
}

void guide(Tape *t, const Guide *g, const Scoring *s, Tensor *q, Tensor *k, const Attend *how)
{
    if (!t->recording || !t->training)
        return;
    const size_t dk = how->key_size, queries = how->longest_query, keys = how->longest_key,
                 shared = how->kv_heads ? how->heads / how->kv_heads : 1;
    const ProductShape shape = {.a = {queries * dk, 0, dk, 1},
                                .b = {keys * dk, 0, 1, dk},
                                .c = {queries * keys, 0, keys, 1},
                                .outer = how->rows,
                                .inner = 1,
                                .m = queries,
                                .n = keys,
                                .k = dk,
                                .alpha = how->scale};
    Attend one = *how;
    one.heads = 1, one.kv_heads = 0;
    q = one_head(t, q, g->head, dk, how->query_start, NULL, how->rows, queries);
    k = one_head(t, k, g->head / shared, dk, how->key_start, how->key_row, how->rows, keys);
    Tensor *scores = capped(t, s, product(t, q, k, &shape, how->rows * queries, keys), how->cap);
    mask_scores(t, scores, &one, 0);
    scores = unpad_rows(t, scores, how->query_start, how->rows, how->queries, queries);
    GuideNode *n = tape_node(t, sizeof *n, guide_back, NULL);
    if (n) {
        n->scores = scores, n->key = g->key, n->which = g->which;
        n->losses = tape_reals(t, scores->rows), n->lse = tape_reals(t, scores->rows);
        n->reals = t->k->number == t->k->real ? NULL : tape_reals(t, scores->rows * scores->columns);
    }
}
