/* See encdec.h. */
#include "tests/nn/encdec.h"

static size_t whole(const Reference *f, const char *key) { return (size_t)reference_number(f, key); }

EncDecOptions encdec_options(const Reference *f)
{
    SharedOptions o = reference_options(f);
    return (EncDecOptions){.block = {.attention = {.dim = o.dim,
                                                   .heads = o.heads,
                                                   .key_size = o.head_size,
                                                   .value_size = o.value_size,
                                                   .bias = o.bias},
                                     .ff = o.ff,
                                     .activation = (Activation)o.activation,
                                     .norm = (NormPlacement)o.norm},
                           .encoder = whole(f, "encoder"),
                           .decoder = o.depth,
                           .source = whole(f, "source"),
                           .target = whole(f, "target"),
                           .context = o.context,
                           .positions = (Positions)o.positions,
                           .tie = o.tie,
                           .scale = reference_number(f, "scale"),
                           .smoothing = o.smoothing};
}

bool encdec_open(EncDec *m, const EncDecOptions *o, Error *e)
{
    *m = (EncDec){.options = *o};
    Parameters *p = &m->parameters;
    EmbeddingOptions words = {.vocabulary = o->source,
                              .context = o->context,
                              .dim = o->block.attention.dim,
                              .positions = o->positions,
                              .tied = o->tie,
                              .scale = o->scale,
                              .dropout = o->block.dropout};
    StackOptions blocks = {.block = o->block, .depth = o->encoder, .blocks = "encoder", .norm = "encoder.norm"};
    m->source = embedding_new(p, &words, o->tie ? "embedding.weight" : "source_embedding.weight", "source_positions");
    if (o->encoder)
        m->encoder = stack_new(p, &blocks);
    p->side = 1;
    words.vocabulary = o->target;
    words.shared = o->tie ? &m->source : NULL;
    blocks = (StackOptions){.block = o->block, .depth = o->decoder, .blocks = "decoder", .norm = "decoder.norm"};
    blocks.block.cross = true;
    m->target = embedding_new(p, &words, "target_embedding.weight", "target_positions");
    m->decoder = stack_new(p, &blocks);
    m->logits = o->tie ? linear_tied(m->target.table) : linear_new(p, words.dim, o->target, true, "logits");
    if (parameters_finish(p, e))
        return true;
    encdec_close(m);
    return false;
}

void encdec_close(EncDec *m)
{
    parameters_close(&m->parameters);
    stack_close(&m->encoder);
    stack_close(&m->decoder);
}

Tensor *encdec_memory(Tape *t, const EncDec *m, const Rows *source)
{
    AttentionContext context = context_rows(source, false);
    return stack(t, &m->encoder, embed(t, &m->source, source), NULL, &context);
}

Tensor *encdec_logits(Tape *t, const EncDec *m, const Rows *target, Tensor *memory, const AttentionContext *context)
{
    return linear_logits(t, &m->logits, stack(t, &m->decoder, embed(t, &m->target, target), memory, context));
}

static Tensor *logits(const void *model, Tape *t, const Rows *rows)
{
    AttentionContext context = context_across(&rows[1], &rows[0]);
    return encdec_logits(t, model, &rows[1], encdec_memory(t, model, &rows[0]), &context);
}

Network encdec_network(const EncDec *m)
{
    return (Network){.model = m,
                     .parameters = &m->parameters,
                     .logits = logits,
                     .sides = 2,
                     .side = 1,
                     .smoothing = m->options.smoothing};
}
