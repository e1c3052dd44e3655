/* Two ways to hand out a block of memory that was reserved before the first step.
 *
 * Arena: a pile. What is taken last is given back first, by rewinding to a mark.
 * Space: pieces come and go in any order (gradients of activations); the lowest piece that fits is taken.
 *
 * Both are pure functions of the sizes asked for, so that a step of one shape uses the same addresses every time, and
 * a walk over shapes alone (kernels/measure) finds exactly what a real step will need. For such a walk the block is
 * invented: never touched, and as large as it takes. */
#ifndef CORE_TENSOR_ARENA_H
#define CORE_TENSOR_ARENA_H

#include "base/error.h"

#include <stddef.h>

enum { ALIGNMENT = 64 };

static inline size_t aligned(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

typedef struct Arena {
    char *base;
    size_t capacity, used, peak;
} Arena;

/* base NULL: invented memory */
Arena arena_over(void *base, size_t capacity);
void *arena_take(Arena *a, size_t bytes);
static inline void arena_rewind(Arena *a, size_t mark) { a->used = mark; }

typedef struct Hole {
    size_t at, size;
} Hole;

enum { SPACE_HOLES = 256 };

typedef struct Space {
    char *base;
    size_t capacity, peak;
    size_t count;
    Hole holes[SPACE_HOLES]; /* sorted, never touching each other */
} Space;

Space space_over(void *base, size_t capacity);
void *space_take(Space *s, size_t bytes);
void space_give(Space *s, void *piece, size_t bytes);

#endif
