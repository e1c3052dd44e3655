/* Statistics: equal to SciPy and statsmodels on random tables (tests/fixtures/scipy_statistics.py), and what they say where
 * there is nothing to compute. */
#include "base/philox.h"
#include "core/research/statistics.h"
#include "tests/cases.h"
#include "tests/suite.h"

#include <math.h>
#include <string.h>

enum { MOST = 32 };

static double real(const Json *one, size_t at) { return case_value(one, at)->number; }

static size_t numbers(double *x, const Json *one, size_t at)
{
    const Json *list = case_value(one, at);
    ck_assert_uint_le(list->count, MOST);
    for (size_t i = 0; i < list->count; i++)
        x[i] = list->items[i].number;
    return list->count;
}

/* To nine digits; a p near 1e-300 counts as what it is, too. */
static void same(double found, double wanted, const Json *one)
{
    ck_assert_msg(fabs(found - wanted) <= 1e-9 * fabs(wanted), "%s %s: %.12g, not %.12g", one->items[0].text,
                  one->items[1].text ? one->items[1].text : "", found, wanted);
}

static void same_difference(Difference d, const Json *one, size_t at, double scale)
{
    double w[MOST];
    ck_assert_uint_eq(numbers(w, one, at), 6);
    /* (a difference of near numbers has fewer digits than they have) */
    ck_assert_double_le(fabs(d.mean - w[0]) + fabs(d.low - w[1]) + fabs(d.high - w[2]), 1e-11 * scale);
    ck_assert_double_le(fabs(d.t - w[3]), 1e-8 * (1 + fabs(w[3])));
    ck_assert_double_le(fabs(d.df - w[4]), 1e-8 * w[4]);
    ck_assert_double_le(fabs(d.p - w[5]), 1e-7 * w[5]);
}

static void check_table(const Json *one)
{
    double a[MOST], b[MOST], alone[MOST];
    const size_t n = numbers(a, one, 1), m = numbers(b, one, 2);
    const Moments of_a = moments_of(a, n), of_b = moments_of(b, m);
    const double scale = fabs(of_a.mean) + of_a.sd + fabs(of_b.mean) + 40 * of_b.sd;
    numbers(alone, one, 3);
    ck_assert_double_le(fabs(of_a.mean - alone[0]), 1e-13 * scale);
    ck_assert_double_le(fabs(of_a.sd - alone[1]), 1e-11 * scale);
    ck_assert_double_le(fabs(moments_margin(&of_a) - alone[2]), 1e-11 * scale * 13);
    same_difference(difference_welch(&of_a, &of_b), one, 4, 40 * scale);
    if (case_value(one, 5)->count)
        same_difference(difference_paired(a, b, n), one, 5, 40 * scale);
}

static void check_several(const Json *one)
{
    double p[MOST], wanted[MOST], found[MOST];
    const size_t count = numbers(p, one, 1);
    numbers(wanted, one, 2);
    holm_correct(found, p, count);
    for (size_t i = 0; i < count; i++)
        same(found[i], wanted[i], one);
}

START_TEST(what_scipy_says)
{
    Cases cases = cases_open("statistics");
    for (size_t i = 0; i < cases.list->count; i++) {
        const Json *one = &cases.list->items[i];
        const char *what = one->items[0].text;
        if (!strcmp(what, "student")) {
            same(student_p(real(one, 1), real(one, 2)), real(one, 3), one);
            if (real(one, 3) > 1e-200)
                same(student_t(real(one, 3), real(one, 2)), real(one, 1), one);
        } else if (!strcmp(what, "table"))
            check_table(one);
        else if (!strcmp(what, "several"))
            check_several(one);
        else if (!strcmp(what, "needed"))
            same((double)count_needed(real(one, 1), 1), real(one, 2), one);
        else
            same(mcnemar_p((size_t)real(one, 1), (size_t)real(one, 2)), real(one, 3), one);
    }
    cases_close(&cases);
}

START_TEST(where_nothing_varies_nothing_is_said)
{
    const double x[] = {3, 3, 3}, y[] = {1, 2, 4};
    const Moments none = moments_of(x, 0), one = moments_of(x, 1), equal = moments_of(x, 3), three = moments_of(y, 3);
    ck_assert(none.count == 0 && isnan(none.mean) && isnan(none.sd));
    ck_assert(one.mean == 3 && isnan(one.sd) && isnan(moments_margin(&one)));
    ck_assert(equal.sd == 0 && moments_margin(&equal) == 0);
    ck_assert(isnan(difference_welch(&one, &three).p) && isnan(difference_welch(&equal, &equal).p));
    ck_assert_double_eq(difference_welch(&one, &three).mean, 3 - 7.0 / 3);
    ck_assert(!isnan(difference_welch(&equal, &three).p));
    ck_assert(isnan(difference_paired(x, y, 1).p) && isnan(difference_paired(x, x, 3).p));
    const double eight[] = {0.8, 0.8, 0.8}, half[] = {0.1, 0.1, 0.1}; /* whose sum is not exactly three times as much */
    const Moments rounded = moments_of(eight, 3), other = moments_of(half, 3);
    ck_assert(rounded.sd == 0 && other.sd == 0 && isnan(difference_welch(&rounded, &other).p));
    ck_assert(isnan(difference_paired(eight, half, 3).p));
    ck_assert_uint_eq(count_needed(0, 1), 0);
    ck_assert_uint_eq(count_needed(1, NAN), 0);
    ck_assert_uint_eq(count_needed(1e-9, 1), 0);
    ck_assert(isnan(mcnemar_p(0, 0)) && isnan(student_p(NAN, 3)) && isnan(student_t(0.5, 0)));
    ck_assert_double_eq(student_p(INFINITY, 3), 0);
    const double p[] = {0.01, NAN, 0.04, 0};
    double found[4];
    holm_correct(found, p, 4);
    ck_assert(found[0] == 0.02 && isnan(found[1]) && found[2] == 0.04 && found[3] == 0);
}

/* Two groups that differ by chance alone: p is below 0.05 in one of twenty. Of 2,000, that is 100 with a deviation of
 * 9.7; four deviations either way come by chance once in 16,000 seeds, and the seed is fixed. */
START_TEST(chance_alone_is_found_as_often_as_it_says)
{
    enum { TRIES = 2000, SEEDS = 5 };
    size_t welch = 0, paired = 0;
    for (uint32_t i = 0; i < TRIES; i++) {
        double a[SEEDS], b[SEEDS];
        for (uint32_t k = 0; k < SEEDS; k++) {
            a[k] = philox_normal(5, i, k, 1);
            b[k] = philox_normal(5, i, k, 2);
        }
        const Moments of_a = moments_of(a, SEEDS), of_b = moments_of(b, SEEDS);
        welch += difference_welch(&of_a, &of_b).p < 0.05 ? 1 : 0;
        paired += difference_paired(a, b, SEEDS).p < 0.05 ? 1 : 0;
    }
    ck_assert_msg(welch > 61 && welch < 139, "Welch: %zu of %d", welch, TRIES);
    ck_assert_msg(paired > 61 && paired < 139, "paired: %zu of %d", paired, TRIES);
}

static const Test tests[] = {
    TEST(what_scipy_says),
    TEST(where_nothing_varies_nothing_is_said),
    TEST(chance_alone_is_found_as_often_as_it_says),
};

int main(int argc, char **argv)
{
    return suite_run("research/statistics", tests, sizeof tests / sizeof *tests, argc, argv);
}
