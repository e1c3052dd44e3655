/* See model.h.
 *
 *     x = token_embedding[token] + position_embedding[position] (+ ngram_embedding[n-gram] / longest for each length)
 *     x = block(x), depth times; each position sees itself and those before it
 *     logits = x w^T + bias */
#include "charlm/model.h"

#include "core/program/network.h"
#include "core/tensor/operations.h"

bool model_open(Model *m, const SharedOptions *o, size_t vocabulary, Error *e)
{
    *m = (Model){.vocabulary = vocabulary, .depth = o->depth, .context = o->context};
    m->memory = o->memory;
    m->ngrams = network_ngrams(o, NGRAMS);
    m->registers = (Registers){(int32_t)vocabulary, o->registers};
    if (!network_suits(o, e))
        return false;
    Parameters *p = &m->parameters;
    network_prepare(p, o);
    EmbeddingOptions embedding = network_embedding(o, vocabulary);
    StackOptions blocks = network_stack(o, "blocks", "norm");
    if (m->ngrams.longest)
        embedding.dropout = 0;
    m->embedding = embedding_new(p, &embedding, "token_embedding.weight", "position_embedding.weight");
    if (m->ngrams.longest) {
        m->of_ngrams = embedding_of_ngrams(p, m->ngrams.rows, m->ngrams.longest, o->dim);
        m->drop = parameters_dropout(p, o->dropout);
    }
    m->stack = stack_new(p, &blocks);
    m->logits = linear_last(p, o->tie ? m->embedding.table : NULL, o->dim, vocabulary, "logits");
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

/* What blocks read of a window. */
static Tensor *embedded(Tape *t, const Model *m, const Rows *rows)
{
    Tensor *x = embed(t, &m->embedding, rows);
    x = embed_ngrams(t, x, &m->of_ngrams, &rows[NGRAMS], ngrams_sides(&m->ngrams));
    return m->ngrams.longest ? add(t, NULL, x, m->drop) : x;
}

Tensor *model_logits(Tape *t, const Model *m, const Rows *rows, const Cache *cache, const Queries *only)
{
    AttentionContext context = cache ? context_cached(rows, cache) : context_rows(rows, true);
    context.query_subset = only;
    return linear_logits(t, &m->logits, stack(t, &m->stack, embedded(t, m, rows), NULL, &context));
}

/* The memory's embeddings are what training would make of them without dropout. */
static Tensor *recall(Tape *t, const Model *m, const Rows *memory)
{
    const bool training = t->training, recording = t->recording;
    t->training = t->recording = false;
    Tensor *x = embed(t, &m->embedding, memory);
    t->training = training, t->recording = recording;
    return x;
}

Tensor *model_windows(Tape *t, const Model *m, const Rows *rows, const Queries *only)
{
    if (!m->memory)
        return model_logits(t, m, &rows[WINDOW], NULL, only);
    Tensor *past = recall(t, m, &rows[MEMORY]);
    Tensor *x = stack_recurrent(t, &m->stack, embed(t, &m->embedding, &rows[WINDOW]), past, &rows[WINDOW],
                                &rows[MEMORY]);
    return linear_logits(t, &m->logits, only ? gather(t, x, only->index, only->positions) : x);
}
