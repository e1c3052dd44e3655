/* Curves: what a log says is what is drawn, however the log came about. */
#include "core/plot/curves.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/plot/logs.h"
#include "tests/plot/runs.h"
#include "tests/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Log read_text(const char *text)
{
    Log log;
    Error e;
    ck_done(log_read(&log, text_file("log.tsv", text), &e), e);
    return log;
}

START_TEST(a_log_is_read_whatever_its_columns)
{
    Log log = read_text("seconds\tstep\tsomething\tvalidation (bits/byte)\tloss (bits/byte)\n"
                        "0.5\t1\tx\t\t3.5\n2\t2\t\t2.25\tnan\n1\t3\t\tinf\t-1e3\n");
    ck_assert_uint_eq(log.count, 3);
    ck_assert_str_eq(log.unit, "bits/byte");
    ck_assert(log.line[0].step == 1 && log.line[2].step == 3);
    ck_assert(log.line[0].seconds == 0.5 && log.line[2].seconds == 3.5);
    ck_assert(log.line[0].value[LOG_LOSS] == 3.5 && log.line[2].value[LOG_LOSS] == -1e3);
    ck_assert(isnan(log.line[1].value[LOG_LOSS]) && isnan(log.line[0].value[LOG_VALID]));
    ck_assert(log.line[1].value[LOG_VALID] == 2.25 && isnan(log.line[2].value[LOG_VALID]));
    ck_assert(isnan(log.line[0].value[LOG_NORM]) && log.line[2].tokens == 0);
    log_free(&log);
}

START_TEST(the_loss_without_smoothing_is_what_validation_is_compared_with)
{
    Log log = read_text("step\tloss (n)\tloss without smoothing (n)\n1\t3\t2\n2\t3\t\n");
    ck_assert(log.line[0].value[LOG_LOSS] == 2 && log.line[1].value[LOG_LOSS] == 3);
    log_free(&log);
}

START_TEST(steps_that_come_again_count_once_and_half_a_line_not_at_all)
{
    Log log = read_text("step\tloss (n)\n1\t1\n2\t2\n3\t3\n4\t4\n3\t33\n4\t44\n5\t5");
    ck_assert_uint_eq(log.count, 4);
    ck_assert(log.line[1].value[LOG_LOSS] == 2 && log.line[2].value[LOG_LOSS] == 33);
    ck_assert(log.line[3].value[LOG_LOSS] == 44);
    log_free(&log);
    static const char *const empty[] = {"", "step\tloss (n)\n", "step", "step\tloss (n)\n1\t2"};
    for (size_t i = 0; i < 4; i++) {
        log = read_text(empty[i]);
        ck_assert_uint_eq(log.count, 0);
        log_free(&log);
    }
}

static void refused_log(const char *text, const char *words)
{
    Log log;
    Error e;
    ck_assert(!log_read(&log, text_file("log.tsv", text), &e));
    ck_assert_msg(strstr(e.text, words) && !strchr(e.text, '\n'), "%s", e.text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(what_is_no_log_is_refused_with_its_line)
{
    char wide[200];
    refused_log("loss\tepoch\n1\t2\n", "no column 'step'");
    refused_log("\n1\t2\n", "no column 'step'");
    refused_log("step\tloss (n)\n1\t2\n2\n", "line 3");
    refused_log("step\tloss (n)\n1\t2x\n", "line 2");
    refused_log("step\tloss (n)\n\t2\n", "line 2");
    refused_log("step\tloss (n)\nnan\t2\n", "line 2");
    refused_log("step\tloss (n)\n1\t2\n\n", "line 3");
    snprintf(wide, sizeof wide, "step\n%0100d\n", 1);
    refused_log(wide, "line 2");
    Log log;
    Error e;
    ck_assert(!log_read(&log, place("nowhere.tsv"), &e));
    static const char zeros[] = "step\tloss (n)\n1\t2\n2\t1\0\n3\t1\n";
    const char *path = text_file("log.tsv", "");
    ck_done(file_write(path, zeros, sizeof zeros - 1, &e), e);
    ck_assert(!log_read(&log, path, &e));
    ck_assert_msg(strstr(e.text, "line 3"), "%s", e.text);
}

/* ---- the data of a picture */

/* Line `row` (0: the heading) of block `block` of data, its columns as numbers. */
static void row_of(const char *data, size_t block, size_t row, double columns[18])
{
    for (; block; block--) {
        data = strstr(data, "\n\n\n");
        ck_assert_ptr_nonnull(data);
        data += 3;
    }
    for (; row; row--)
        data = strchr(data, '\n') + 1;
    for (size_t i = 0; i < 18; i++) {
        char *end;
        columns[i] = strtod(data, &end);
        ck_assert_msg(end != data && (*end == '\t' || *end == '\n'), "column %zu: %.40s", i, data);
        data = end + 1;
    }
}

static size_t rows_of(const char *data, size_t block)
{
    for (; block; block--)
        data = strstr(data, "\n\n\n") + 3;
    const char *end = strstr(data, "\n\n\n");
    size_t rows = 0;
    for (; *data && data != end; data++)
        rows += *data == '\n';
    return rows + (end != NULL) - 1;
}

static bool same(double a, double b) { return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-9 * fabs(b); }

START_TEST(what_is_drawn_of_a_short_run_is_its_log)
{
    Log log;
    Error e;
    Buffer b = {0};
    double row[18];
    ck_done(log_read(&log, falling_log("log.tsv", 1000, 0), &e), e);
    const Log *const logs[] = {&log};
    ck_done(curve_add(&b, &(Curve){"#a_b \"c\"\td", logs, 1}, true, &e), e);
    ck_assert(strncmp(b.text, "#a_b \u201dc\u201d\u21e5d\ttokens\tseconds\tloss (nats)\t", 20) == 0);
    ck_assert_uint_eq(rows_of(b.text, 0), 1000);
    ck_assert_uint_eq(rows_of(b.text, 1), 100);
    for (size_t i = 0; i < 1000; i++) {
        const LogLine *l = &log.line[i];
        row_of(b.text, 0, i + 1, row);
        ck_assert(row[0] == l->step && row[1] == 100 * l->step && row[2] == 0.5 * l->step);
        ck_assert(same(row[4], l->value[LOG_LOSS]) && same(row[5], l->value[LOG_LOSS]));
        ck_assert(same(row[7], l->value[LOG_NORM]) && same(row[8], l->value[LOG_NORM]));
        ck_assert(same(row[9], l->value[LOG_RATE]) && same(row[13], l->value[LOG_SPEED]));
        ck_assert_double_lt(fabs(row[3] - row[4]), 0.01 + 0.5 / (double)(i + 1)); /* a mean of what is near */
    }
    for (size_t i = 0; i < 100; i++) {
        const LogLine *l = &log.line[10 * i + 9];
        row_of(b.text, 1, i + 1, row);
        ck_assert(row[0] == l->step && row[1] == l->tokens);
        for (size_t j = 3; j < 6; j++)
            ck_assert(same(row[j], l->value[LOG_VALID]) && same(row[j + 3], 75) && isnan(row[j + 6]));
    }
    buffer_free(&b);
    log_free(&log);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_long_run_is_drawn_in_groups_and_loses_no_extreme)
{
    Buffer text = {0}, b = {0};
    double row[18];
    buffer_print(&text, "step\tloss (n)\n");
    for (int i = 1; i <= 2501; i++)
        buffer_print(&text, "%d\t%d\n", i, i == 1501 ? 900 : i == 1500 ? -900 : i % 3);
    Log log = read_text(text.text);
    const Log *const logs[] = {&log};
    Error e;
    ck_done(curve_add(&b, &(Curve){"x", logs, 1}, true, &e), e);
    ck_assert_uint_eq(rows_of(b.text, 0), 834);
    row_of(b.text, 0, 500, row); /* 1498, 1499, 1500 */
    ck_assert(row[0] == 1500 && row[4] == -900 && row[5] == 2);
    row_of(b.text, 0, 501, row);
    ck_assert(row[0] == 1503 && row[4] == 0 && row[5] == 900);
    row_of(b.text, 0, 300, row);
    ck_assert_double_eq_tol(row[3], 1, 0.05);
    row_of(b.text, 0, 834, row);
    ck_assert(row[0] == 2501 && row[4] == 1 && row[5] == 2);
    ck_assert_uint_eq(rows_of(b.text, 1), 0); /* never evaluated */
    buffer_free(&b);
    buffer_free(&text);
    log_free(&log);
}

START_TEST(mean_speed_is_that_of_all_the_time)
{
    Buffer text = {0}, b = {0};
    double row[18];
    Error e;
    buffer_print(&text, "step\ttokens/s\tseconds\n");
    for (int i = 1; i <= 400; i++) /* a thousand tokens each, in a second or a hundredth of it */
        buffer_print(&text, "%d\t%d\t%g\n", i, i % 2 ? 1000 : 100000, i % 2 ? 1 : 0.01);
    Log log = read_text(text.text);
    const Log *const logs[] = {&log};
    ck_done(curve_add(&b, &(Curve){"x", logs, 1}, true, &e), e);
    row_of(b.text, 0, 200, row);
    ck_assert_double_eq_tol(row[12], 2000 / 1.01, 250); /* of the speeds alone: 50,500 */
    ck_assert(row[13] == 100000 && row[14] == 100000);
    buffer_free(&b);
    log_free(&log);
    buffer_free(&text);
}

START_TEST(seeds_are_a_mean_with_its_lowest_and_its_highest)
{
    Log log[3];
    Error e;
    Buffer b = {0};
    double row[18];
    const double shift[] = {0, 1, 0.2};
    const size_t steps[] = {50, 40, 45};
    for (size_t i = 0; i < 3; i++)
        ck_done(log_read(&log[i], falling_log("log.tsv", steps[i], shift[i]), &e), e);
    const Log *const logs[] = {&log[0], &log[1], &log[2]};
    ck_done(curve_add(&b, &(Curve){"x", logs, 3}, true, &e), e);
    ck_assert(strncmp(b.text, "x, 3 seeds\t", 11) == 0);
    ck_assert_uint_eq(rows_of(b.text, 0), 40); /* where the shortest ends */
    ck_assert_uint_eq(rows_of(b.text, 1), 4);
    row_of(b.text, 0, 1, row);
    ck_assert(same(row[3], 5.4) && same(row[4], 5) && same(row[5], 6));
    row_of(b.text, 1, 4, row);
    ck_assert(row[0] == 40 && fabs(row[3] - 4.925) < 1e-6 && fabs(row[4] - 4.525) < 1e-6);
    ck_assert(fabs(row[5] - 5.525) < 1e-6 && same(row[6], 75) && same(row[7], 75) && same(row[8], 75));
    buffer_free(&b);
    for (size_t i = 0; i < 3; i++)
        log_free(&log[i]);
}

START_TEST(an_older_log_is_read_in_the_words_of_today)
{
    Log log = read_text("step\tloss (nats/piece)\tvalidation perplexity of a piece\n1\t2\t8\n");
    ck_assert_str_eq(log.unit, "nats/token");
    ck_assert(log.line[0].value[LOG_LOSS] == 2 && log.line[0].value[LOG_TOKEN] == 8);
    log_free(&log);
}

START_TEST(panels_are_those_that_a_log_has_numbers_for)
{
    Buffer b = {0};
    Log log;
    Error e;
    ck_done(log_read(&log, falling_log("log.tsv", 10, 0), &e), e);
    curve_panels(&b, &log);
    ck_assert_str_eq(b.text, "loss accuracy rate norm speed");
    buffer_free(&b);
    log_free(&log);
    log = read_text("step\tvalidation BLEU (0 to 100)\tvalidation perplexity of a token\n1\t17.5\t\n");
    curve_panels(&b, &log);
    ck_assert_str_eq(b.text, "bleu");
    buffer_free(&b);
    log_free(&log);
}

static bool read_and_add(void *path, Error *e)
{
    Log log;
    Buffer b = {0};
    if (!log_read(&log, path, e))
        return false;
    const Log *const logs[] = {&log};
    bool done = curve_add(&b, &(Curve){"x", logs, 1}, true, e);
    buffer_free(&b);
    log_free(&log);
    return done;
}

START_TEST(each_failed_allocation_is_an_error)
{
    char path[700];
    snprintf(path, sizeof path, "%s", falling_log("log.tsv", 300, 0));
    fail_each_allocation(read_and_add, path);
}

static const Test tests[] = {
    TEST(a_log_is_read_whatever_its_columns),
    TEST(the_loss_without_smoothing_is_what_validation_is_compared_with),
    TEST(steps_that_come_again_count_once_and_half_a_line_not_at_all),
    TEST(what_is_no_log_is_refused_with_its_line),
    TEST(what_is_drawn_of_a_short_run_is_its_log),
    TEST(a_long_run_is_drawn_in_groups_and_loses_no_extreme),
    TEST(mean_speed_is_that_of_all_the_time),
    TEST(seeds_are_a_mean_with_its_lowest_and_its_highest),
    TEST(an_older_log_is_read_in_the_words_of_today),
    TEST(panels_are_those_that_a_log_has_numbers_for),
    TEST(each_failed_allocation_is_an_error),
};

int main(int argc, char **argv) { return suite_run("plot/curves", tests, sizeof tests / sizeof *tests, argc, argv); }
