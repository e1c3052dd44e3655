/* Pairs of ids and their numbers. */
#include "base/memory.h"
#include "core/text/pairs.h"
#include "tests/suite.h"

START_TEST(pairs_are_numbered_as_they_come_and_found)
{
    enum { SIDE = 300 };
    Pairs p = {0};
    size_t number;
    Error e;
    ck_assert(pairs_find(&p, (Pair){0, 0}) == PAIR_NONE);
    for (int32_t i = 0; i < SIDE; i++)
        for (int32_t k = 0; k < SIDE; k++) {
            ck_done(pairs_add(&p, (Pair){i, k}, &number, &e), e);
            ck_assert_uint_eq(number, (size_t)(i * SIDE + k));
        }
    for (int32_t i = 0; i < SIDE; i++)
        for (int32_t k = 0; k < SIDE; k++) {
            ck_assert_uint_eq(pairs_find(&p, (Pair){i, k}), (size_t)(i * SIDE + k));
            ck_assert(pairs_find(&p, (Pair){i, -k - 1}) == PAIR_NONE);
        }
    ck_done(pairs_add(&p, (Pair){7, 5}, &number, &e), e);
    ck_assert(number == 7 * SIDE + 5 && p.count == SIDE * SIDE);
    pairs_close(&p);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static bool add_many(void *argument, Error *e)
{
    Pairs p = {0};
    size_t number = 0;
    bool done = true;
    (void)argument;
    for (int32_t i = 0; done && i < 1100; i++) /* both blocks grow */
        done = pairs_add(&p, (Pair){i, -i}, &number, e) && number == (size_t)i;
    pairs_close(&p);
    return done;
}

START_TEST(each_failed_allocation_is_an_error) { fail_each_allocation(add_many, NULL); }

static const Test tests[] = {TEST(pairs_are_numbered_as_they_come_and_found), TEST(each_failed_allocation_is_an_error)};

int main(int argc, char **argv) { return suite_run("text/pairs", tests, sizeof tests / sizeof *tests, argc, argv); }
