/* A run that somebody gave us: what is written in it stays in it. */
#define _XOPEN_SOURCE 700
#include "base/file.h"
#include "core/run/run.h"
#include "tests/run/place.h"
#include "tests/suite.h"

#include <string.h>
#include <unistd.h>

START_TEST(nothing_is_written_through_links_of_a_run)
{
    static const char *const files[] = {"log.tsv", "last", "best", ".last.tmp", ".log.tsv.tmp", ".best.tmp"};
    place_run();
    Run *run;
    Error e;
    ck_done(run_create(&run, folder, NULL, &e), e);
    run_close(run);
    put("../outside", "mine");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        ck_assert_int_eq(symlink("../outside", in(files[i])), 0);
    ck_done(run_open(&run, folder, true, &e), e);
    ck_done(run_log_open(run, "step\tloss (nats)", 1, &e) && run_log_line(run, &e, "2\t1"), e);
    ck_done(run_mark(run, "last", 1, &e) && run_mark(run, "best", 1, &e), e);
    ck_done(run_sample_write(run, 1, "a sample", 8, &e), e);
    run_close(run);
    expect_text("log.tsv", "step\tloss (nats)\n2\t1\n");
    expect_text("last", "00000001\n");
    expect_text("../outside", "mine");

    static const char *const folders[] = {"samples", "checkpoints", "lock"};
    ck_done(folder_make(in("../elsewhere"), &e), e);
    for (size_t i = 0; i < 3; i++) {
        ck_done(folder_remove(in(folders[i]), &e), e);
        ck_assert_int_eq(symlink("../elsewhere", in(folders[i])), 0);
        if (i < 2)
            put("config.json", "{}");
        ck_assert(!run_open(&run, folder, true, &e));
        ck_assert_msg(strstr(e.text, i < 2 ? "is a symbolic link" : "cannot write to the run"), "%s", e.text);
        ck_assert_int_eq(unlink(in(folders[i])), 0);
    }
    char **names;
    size_t count;
    ck_done(folder_list(in("../elsewhere"), &names, &count, &e), e);
    ck_assert_uint_eq(count, 0);
    folder_list_free(names, count);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(nothing_is_written_through_links_of_a_run)};
    return suite_run("run/links", tests, sizeof tests / sizeof *tests, argc, argv);
}
