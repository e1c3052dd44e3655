/* Scaling laws: the fit is SciPy's (tests/fixtures/scaling.py), its intervals hold what runs were made with, and too few
 * runs are refused. */
#include "core/research/scaling.h"

#include "base/philox.h"
#include "tests/cases.h"
#include "tests/suite.h"

#include <math.h>

enum { MOST = 32 };

START_TEST(what_scipy_fits)
{
    static const char *const names[] = {"E", "A", "B", "alpha", "beta"};
    Cases cases = cases_open("scaling");
    Error e;
    for (size_t i = 0; i < cases.list->count; i++) {
        const Json *one = &cases.list->items[i];
        ScalingRun run[MOST];
        ScalingFit f;
        const size_t count = case_value(one, 0)->count;
        ck_assert_uint_le(count, MOST);
        for (size_t k = 0; k < count; k++)
            run[k] = (ScalingRun){case_value(one, 0)->items[k].number, case_value(one, 1)->items[k].number, 1,
                                  case_value(one, 2)->items[k].number};
        ck_done(scaling_fit(&f, run, count, &e), e);
        for (int k = 0; k < 5; k++) {
            const double wanted = case_value(one, 3)->items[k].number;
            ck_assert_msg(fabs(f.value[k] / wanted - 1) < 1e-4, "case %zu: %s is %.9g, not %.9g", i, names[k],
                          f.value[k], wanted);
        }
    }
    cases_close(&cases);
}

/* Runs of a law, with noise of this standard deviation on log L. */
static size_t runs_of(ScalingRun *run, double noise, uint32_t seed)
{
    size_t count = 0;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++, count++) {
            const double n = 1e4 * pow(3, i), d = 1e5 * pow(4, k);
            const double loss = 1.5 + 20 / pow(n, 0.35) + 60 / pow(d, 0.4);
            run[count] = (ScalingRun){n, d, 6 * n * d, loss * exp(noise * philox_normal(seed, 0, count, 0))};
        }
    return count;
}

START_TEST(intervals_hold_the_law)
{
    static const double law[] = {1.5, 20, 60, 0.35, 0.4, 0.4 / 0.75};
    enum { TRIES = 10 };
    size_t held = 0;
    for (uint32_t seed = 0; seed < TRIES; seed++) {
        ScalingRun run[MOST];
        ScalingFit f;
        Error e;
        const size_t count = runs_of(run, 0.002, seed);
        ck_done(scaling_fit(&f, run, count, &e), e);
        for (int k = 0; k < SCALING_NUMBERS; k++) {
            held += f.low[k] < law[k] && law[k] < f.high[k];
            ck_assert(f.low[k] <= f.high[k] && f.high[k] / f.low[k] < 50);
        }
        ck_assert_double_le(fabs(f.k / 6 - 1), 1e-12);
    }
    /* With 16 runs, resampled intervals of 95 % are somewhat too narrow. */
    ck_assert_msg(held >= 45, "%zu of %d", held, TRIES * SCALING_NUMBERS);
}

START_TEST(the_best_size_has_the_least_loss)
{
    ScalingRun run[MOST];
    ScalingFit f;
    Error e;
    ck_done(scaling_fit(&f, run, runs_of(run, 0, 1), &e), e);
    const double flop = 1e12, best = scaling_best(&f, flop);
    const double least = scaling_loss(&f, best, flop / f.k / best);
    for (double by = 0.5; by < 2; by += 0.7) {
        const double n = best * (by > 1 ? 1.1 : 0.9);
        ck_assert(scaling_loss(&f, n, flop / f.k / n) > least);
    }
    ck_assert_double_le(f.error, 1e-7);
}

START_TEST(too_few_runs_are_refused)
{
    static const size_t spread[] = {0, 1, 5, 6, 10, 8, 4}; /* three sizes, three amounts of data */
    ScalingRun run[MOST], few[7];
    ScalingFit f;
    Error e;
    const size_t count = runs_of(run, 0, 1);
    for (size_t i = 0; i < 7; i++)
        few[i] = run[spread[i]];
    ck_done(scaling_fit(&f, few, 7, &e), e);
    ck_assert(!scaling_fit(&f, few, 6, &e));
    ck_assert(!scaling_fit(&f, run, 8, &e)); /* of two sizes */
    for (size_t i = 0; i < count; i++)
        run[i].tokens = i % 2 ? 1e5 : 1e6;
    ck_assert(!scaling_fit(&f, run, count, &e));
}

static const Test tests[] = {
    TEST(what_scipy_fits),
    TEST(intervals_hold_the_law),
    TEST(the_best_size_has_the_least_loss),
    TEST(too_few_runs_are_refused),
};

int main(int argc, char **argv)
{
    return suite_run("research/scaling", tests, sizeof tests / sizeof *tests, argc, argv);
}
