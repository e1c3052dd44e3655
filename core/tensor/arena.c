/* See arena.h. Capacities come from a walk over shapes, so running out is a programming error: an assert. */
#include "core/tensor/arena.h"

#include "base/memory.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#define INVENTED      ((char *)(uintptr_t)ALIGNMENT) /* never touched; not NULL, which would mean "not wanted" */
#define INVENTED_SIZE (SIZE_MAX / 4)

Arena arena_over(void *base, size_t capacity)
{
    return base ? (Arena){.base = base, .capacity = capacity} : (Arena){.base = INVENTED, .capacity = INVENTED_SIZE};
}

void *arena_take(Arena *a, size_t bytes)
{
    bytes = aligned(bytes ? bytes : 1);
    assert(bytes <= a->capacity - a->used);
    void *block = a->base + a->used;
    a->used += bytes;
    a->peak = a->used > a->peak ? a->used : a->peak;
    return block;
}

void takes_close(Takes *t)
{
    memory_free(t->bytes);
    *t = (Takes){0};
}

static void takes_add(Takes *t, size_t bytes)
{
    t->failed = t->failed || !memory_grow(&t->bytes, &t->capacity, t->count + 1, sizeof *t->bytes, "", NULL);
    if (!t->failed)
        t->bytes[t->count++] = bytes;
}

Space space_over(void *base, size_t capacity)
{
    return (Space){.base = base ? base : INVENTED, .capacity = base ? capacity : INVENTED_SIZE};
}

/* How large the next block becomes. */
static size_t next_size(Space *s, size_t bytes)
{
    bytes = aligned(bytes ? bytes : 1);
    if (s->plan) {
        assert(s->taken < s->plan->count && bytes <= s->plan->bytes[s->taken]);
        bytes = s->plan->bytes[s->taken];
    }
    if (s->record)
        takes_add(s->record, bytes);
    s->taken++;
    return bytes;
}

void *space_take(Space *s, size_t bytes)
{
    size_t at = 0, i = 0;
    bytes = next_size(s, bytes);
    while (i < s->count && s->blocks[i].at - at < bytes) {
        at = s->blocks[i].at + s->blocks[i].size;
        i++;
    }
    assert(bytes <= s->capacity - at && s->count < SPACE_BLOCKS);
    memmove(&s->blocks[i + 1], &s->blocks[i], (s->count - i) * sizeof *s->blocks);
    s->blocks[i] = (Taken){at, bytes};
    s->count++;
    s->peak = at + bytes > s->peak ? at + bytes : s->peak;
    return s->base + at;
}

void space_give(Space *s, const void *block)
{
    size_t at = (size_t)((const char *)block - s->base), i = 0;
    while (i < s->count && s->blocks[i].at != at)
        i++;
    assert(i < s->count);
    s->count--;
    memmove(&s->blocks[i], &s->blocks[i + 1], (s->count - i) * sizeof *s->blocks);
}

void space_restart(Space *s)
{
    assert(s->count == 0);
    s->taken = 0;
}
