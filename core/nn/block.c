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

bool norm_ends_branch(NormPlacement placement)
{
    return placement == NORM_POST || placement == NORM_DEEP || placement == NORM_RESIDUAL;
}

static Parameter *row_of(Parameters *p, size_t dim, double value, const char *prefix, const char *part,
                         const char *name)
{
    Name of_part;
    Parameter *row = parameters_constant(p, 1, dim, always_one, prefix, join(of_part, part, name));
    if (row)
        row->times = value;
    return row;
}

/* first: of a block's branches */
static Branch branch_new(Parameters *p, const BlockOptions *o, const char *prefix, const char *part, bool first)
{
    size_t dim = o->attention.dim;
    Name name;
    Branch b = {.placement = o->norm};
    if (o->norm != NORM_PARALLEL || first)
        b.norm = norm_new(p, o->norm_kind, dim, join(name, prefix, part));
    if (o->norm == NORM_SANDWICH) {
        snprintf(name, sizeof name, "%s.%s_out", prefix, part);
        b.norm_out = norm_new(p, o->norm_kind, dim, name);
    }
    b.drop = parameters_dropout(p, o->dropout);
    if (o->branch_dropout > 0) { /* only then, as below */
        b.drop_all = parameters_dropout_of_step(p, o->branch_dropout);
        b.ones = row_of(p, dim, 1, prefix, part, "whole"); /* a norm's are called "ones", and names must differ */
    }
    if (o->deep_alpha > 0)
        b.alpha = row_of(p, dim, o->deep_alpha, prefix, part, "deep");
    return b;
}

static FeedForward feedforward_new(Parameters *p, const BlockOptions *o, const char *prefix)
{
    size_t dim = o->attention.dim;
    FeedForward f = {.activation = o->activation};
    Name name;
    if (o->experts.count) {
        f.experts = experts_new(p, &o->experts, dim, prefix);
        f.in = experts_map(p, &f.experts, dim, o->ff, prefix, "in", false, o->deep_beta);
        if (o->gate)
            f.gate = experts_map(p, &f.experts, dim, o->ff, prefix, "gate", false, o->deep_beta);
        f.out = experts_map(p, &f.experts, o->ff, dim, prefix, "out", true, o->deep_beta);
        return f;
    }
    f.in = linear_new(p, dim, o->ff, true, join(name, prefix, "in"));
    if (o->gate)
        f.gate = linear_new(p, dim, o->ff, true, join(name, prefix, "gate"));
    f.out = linear_new(p, o->ff, dim, true, join(name, prefix, "out"));
    if (o->ff_dropout > 0) /* only then, so that other networks' random numbers do not depend on it */
        f.drop = parameters_dropout(p, o->ff_dropout);
    linear_ends_branch(&f.out);
    return f;
}

/* DeepNorm's smaller initial weights, in all maps except those of queries and keys. */
static void draw_smaller(const Block *b, double beta)
{
    const Linear *const maps[] = {&b->attention.value, &b->attention.out, &b->cross.value, &b->cross.out,
                                  &b->ff.in,           &b->ff.gate,       &b->ff.out,      &b->ff_before.in,
                                  &b->ff_before.gate,  &b->ff_before.out};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        if (maps[i]->weight)
            maps[i]->weight->times = beta;
}

Block block_new(Parameters *p, const BlockOptions *o, const char *prefix)
{
    size_t dim = o->attention.dim;
    Block b = {.crosses = o->cross, .macaron = o->macaron};
    Name name;

    b.attention = attention_new(p, &o->attention, join(name, prefix, "attention"));
    b.branch1 = branch_new(p, o, prefix, "norm1", true);
    if (o->cross) {
        AttentionOptions cross = o->attention;
        cross.cross = true;
        cross.distances = (DistanceOptions){0};
        cross.rotary.context = 0;
        cross.value_residual = false;
        b.cross = attention_new(p, &cross, join(name, prefix, "cross"));
        b.branch_cross = branch_new(p, o, prefix, "norm_cross", false);
    }
    b.ff = feedforward_new(p, o, join(name, prefix, "ff"));
    b.branch2 = branch_new(p, o, prefix, "norm2", false);
    if (o->macaron) {
        b.ff_before = feedforward_new(p, o, join(name, prefix, "ff_before"));
        b.branch_before = branch_new(p, o, prefix, "norm_before", false);
        b.branch_before.half = row_of(p, dim, 0.5, prefix, "norm_before", "half");
        b.branch2.half = row_of(p, dim, 0.5, prefix, "norm2", "half");
    }
    if (o->deep_beta > 0)
        draw_smaller(&b, o->deep_beta);
    return b;
}

/* 0, or f / (1 - rate): dropout of a single number, spread over all columns and positions. */
static Tensor *drop_all(Tape *t, const Branch *b, Tensor *f)
{
    if (!b->ones || !t->training)
        return f;
    Tensor *one_of_them = add(t, NULL, slice(t, tape_constant(t, b->ones), 0, 1), b->drop_all);
    return mul_row(t, f, spread(t, one_of_them, b->ones));
}

Tensor *enter(Tape *t, const Branch *b, Tensor *x) { return norm_ends_branch(b->placement) ? x : norm(t, &b->norm, x); }

/* What a branch adds, given its result f. */
static Tensor *added(Tape *t, const Branch *b, Tensor *f)
{
    f = b->placement == NORM_SANDWICH ? norm(t, &b->norm_out, f) : f;
    f = drop_all(t, b, f); /* after the norm, which would take the factor away, and make its bias of zeros */
    return b->half ? mul_row(t, f, tape_constant(t, b->half)) : f;
}

static Tensor *sum_of(Tape *t, const Branch *b, Tensor *x, Tensor *f)
{
    x = b->alpha ? mul_row(t, x, tape_constant(t, b->alpha)) : x;
    return norm_ends_branch(b->placement) ? add_norm(t, &b->norm, x, f, b->drop) : add(t, x, f, b->drop);
}

Tensor *leave(Tape *t, const Branch *b, Tensor *x, Tensor *f) { return sum_of(t, b, x, added(t, b, f)); }

/* routes NULL: there are no experts. */
static Tensor *map(Tape *t, const Linear *l, Tensor *x, const Routes *routes)
{
    return routes ? experts_linear(t, l, x, routes) : linear(t, l, x);
}

/* rows: of which x are the queries, which a load loss of experts belongs to; NULL: there is none. */
static Tensor *feedforward_of_rows(Tape *t, const FeedForward *f, Tensor *x, const Attend *rows)
{
    const Linear *active = f->gate.weight ? &f->gate : &f->in;
    const bool experts = f->experts.options.count, relu = f->activation == ACTIVATION_RELU && !experts;
    Routes own = {0}, *routes = experts ? &own : NULL;
    x = routes ? experts_enter(t, &f->experts, x, rows, routes) : x;
    Tensor *h = relu ? linear_relu(t, active, x) : activate(t, map(t, active, x, routes), f->activation);
    if (f->gate.weight)
        h = mul(t, h, map(t, &f->in, x, routes));
    h = map(t, &f->out, add(t, NULL, h, f->drop), routes);
    return routes ? experts_leave(t, h, routes) : h;
}

Tensor *feedforward(Tape *t, const FeedForward *f, Tensor *x) { return feedforward_of_rows(t, f, x, NULL); }

typedef struct BlockArgs {
    const Block *b;
    AttentionContext context;
} BlockArgs;

/* What a later branch reads: x, or (parallel) what the first one read. */
static Tensor *enter_later(Tape *t, const Branch *b, Tensor *x, Tensor *first)
{
    return b->placement == NORM_PARALLEL ? first : enter(t, b, x);
}

/* What a block reads and returns: x, and (residual) the sum of all branches without a norm, else NULL. */
typedef struct Streams {
    Tensor *x, *sum;
} Streams;

static Streams streams_of(Tape *t, const Block *b, Tensor *x)
{
    if (b->branch1.placement != NORM_RESIDUAL)
        return (Streams){x, NULL};
    size_t dim = x->columns / 2;
    return (Streams){slice(t, x, 0, dim), slice(t, x, dim, dim)};
}

static Streams leave_both(Tape *t, const Branch *b, Streams s, Tensor *f)
{
    f = added(t, b, f);
    return (Streams){sum_of(t, b, s.x, f), s.sum ? add(t, s.sum, f, b->drop) : NULL};
}

/* What attention reads: the block's input or, in a macaron block, that plus half a feed-forward network. */
static Streams before_attention(Tape *t, const Block *b, Tensor *x, const Attend *rows)
{
    Streams s = streams_of(t, b, x);
    if (!b->macaron)
        return s;
    return leave_both(t, &b->branch_before, s,
                      feedforward_of_rows(t, &b->ff_before, enter(t, &b->branch_before, s.x), rows));
}

Tensor *block_values(Tape *t, const Block *b, Tensor *x)
{
    return linear(t, &b->attention.value, enter(t, &b->branch1, before_attention(t, b, x, NULL).x));
}

static Streams wanted_of(Tape *t, Streams s, const Queries *wanted)
{
    return (Streams){gather(t, s.x, wanted->index, wanted->positions),
                     s.sum ? gather(t, s.sum, wanted->index, wanted->positions) : NULL};
}

/* inputs: x, and a memory if there is one. If only some positions are wanted, only these attend, to all positions. */
static Tensor *run(Tape *t, const void *args, Tensor *const *inputs)
{
    const BlockArgs *a = args;
    const Block *b = a->b;
    const AttentionContext *context = &a->context;
    Tensor *whole = NULL, *self = context->self_scores, *cross = context->cross_scores;
    RowPositions positions = {context->position, inputs[0]->rows, NULL};
    Streams s = before_attention(t, b, inputs[0], context->query_subset ? NULL : &context->self_mask);
    if (context->query_subset) {
        whole = enter(t, &b->branch1, s.x);
        s = wanted_of(t, s, context->query_subset);
        positions.index = context->query_subset->index;
    }
    Tensor *first = enter(t, &b->branch1, s.x);
    Tensor *y = multihead_after(t, &b->attention, first, whole, &context->self_mask, context->kv_cache, positions,
                                context->first_values, context->residual_scores ? &self : NULL, NULL);
    s = leave_both(t, &b->branch1, s, y);
    if (b->crosses) {
        Tensor *memory = context->cross_cache ? NULL : inputs[1];
        y = multihead_after(t, &b->cross, enter_later(t, &b->branch_cross, s.x, first), memory, &context->cross_mask,
                            context->cross_cache, (RowPositions){0}, NULL, context->residual_scores ? &cross : NULL,
                            context->guide);
        s = leave_both(t, &b->branch_cross, s, y);
    }
    s = leave_both(t, &b->branch2, s,
                   feedforward_of_rows(t, &b->ff, enter_later(t, &b->branch2, s.x, first), &context->self_mask));
    y = s.sum ? concat(t, (Tensor *[]){s.x, s.sum}, 2) : s.x;
    if (context->residual_scores) {
        y->beside = self;
        self->beside = cross;
    }
    return y;
}

Tensor *block(Tape *t, const Block *b, Tensor *x, Tensor *memory, const AttentionContext *context)
{
    BlockArgs args = {b, *context};
    assert(!context->residual_scores || !context->query_subset);
    assert(b->crosses ? !memory != !context->cross_cache : !memory);
    if (context->query_subset) {
        assert(!context->kv_cache);
        args.context.self_mask = attend_only(&context->self_mask, context->query_subset);
        args.context.cross_mask = attend_only(&context->cross_mask, context->query_subset);
    }
    Tensor *inputs[5] = {x};
    size_t count = 1;
    if (memory)
        inputs[count++] = memory;
    if (context->first_values)
        inputs[count++] = context->first_values;
    if (context->self_scores)
        inputs[count++] = context->self_scores;
    if (context->cross_scores)
        inputs[count++] = context->cross_scores;
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
