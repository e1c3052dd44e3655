/* See decoder.h. */
#include "tests/nn/decoder.h"

#include <stdio.h>

typedef char Name[64];

static const char *part(Name name, size_t block, const char *what)
{
    snprintf(name, sizeof(Name), "decoder.%zu.%s", block, what);
    return name;
}

static DecoderBlock block_of(Parameters *p, const AttentionOptions *o, size_t ff, size_t i)
{
    DecoderBlock b = {0};
    AttentionOptions cross = *o;
    Name name;
    cross.cross = true;
    b.attention = attention_new(p, o, part(name, i, "attention"));
    b.branch1 = (Branch){norm_new(p, o->dim, part(name, i, "norm1")), parameters_dropout(p, 0), NORM_POST};
    b.cross = attention_new(p, &cross, part(name, i, "cross"));
    b.branch_cross = (Branch){norm_new(p, o->dim, part(name, i, "norm_cross")), parameters_dropout(p, 0), NORM_POST};
    b.ff.in = linear_new(p, o->dim, ff, true, part(name, i, "ff.in"));
    b.ff.out = linear_new(p, ff, o->dim, true, part(name, i, "ff.out"));
    b.ff.activation = ACTIVATION_RELU;
    b.branch2 = (Branch){norm_new(p, o->dim, part(name, i, "norm2")), parameters_dropout(p, 0), NORM_POST};
    return b;
}

Decoder decoder_new(const Fixture *f, bool composed)
{
    Decoder d = {0};
    Error e;
    Parameters *p = &d.parameters;
    AttentionOptions o = {.dim = (size_t)fixture_number(f, "dim"),
                          .heads = (size_t)fixture_number(f, "heads"),
                          .key_size = (size_t)fixture_number(f, "head-size"),
                          .value_size = (size_t)fixture_number(f, "value-size"),
                          .bias = true,
                          .composed = composed};
    size_t classes = (size_t)fixture_number(f, "target"), ff = (size_t)fixture_number(f, "ff");
    EmbeddingOptions source = {.vocabulary = (size_t)fixture_number(f, "source"), .dim = o.dim, .scale = 1};
    EmbeddingOptions target = {.vocabulary = classes, .dim = o.dim, .scale = 1};
    ck_assert((size_t)fixture_number(f, "depth") == DECODER_DEPTH);

    d.source = embedding_new(p, &source, "source_embedding.weight", "");
    p->side = 1;
    d.target = embedding_new(p, &target, "target_embedding.weight", "");
    for (size_t i = 0; i < DECODER_DEPTH; i++)
        d.block[i] = block_of(p, &o, ff, i);
    d.logits = linear_new(p, o.dim, classes, true, "logits");
    ck_done(parameters_finish(p, &e), e);
    return d;
}

void decoder_close(Decoder *d) { parameters_close(&d->parameters); }

typedef struct BlockArgs {
    const DecoderBlock *b;
    Attend self, across;
} BlockArgs;

/* inputs: x, memory */
static Tensor *run(Tape *t, const void *args, Tensor *const *inputs)
{
    const BlockArgs *a = args;
    const DecoderBlock *b = a->b;
    Tensor *x = inputs[0];
    x = leave(t, &b->branch1, x, multihead(t, &b->attention, enter(t, &b->branch1, x), NULL, &a->self, NULL));
    x = leave(t, &b->branch_cross, x,
              multihead(t, &b->cross, enter(t, &b->branch_cross, x), inputs[1], &a->across, NULL));
    return leave(t, &b->branch2, x, feedforward(t, &b->ff, enter(t, &b->branch2, x)));
}

static Tensor *logits(const void *model, Tape *t, const Rows *rows)
{
    const Decoder *d = model;
    Tensor *memory = embed(t, &d->source, &rows[0]), *x = embed(t, &d->target, &rows[1]);
    for (size_t i = 0; i < DECODER_DEPTH; i++) {
        BlockArgs args = {&d->block[i], attend_rows(&rows[1], true), attend_across(&rows[1], &rows[0])};
        x = tape_segment(t, run, &args, sizeof args, (Tensor *[]){x, memory}, 2);
    }
    return linear_logits(t, &d->logits, x);
}

Network decoder_network(const Decoder *d) { return (Network){d, &d->parameters, logits, 2, 1, 0}; }
