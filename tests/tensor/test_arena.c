/* Arena and Space: where pieces of memory lie, against a model that looks at each unit of memory. */
#include "core/tensor/arena.h"

#include "base/memory.h"
#include "base/philox.h"
#include "tests/suite.h"

#include <stdint.h>
#include <string.h>

enum { UNITS = 512, PIECES = 48, TURNS = 4000 };

static size_t draw(size_t n, uint64_t i, uint32_t what) { return (size_t)philox_below(n, 9, 0, i, what); }

START_TEST(pieces_of_an_arena_lie_one_behind_the_other)
{
    char *memory = memory_get(4096, 1);
    Arena a = arena_over(memory, 4096);
    char *one = arena_take(&a, 1), *two = arena_take(&a, 64), *three = arena_take(&a, 65), *four = arena_take(&a, 0);
    ck_assert(one == memory && two == one + 64 && three == two + 64 && four == three + 128);
    ck_assert_uint_eq(a.used, 320);
    memory_free(memory);
}
END_TEST

START_TEST(an_arena_rewinds_to_a_mark_and_remembers_its_peak)
{
    char *memory = memory_get(4096, 1);
    Arena a = arena_over(memory, 4096);
    arena_take(&a, 100);
    size_t mark = a.used;
    char *first = arena_take(&a, 1000);
    arena_take(&a, 500);
    size_t peak = a.used;
    arena_rewind(&a, mark);
    ck_assert_ptr_eq(arena_take(&a, 10), first);
    ck_assert(a.peak == peak && a.used == mark + 64);
    arena_rewind(&a, 0);
    ck_assert_ptr_eq(arena_take(&a, 4096), memory); /* all of it */
    ck_assert_uint_eq(a.peak, 4096);
    memory_free(memory);
}
END_TEST

START_TEST(invented_memory_is_as_large_as_it_takes_and_lies_as_real_memory_would)
{
    char *memory = memory_get(1 << 16, 1);
    Arena real = arena_over(memory, 1 << 16), invented = arena_over(NULL, 0);
    Space space = space_over(NULL, 0);
    char *base = NULL;
    for (uint64_t i = 0; i < 50; i++) {
        size_t bytes = draw(1000, i, 1);
        char *a = arena_take(&real, bytes), *b = arena_take(&invented, bytes);
        base = i ? base : b;
        ck_assert(b && a - memory == b - base);
    }
    ck_assert_uint_eq(real.peak, invented.peak);
    ck_assert_ptr_nonnull(arena_take(&invented, SIZE_MAX / 8));
    ck_assert_ptr_nonnull(space_take(&space, SIZE_MAX / 8));
    memory_free(memory);
}
END_TEST

/* ---- Space */

typedef struct Piece {
    char *at;
    size_t bytes;
} Piece;

/* Which units of 64 bytes are taken. */
typedef struct Map {
    bool taken[UNITS];
    size_t peak;
} Map;

static size_t units_of(size_t bytes) { return bytes ? (bytes + ALIGNMENT - 1) / ALIGNMENT : 1; }

/* The lowest place with so many free units; UNITS: there is none. */
static size_t lowest(const Map *m, size_t units)
{
    for (size_t from = 0; from + units <= UNITS; from++) {
        size_t free = 0;
        while (free < units && !m->taken[from + free])
            free++;
        if (free == units)
            return from;
    }
    return UNITS;
}

static void mark(Map *m, size_t from, size_t units, bool taken)
{
    for (size_t i = from; i < from + units; i++) {
        ck_assert(m->taken[i] != taken);
        m->taken[i] = taken;
    }
    m->peak = taken && from + units > m->peak ? from + units : m->peak;
}

/* The holes of a space are the runs of free units, in order. */
static void check_holes(const Space *s, const Map *m)
{
    size_t hole = 0;
    for (size_t i = 0; i < UNITS; i++) {
        size_t from = i;
        while (i < UNITS && !m->taken[i])
            i++;
        if (i == from)
            continue;
        ck_assert_uint_lt(hole, s->count);
        ck_assert_uint_eq(s->holes[hole].at, from * ALIGNMENT);
        ck_assert_uint_eq(s->holes[hole].size, (i - from) * ALIGNMENT);
        hole++;
    }
    ck_assert_uint_eq(hole, s->count);
}

START_TEST(a_space_gives_the_lowest_piece_that_fits_and_merges_what_comes_back)
{
    char *memory = memory_get(UNITS, ALIGNMENT);
    Space s = space_over(memory, UNITS * ALIGNMENT);
    Map map = {0};
    Piece pieces[PIECES] = {0};
    size_t refused = 0;
    for (uint64_t turn = 0; turn < TURNS; turn++) {
        Piece *p = &pieces[draw(PIECES, turn, (uint32_t)_i)];
        if (p->at) {
            space_give(&s, p->at, p->bytes);
            mark(&map, (size_t)(p->at - memory) / ALIGNMENT, units_of(p->bytes), false);
            p->at = NULL;
        } else {
            size_t bytes = draw(draw(2, turn, 100) ? 300 : 2500, turn, 101 + (uint32_t)_i);
            size_t at = lowest(&map, units_of(bytes));
            if (at == UNITS) { /* taking it would be a programming error */
                refused++;
                continue;
            }
            *p = (Piece){space_take(&s, bytes), bytes};
            ck_assert_ptr_eq(p->at, memory + at * ALIGNMENT);
            memset(p->at, 1, bytes);
            mark(&map, at, units_of(bytes), true);
        }
        check_holes(&s, &map);
        ck_assert_uint_eq(s.peak, map.peak * ALIGNMENT);
    }
    ck_assert_uint_gt(refused, 0); /* it was full at times */
    for (size_t i = 0; i < PIECES; i++)
        if (pieces[i].at)
            space_give(&s, pieces[i].at, pieces[i].bytes);
    ck_assert(s.count == 1 && s.holes[0].at == 0 && s.holes[0].size == UNITS * ALIGNMENT);
    memory_free(memory);
}
END_TEST

START_TEST(a_space_that_is_full_has_no_hole)
{
    char *memory = memory_get(4, ALIGNMENT);
    Space s = space_over(memory, 4 * ALIGNMENT);
    char *a = space_take(&s, ALIGNMENT), *b = space_take(&s, 3 * ALIGNMENT);
    ck_assert_uint_eq(s.count, 0);
    space_give(&s, b, 3 * ALIGNMENT);
    ck_assert(s.count == 1 && s.holes[0].at == ALIGNMENT);
    ck_assert_ptr_eq(space_take(&s, 100), b);
    space_give(&s, a, ALIGNMENT);
    ck_assert(s.count == 2 && s.holes[0].size == ALIGNMENT && s.holes[1].size == ALIGNMENT);
    memory_free(memory);
}
END_TEST

START_TEST(a_space_holds_as_many_holes_as_it_has_room_for)
{
    static char *piece[2 * SPACE_HOLES];
    Space s = space_over(NULL, 0);
    for (size_t i = 0; i < 2 * SPACE_HOLES; i++)
        piece[i] = space_take(&s, 64);
    for (size_t i = 0; i + 2 < 2 * SPACE_HOLES; i += 2) /* each by itself, and the rest behind them */
        space_give(&s, piece[i], 64);
    ck_assert_uint_eq(s.count, SPACE_HOLES);
    for (size_t i = 1; i < 2 * SPACE_HOLES; i += 2)
        space_give(&s, piece[i], 64);
    space_give(&s, piece[2 * SPACE_HOLES - 2], 64);
    ck_assert(s.count == 1 && s.holes[0].at == 0);
}
END_TEST

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST(pieces_of_an_arena_lie_one_behind_the_other),
        TEST(an_arena_rewinds_to_a_mark_and_remembers_its_peak),
        TEST(invented_memory_is_as_large_as_it_takes_and_lies_as_real_memory_would),
        TEST_LOOP(a_space_gives_the_lowest_piece_that_fits_and_merges_what_comes_back, 6),
        TEST(a_space_that_is_full_has_no_hole),
        TEST(a_space_holds_as_many_holes_as_it_has_room_for),
    };
    return suite_run("tensor/arena", tests, sizeof tests / sizeof *tests, argc, argv);
}
