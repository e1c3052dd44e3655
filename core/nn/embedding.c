/* See embedding.h. */
#include "core/nn/embedding.h"

#include "core/tensor/nonfinite.h"
#include "core/tensor/operations.h"

/* Those that another embedding computed, if they are the sinusoids wanted here and go as far. */
static Parameter *sinusoids_of(const Embedding *shared, const EmbeddingOptions *o)
{
    Parameter *p = shared && positions_are_sinusoids(o->positions) ? shared->positions : NULL;
    return p && p->role == ROLE_CONSTANT && p->shape[0] >= o->context ? p : NULL;
}

Embedding embedding_new(Parameters *p, const EmbeddingOptions *o, const char *table, const char *positions)
{
    Embedding e = {.scale = o->scale, .dim = o->dim};
    const Embedding *shared = o->shared;
    e.table = shared ? shared->table
                     : parameters_add(p, o->tied ? ROLE_TABLE : ROLE_LOOKUP, o->vocabulary, o->dim, "%s", table);
    if (e.table)
        e.table->words = o->words;
    e.positions = sinusoids_of(shared, o);
    if (!e.positions)
        e.positions = positions_new(p, o->positions, o->context, o->dim, positions);
    e.drop = parameters_dropout(p, o->dropout);
    return e;
}

typedef struct EmbedNode {
    Node node;
    const Embedding *e;
    const Rows *rows;
    Dropout drop;
} EmbedNode;

static void embed_back(Tape *t, Node *node)
{
    EmbedNode *n = (EmbedNode *)node;
    const Parameter *positions = n->e->positions;
    bool learned = positions && positions->role != ROLE_CONSTANT;
    bool used_rows = t->used_rows && n->e->table->role == ROLE_LOOKUP;
    const int32_t *slots = used_rows ? n->rows->slots : n->rows->ids;
    t->k->embed_backward(t->stream, tape_gradient_of(t, n->e->table), learned ? tape_gradient_of(t, positions) : NULL,
                         node->y->gradient, slots, n->rows->position, n->e->scale, n->drop, t->state,
                         n->rows->positions, n->e->dim);
}

Tensor *embed(Tape *t, const Embedding *e, const Rows *rows)
{
    Tensor *y = tape_tensor(t, rows->positions, e->dim, false, true);
    Dropout drop = tape_dropout(t, e->drop);
    t->k->embed_forward(t->stream, y->data, rows->ids, rows->position, tape_reals_of(t, e->table),
                        tape_reals_of(t, e->positions), e->scale, drop, t->state, rows->positions, e->dim);
    tape_check(t, y, "the embedding", e->table);
    EmbedNode *n = tape_node(t, sizeof *n, embed_back, y);
    if (n)
        n->e = e, n->rows = rows, n->drop = drop;
    return y;
}

Embedding embedding_of_ngrams(Parameters *p, size_t rows, size_t longest, size_t dim)
{
    const EmbeddingOptions o = {
        .vocabulary = rows, .dim = dim, .positions = POSITIONS_NONE, .scale = 1 / (double)longest};
    const Embedding e = embedding_new(p, &o, "ngram_embedding.weight", NULL);
    if (e.table)
        e.table->constant = always_zero;
    return e;
}

Tensor *embed_ngrams(Tape *t, Tensor *tokens, const Embedding *e, const Rows *sides, size_t lengths)
{
    for (size_t i = 0; i < lengths; i++)
        tokens = add(t, tokens, embed(t, e, &sides[i]), (Dropout){0});
    return tokens;
}
