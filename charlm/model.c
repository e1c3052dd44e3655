/* See model.h.
 *
 *     x = token_embedding[byte] + position_embedding[place]
 *     x = block(x), depth times, each position seeing itself and those before it
 *     logits = x w^T + bias */
#include "charlm/model.h"

#include "base/memory.h"
#include "core/tensor/operations.h"

#include <stdio.h>

static BlockOptions block_options(const SharedValues *o)
{
    size_t key_size = o->head_size ? o->head_size : o->dim / o->heads;
    return (BlockOptions){.attention = {.dim = o->dim,
                                        .heads = o->heads,
                                        .key_size = key_size,
                                        .value_size = o->value_size ? o->value_size : key_size,
                                        .bias = o->bias,
                                        .composed = o->attention == 1,
                                        .score = (Score)o->score,
                                        .dropout = o->attention_dropout,
                                        .distances = {(DistanceKind)o->distances, .reach = o->context - 1}},
                          .ff = o->ff ? o->ff : 4 * o->dim,
                          .activation = (Activation)o->activation,
                          .norm = (NormPlace)o->norm,
                          .dropout = o->dropout};
}

bool model_suits(const SharedValues *o, Error *e)
{
    if (!o->head_size && o->dim % o->heads)
        return fail(e, "--dim %zu cannot be shared out among --heads %zu; give --head-size, or a multiple", o->dim,
                    o->heads);
    return o->attention == 0 || o->distances == 0 ||
           fail(e, "--attention composed knows no distances: give --distances none, or --attention fused");
}

bool model_open(Model *m, const SharedValues *o, Error *e)
{
    *m = (Model){.depth = o->depth, .context = o->context, .window = o->window, .place = (NormPlace)o->norm};
    if (!model_suits(o, e))
        return false;
    m->blocks = memory_get(m->depth, sizeof *m->blocks);
    if (!m->blocks)
        return memory_error(e, "the model's blocks", m->depth, sizeof *m->blocks);

    Parameters *p = &m->parameters;
    EmbeddingOptions embedding = {.vocabulary = BYTES,
                                  .context = o->context,
                                  .dim = o->dim,
                                  .positions = (Positions)o->positions,
                                  .tied = o->tie,
                                  .scale = 1,
                                  .dropout = o->dropout};
    BlockOptions block = block_options(o);
    char name[32];
    m->embedding = embedding_new(p, &embedding, "token_embedding.weight", "position_embedding.weight");
    for (size_t i = 0; i < m->depth; i++) {
        snprintf(name, sizeof name, "blocks.%zu", i);
        m->blocks[i] = block_new(p, &block, name);
    }
    if (m->place == NORM_PRE)
        m->norm = norm_new(p, o->dim, "norm");
    m->logits = o->tie ? linear_tied(m->embedding.table) : linear_new(p, o->dim, BYTES, true, "logits");
    if (parameters_finish(p, e))
        return true;
    model_close(m);
    return false;
}

void model_close(Model *m)
{
    parameters_close(&m->parameters);
    memory_free(m->blocks);
    *m = (Model){0};
}

Tensor *model_logits(Tape *t, const Model *m, const Rows *rows, const Cache *cache, const Queries *only)
{
    Attend how = cache ? attend_cached(rows, cache) : attend_rows(rows, true);
    how.window = m->window;

    Tensor *x = embed(t, &m->embedding, rows);
    size_t whole = m->depth - (only && !cache && m->depth); /* blocks whose output becomes keys of the next one */
    for (size_t i = 0; i < whole; i++)
        x = block(t, &m->blocks[i], x, &how, cache_layer(cache, i));
    if (whole < m->depth)
        x = block_only(t, &m->blocks[whole], x, &how, only);
    else if (only)
        x = gather(t, x, only->index, only->positions);
    if (m->place == NORM_PRE)
        x = norm(t, &m->norm, x);
    return linear_logits(t, &m->logits, x);
}

size_t model_key_columns(const Model *m)
{
    return m->depth ? m->blocks[0].attention.o.heads * m->blocks[0].attention.o.key_size : 1;
}

size_t model_value_columns(const Model *m)
{
    return m->depth ? m->blocks[0].attention.o.heads * m->blocks[0].attention.o.value_size : 1;
}
