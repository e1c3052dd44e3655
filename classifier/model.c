/* See model.h.
 *
 *     x = token_embedding[word] + position_embedding[position]
 *     x = block(x), depth times, each position seeing all of its text
 *     logits = pool(x) w^T + bias          pool: the mean over the text, its largest numbers, or its first vector */
#include "classifier/model.h"

#include "core/program/network.h"
#include "core/tensor/operations.h"

bool model_open(Model *m, const ClassifierOptions *v, size_t words, size_t classes, Error *e)
{
    const SharedOptions *o = &v->shared;
    *m = (Model){.context = o->context, .classes = classes, .pool = (Pooling)v->pool};
    if (!network_suits(o, e))
        return false;
    Parameters *p = &m->parameters;
    network_prepare(p, o);
    EmbeddingOptions embedding = network_embedding(o, words);
    embedding.words = true;
    StackOptions blocks = network_stack(o, "blocks", "norm");
    if (blocks.block.attention.distances.kind != DISTANCE_ALIBI) /* which has no bias for keys ahead */
        blocks.block.attention.distances.ahead = o->context - 1;
    m->embedding = embedding_new(p, &embedding, "token_embedding.weight", "position_embedding.weight");
    m->stack = stack_new(p, &blocks);
    m->logits = linear_last(p, NULL, o->dim, classes, "logits");
    m->logits.cap = o->logit_cap;
    if (parameters_finish(p, e))
        return true;
    model_close(m);
    return false;
}

void model_close(Model *m)
{
    parameters_close(&m->parameters);
    stack_close(&m->stack);
    *m = (Model){0};
}

Tensor *model_logits(Tape *t, const Model *m, const Rows *texts)
{
    AttentionContext context = context_rows(texts, false);
    Tensor *x = stack(t, &m->stack, embed(t, &m->embedding, texts), NULL, &context);
    return linear_logits(t, &m->logits, pool_rows(t, x, m->pool, texts));
}
