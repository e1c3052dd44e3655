/* See block.h. */
#include "core/nn/block.h"

#include "core/tensor/operations.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

typedef char Name[sizeof(((Parameter *)0)->name)];

static const char *join(Name name, const char *prefix, const char *part)
{
    snprintf(name, sizeof(Name), "%s.%s", prefix, part);
    return name;
}

static double one(const Parameter *p, size_t row, size_t column) { return (void)p, (void)row, (void)column, 1; }

static Branch branch_new(Parameters *p, const BlockOptions *o, const char *prefix, const char *part)
{
    size_t dim = o->attention.dim;
    Name name;
    Branch b = {.place = o->norm};
    if (o->norm != NORM_PARALLEL || strcmp(part, "norm1") == 0)
        b.norm = norm_new(p, o->norm_kind, dim, join(name, prefix, part));
    if (o->norm == NORM_SANDWICH) {
        snprintf(name, sizeof name, "%s.%s_out", prefix, part);
        b.norm_out = norm_new(p, o->norm_kind, dim, name);
    }
    b.drop = parameters_dropout(p, o->dropout);
    if (o->branch_dropout > 0) { /* few networks have it, as below */
        b.drop_all = parameters_dropout_of_step(p, o->branch_dropout);
        b.ones = parameters_constant(p, 1, dim, one, prefix, join(name, part, "ones"));
    }
    return b;
}

Block block_new(Parameters *p, const BlockOptions *o, const char *prefix)
{
    size_t dim = o->attention.dim;
    Block b = {.crosses = o->cross};
    Name name;

    b.attention = attention_new(p, &o->attention, join(name, prefix, "attention"));
    b.branch1 = branch_new(p, o, prefix, "norm1");
    if (o->cross) {
        AttentionOptions cross = o->attention;
        cross.cross = true;
        cross.distances = (DistanceOptions){0};
        cross.rotary.context = 0;
        cross.value_residual = false;
        b.cross = attention_new(p, &cross, join(name, prefix, "cross"));
        b.branch_cross = branch_new(p, o, prefix, "norm_cross");
    }
    b.ff.in = linear_new(p, dim, o->ff, true, join(name, prefix, "ff.in"));
    if (o->gate)
        b.ff.gate = linear_new(p, dim, o->ff, true, join(name, prefix, "ff.gate"));
    b.ff.out = linear_new(p, o->ff, dim, true, join(name, prefix, "ff.out"));
    b.ff.activation = o->activation;
    if (o->ff_dropout > 0) /* few networks have it: others draw what they drew before there was one */
        b.ff.drop = parameters_dropout(p, o->ff_dropout);
    b.branch2 = branch_new(p, o, prefix, "norm2");
    linear_ends_branch(&b.ff.out);
    return b;
}

/* 0, or f / (1 - rate): one number is dropped or not, and spread over all columns and positions. */
static Tensor *drop_all(Tape *t, const Branch *b, Tensor *f)
{
    if (!b->ones || !t->training)
        return f;
    Tensor *ones = tape_constant(t, b->ones), *one_of_them = add(t, NULL, slice(t, ones, 0, 1), b->drop_all);
    const ProductShape shape = {
        .c = {.column = 1}, .b = {.column = 1}, .outer = 1, .inner = 1, .m = 1, .n = f->columns, .k = 1, .alpha = 1};
    Tensor *factor = product(t, one_of_them, ones, &shape, 1, f->columns);
    return mul(t, f, repeat_row(t, factor, f->rows));
}

Tensor *enter(Tape *t, const Branch *b, Tensor *x) { return b->place == NORM_POST ? x : norm(t, &b->norm, x); }

Tensor *leave(Tape *t, const Branch *b, Tensor *x, Tensor *f)
{
    f = drop_all(t, b, f);
    if (b->place == NORM_POST)
        return add_norm(t, &b->norm, x, f, b->drop);
    return add(t, x, b->place == NORM_SANDWICH ? norm(t, &b->norm_out, f) : f, b->drop);
}

Tensor *feedforward(Tape *t, const FeedForward *f, Tensor *x)
{
    const Linear *active = f->gate.weight ? &f->gate : &f->in;
    bool relu = f->activation == ACTIVATION_RELU;
    Tensor *h = relu ? linear_relu(t, active, x) : activate(t, linear(t, active, x), f->activation);
    if (f->gate.weight)
        h = mul(t, h, linear(t, &f->in, x));
    return linear(t, &f->out, add(t, NULL, h, f->drop));
}

typedef struct BlockArgs {
    const Block *b;
    AttentionContext context;
} BlockArgs;

/* What a later branch reads: x, or (parallel) what the first one read. */
static Tensor *enter_later(Tape *t, const Branch *b, Tensor *x, Tensor *first)
{
    return b->place == NORM_PARALLEL ? first : enter(t, b, x);
}

/* inputs: x, and a memory where there is one. Where only some positions are wanted, these alone attend to all. */
static Tensor *run(Tape *t, const void *args, Tensor *const *inputs)
{
    const BlockArgs *a = args;
    const Block *b = a->b;
    const AttentionContext *context = &a->context;
    Tensor *x = inputs[0], *whole = NULL;
    RowPositions positions = {context->position, x->rows, NULL};
    if (context->query_subset) {
        whole = enter(t, &b->branch1, x);
        x = gather(t, x, context->query_subset->index, context->query_subset->positions);
        positions.index = context->query_subset->index;
    }
    Tensor *first = enter(t, &b->branch1, x);
    Tensor *y = multihead_blended(t, &b->attention, first, whole, &context->self_mask, context->kv_cache, positions,
                                  context->first_values);
    x = leave(t, &b->branch1, x, y);
    if (b->crosses) {
        Tensor *memory = context->cross_cache ? NULL : inputs[1];
        y = multihead(t, &b->cross, enter_later(t, &b->branch_cross, x, first), memory, &context->cross_mask,
                      context->cross_cache, (RowPositions){0});
        x = leave(t, &b->branch_cross, x, y);
    }
    return leave(t, &b->branch2, x, feedforward(t, &b->ff, enter_later(t, &b->branch2, x, first)));
}

Tensor *block(Tape *t, const Block *b, Tensor *x, Tensor *memory, const AttentionContext *context)
{
    BlockArgs args = {b, *context};
    assert(b->crosses ? !memory != !context->cross_cache : !memory);
    if (context->query_subset) {
        assert(!t->training && !context->kv_cache);
        args.context.self_mask = attend_only(&context->self_mask, context->query_subset);
        args.context.cross_mask = attend_only(&context->cross_mask, context->query_subset);
    }
    Tensor *inputs[3] = {x};
    size_t count = 1;
    if (memory)
        inputs[count++] = memory;
    if (context->first_values)
        inputs[count++] = context->first_values;
    return tape_segment(t, run, &args, sizeof args, inputs, count);
}

AttentionContext context_rows(const Rows *rows, bool causal)
{
    return (AttentionContext){.self_mask = attend_rows(rows, causal), .position = rows->position};
}

AttentionContext context_across(const Rows *rows, const Rows *memory)
{
    return (AttentionContext){
        .self_mask = attend_rows(rows, true), .position = rows->position, .cross_mask = attend_across(rows, memory)};
}

AttentionContext context_cached(const Rows *rows, const Cache *past)
{
    return (AttentionContext){
        .self_mask = attend_cached(rows, past), .position = rows->position, .kv_cache = past->layer};
}

AttentionContext context_remembered(const Rows *rows, const Cache *past, const Cache *memory, const int32_t *key_row)
{
    return (AttentionContext){.self_mask = attend_cached(rows, past),
                              .position = rows->position,
                              .kv_cache = past->layer,
                              .cross_mask = attend_remembered(rows, memory, key_row),
                              .cross_cache = memory->layer};
}
