/* When operations are asked for, captured and replayed, by a device that only counts. */
#include "core/train/replay.h"
#include "tests/suite.h"

#include <string.h>

/* What a stream has been through. What is captured is one number: which shape asked. */
struct Stream {
    bool capturing, refuses, fails;
    int asked, replayed[2 * REPLAYS], forgotten, alive;
    int now; /* the shape that asks */
};

struct Captured {
    Stream *s;
    int shape;
};

static Captured captured[4 * REPLAYS];
static size_t captures;

static bool begin(Stream *s)
{
    s->capturing = !s->refuses;
    return s->capturing;
}

static Captured *end(Stream *s)
{
    ck_assert(s->capturing);
    s->capturing = false;
    if (s->fails)
        return NULL;
    ck_assert(captures < sizeof captured / sizeof *captured);
    captured[captures] = (Captured){s, s->now};
    s->alive++;
    return &captured[captures++];
}

static void again(Stream *s, Captured *c)
{
    ck_assert(!s->capturing && c->s == s && c->shape == s->now);
    s->replayed[c->shape]++;
}

static void forget(Captured *c)
{
    c->s->forgotten++;
    c->s->alive--;
    c->s = NULL; /* a replay of it would be seen */
}

static const Kernels able = {.capture = begin, .captured = end, .replay = again, .forget = forget};
static const Kernels unable;

static void ask(void *argument)
{
    Stream *s = argument;
    s->asked += !s->capturing;
}

enum { FIELDS = 15 };

/* Shapes differ in one field each, whichever it is. */
static Shape shape(int i)
{
    static const int32_t numbers[2 * REPLAYS];
    Shape s = {.slots = 5};
    s.rows[0].positions = 7;
    s.rows[1].ids = numbers;
    switch (i % FIELDS) {
    case 0: s.slots += (size_t)i; break;
    case 1: s.rows[0].positions += (size_t)i; break;
    case 2: s.rows[1].rows += (size_t)i; break;
    case 3: s.rows[SIDES - 1].longest += (size_t)i; break;
    case 4: s.rows[1].ids = numbers + i; break;
    case 5: s.rows[0].slots = numbers + i; break;
    case 6: s.rows[1].targets = numbers + i; break;
    case 7: s.rows[0].position = numbers + i; break;
    case 8: s.rows[1].start = numbers + i; break;
    case 9: s.rows[0].scored.positions += (size_t)i; break;
    case 10: s.rows[1].scored.longest += (size_t)i; break;
    case 11: s.rows[0].scored.index = numbers + i; break;
    case 12: s.rows[1].scored.targets = numbers + i; break;
    case 13: s.rows[0].scored.start = numbers + i; break;
    case 14: s.rows[1].scored.offset = numbers + i; break;
    }
    return s;
}

static void run(Replay *r, Stream *s, int i)
{
    Shape one = shape(i);
    s->now = i;
    replay_run(r, s, &one, ask, s);
}

START_TEST(the_first_time_is_asked_for_the_second_captured_and_then_replayed)
{
    Stream s = {0};
    Replay r = {.k = &able};
    for (int round = 0; round < 4; round++)
        for (int i = 0; i <= FIELDS; i++) /* each field, and one more value of the first */
            run(&r, &s, i);
    ck_assert_int_eq(s.asked, FIELDS + 1);
    for (int i = 0; i <= FIELDS; i++)
        ck_assert_int_eq(s.replayed[i], 3);
    ck_assert_uint_eq(r.captures, FIELDS + 1);
    replay_close(&r);
    ck_assert_int_eq(s.alive, 0);
}

START_TEST(what_was_not_met_for_longest_makes_capacity)
{
    Stream s = {0};
    Replay r = {.k = &able};
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < REPLAYS; i++)
            run(&r, &s, i);
    ck_assert(s.asked == REPLAYS && s.alive == REPLAYS);
    run(&r, &s, 0); /* now 1 is the oldest */
    run(&r, &s, REPLAYS);
    ck_assert(s.alive == REPLAYS - 1 && s.forgotten == 1);
    int asked = s.asked, replayed = s.replayed[0];
    run(&r, &s, 0);
    ck_assert(s.replayed[0] == replayed + 1 && s.asked == asked);
    run(&r, &s, 1); /* has been forgotten: from the beginning */
    ck_assert(s.asked == asked + 1);
    run(&r, &s, 1);
    ck_assert(s.asked == asked + 1 && s.replayed[1] == 2);
    replay_close(&r);
    ck_assert_int_eq(s.alive, 0);
}

START_TEST(where_nothing_can_be_captured_it_is_asked_for_each_time)
{
    for (int way = 0; way < 3; way++) {
        Stream s = {.refuses = way == 1, .fails = way == 2};
        Replay r = {.k = way == 0 ? &unable : &able};
        for (int i = 0; i < 5; i++)
            run(&r, &s, 3);
        ck_assert(s.asked == 5 && s.replayed[3] == 0);
        replay_close(&r);
    }
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(the_first_time_is_asked_for_the_second_captured_and_then_replayed),
                                 TEST(what_was_not_met_for_longest_makes_capacity),
                                 TEST(where_nothing_can_be_captured_it_is_asked_for_each_time)};
    return suite_run("train/replay", tests, sizeof tests / sizeof *tests, argc, argv);
}
