/* Arena and Space: where pieces of memory are, against a model that looks at each unit of memory. */
#include "core/tensor/arena.h"

#include "base/memory.h"
#include "base/philox.h"
#include "tests/suite.h"

#include <stdint.h>
#include <string.h>

enum { UNITS = 512, PIECES = 48, TURNS = 4000 };

static size_t draw(size_t n, uint64_t i, uint32_t what) { return (size_t)philox_below(n, 9, 0, i, what); }

START_TEST(pieces_of_an_arena_follow_one_another)
{
    char *memory = memory_get(4096, 1);
    Arena a = arena_over(memory, 4096);
    char *one = arena_take(&a, 1), *two = arena_take(&a, 64), *three = arena_take(&a, 65), *four = arena_take(&a, 0);
    ck_assert(one == memory && two == one + 64 && three == two + 64 && four == three + 128);
    ck_assert_uint_eq(a.used, 320);
    memory_free(memory);
}

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

START_TEST(invented_memory_is_as_large_as_it_takes_and_laid_out_as_real_memory)
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

/* ---- Space */

typedef struct Held {
    char *at;
    size_t bytes;
} Held;

/* Which units of 64 bytes are taken. */
typedef struct Map {
    bool taken[UNITS];
    size_t peak;
} Map;

static size_t units_of(size_t bytes) { return bytes ? (bytes + ALIGNMENT - 1) / ALIGNMENT : 1; }

/* The lowest place with this many free units; UNITS: there is none. */
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

/* The pieces of a space are what is taken, in order. */
static void check_pieces(const Space *s, const Map *m)
{
    size_t units = 0, end = 0;
    bool fine = true;
    for (size_t i = 0; i < s->count; i++) {
        fine = fine && s->blocks[i].at >= end;
        end = s->blocks[i].at + s->blocks[i].size;
        for (size_t at = s->blocks[i].at; at < end; at += ALIGNMENT, units++)
            fine = fine && m->taken[at / ALIGNMENT];
    }
    for (size_t i = 0; i < UNITS; i++)
        units -= m->taken[i];
    ck_assert(fine && units == 0);
}

START_TEST(a_space_gives_the_lowest_place_that_fits)
{
    if (test_is_fast() && _i > 0)
        return;
    char *memory = memory_get(UNITS, ALIGNMENT);
    Space s = space_over(memory, UNITS * ALIGNMENT);
    Map map = {0};
    Held pieces[PIECES] = {0};
    size_t refused = 0;
    for (uint64_t turn = 0; turn < TURNS; turn++) {
        Held *p = &pieces[draw(PIECES, turn, (uint32_t)_i)];
        if (p->at) {
            space_give(&s, p->at);
            mark(&map, (size_t)(p->at - memory) / ALIGNMENT, units_of(p->bytes), false);
            p->at = NULL;
        } else {
            size_t bytes = draw(draw(2, turn, 100) ? 300 : 2500, turn, 101 + (uint32_t)_i);
            size_t at = lowest(&map, units_of(bytes));
            if (at == UNITS) { /* taking it would be a programming error */
                refused++;
                continue;
            }
            *p = (Held){space_take(&s, bytes), bytes};
            ck_assert_ptr_eq(p->at, memory + at * ALIGNMENT);
            memset(p->at, 1, bytes);
            mark(&map, at, units_of(bytes), true);
        }
        check_pieces(&s, &map);
        ck_assert_uint_eq(s.peak, map.peak * ALIGNMENT);
    }
    ck_assert_uint_gt(refused, 0); /* it was full at times */
    for (size_t i = 0; i < PIECES; i++)
        if (pieces[i].at)
            space_give(&s, pieces[i].at);
    space_restart(&s);
    ck_assert_ptr_eq(space_take(&s, UNITS * ALIGNMENT), memory); /* all of it */
    memory_free(memory);
}

START_TEST(a_space_can_be_full)
{
    char *memory = memory_get(4, ALIGNMENT);
    Space s = space_over(memory, 4 * ALIGNMENT);
    char *a = space_take(&s, ALIGNMENT), *b = space_take(&s, 3 * ALIGNMENT);
    ck_assert(a == memory && b == memory + ALIGNMENT && s.peak == s.capacity);
    space_give(&s, b);
    ck_assert_ptr_eq(space_take(&s, 100), b);
    space_give(&s, a);
    ck_assert_ptr_eq(space_take(&s, 1), a);
    ck_assert_ptr_eq(space_take(&s, 0), b + 2 * ALIGNMENT); /* nothing has a place of its own, too */
    memory_free(memory);
}

START_TEST(a_space_holds_as_many_pieces_as_it_has_room_for)
{
    static char *piece[SPACE_BLOCKS];
    Space s = space_over(NULL, 0);
    for (size_t i = 0; i < SPACE_BLOCKS; i++)
        piece[i] = space_take(&s, 64);
    for (size_t i = 0; i < SPACE_BLOCKS; i += 2)
        space_give(&s, piece[i]);
    for (size_t i = 0; i < SPACE_BLOCKS; i += 2)
        ck_assert_ptr_eq(space_take(&s, 64), piece[i]);
    for (size_t i = SPACE_BLOCKS; i-- > 0;)
        space_give(&s, piece[i]);
    space_restart(&s);
}

/* ---- a plan */

/* The same turns each time, on pieces of the same sizes, or smaller ones. at: where each block was. Returns the peak.
 */
static size_t random_pass(Space *s, uint32_t which, bool smaller, size_t at[TURNS])
{
    char *piece[PIECES] = {0};
    size_t taken = 0;
    for (uint64_t turn = 0; turn < TURNS; turn++) {
        char **p = &piece[draw(PIECES, turn, which)];
        size_t bytes = draw(draw(2, turn, 100) ? 300 : 2500, turn, 101 + which);
        if (*p) {
            space_give(s, *p);
            *p = NULL;
        } else {
            *p = space_take(s, smaller ? draw(bytes + 1, turn, 200) : bytes);
            at[taken++] = (size_t)(*p - s->base);
        }
    }
    for (size_t i = 0; i < PIECES; i++)
        if (piece[i])
            space_give(s, piece[i]);
    space_restart(s);
    return s->peak;
}

START_TEST(smaller_pieces_are_where_the_plan_put_the_larger_ones)
{
    static size_t planned[TURNS], alone[TURNS], found[TURNS];
    Takes takes = {0};
    Space walk = space_over(NULL, 0), free = space_over(NULL, 0), narrow = space_over(NULL, 0);
    walk.record = &takes;
    size_t peak = random_pass(&walk, (uint32_t)_i, false, planned);
    random_pass(&free, (uint32_t)_i, true, alone);
    ck_assert(memcmp(planned, alone, takes.count * sizeof *alone) != 0); /* without a plan they would not */

    narrow.capacity = peak; /* and there is no more room than that */
    narrow.plan = &takes;
    for (int pass = 0; pass < 3; pass++) {
        ck_assert_uint_eq(random_pass(&narrow, (uint32_t)_i, pass < 2, found), peak);
        ck_assert(memcmp(planned, found, takes.count * sizeof *found) == 0);
    }
    takes_close(&takes);
}

/* A piece leaves a hole for another one, unless it has become smaller. */
static size_t peak_of(size_t first, Takes *record, const Takes *plan)
{
    Space s = space_over(NULL, 0);
    s.record = record;
    s.plan = plan;
    void *a = space_take(&s, first), *b = space_take(&s, 64);
    space_give(&s, a);
    a = space_take(&s, 128);
    space_give(&s, b);
    space_give(&s, a);
    return s.peak;
}

START_TEST(less_may_need_more_but_not_with_a_plan)
{
    Takes takes = {0};
    ck_assert_uint_eq(peak_of(128, &takes, NULL), 192);
    ck_assert_uint_eq(peak_of(64, NULL, NULL), 256);
    ck_assert_uint_eq(peak_of(64, NULL, &takes), 192);
    takes_close(&takes);
}

static bool record_many(void *argument, Error *e)
{
    Takes takes = {0};
    Space s = space_over(NULL, 0);
    (void)argument;
    s.record = &takes;
    for (size_t i = 0; i < 1000; i++) {
        void *piece = space_take(&s, i);
        ck_assert_ptr_eq(piece, s.base); /* a walk continues */
        space_give(&s, piece);
    }
    bool fine = !takes.failed || memory_error(e, "a plan", takes.count, sizeof *takes.bytes);
    ck_assert(!fine || (takes.count == 1000 && takes.bytes[999] == aligned(999)));
    takes_close(&takes);
    return fine;
}

START_TEST(a_plan_that_finds_no_memory_says_so) { fail_each_allocation(record_many, NULL); }

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST(pieces_of_an_arena_follow_one_another),
        TEST(an_arena_rewinds_to_a_mark_and_remembers_its_peak),
        TEST(invented_memory_is_as_large_as_it_takes_and_laid_out_as_real_memory),
        TEST_LOOP(a_space_gives_the_lowest_place_that_fits, 6),
        TEST(a_space_can_be_full),
        TEST(a_space_holds_as_many_pieces_as_it_has_room_for),
        TEST_LOOP(smaller_pieces_are_where_the_plan_put_the_larger_ones, 6),
        TEST(less_may_need_more_but_not_with_a_plan),
        TEST(a_plan_that_finds_no_memory_says_so),
    };
    return suite_run("tensor/arena", tests, sizeof tests / sizeof *tests, argc, argv);
}
