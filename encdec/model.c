/* See model.h.
 *
 *     memory = encoder(e(source))          e(subword) = sqrt(D) embedding[subword] + sinusoid[position]
 *     x = decoder(e(target), memory)       each position seeing those before it, and all of memory
 *     logits = x embedding^T               one table for all three (--tie), or x w^T + bias and three tables; where
 *                                          the target has a vocabulary of its own, its table makes the logits */
#include "encdec/model.h"

#include "core/program/network.h"
#include "encdec/subwords.h"

#include <math.h>

static void build(Model *m, const EncdecOptions *v, size_t subwords, size_t targets)
{
    const SharedOptions *o = &v->shared;
    Parameters *p = &m->parameters;
    network_prepare(p, o);
    const bool one = o->tie && !targets;
    EmbeddingOptions embedding = network_embedding(o, subwords);
    targets = targets ? targets : subwords;
    embedding.tied = one;
    embedding.scale = v->plain_embeddings ? 1 : sqrt((double)o->dim / p->wider);
    embedding.words = true;
    StackOptions encoder = network_stack(o, "encoder", "encoder.norm"), decoder = encoder;
    if (encoder.block.attention.distances.kind != DISTANCE_ALIBI) /* which has no bias for keys ahead */
        encoder.block.attention.distances.ahead = o->context - 1;
    decoder.depth = v->decoder_depth ? v->decoder_depth : o->depth;
    encoder.decoder_depth = decoder.depth;
    m->source = embedding_new(p, &embedding, one ? "embedding.weight" : "source_embedding.weight",
                              "source_position_embedding.weight");
    m->encoder = stack_new(p, &encoder);

    p->side = 1;
    embedding.shared = one ? &m->source : NULL;
    embedding.vocabulary = targets;
    embedding.tied = o->tie;
    decoder.blocks = "decoder", decoder.norm = "decoder.norm";
    decoder.block.cross = true;
    m->target = embedding_new(p, &embedding, "target_embedding.weight", "target_position_embedding.weight");
    m->decoder = stack_new(p, &decoder);
    m->logits = linear_last(p, o->tie ? m->target.table : NULL, o->dim, targets, "logits");
    m->logits.cap = o->logit_cap;
    if (v->logits_bias && o->tie)
        linear_add_bias(p, &m->logits, "logits");
}

bool model_open(Model *m, const EncdecOptions *v, size_t subwords, size_t targets, Error *e)
{
    *m = (Model){.context = v->shared.context, .begin = END};
    if (!network_suits(&v->shared, e))
        return false;
    build(m, v, subwords, targets);
    if (parameters_finish(&m->parameters, e))
        return true;
    model_close(m);
    return false;
}

void model_close(Model *m)
{
    parameters_close(&m->parameters);
    stack_close(&m->encoder);
    stack_close(&m->decoder);
    *m = (Model){0};
}

Tensor *model_memory(Tape *t, const Model *m, const Rows *source)
{
    AttentionContext context = context_rows(source, false);
    return stack(t, &m->encoder, embed(t, &m->source, source), NULL, &context);
}

Tensor *model_logits(Tape *t, const Model *m, const Rows *target, Tensor *memory, const AttentionContext *context)
{
    return linear_logits(t, &m->logits, stack(t, &m->decoder, embed(t, &m->target, target), memory, context));
}

Tensor *model_pairs(Tape *t, const Model *m, const Rows *source, const Rows *target)
{
    AttentionContext context = context_across(target, source);
    return model_logits(t, m, target, model_memory(t, m, source), &context);
}
