/* See stack.h. */
#include "core/nn/stack.h"

#include "base/memory.h"
#include "core/tensor/operations.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The block whose input block i reads as well; i itself: none. */
static size_t skips_from(const Stack *s, size_t i)
{
    size_t mirror = s->depth - 1 - i;
    return s->skips == SKIP_X0 ? 0 : s->skips == SKIP_UNET && mirror < i ? mirror : i;
}

/* The next number of a list, which is moved past it; SIZE_MAX: not a number. */
static size_t next_number(const char **list)
{
    char *end;
    if (**list < '0' || **list > '9')
        return SIZE_MAX;
    const unsigned long long number = strtoull(*list, &end, 10);
    *list = end;
    return number < SIZE_MAX ? (size_t)number : SIZE_MAX;
}

bool stack_can_skip(const char *skip_blocks, size_t depth)
{
    for (const char *at = skip_blocks;; at++)
        if (next_number(&at) >= depth || (*at && *at != ','))
            return false;
        else if (!*at)
            return true;
}

/* A chain that runs several times leaves a block out each time. */
static bool is_skipped(const Stack *s, size_t i)
{
    for (const char *at = s->skip_blocks; at && *at; at += *at == ',')
        if (next_number(&at) == i % s->own_depth)
            return true;
    return false;
}

static void deepnorm(BlockOptions *b, double depth, double decoder_depth)
{
    double both = pow(pow(depth, 4) * decoder_depth, 1.0 / 16);
    bool encoder = decoder_depth > 0;
    b->deep_alpha = encoder ? 0.81 * both : pow((b->cross ? 3 : 2) * depth, 0.25);
    b->deep_beta = encoder ? 0.87 / both : pow((b->cross ? 12 : 8) * depth, -0.25);
}

Stack stack_new(Parameters *p, const StackOptions *o)
{
    const AttentionOptions *a = &o->block.attention;
    const size_t loops = o->loops ? o->loops : 1, depth = o->depth * loops;
    const bool residual = o->block.norm == NORM_RESIDUAL;
    const uint32_t side = p->side;
    Stack s = {.depth = depth,
               .own_depth = o->depth,
               .key_mask = o->key_mask,
               .window_pattern = o->window_pattern,
               .skip_blocks = o->skip_blocks,
               .block = memory_get(depth, sizeof *s.block),
               .skip = memory_get(depth, sizeof *s.skip),
               .skips = o->skip,
               .normed = residual || !norm_ends_branch(o->block.norm),
               .residual = residual,
               .residual_scores = o->residual_scores,
               .narrows = o->last_side,
               .kv_heads = a->composed ? 1 : attention_keys(a) / a->key_size,
               .key_columns = attention_keys(a),
               .value_columns = attention_values(a)};
    char name[sizeof(((Parameter *)0)->name)];
    if (!s.block || !s.skip) {
        p->failed = true;
        stack_close(&s);
        return s;
    }
    if (o->embedding_norm) {
        snprintf(name, sizeof name, "%.*sembedding_norm", (int)(strlen(o->norm) - strlen("norm")), o->norm);
        s.embedding_norm = norm_new(p, o->block.norm_kind, a->dim, name);
    }
    for (size_t i = 0; i < s.depth; i++) {
        BlockOptions block = o->block;
        block.attention.value_residual = block.attention.value_residual && i;
        block.branch_dropout *= (double)(i + 1) / (double)s.depth;
        if (block.norm == NORM_DEEP)
            deepnorm(&block, (double)depth, (double)(o->decoder_depth * loops));
        p->again = i >= o->depth;
        p->side = i + 1 == s.depth && o->last_side ? o->last_side : side;
        snprintf(name, sizeof name, "%s.%zu", o->blocks, i % o->depth);
        s.block[i] = block_new(p, &block, name);
        snprintf(name, sizeof name, "%s.%zu.skip", o->blocks, i % o->depth);
        if (skips_from(&s, i) < i)
            s.skip[i] = blend_new(p, (residual ? 2 : 1) * a->dim, 1, 0, name);
    }
    p->again = false;
    p->side = side;
    if (s.normed)
        s.norm = norm_new(p, o->block.norm_kind, a->dim, o->norm);
    return s;
}

void stack_close(Stack *s)
{
    memory_free(s->block);
    memory_free(s->skip);
    *s = (Stack){0};
}

static const CacheLayer *layer_of(const CacheLayer *first, size_t i) { return first ? first + i : NULL; }

bool stack_may_narrow(const StackOptions *o)
{
    return o->block.attention.distances.kind == DISTANCE_NONE && o->block.attention.distances.span_ramp <= 0 &&
           !o->key_mask.window && !o->key_mask.block && !o->block.macaron && !o->residual_scores &&
           o->block.experts.load_loss <= 0;
}

/* Of block i. */
static void hide_keys(const Stack *s, size_t i, Attend *mask)
{
    const bool all = s->window_pattern && s->window_pattern[i % strlen(s->window_pattern)] == 'L';
    if (!all)
        attend_masked(mask, &s->key_mask);
}

/* What the first block reads, and what comes out after the last one. */
static Tensor *begin(Tape *t, const Stack *s, Tensor *x)
{
    if (s->embedding_norm.gain)
        x = norm(t, &s->embedding_norm, x);
    return s->residual ? concat(t, (Tensor *[]){x, x}, 2) : x;
}

static Tensor *finish(Tape *t, const Stack *s, Tensor *x)
{
    if (s->residual) {
        const size_t dim = x->columns / 2;
        return add(t, slice(t, x, 0, dim), norm(t, &s->norm, slice(t, x, dim, dim)), (Dropout){0});
    }
    return s->normed ? norm(t, &s->norm, x) : x;
}

Tensor *stack(Tape *t, const Stack *s, Tensor *x, Tensor *memory, const AttentionContext *context)
{
    const Queries *only = context->query_subset;
    /* every block must compute all positions, or the last one is skipped, or was not made for these positions */
    bool late = context->kv_cache || !s->depth || s->residual_scores || is_skipped(s, s->depth - 1) ||
                (only && !only->offset && !s->narrows);
    x = begin(t, s, x);
    Tensor **read = arena_take(&t->host, s->depth * sizeof *read), *values = NULL; /* what each block reads */
    if (s->depth > 1 && s->block[1].attention.value_blend.own)
        values = block_values(t, &s->block[0], x);
    const TapeMark before = tape_mark(t);
    const Tensor *first = x;
    for (size_t i = 0; i < s->depth; i++) {
        AttentionContext now = *context;
        if (is_skipped(s, i)) {
            read[i] = x;
            continue;
        }
        now.first_values = i ? values : NULL;
        now.guide = context->guide && context->guide->layer == i ? context->guide : NULL;
        now.residual_scores = s->residual_scores;
        if (s->residual_scores && x != first) /* before the first block there are none, or those of another stack */
            now.self_scores = x->beside, now.cross_scores = x->beside->beside;
        hide_keys(s, i, &now.self_mask);
        now.kv_cache = layer_of(context->kv_cache, i);
        now.cross_cache = layer_of(context->cross_cache, i);
        now.query_subset = i + 1 == s->depth && !late ? only : NULL;
        read[i] = x = s->skip[i].own ? blend(t, &s->skip[i], x, read[skips_from(s, i)]) : x;
        x = block(t, &s->block[i], x, memory, &now);
        x = s->skips ? x : tape_forget(t, before, x); /* no later block reads what this one did */
    }
    if (only && late)
        x = gather(t, x, only->index, only->positions);
    return finish(t, s, x);
}

/* What each block reads of the past: [depth] tensors that want no gradient. */
static Tensor **past_of_blocks(Tape *t, const Stack *s, Tensor *past, const Rows *rows)
{
    Tensor **read = arena_take(&t->host, s->depth * sizeof *read);
    for (size_t i = 0; i < s->depth; i++) {
        AttentionContext context = context_rows(rows, true);
        if (i)
            hide_keys(s, i - 1, &context.self_mask);
        if (i && !is_skipped(s, i - 1))
            past = block(t, &s->block[i - 1], past, NULL, &context);
        read[i] = past = i ? past : begin(t, s, past);
    }
    return read;
}

Tensor *stack_recurrent(Tape *t, const Stack *s, Tensor *x, Tensor *past, const Rows *rows, const Rows *past_rows)
{
    const Joined *joined = &rows->joined;
    const bool training = t->training, recording = t->recording;
    const Rows all = {.positions = joined->positions,
                      .rows = rows->rows,
                      .longest = joined->longest,
                      .position = joined->position,
                      .start = joined->start};
    t->training = t->recording = false;
    Tensor **read = past_of_blocks(t, s, past, past_rows);
    t->training = training, t->recording = recording;
    x = begin(t, s, x);
    for (size_t i = 0; i < s->depth; i++) {
        if (is_skipped(s, i))
            continue;
        AttentionContext context = context_rows(&all, true);
        hide_keys(s, i, &context.self_mask);
        context.query_subset = &joined->own;
        Tensor *whole = add(t, gather(t, read[i], joined->from_before, joined->positions),
                            gather(t, x, joined->from_own, joined->positions), (Dropout){0});
        x = block(t, &s->block[i], whole, NULL, &context);
    }
    return finish(t, s, x);
}

bool stack_cache(Cache *c, const Stack *s, const Kernels *k, Stream *stream, size_t rows, size_t capacity, Error *e)
{
    size_t heads = k->by_head ? s->kv_heads : 1;
    return cache_open(c, k, stream, s->depth, heads, rows, capacity, s->key_columns, s->value_columns, e);
}

void stack_remember(Tape *t, const Stack *s, Tensor *memory, const Rows *rows, Cache *cache)
{
    cache_begin(cache, t->stream, rows->start, rows->rows);
    for (size_t i = 0; i < s->depth; i++)
        attention_remember(t, &s->block[i].cross, memory, rows, cache_layer(cache, i));
    cache_end(cache, t->stream, rows->rows);
}
