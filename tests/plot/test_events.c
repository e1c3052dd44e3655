/* Event files: the same bytes as TensorBoard's own writer makes (tests/fixtures/events.py). */
#include "base/file.h"
#include "base/memory.h"
#include "core/plot/events.h"
#include "tests/plot/runs.h"
#include "tests/suite.h"

#include <string.h>

START_TEST(events_are_those_of_tensorboard)
{
    static const char text[] = HEADER "1\t10\t8.25\t1.5\t0.001\t\t1000\t0.5\t8.25\t\n"
                                      "300\t10\t2.1\t0.1\t0.002\t2.2\t1e6\t0.5\t2.1\t0.75\n"
                                      "70000\t10\t1.3\tnan\t0\t\t7\t0.5\t1.3\t\n";
    char *wanted;
    size_t size;
    Log log;
    Error e;
    Buffer b = {0};
    ck_done(log_read(&log, text_file("log.tsv", text), &e), e);
    events_add(&b, &log, 1700000000.25);
    ck_done(file_read("tests/fixtures/events.tfevents", &wanted, &size, &e), e);
    ck_assert_uint_eq(b.size, size);
    ck_assert_mem_eq(b.text, wanted, size);
    memory_free(wanted);
    buffer_free(&b);
    log_free(&log);
}

START_TEST(a_log_without_steps_is_a_file_without_values)
{
    Buffer b = {0};
    events_add(&b, &(Log){0}, 0);
    ck_assert_uint_eq(b.size, 12 + 24 + 4); /* a frame with the version */
    buffer_free(&b);
}

static const Test tests[] = {
    TEST(events_are_those_of_tensorboard),
    TEST(a_log_without_steps_is_a_file_without_values),
};

int main(int argc, char **argv) { return suite_run("plot/events", tests, sizeof tests / sizeof *tests, argc, argv); }
