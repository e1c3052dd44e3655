/* See arena.h. Capacities come from a walk over shapes, so running out is a programming error: an assert. */
#include "core/tensor/arena.h"

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
    void *piece = a->base + a->used;
    a->used += bytes;
    a->peak = a->used > a->peak ? a->used : a->peak;
    return piece;
}

Space space_over(void *base, size_t capacity)
{
    size_t size = base ? capacity : INVENTED_SIZE;
    return (Space){.base = base ? base : INVENTED, .capacity = size, .count = 1, .holes = {{0, size}}};
}

void *space_take(Space *s, size_t bytes)
{
    bytes = aligned(bytes ? bytes : 1);
    for (size_t i = 0; i < s->count; i++) {
        Hole *hole = &s->holes[i];
        if (hole->size < bytes)
            continue;
        void *piece = s->base + hole->at;
        hole->at += bytes;
        hole->size -= bytes;
        s->peak = hole->at > s->peak ? hole->at : s->peak;
        if (!hole->size) {
            s->count--;
            memmove(hole, hole + 1, (s->count - i) * sizeof *hole);
        }
        return piece;
    }
    assert(false && "the space for gradients is too small");
    return NULL;
}

void space_give(Space *s, void *piece, size_t bytes)
{
    Hole back = {(size_t)((char *)piece - s->base), aligned(bytes ? bytes : 1)};
    size_t i = 0;
    while (i < s->count && s->holes[i].at < back.at)
        i++;
    bool joins_left = i > 0 && s->holes[i - 1].at + s->holes[i - 1].size == back.at;
    bool joins_right = i < s->count && back.at + back.size == s->holes[i].at;
    if (joins_left && joins_right) {
        s->holes[i - 1].size += back.size + s->holes[i].size;
        s->count--;
        memmove(&s->holes[i], &s->holes[i + 1], (s->count - i) * sizeof *s->holes);
    } else if (joins_left) {
        s->holes[i - 1].size += back.size;
    } else if (joins_right) {
        s->holes[i] = (Hole){back.at, back.size + s->holes[i].size};
    } else {
        assert(s->count < SPACE_HOLES);
        memmove(&s->holes[i + 1], &s->holes[i], (s->count - i) * sizeof *s->holes);
        s->holes[i] = back;
        s->count++;
    }
}
