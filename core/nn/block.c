/* See block.h. */
#include "core/nn/block.h"

#include "core/tensor/operations.h"

#include <assert.h>
#include <stdio.h>

typedef char Name[sizeof(((Parameter *)0)->name)];

static const char *join(Name name, const char *prefix, const char *part)
{
    snprintf(name, sizeof(Name), "%s.%s", prefix, part);
    return name;
}

Block block_new(Parameters *p, const BlockOptions *o, const char *prefix)
{
    size_t dim = o->attention.dim;
    Block b = {0};
    Name name;

    b.attention = attention_new(p, &o->attention, join(name, prefix, "attention"));
    b.branch1 = (Branch){norm_new(p, dim, join(name, prefix, "norm1")), parameters_dropout(p, o->dropout), o->norm};
    b.ff.in = linear_new(p, dim, o->ff, true, join(name, prefix, "ff.in"));
    b.ff.out = linear_new(p, o->ff, dim, true, join(name, prefix, "ff.out"));
    b.ff.activation = o->activation;
    b.branch2 = (Branch){norm_new(p, dim, join(name, prefix, "norm2")), parameters_dropout(p, o->dropout), o->norm};
    if (b.ff.out.weight)
        b.ff.out.weight->residual = true;
    return b;
}

Tensor *enter(Tape *t, const Branch *b, Tensor *x) { return b->place == NORM_PRE ? norm(t, &b->norm, x) : x; }

Tensor *leave(Tape *t, const Branch *b, Tensor *x, Tensor *f)
{
    return b->place == NORM_PRE ? add(t, x, f, b->drop) : add_norm(t, &b->norm, x, f, b->drop);
}

Tensor *feedforward(Tape *t, const FeedForward *f, Tensor *x)
{
    if (f->activation == ACTIVATION_RELU)
        return linear(t, &f->out, linear_relu(t, &f->in, x));
    return linear(t, &f->out, activate(t, linear(t, &f->in, x), f->activation));
}

typedef struct BlockArgs {
    const Block *b;
    Attend rows;
    const CacheLayer *cache;
    const Queries *only; /* NULL: all positions */
} BlockArgs;

static Tensor *run(Tape *t, const void *args, Tensor *const *inputs)
{
    const BlockArgs *a = args;
    const Block *b = a->b;
    Tensor *x = inputs[0], *memory = NULL;
    if (a->only) {
        memory = enter(t, &b->branch1, x);
        x = gather(t, x, a->only->index, a->only->positions);
    }
    Tensor *attended = multihead(t, &b->attention, enter(t, &b->branch1, x), memory, &a->rows, a->cache);
    x = leave(t, &b->branch1, x, attended);
    Tensor *f = feedforward(t, &b->ff, enter(t, &b->branch2, x));
    return leave(t, &b->branch2, x, f);
}

Tensor *block(Tape *t, const Block *b, Tensor *x, const Attend *rows, const CacheLayer *cache)
{
    return tape_segment(t, run, &(BlockArgs){b, *rows, cache, NULL}, sizeof(BlockArgs), &x, 1);
}

Tensor *block_only(Tape *t, const Block *b, Tensor *x, const Attend *rows, const Queries *only)
{
    assert(!t->training);
    BlockArgs args = {b, attend_only(rows, only), NULL, only};
    return tape_segment(t, run, &args, sizeof args, &x, 1);
}
