/* compare: which number stands for a run, which run belongs to which group, and what the tables say. */
#include "base/file.h"
#include "base/memory.h"
#include "core/plot/picture.h"
#include "core/research/compare.h"
#include "core/research/report.h"
#include "tests/plot/runs.h"
#include "tests/plot/written.h"
#include "tests/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A log that is evaluated at each step: tokens 10 and seconds 2 a step. */
static Log log_of(const double *validation, size_t count)
{
    Buffer b = {0};
    Log log;
    Error e;
    buffer_print(&b, "%s", HEADER);
    for (size_t i = 0; i < count; i++)
        buffer_print(&b, "%zu\t10\t1\t1\t1\t%g\t5\t2\t1\t%g\n", i + 1, validation[i], 1 - validation[i] / 10);
    ck_done(log_read(&log, text_file("log.tsv", b.text), &e), e);
    buffer_free(&b);
    return log;
}

START_TEST(a_figure_is_the_best_or_the_last_up_to_a_limit)
{
    static const double losses[] = {5, 3, NAN, 4, 2, 6};
    static const struct {
        const char *at;
        LogColumn column;
        bool last;
        double wanted;
    } cases[] = {{NULL, LOG_VALID, false, 2},         {NULL, LOG_VALID, true, 6},
                 {"steps=4", LOG_VALID, false, 3},    {"steps=4", LOG_VALID, true, 4},
                 {"steps=3", LOG_VALID, true, 3},     {"tokens=20", LOG_VALID, true, 3},
                 {"seconds=2.5", LOG_VALID, true, 5}, {"steps=6", LOG_VALID, true, 6},
                 {"steps=7", LOG_VALID, false, NAN},  {"tokens=6e1", LOG_ACCURACY, false, 0.8},
                 {NULL, LOG_BLEU, false, NAN},        {"steps=0.5", LOG_VALID, false, NAN},
                 {NULL, LOG_ACCURACY, true, 1 - 6e-1}};
    Log log = log_of(losses, 6), empty = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Figure f = {.column = cases[i].column, .last = cases[i].last};
        ck_assert(!cases[i].at || figure_read_at(&f, cases[i].at));
        const double found = figure_of(&f, &log);
        ck_assert_msg(isnan(cases[i].wanted) ? isnan(found) : fabs(found - cases[i].wanted) < 1e-9,
                      "case %zu: %g, not %g", i, found, cases[i].wanted);
        ck_assert(isnan(figure_of(&f, &empty)));
    }
    log_free(&log);
}

START_TEST(a_limit_is_one_number_of_one_kind)
{
    static const char *const wrong[] = {"",         "steps",       "steps=",    "steps=0",     "steps=-3",
                                        "flops=3",  "steps=nan",   "steps=inf", "steps=1e999", "steps=3x",
                                        "steps= 3", "tokens=0x10", "step=3"};
    Figure f = {.column = LOG_VALID};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(!figure_read_at(&f, wrong[i]), "%s", wrong[i]);
}

#define RUN(name, dim, seed, steps, shift) made_run(name, "\"dim\": " dim, "\"seed\": " seed, steps, shift)

/* Two groups of three and two seeds, and a run alone. The best validation loss of 20 steps is 4.55 + shift. */
static size_t make_runs(const char **runs)
{
    runs[0] = RUN("a3", "64", "3", 20, 0.3);
    runs[1] = RUN("a1", "64", "1", 20, 0.1);
    runs[2] = RUN("b2", "128", "2", 20, -0.5);
    runs[3] = RUN("a2", "64", "2", 20, 0.05);
    runs[4] = RUN("b1", "128", "1", 20, -0.6);
    runs[5] = RUN("c1", "32", "1", 20, 1);
    runs[6] = RUN("b3", "128", "3", 5, -0.6); /* ended before it was evaluated */
    return 7;
}

START_TEST(groups_differ_in_more_than_the_seed)
{
    const char *runs[8];
    const size_t count = make_runs(runs);
    const Figure f = {.column = LOG_VALID};
    Comparison c;
    Error e;
    ck_done(compare_runs(&c, &f, runs, count, runs[4], &e), e);
    ck_assert_uint_eq(c.groups, 3);
    ck_assert_str_eq(c.unit, "nats");
    const Group *b = &c.group[0], *a = &c.group[1], *alone = &c.group[2];
    ck_assert_str_eq(b->label, "dim 128");
    ck_assert(b->count == 2 && b->without == 1 && b->seed[0] == 1 && fabs(b->value[0] - 3.95) < 1e-6);
    ck_assert(isnan(b->welch.mean) && isnan(b->welch_p) && b->steps == 20 && b->tokens == 2000 && b->seconds == 10);
    ck_assert(a->count == 3 && a->seed[0] == 1 && a->seed[2] == 3 && fabs(a->value[1] - 4.60) < 1e-6);
    ck_assert(a->pairs == 2 && fabs(a->paired.mean - 0.625) < 1e-6 && fabs(a->welch.mean - 0.7) < 1e-6);
    const Difference welch = difference_welch(&a->moments, &b->moments);
    ck_assert(a->welch_p == welch.p && a->welch_p > 0); /* the run alone is no comparison to correct for */
    ck_assert_uint_ge(a->needed, 2);
    ck_assert(alone->count == 1 && isnan(alone->margin) && isnan(alone->welch.p) &&
              fabs(alone->welch.mean - 1.55) < 1e-6);
    ck_assert_uint_eq(alone->needed, 0);
    comparison_free(&c);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(what_cannot_be_compared_is_said)
{
    const char *runs[8];
    const size_t count = make_runs(runs);
    Figure f = {.column = LOG_BLEU};
    Comparison c;
    Error e;
    ck_assert(!compare_runs(&c, &f, runs, count, NULL, &e));
    ck_assert_str_eq(e.text, "no run has this figure in its log: BLEU, the best of each run");
    ck_assert(!compare_runs(&c, &f, runs, count, "elsewhere", &e));
    ck_assert_str_eq(e.text, "--against elsewhere: not one of the runs compared");
    f.column = LOG_VALID;
    text_file("c1/log.tsv", "step\tvalidation (bits/byte)\tloss (bits/byte)\n1\t2\t2\n");
    ck_assert(!compare_runs(&c, &f, runs, count, NULL, &e));
    ck_assert_msg(strstr(e.text, "c1 has losses in bits/byte, others in nats: they cannot be compared"), "%s", e.text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static Buffer report_of(const char *const *runs, size_t count, ReportFormat format)
{
    const Figure f = {.column = LOG_VALID};
    Buffer b = {0};
    Comparison c;
    Error e;
    ck_done(compare_runs(&c, &f, runs, count, NULL, &e), e);
    report_write(&b, &c, format);
    comparison_free(&c);
    return b;
}

START_TEST(tables_have_what_is_known)
{
    static const struct {
        ReportFormat format;
        const char *has[3];
    } cases[] = {
        {REPORT_TEXT,
         {"\ndim 64   3       4.700 ± 0.329  0.132  reference", "\ndim 128  2 of 3  4.000 ± 0.635",
          "for 1 comparison\n"}},
        {REPORT_MARKDOWN,
         {"| group | runs | mean |", "\n| dim 32 | 1 | 5.550 | – | +0.850 | – | – | – |\n", "|---|---:|"}},
        {REPORT_LATEX, {"\\toprule\ngroup & runs", "4.700 $\\pm$ 0.329 & 0.132", " & $-$0.700 ($-$"}},
    };
    const char *runs[8];
    const size_t count = make_runs(runs);
    for (size_t i = 0; i < 3; i++) {
        Buffer b = report_of(runs, count, cases[i].format);
        for (size_t k = 0; k < 3; k++)
            ck_assert_msg(strstr(b.text, cases[i].has[k]), "'%s' is not in\n%s", cases[i].has[k], b.text);
        buffer_free(&b);
    }
    Buffer tsv = report_of(runs, count, REPORT_TSV);
    size_t tabs = 0, lines = 0;
    for (const char *at = tsv.text; *at; at++) {
        tabs += *at == '\t';
        lines += *at == '\n';
    }
    ck_assert_uint_eq(lines, 4);
    ck_assert_uint_eq(tabs, 4 * 18);
    ck_assert_msg(strstr(tsv.text, "\t1: 4.65, 2: 4.6, 3: 4.85\n"), "%s", tsv.text);
    buffer_free(&tsv);
}

START_TEST(csv_has_a_line_for_each_run)
{
    const char *const runs[] = {made_run("a", "\"init\": \"x, y\"", "\"seed\": 1", 20, 0),
                                made_run("b", "\"init\": \"x, y\"", "\"seed\": 2", 20, 1),
                                made_run("c", "\"init\": \"say \\\"z\\\"\"", "\"seed\": 1", 20, 2)};
    Buffer b = report_of(runs, 3, REPORT_CSV);
    static const char wanted[] = "group,seed,\"";
    ck_assert_msg(strncmp(b.text, wanted, sizeof wanted - 1) == 0, "%s", b.text);
    ck_assert_msg(strstr(b.text, "\n\"init x, y\",1,") && strstr(b.text, "\n\"init x, y\",2,"), "%s", b.text);
    ck_assert_msg(strstr(b.text, "\n\"init say \"\"z\"\"\",1,"), "%s", b.text);
    buffer_free(&b);
}

START_TEST(names_are_no_commands_of_latex_or_markdown)
{
    const char *const runs[] = {made_run("a", "\"init\": \"a_b|c\\\\d%\"", "\"seed\": 1", 20, 0),
                                made_run("b", "\"init\": \"$x^2~\"", "\"seed\": 1", 20, 0)};
    Buffer latex = report_of(runs, 2, REPORT_LATEX), markdown = report_of(runs, 2, REPORT_MARKDOWN);
    ck_assert_msg(strstr(latex.text, "init a\\_b\\textbar{}c\\textbackslash{}d\\% &"), "%s", latex.text);
    ck_assert_msg(strstr(latex.text, "init \\$x\\textasciicircum{}2\\textasciitilde{} &"), "%s", latex.text);
    ck_assert_msg(strstr(markdown.text, "| init a_b\\|c\\d% |"), "%s", markdown.text);
    buffer_free(&latex);
    buffer_free(&markdown);
}

START_TEST(groups_are_drawn)
{
    const char *runs[8];
    const size_t count = make_runs(runs);
    const Figure f = {.column = LOG_VALID};
    Comparison c;
    Error e;
    Buffer data = {0}, said = {0};
    char *svg;
    size_t size;
    if (!can_draw("groups_are_drawn"))
        return;
    ck_done(compare_runs(&c, &f, runs, count, NULL, &e), e);
    report_picture(&data, &c);
    const Picture p = {.script = "compare", .data = text_file("c.tsv", data.text), .out = place("c.svg")};
    ck_done(picture_draw(&p, &said, &e), e);
    ck_assert_msg(!said.size, "%s", said.text);
    ck_done(file_read(p.out, &svg, &size, &e), e);
    ck_assert(strstr(svg, "dim 128") && strstr(svg, "validation loss (nats), the best of each run"));
    ck_assert_uint_gt(ck_written(svg, "compare"), 6);
    memory_free(svg);
    comparison_free(&c);
    buffer_free(&data);
}

#define TABLE                                                                                                          \
    "run\ttokens\tsteps\tseed\tstate\tsteps\ttokens\tFLOP\tparameters\tbest validation\tlast validation\t"             \
    "best BLEU\tlast BLEU\tlast training loss\tseconds\n"
#define MORE "\tdone\t20\t200\t1e9\t77\t"

/* Two options that vary are called like results. */
START_TEST(tables_of_sweeps_are_compared)
{
    static const char first[] = TABLE "a b-s2\tbytes\t7\t2" MORE "3\t4\t20\t10\t2\t5\n"
                                      "words-s1\twords\t9\t1" MORE "2\t3\t\t\t1\t4\n"
                                      "a b-s1\tbytes\t7\t1" MORE "3.5\t3.5\t22\t22\t2\t7\n";
    static const char second[] = TABLE "words-s2\twords\t9\t2" MORE "2.5\t3\t\t\t1\t4\n"
                                       "a b-s3\tbytes\t7\t3\tfailed: no\t5\t50\t1\t77\t9\t9\t1\t1\t1\t1\n"
                                       "words-s3\twords\t9\t3\ttraining\t\t\t\t77\t\t\t\t\t\t\n";
    Results r = {0};
    Comparison c;
    Figure f = {.column = LOG_VALID};
    Error e;
    ck_done(results_add(&r, text_file("1.tsv", first), &e), e);
    ck_done(results_add(&r, text_file("2.tsv", second), &e), e);
    ck_done(compare_results(&c, &f, &r, false, "words", &e), e);
    const Group *words = &c.group[0], *ab = &c.group[1];
    ck_assert(c.groups == 2 && !strcmp(words->label, "words") && !strcmp(ab->label, "a b"));
    ck_assert(words->count == 2 && words->without == 1 && words->value[0] == 2 && words->value[1] == 2.5);
    ck_assert(ab->count == 2 && ab->without == 1 && ab->value[0] == 3.5 && ab->seed[1] == 2 && ab->value[1] == 3);
    ck_assert(ab->steps == 20 && ab->tokens == 200 && ab->seconds == 6 && ab->pairs == 2);
    comparison_free(&c);
    f = (Figure){.column = LOG_BLEU, .last = true};
    ck_done(compare_results(&c, &f, &r, false, NULL, &e), e);
    ck_assert(c.group[0].value[0] == 22 && c.group[0].value[1] == 10 && c.group[1].count == 0);
    comparison_free(&c);
    f.column = LOG_LOSS;
    ck_done(compare_results(&c, &f, &r, false, NULL, &e), e);
    ck_assert(c.group[0].value[0] == 2 && c.group[1].value[0] == 1);
    comparison_free(&c);
    ck_assert(!compare_results(&c, &f, &r, false, "a", &e));
    ck_assert_str_eq(e.text, "--against a: not one of the groups compared");
    results_free(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* A table has no unit, but the runs beside it have. */
START_TEST(a_table_beside_its_runs_has_their_unit)
{
    static const char table[] = TABLE "a-s1\tx\t7\t1" MORE "3\t4\t20\t10\t2\t5\n",
                      other[] = TABLE "b-s1\tx\t7\t1" MORE "3\t4\t20\t10\t2\t5\n";
    const Figure f = {.column = LOG_VALID};
    Results r = {0};
    Comparison c;
    Error e;
    RUN("sweep/a-s1", "64", "1", 20, 0);
    ck_done(results_add(&r, text_file("sweep/sweep.tsv", table), &e), e);
    ck_done(compare_results(&c, &f, &r, false, NULL, &e), e);
    ck_assert_str_eq(c.unit, "nats");
    comparison_free(&c);
    ck_done(results_add(&r, text_file("published.tsv", other), &e), e); /* which may have another */
    ck_done(compare_results(&c, &f, &r, false, NULL, &e), e);
    ck_assert_str_eq(c.unit, "");
    comparison_free(&c);
    results_free(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Each row's values in their order, whatever that of the table: neither runs without a number there nor failed ones. */
START_TEST(rows_are_lines_over_an_option)
{
    static const char table[] = "run\tnorm\tlr\tseed\tstate\tbest validation\n"
                                "a-lr4e-3-s1\tpre\t4e-3\t1\tdone\t1\na-lr4e-3-s2\tpre\t4e-3\t2\tdone\t1\n"
                                "b-lr1e-3-s1\tpost\t1e-3\t1\tdone\t5\nc-s1\tpost\t\t1\tdone\t7\n"
                                "a-lr1e-3-s1\tpre\t1e-3\t1\tdone\t3\na-lr2e-3-s1\tpre\t2e-3\t1\tfailed: x\t\n";
    Results r = {.option = "lr"};
    Comparison c;
    const Figure f = {.column = LOG_VALID};
    Buffer text = {0};
    Error e;
    ck_done(results_add(&r, text_file("over.tsv", table), &e), e);
    ck_done(compare_results(&c, &f, &r, false, "b-lr1e-3", &e), e);
    ck_assert(report_lines(&text, &c));
    ck_assert_str_eq(text.text, "b\tvalidation loss, the best of each run\tlr\n0.001\t5\t5\t5\n\n\n"
                                "a\tvalidation loss, the best of each run\tlr\n0.001\t3\t3\t3\n0.004\t1\t1\t1\n");
    buffer_free(&text);
    comparison_free(&c);
    results_free(&r);
    r = (Results){.option = "norm"};
    ck_done(results_add(&r, text_file("over.tsv", table), &e), e);
    ck_done(compare_results(&c, &f, &r, false, NULL, &e), e);
    ck_assert(!report_lines(&text, &c) && !text.size);
    comparison_free(&c);
    results_free(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* A row is at the value with the best mean of those with most runs; which may be at an end of those tried. A row without
 * the option, and one whose runs all failed, stay as they are. */
START_TEST(rows_are_compared_at_their_best_value)
{
    static const char table[] = "run\tnorm\tlr\tseed\tstate\tbest validation\n"
                                "a-lr1e-3-s1\tpre\t1e-3\t1\tdone\t3\na-lr1e-3-s2\tpre\t1e-3\t2\tdone\t4\n"
                                "a-lr2e-3-s1\tpre\t2e-3\t1\tdone\t2\na-lr2e-3-s2\tpre\t2e-3\t2\tdone\t2.5\n"
                                "a-lr4e-3-s1\tpre\t4e-3\t1\tdone\t1\na-lr4e-3-s2\tpre\t4e-3\t2\tfailed: NaN\t\n"
                                "lr1e-3-b-s1\tpost\t1e-3\t1\tdone\t5\nlr1e-3-b-s2\tpost\t1e-3\t2\tdone\t5\n"
                                "lr2e-3-b-s1\tpost\t2e-3\t1\tdone\t4\nlr2e-3-b-s2\tpost\t2e-3\t2\tdone\t5.5\n"
                                "c-s1\tpost\t\t1\tdone\t7\n"
                                "d-lr1e-3-s1\tpost\t1e-3\t1\tfailed: x\t\nd-lr2e-3-s1\tpost\t2e-3\t1\tfailed: x\t\n";
    static const char *const labels[] = {"lr2e-3-b", "a-lr2e-3", "c", "d-lr1e-3"};
    Results r = {.option = "lr"};
    Comparison c;
    const Figure f = {.column = LOG_VALID};
    Buffer text = {0};
    Error e;
    ck_done(results_add(&r, text_file("tuned.tsv", table), &e), e);
    ck_done(compare_results(&c, &f, &r, true, "b", &e), e);
    ck_assert_uint_eq(c.groups, 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert_str_eq(c.group[i].label, labels[i]);
    ck_assert(c.group[0].count == 2 && c.group[0].moments.mean == 4.75 && c.group[0].at_end);
    ck_assert(c.group[1].moments.mean == 2.25 && !c.group[1].at_end && !c.group[2].at_end);
    ck_assert(c.group[3].count == 0 && c.group[3].without == 1);
    report_write(&text, &c, REPORT_TEXT);
    ck_assert(strstr(text.text, "each row is at its best lr of those tried, which is the smallest or the largest in "
                                "lr2e-3-b\n"));
    buffer_free(&text);
    comparison_free(&c);
    ck_assert(!compare_results(&c, &f, &r, true, "a-lr1e-3", &e));
    ck_assert_str_eq(e.text, "--against a-lr1e-3: not one of the groups compared");
    results_free(&r);
    r = (Results){.option = "dim"};
    ck_assert(!results_add(&r, text_file("tuned.tsv", table), &e));
    ck_assert(strstr(e.text, " has no column 'dim' before 'seed'"));
    results_free(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(runs_that_only_differ_in_their_seed_are_one_group)
{
    static const char table[] = TABLE "s1\tbytes\t7\t1" MORE "3\t3\t22\t22\t2\t7\n"
                                      "s12\tbytes\t7\t12" MORE "2\t2\t22\t22\t2\t7\n";
    Results r = {0};
    Comparison c;
    const Figure f = {.column = LOG_VALID};
    Error e;
    ck_done(results_add(&r, text_file("seeds.tsv", table), &e), e);
    ck_done(compare_results(&c, &f, &r, false, NULL, &e), e);
    ck_assert(c.groups == 1 && c.group[0].count == 2 && c.group[0].value[0] == 3 && c.group[0].value[1] == 2);
    ck_assert_str_eq(c.group[0].label, "");
    comparison_free(&c);
    results_free(&r);
}

START_TEST(what_is_no_table_is_said)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"", "it has no line"},
        {"step\tloss (nats)\n1\t2\n", "its first line does not begin with 'run'"},
        {"run\tstate\n", "and name a 'seed'"},
        {TABLE "a-s1\tbytes\t7\n", "line 2: expected 15 fields, as in the first line"},
        {TABLE "a-s1\tbytes\t7\tx" MORE "1\t1\t1\t1\t1\t1\n", "line 2: field 4 is not a number"},
        {TABLE "a-s1\tbytes\t7\t" MORE "1\t1\t1\t1\t1\t1\n", "line 2: field 4 is not a number"},
        {TABLE "a-s1\tbytes\t7\t1" MORE "1\t1\tone\t1\t1\t1\n", "line 2: field 12 is not a number"},
        {TABLE "a-s1\tbytes\t7\t1" MORE "1\t1\t1\t1\t1\t1\na-s1\tbytes\t7\t1" MORE "1\t1\t1\t1\t1\t1\n",
         "line 3: the run a, seed 1, appears twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Results r = {0};
        Error e;
        ck_assert(!results_add(&r, text_file("t.tsv", cases[i].text), &e));
        ck_assert_msg(strstr(e.text, cases[i].said), "%s", e.text);
        results_free(&r);
    }
    ck_assert_uint_eq(memory_in_use(), 0);
}

static bool compare_table_and_free(void *path, Error *e)
{
    const Figure f = {.column = LOG_VALID};
    Results r = {0};
    Comparison c;
    const bool fine = results_add(&r, path, e) && compare_results(&c, &f, &r, false, NULL, e);
    if (fine)
        comparison_free(&c);
    results_free(&r);
    return fine;
}

static bool compare_and_free(void *runs, Error *e)
{
    const Figure f = {.column = LOG_VALID};
    Comparison c;
    if (!compare_runs(&c, &f, runs, 3, NULL, e))
        return false;
    comparison_free(&c);
    return true;
}

START_TEST(each_failed_allocation_is_an_error)
{
    const char *runs[8];
    make_runs(runs);
    fail_each_allocation(compare_and_free, runs);
    char table[512];
    snprintf(table, sizeof table, "%s", text_file("t.tsv", TABLE "a-s1\tbytes\t7\t1" MORE "1\t1\t1\t1\t1\t1\n"));
    fail_each_allocation(compare_table_and_free, table);
}

static const Test tests[] = {
    TEST(a_figure_is_the_best_or_the_last_up_to_a_limit),
    TEST(a_limit_is_one_number_of_one_kind),
    TEST(groups_differ_in_more_than_the_seed),
    TEST(what_cannot_be_compared_is_said),
    TEST(tables_have_what_is_known),
    TEST(csv_has_a_line_for_each_run),
    TEST(names_are_no_commands_of_latex_or_markdown),
    TEST(groups_are_drawn),
    TEST(tables_of_sweeps_are_compared),
    TEST(a_table_beside_its_runs_has_their_unit),
    TEST(rows_are_lines_over_an_option),
    TEST(rows_are_compared_at_their_best_value),
    TEST(runs_that_only_differ_in_their_seed_are_one_group),
    TEST(what_is_no_table_is_said),
    TEST(each_failed_allocation_is_an_error),
};

int main(int argc, char **argv)
{
    return suite_run("research/compare", tests, sizeof tests / sizeof *tests, argc, argv);
}
