/* A run's samples: written whole, cut back to a checkpoint with it. */
#include "base/file.h"
#include "base/memory.h"
#include "core/run/run.h"
#include "tests/run/place.h"
#include "tests/suite.h"

START_TEST(samples_of_later_steps_are_removed_and_nothing_else)
{
    place_run();
    Run *run;
    Error e;
    ck_done(run_create(&run, folder, NULL, &e), e);
    ck_done(run_samples_cut(run, 0, &e), e); /* of a run that has none */
    ck_done(run_sample_write(run, 5, "five", 4, &e), e);
    ck_done(run_sample_write(run, 6, "six", 3, &e), e);
    ck_done(run_sample_write(run, 123456789, "late", 4, &e), e);
    put("samples/.00000006.txt.tmp", "half");
    put("samples/notes.txt", "mine");
    ck_done(run_samples_cut(run, 5, &e), e);
    expect_text("samples/00000005.txt", "five");
    expect_text("samples/notes.txt", "mine");
    ck_assert(!file_exists(in("samples/00000006.txt")) && !file_exists(in("samples/123456789.txt")));
    ck_assert(!file_exists(in("samples/.00000006.txt.tmp")));
    ck_done(run_sample_write(run, 5, "new", 3, &e), e);
    expect_text("samples/00000005.txt", "new");
    run_close(run);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static bool write_and_cut(void *run, Error *e)
{
    return run_sample_write(run, 1, "a", 1, e) && run_sample_write(run, 2, "b", 1, e) && run_samples_cut(run, 1, e);
}

START_TEST(samples_without_memory_are_an_error)
{
    place_run();
    Run *run;
    Error e;
    ck_done(run_create(&run, folder, NULL, &e), e);
    fail_each_allocation(write_and_cut, run);
    run_close(run);
}

static const Test tests[] = {
    TEST(samples_of_later_steps_are_removed_and_nothing_else),
    TEST(samples_without_memory_are_an_error),
};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("run/samples", tests, sizeof tests / sizeof *tests, argc, argv);
}
