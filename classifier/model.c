/* See model.h.
 *
 *     x = token_embedding[token] + position_embedding[position] (+ segment_embedding[segment])
 *         (+ ngram_embedding[n-gram] / longest for each length)
 *     x = block(x), depth times, each position seeing all of its text
 *     v = pool(x)                          pool: the mean over the text, its largest numbers, or its first vector
 *     v = activation(pooler(v))            where there is a pooler
 *     logits = v w^T + bias
 *
 * Pretrained (Devlin et al. 2019), of masked positions alone:
 *
 *     h = norm(activation(transform(x)))
 *     logits = h w^T + bias                w: of its own, or the table of tokens
 *     next = w2 v + bias2                  whether the two parts of a text belong together: v of the first vector */
#include "classifier/model.h"

#include "core/program/network.h"
#include "core/tensor/operations.h"

static void add_embeddings(Model *m, const ClassifierOptions *v, size_t tokens)
{
    const SharedOptions *o = &v->shared;
    EmbeddingOptions words = network_embedding(o, tokens);
    words.tied = m->headless || (m->masked && o->tie);
    words.words = true;
    words.dropout = v->segments || m->ngrams.longest ? 0 : words.dropout;
    const EmbeddingOptions parts = {.vocabulary = 2, .dim = o->dim, .tied = true, .scale = 1};
    m->embedding = embedding_new(&m->parameters, &words, "token_embedding.weight", "position_embedding.weight");
    if (v->segments)
        m->segments = embedding_new(&m->parameters, &parts, "segment_embedding.weight", "");
    if (m->ngrams.longest)
        m->of_ngrams = embedding_of_ngrams(&m->parameters, m->ngrams.rows, m->ngrams.longest, o->dim);
    if (v->segments || m->ngrams.longest)
        m->drop = parameters_dropout(&m->parameters, o->dropout);
}

/* What predicts tokens. */
static void add_masked(Model *m, const ClassifierOptions *v, size_t tokens)
{
    const SharedOptions *o = &v->shared;
    Parameters *p = &m->parameters;
    m->transform = linear_new(p, o->dim, o->dim, true, "masked.transform");
    m->activation = (Activation)o->activation;
    m->transform_norm = norm_new(p, (NormKind)o->norm_kind, o->dim, "masked.norm");
    m->logits = linear_last(p, o->tie ? m->embedding.table : NULL, o->dim, tokens, "masked.logits");
    if (o->tie)
        linear_add_bias(p, &m->logits, "masked.logits");
    if (v->next_sentence)
        m->next = linear_last(p, NULL, o->dim, 2, "next");
}

/* What makes logits of vectors, and of texts' vectors. */
static void add_heads(Model *m, const ClassifierOptions *v, size_t tokens, size_t classes)
{
    const size_t dim = v->shared.dim;
    Parameters *p = &m->parameters;
    if (v->pooler)
        m->pooler = linear_new(p, dim, dim, true, "pooler");
    m->pooler_activation = v->pooler == POOLER_TANH ? ACTIVATION_TANH : ACTIVATION_RELU;
    if (m->masked)
        add_masked(m, v, tokens);
    else
        m->logits = m->headless ? linear_tied(m->embedding.table) : linear_last(p, NULL, dim, classes, "logits");
    m->logits.cap = v->shared.logit_cap;
}

bool model_open(Model *m, const ClassifierOptions *v, size_t tokens, size_t classes, Error *e)
{
    const SharedOptions *o = &v->shared;
    const bool masked = v->objective == OBJECTIVE_MASKED, headless = v->objective == OBJECTIVE_VECTORS;
    *m = (Model){.context = o->context,
                 .classes = masked || headless ? tokens : classes,
                 .pool = (Pooling)v->pool,
                 .masked = masked,
                 .headless = headless};
    m->registers = (Registers){(int32_t)tokens, o->registers};
    m->ngrams = network_ngrams(o, NGRAMS);
    if (!network_suits(o, e))
        return false;
    Parameters *p = &m->parameters;
    network_prepare(p, o);
    StackOptions blocks = network_stack(o, "blocks", "norm");
    if (blocks.block.attention.distances.kind != DISTANCE_ALIBI) /* which has no bias for keys ahead */
        blocks.block.attention.distances.ahead = o->context - 1;
    blocks.last_side = masked && stack_may_narrow(&blocks) ? MASKED : 0;
    add_embeddings(m, v, tokens);
    m->stack = stack_new(p, &blocks);
    add_heads(m, v, tokens, classes);
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

size_t model_sides(const Model *m)
{
    return m->next.weight ? NEXT + 1 : m->segments.table ? SEGMENT + 1 : NGRAMS + ngrams_sides(&m->ngrams);
}

/* only: the positions that are wanted; NULL: all. */
static Tensor *vectors_of(Tape *t, const Model *m, const Rows *rows, const Queries *only)
{
    AttentionContext context = context_rows(&rows[TEXT], false);
    context.query_subset = only;
    Tensor *x = embed(t, &m->embedding, &rows[TEXT]);
    if (m->segments.table)
        x = add(t, x, embed(t, &m->segments, &rows[SEGMENT]), (Dropout){0});
    x = embed_ngrams(t, x, &m->of_ngrams, &rows[NGRAMS], ngrams_sides(&m->ngrams));
    if (m->segments.table || m->ngrams.longest)
        x = add(t, NULL, x, m->drop);
    return stack(t, &m->stack, x, NULL, &context);
}

Tensor *model_vectors(Tape *t, const Model *m, const Rows *rows) { return vectors_of(t, m, rows, NULL); }

/* v [B, dim] */
static Tensor *pooled(Tape *t, const Model *m, Tensor *v)
{
    if (!m->pooler.weight)
        return v;
    return m->pooler_activation == ACTIVATION_RELU ? linear_relu(t, &m->pooler, v)
                                                   : activate(t, linear(t, &m->pooler, v), m->pooler_activation);
}

Tensor *model_text_vectors(Tape *t, const Model *m, Vector which, const Rows *rows)
{
    Tensor *x = model_vectors(t, m, rows);
    const Pooling how = which == VECTOR_POOLER ? POOLING_FIRST : (Pooling)which;
    Tensor *v = pool_rows(t, x, how, &rows[TEXT]);
    return which == VECTOR_POOLER ? pooled(t, m, v) : v;
}

Tensor *model_logits(Tape *t, const Model *m, const Rows *rows)
{
    Tensor *v = pool_rows(t, model_vectors(t, m, rows), m->pool, &rows[TEXT]);
    return linear_logits(t, &m->logits, pooled(t, m, v));
}

Tensor *model_masked(Tape *t, const Model *m, const Rows *rows)
{
    Queries *only = arena_take(&t->host, sizeof *only); /* until the tape's reset: a segment may run again */
    *only = rows_queries(&rows[MASKED]);
    return vectors_of(t, m, rows, only);
}

Tensor *model_tokens(Tape *t, const Model *m, Tensor *vectors)
{
    Tensor *h = m->activation == ACTIVATION_RELU ? linear_relu(t, &m->transform, vectors)
                                                 : activate(t, linear(t, &m->transform, vectors), m->activation);
    return linear_logits(t, &m->logits, norm(t, &m->transform_norm, h));
}

Tensor *model_next(Tape *t, const Model *m, Tensor *vectors, const Rows *rows)
{
    return linear_logits(t, &m->next, pooled(t, m, pool_rows(t, vectors, POOLING_FIRST, &rows[MASKED])));
}
