/* The progress line, quantities, and the request to stop. */
#include "base/units.h"
#include "core/cli/progress.h"
#include "core/cli/stop.h"
#include "tests/suite.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(numbers_are_short)
{
    ck_assert_str_eq(real_text(30).text, "30");
    ck_assert_str_eq(real_text(-999999).text, "-999999");
    ck_assert_str_eq(real_text(3e6).text, "3e+06");
    ck_assert_str_eq(real_text(0.1).text, "0.1");
    ck_assert_str_eq(real_text(1e-9).text, "1e-09");
}

START_TEST(counts_have_commas_between_thousands)
{
    ck_assert_str_eq(count_text(0).text, "0");
    ck_assert_str_eq(count_text(999).text, "999");
    ck_assert_str_eq(count_text(1000).text, "1,000");
    ck_assert_str_eq(count_text(1234567).text, "1,234,567");
    ck_assert_str_eq(count_text(UINT64_MAX).text, "18,446,744,073,709,551,615");
}

START_TEST(bytes_have_three_digits_and_a_unit)
{
    ck_assert_str_eq(bytes_text(0).text, "0 B");
    ck_assert_str_eq(bytes_text(1023).text, "1023 B");
    ck_assert_str_eq(bytes_text(1024).text, "1.0 KiB");
    ck_assert_str_eq(bytes_text(1024 * 1024 - 1).text, "1.0 MiB");
    ck_assert_str_eq(bytes_text(1288490189).text, "1.2 GiB");
    ck_assert_str_eq(bytes_text(700ull << 20).text, "700 MiB");
    ck_assert_str_eq(bytes_text(UINT64_MAX).text, "16.0 EiB");
}

START_TEST(durations_have_two_units)
{
    ck_assert_str_eq(duration_text(0).text, "0.0s");
    ck_assert_str_eq(duration_text(0.26).text, "0.3s");
    ck_assert_str_eq(duration_text(9.96).text, "10s");
    ck_assert_str_eq(duration_text(45.2).text, "45s");
    ck_assert_str_eq(duration_text(59.7).text, "1m00s");
    ck_assert_str_eq(duration_text(125).text, "2m05s");
    ck_assert_str_eq(duration_text(3600 + 120).text, "1h02m");
    ck_assert_str_eq(duration_text(3 * 86400 + 4 * 3600).text, "3d04h");
    ck_assert_str_eq(duration_text(-1).text, "?");
    ck_assert_str_eq(duration_text(NAN).text, "?");
    ck_assert_str_eq(duration_text(INFINITY).text, "?");
    ck_assert_str_eq(duration_text(1e300).text, "?");
}

static const Report whole = {.step = 1200,
                             .total = 10000,
                             .loss = 1.34313,
                             .unit = "bits/byte",
                             .norm = 0.812,
                             .rate = 3e-4,
                             .tokens_per_second = 12345.4,
                             .seconds_left = 3720,
                             .mark = "new best"};
#define WHOLE                                                                                                          \
    "step  1,200/10,000  loss  1.3431 bits/byte  left  1h02m     12,345 tokens/s  norm  0.812  lr 3.00e-04  new best"

static const Report bare = {.step = 7, .norm = -1, .rate = -1, .tokens_per_second = -1, .seconds_left = -1};

typedef struct Page {
    char *text;
    size_t size;
    Progress progress;
} Page;

static void page_open(Page *page, bool terminal, bool quiet)
{
    FILE *out = open_memstream(&page->text, &page->size);
    ck_assert_ptr_nonnull(out);
    page->progress = progress_open(out, quiet);
    ck_assert(!page->progress.terminal);
    page->progress.terminal = terminal;
}

static void page_holds(Page *page, const char *text)
{
    progress_close(&page->progress);
    fclose(page->progress.out);
    ck_assert_str_eq(page->text, text);
    free(page->text);
}

START_TEST(a_report_is_one_aligned_line)
{
    Page page;
    page_open(&page, false, false);
    progress_report(&page.progress, &whole);
    progress_report(&page.progress, &bare);
    page_holds(&page, WHOLE "\nstep         7\n");
}

START_TEST(something_else_than_steps_can_be_counted)
{
    Page page;
    Report report = bare;
    report.counted = "scored";
    page_open(&page, false, false);
    progress_report(&page.progress, &report);
    report.total = 1200;
    progress_report(&page.progress, &report);
    page_holds(&page, "scored         7\nscored     7/1,200\n");
}

START_TEST(a_pipe_never_sees_a_rewritten_line)
{
    Page page;
    page_open(&page, false, false);
    progress_between(&page.progress, &whole);
    progress_report(&page.progress, &bare);
    progress_between(&page.progress, &whole);
    page_holds(&page, "step         7\n");
}

START_TEST(a_terminal_rewrites_its_line_until_the_report)
{
    Page page;
    page_open(&page, true, false);
    progress_between(&page.progress, &bare);
    progress_between(&page.progress, &bare); /* too soon */
    page.progress.rewritten -= 1;
    progress_between(&page.progress, &bare);
    progress_report(&page.progress, &bare);
    progress_between(&page.progress, &bare);
    progress_note(&page.progress, "saved %d", 7);
    progress_between(&page.progress, &bare);
    page_holds(&page, "\rstep         7\033[K\rstep         7\033[K\r\033[Kstep         7\n"
                      "\rstep         7\033[K\r\033[Ksaved 7\n\rstep         7\033[K\r\033[K");
}

START_TEST(a_rewritten_line_is_shorter_than_the_terminal)
{
    Page page;
    page_open(&page, true, false);
    progress_between(&page.progress, &whole);
    char text[200];
    snprintf(text, sizeof text, "\r%.79s\033[K\r\033[K", WHOLE);
    page_holds(&page, text);
}

START_TEST(quiet_says_nothing)
{
    Page page;
    page_open(&page, true, true);
    progress_between(&page.progress, &whole);
    progress_report(&page.progress, &whole);
    progress_note(&page.progress, "saved");
    page_holds(&page, "");
}

START_TEST(numbers_that_went_wrong_are_shown_and_fit)
{
    char mark[2000];
    memset(mark, 'm', sizeof mark - 1);
    mark[sizeof mark - 1] = 0;
    Report wrong = {.loss = NAN,
                    .unit = "nats",
                    .norm = NAN,
                    .rate = 0,
                    .tokens_per_second = INFINITY,
                    .seconds_left = NAN,
                    .step = UINT64_MAX,
                    .total = 1};
    Page page;
    page_open(&page, false, false);
    progress_report(&page.progress, &wrong);
    page_holds(&page, "step 18,446,744,073,709,551,615/1  loss     nan nats  norm    nan  lr 0.00e+00\n");

    wrong.loss = 1e308, wrong.norm = 1e308, wrong.mark = mark;
    page_open(&page, false, false);
    progress_report(&page.progress, &wrong);
    progress_close(&page.progress);
    fclose(page.progress.out);
    ck_assert_uint_eq(page.size, 512);
    free(page.text);
}

START_TEST(a_signal_asks_to_stop)
{
    static const int signals[] = {SIGINT, SIGTERM};
    stop_catch();
    ck_assert(!stop_requested());
    raise(signals[_i]);
    ck_assert(stop_requested());
}

/* How a child ends that catches both signals and raises these. */
static int child_ends(int first, int second, bool ignore)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        if (ignore)
            signal(SIGINT, SIG_IGN);
        stop_catch();
        raise(first);
        if (second)
            raise(second);
        _exit(stop_requested() ? 7 : 8);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

START_TEST(a_second_signal_kills_at_once)
{
    int status = child_ends(SIGINT, SIGINT, false);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    status = child_ends(SIGINT, SIGTERM, false);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    status = child_ends(SIGTERM, 0, false);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

START_TEST(an_ignored_signal_stays_ignored)
{
    int status = child_ends(SIGINT, SIGINT, true);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 8);
}

static const Test tests[] = {
    TEST(numbers_are_short),
    TEST(counts_have_commas_between_thousands),
    TEST(bytes_have_three_digits_and_a_unit),
    TEST(durations_have_two_units),
    TEST(a_report_is_one_aligned_line),
    TEST(something_else_than_steps_can_be_counted),
    TEST(a_pipe_never_sees_a_rewritten_line),
    TEST(a_terminal_rewrites_its_line_until_the_report),
    TEST(a_rewritten_line_is_shorter_than_the_terminal),
    TEST(quiet_says_nothing),
    TEST(numbers_that_went_wrong_are_shown_and_fit),
    TEST_LOOP(a_signal_asks_to_stop, 2),
    TEST(a_second_signal_kills_at_once),
    TEST(an_ignored_signal_stays_ignored),
};

int main(int argc, char **argv) { return suite_run("cli/progress", tests, sizeof tests / sizeof *tests, argc, argv); }
