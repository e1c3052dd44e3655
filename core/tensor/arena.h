/* Two ways to hand out a block of memory that was reserved before the first step.
 *
 * Arena: a stack. What is taken last is given back first, by rewinding to a mark.
 * Space: blocks come and go in any order (gradients of activations); each is at the lowest address where it fits.
 *
 * Both are pure functions of the sizes asked for, so that a step of one shape uses the same addresses every time, and
 * a walk over shapes alone (kernels/cost) finds exactly what a real step will need. For such a walk the block is
 * imaginary: never touched, and as large as needed.
 *
 * What the walk finds for one shape suffices for every pass that takes and gives back, in the same order, blocks that
 * are no larger. For an Arena this holds because at each moment it uses the sum of the blocks that it holds, none of
 * which grew. A Space alone would not promise it: a smaller block may slip into a hole that a later one needs. So the
 * walk writes down the size of each block (Takes), and in a pass with this list, the i-th block is as large as the
 * walk's i-th. The Space is then asked for the same sizes in the same order, and addresses depend on nothing else: each
 * block begins where the walk's began, and the peak is the walk's. */
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

/* base NULL: imaginary memory */
Arena arena_over(void *base, size_t capacity);
void *arena_take(Arena *a, size_t bytes);
static inline void arena_rewind(Arena *a, size_t mark) { a->used = mark; }

/* The sizes of the blocks that one pass took from a Space, one after another. All zeros is an empty list. */
typedef struct Takes {
    size_t *bytes;
    size_t count, capacity;
    bool failed; /* memory ran out while it was written */
} Takes;

void takes_close(Takes *t);

typedef struct Taken {
    size_t at, size;
} Taken;

enum { SPACE_BLOCKS = 512 };

typedef struct Space {
    char *base;
    size_t capacity, peak;
    size_t count;
    Taken blocks[SPACE_BLOCKS]; /* that are out, from the lowest to the highest */
    size_t taken;               /* since the pass began */
    Takes *record;              /* NULL, or where sizes are written down */
    const Takes *plan;          /* NULL, or what a walk wrote down */
} Space;

Space space_over(void *base, size_t capacity);
void *space_take(Space *s, size_t bytes);
void space_give(Space *s, const void *block);

/* A new pass begins; everything was given back. */
void space_restart(Space *s);

#endif
