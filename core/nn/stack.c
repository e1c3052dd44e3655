/* See stack.h. */
#include "core/nn/stack.h"

#include "base/memory.h"
#include "core/tensor/operations.h"

#include <stdio.h>

Stack stack_new(Parameters *p, const StackOptions *o)
{
    const AttentionOptions *a = &o->block.attention;
    Stack s = {.depth = o->depth,
               .block = memory_get(o->depth, sizeof *s.block),
               .normed = o->block.norm != NORM_POST,
               .kv_heads = a->composed ? 1 : attention_keys(a) / a->key_size,
               .key_columns = attention_keys(a),
               .value_columns = attention_values(a)};
    char name[sizeof(((Parameter *)0)->name)];
    if (!s.block) {
        p->failed = true;
        return (Stack){0};
    }
    for (size_t i = 0; i < s.depth; i++) {
        snprintf(name, sizeof name, "%s.%zu", o->blocks, i);
        s.block[i] = block_new(p, &o->block, name);
    }
    if (s.normed)
        s.norm = norm_new(p, o->block.norm_kind, a->dim, o->norm);
    return s;
}

void stack_close(Stack *s)
{
    memory_free(s->block);
    *s = (Stack){0};
}

static const CacheLayer *layer_of(const CacheLayer *first, size_t i) { return first ? first + i : NULL; }

Tensor *stack(Tape *t, const Stack *s, Tensor *x, Tensor *memory, const AttentionContext *context)
{
    const Queries *only = context->query_subset;
    bool late = context->kv_cache || !s->depth; /* keys and values of all positions are wanted of every block */
    for (size_t i = 0; i < s->depth; i++) {
        AttentionContext now = *context;
        now.kv_cache = layer_of(context->kv_cache, i);
        now.cross_cache = layer_of(context->cross_cache, i);
        now.query_subset = i + 1 == s->depth && !late ? only : NULL;
        x = block(t, &s->block[i], x, memory, &now);
    }
    if (only && late)
        x = gather(t, x, only->index, only->positions);
    return s->normed ? norm(t, &s->norm, x) : x;
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
