/* A ramp of the learning rate: what is read off losses whose shape is known, off noise, and when it is over. */
#include "core/research/ramp.h"

#include "base/philox.h"
#include "tests/suite.h"

#include <math.h>

/* Falls from 5 around a rate of 1e-4, most at 1e-3, is lowest at 1e-2 and rises again; `noise` on each step. */
static double loss_at(double rate, size_t step, double noise)
{
    const double x = log10(rate);
    return 5 - 2 / (1 + exp(-6 * (x + 3))) + (x > -2 ? (x + 2) * (x + 2) * 4 : 0) +
           noise * philox_normal(7, 0, step, 0);
}

static void run(Ramp *r, double noise)
{
    Error e;
    ck_done(ramp_open(r, RAMP_STEPS, &e), e);
    while (ramp_add(r, loss_at(ramp_rate(r), r->count, noise)))
        ;
}

START_TEST(the_rates_of_a_known_curve_are_found)
{
    for (int noisy = 0; noisy < 2; noisy++) {
        Ramp r;
        run(&r, noisy ? 0.05 : 0);
        ck_assert(r.step[0].rate == 1e-7 && r.exploded && r.count < r.steps);
        ck_assert(ramp_suggest(&r));
        ck_assert_msg(fabs(log10(r.steepest) + 3) < 0.15, "steepest at %g", r.steepest);
        ck_assert_msg(fabs(log10(r.lowest) + 2.05) < 0.25, "lowest at %g", r.lowest);
        ck_assert_msg(fabs(3 * r.suggestion / r.lowest - 1) < 1e-12, "suggested %g", r.suggestion);
        for (size_t i = 0; !noisy && i + 1 < r.count && r.step[i].rate < 1e-5; i++)
            ck_assert_double_le(fabs(r.step[i].smooth - r.step[i].loss), 1e-4);
        ramp_close(&r);
    }
}

START_TEST(of_a_straight_line_the_smoothed_loss_is_the_line)
{
    Ramp r;
    Error e;
    ck_done(ramp_open(&r, 100, &e), e);
    while (ramp_add(&r, 3 - 0.25 * log10(ramp_rate(&r))))
        ;
    ck_assert(!r.exploded && r.count == 100 && ramp_suggest(&r));
    ck_assert_double_le(fabs(r.step[99].rate / 10 - 1), 1e-12);
    for (size_t i = 0; i < r.count; i++) {
        ck_assert_double_le(fabs(r.step[i].slope + 0.25), 1e-12);
        ck_assert_double_le(fabs(r.step[i].smooth - r.step[i].loss), 1e-12);
    }
    ramp_close(&r);
}

START_TEST(noise_alone_has_no_rate)
{
    for (uint32_t seed = 0; seed < 200; seed++) {
        Ramp r;
        Error e;
        ck_done(ramp_open(&r, RAMP_STEPS, &e), e);
        while (ramp_add(&r, 3 + 0.3 * philox_normal(seed, 0, r.count, 0)))
            ;
        ck_assert_msg(!ramp_suggest(&r), "seed %u: found %g", seed, r.lowest);
        ramp_close(&r);
    }
}

START_TEST(a_ramp_is_over_where_the_loss_explodes)
{
    Ramp r;
    Error e;
    ck_done(ramp_open(&r, RAMP_STEPS, &e), e);
    for (int i = 0; i < 60; i++)
        ck_assert(ramp_add(&r, i == 30 ? 1000 : 3)); /* one batch may be unlike all others */
    for (int i = 0; i < 5; i++)
        ck_assert(ramp_add(&r, 4.6) == (i < 4));
    ck_assert(r.exploded && r.count == 65);
    ramp_close(&r);
}

START_TEST(a_loss_that_is_not_finite_ends_a_ramp_and_is_not_kept)
{
    Ramp r;
    Error e;
    ck_done(ramp_open(&r, RAMP_STEPS, &e), e);
    ck_assert(ramp_add(&r, 3) && !ramp_add(&r, NAN));
    ck_assert(r.exploded && r.count == 1 && !ramp_suggest(&r));
    ramp_close(&r);
}

static const Test tests[] = {
    TEST(the_rates_of_a_known_curve_are_found),
    TEST(of_a_straight_line_the_smoothed_loss_is_the_line),
    TEST(noise_alone_has_no_rate),
    TEST(a_ramp_is_over_where_the_loss_explodes),
    TEST(a_loss_that_is_not_finite_ends_a_ramp_and_is_not_kept),
};

int main(int argc, char **argv) { return suite_run("research/ramp", tests, sizeof tests / sizeof *tests, argc, argv); }
