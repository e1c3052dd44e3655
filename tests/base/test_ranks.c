/* What a process takes for a launcher's word. */
#define _DEFAULT_SOURCE /* setenv */
#include "base/ranks.h"
#include "tests/suite.h"

#include <stdlib.h>

static void expect_launched(const char *rank, const char *all, bool launched, size_t own, size_t count)
{
    size_t found, of;
    ranks_forget();
    setenv("PMI_RANK", rank, 1);
    setenv("PMI_SIZE", all, 1);
    ck_assert_msg(ranks_launched(&found, &of) == launched, "rank %s of %s", rank, all);
    ck_assert_uint_eq(found, own);
    ck_assert_uint_eq(of, count);
}

START_TEST(a_launcher_says_a_rank_and_how_many_there_are)
{
    expect_launched("0", "2", true, 0, 2);
    expect_launched("1", "2", true, 1, 2);
    expect_launched("999", "1000", true, 999, 1000);
    expect_launched("0", "1", false, 0, 1); /* alone */
}

START_TEST(variables_that_make_no_sense_come_from_no_launcher)
{
    static const char *const cases[][2] = {
        {"2", "2"},   {"7", "2"}, {"-1", "2"}, {"0", "-2"}, {"", "2"},   {"0", ""},    {"x", "2"},
        {"0", "two"}, {"0", "0"}, {"0", "2x"}, {"0", " 2"}, {"1.", "2"}, {"0", "3e1"}, {"0", "99999999999999999999"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_launched(cases[i][0], cases[i][1], false, 0, 1);
}

START_TEST(what_makes_no_sense_does_not_hide_a_launcher)
{
    size_t own, count;
    expect_launched("1", "3", true, 1, 3);
    setenv("OMPI_COMM_WORLD_RANK", "5", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    ck_assert(ranks_launched(&own, &count) && own == 1 && count == 3);
    ranks_forget();
    ck_assert(!ranks_launched(&own, &count) && own == 0 && count == 1);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(a_launcher_says_a_rank_and_how_many_there_are),
                                 TEST(variables_that_make_no_sense_come_from_no_launcher),
                                 TEST(what_makes_no_sense_does_not_hide_a_launcher)};
    return suite_run("base/ranks", tests, sizeof tests / sizeof *tests, argc, argv);
}
