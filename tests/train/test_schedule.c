/* The learning rate: what the formulas of schedule.h say, at the steps where they bend. */
#include "core/train/schedule.h"
#include "tests/suite.h"

#include <math.h>

static const double tiny = 1e-15;

static double at(const Schedule *s, uint64_t step) { return schedule_rate(s, step, -1); }

#define ck_near(x, y) ck_assert_double_eq_tol(x, y, tiny)

START_TEST(constant_rises_in_a_line_and_stays)
{
    const Schedule s = {.kind = SCHEDULE_CONSTANT, .rate = 0.01, .warmup = 10, .decay_steps = 100};
    ck_near(at(&s, 1), 0.001);
    ck_near(at(&s, 9), 0.009);
    ck_near(at(&s, 10), 0.01);
    ck_near(at(&s, 11), 0.01);
    ck_near(at(&s, 100000), 0.01);
    ck_near(schedule_rate(&s, 5, 0.1), 0.005); /* time alone does not end it */
}

START_TEST(no_warmup_begins_at_the_rate)
{
    for (int kind = SCHEDULE_CONSTANT; kind <= SCHEDULE_COSINE; kind++) {
        const Schedule s = {.kind = (ScheduleKind)kind, .rate = 0.01};
        ck_near(at(&s, 1), 0.01);
        ck_near(at(&s, 1000), 0.01); /* decay_steps 0: constant */
    }
}

START_TEST(linear_falls_to_zero)
{
    const Schedule s = {.kind = SCHEDULE_LINEAR, .rate = 0.01, .warmup = 10, .decay_steps = 110};
    ck_near(at(&s, 5), 0.005);
    ck_near(at(&s, 10), 0.01);
    ck_near(at(&s, 60), 0.005);
    ck_near(at(&s, 109), 0.0001);
    ck_near(at(&s, 110), 0);
    ck_near(at(&s, 500), 0);
}

START_TEST(cosine_falls_to_a_tenth)
{
    const Schedule s = {.kind = SCHEDULE_COSINE, .rate = 0.01, .warmup = 10, .decay_steps = 110};
    ck_near(at(&s, 5), 0.005);
    ck_near(at(&s, 10), 0.01);
    ck_near(at(&s, 35), 0.001 + 0.009 * (1 + sqrt(0.5)) / 2);
    ck_near(at(&s, 60), 0.0055);
    ck_near(at(&s, 110), 0.001);
    ck_near(at(&s, 500), 0.001);
}

START_TEST(wsd_falls_in_its_last_fifth)
{
    const Schedule s = {.kind = SCHEDULE_WSD, .rate = 0.01, .warmup = 10, .decay_steps = 110};
    ck_near(at(&s, 5), 0.005);
    ck_near(at(&s, 10), 0.01);
    ck_near(at(&s, 90), 0.01);
    ck_near(at(&s, 100), 0.005);
    ck_near(at(&s, 110), 0);
    ck_near(at(&s, 500), 0);
    ck_near(schedule_rate(&s, 20, 0.9), 0.005);
}

START_TEST(what_falls_ends_at_the_part_that_is_given)
{
    Schedule s = {.kind = SCHEDULE_LINEAR, .rate = 0.01, .warmup = 10, .decay_steps = 110, .ends = true, .end = 0.25};
    ck_near(at(&s, 10), 0.01);
    ck_near(at(&s, 60), 0.00625);
    ck_near(at(&s, 110), 0.0025);
    ck_near(at(&s, 500), 0.0025);
    s.kind = SCHEDULE_WSD;
    ck_near(at(&s, 90), 0.01);
    ck_near(at(&s, 100), 0.00625);
    ck_near(at(&s, 110), 0.0025);
    s.kind = SCHEDULE_COSINE;
    ck_near(at(&s, 60), 0.00625);
    ck_near(at(&s, 110), 0.0025);
    s.end = 0;
    ck_near(at(&s, 60), 0.005);
    ck_near(at(&s, 110), 0);
    s.kind = SCHEDULE_CONSTANT, s.end = 0.25;
    ck_near(at(&s, 110), 0.01);
}

START_TEST(rsqrt_is_noam_with_its_peak_at_the_rate)
{
    const Schedule s = {.kind = SCHEDULE_RSQRT, .rate = 0.01, .warmup = 100}, none = {SCHEDULE_RSQRT, .rate = 0.01};
    ck_near(at(&s, 50), 0.005);
    ck_near(at(&s, 100), 0.01);
    ck_near(at(&s, 400), 0.005);
    ck_near(at(&none, 1), 0.01);
    ck_near(at(&none, 4), 0.005);
}

START_TEST(noam_peaks_at_the_end_of_its_warmup)
{
    const Schedule s = {.kind = SCHEDULE_NOAM, .rate = 1, .warmup = 4000, .dim = 512};
    ck_near(at(&s, 1), pow(512, -0.5) * pow(4000, -1.5));
    ck_near(at(&s, 4000), pow(512, -0.5) * pow(4000, -0.5)); /* 7.0e-4 in the paper */
    ck_near(at(&s, 16000), at(&s, 4000) / 2);
    ck_assert(at(&s, 3999) < at(&s, 4000) && at(&s, 4001) < at(&s, 4000));
    const Schedule half = {.kind = SCHEDULE_NOAM, .rate = 0.5, .dim = 512};
    ck_near(at(&half, 4), 0.25 * pow(512, -0.5)); /* no warmup */
}

START_TEST(a_run_limited_by_time_falls_with_the_part_that_is_done)
{
    Schedule s = {.kind = SCHEDULE_LINEAR, .rate = 0.01, .warmup = 10};
    ck_near(schedule_rate(&s, 5, 0.1), 0.005); /* still rising */
    ck_near(schedule_rate(&s, 10, 0), 0.01);
    ck_near(schedule_rate(&s, 10, 0.25), 0.0075);
    ck_near(schedule_rate(&s, 100000, 0.25), 0.0075);
    ck_near(schedule_rate(&s, 100, 1), 0);
    ck_near(schedule_rate(&s, 100, 1.5), 0);
    s.kind = SCHEDULE_COSINE;
    ck_near(schedule_rate(&s, 100, 0.5), 0.0055);
    ck_near(schedule_rate(&s, 100, 1), 0.001);
}

START_TEST(of_two_limits_it_falls_with_the_nearer_one)
{
    const Schedule s = {.kind = SCHEDULE_LINEAR, .rate = 0.01, .warmup = 10, .decay_steps = 110};
    ck_near(schedule_rate(&s, 5, 0.1), 0.005); /* still rising */
    ck_near(schedule_rate(&s, 10, 0.25), 0.0075);
    ck_near(schedule_rate(&s, 35, 0.25), 0.0075);
    ck_near(schedule_rate(&s, 60, 0.25), 0.005);
    ck_near(schedule_rate(&s, 60, 0.75), 0.0025);
    ck_near(schedule_rate(&s, 110, 0.25), 0); /* steps end it long before time does */
    ck_near(schedule_rate(&s, 20, 1), 0);
}

START_TEST(a_warmup_of_more_steps_than_there_is_time_for_ends_after_a_quarter_of_it)
{
    for (int kind = SCHEDULE_CONSTANT; kind <= SCHEDULE_NOAM; kind++) {
        const Schedule s = {.kind = (ScheduleKind)kind, .rate = 0.01, .warmup = 4000, .dim = 512};
        const double full = s.kind == SCHEDULE_NOAM ? 0.01 * pow(512, -0.5) * pow(4000, -0.5) : 0.01;
        ck_near(schedule_rate(&s, 1, 0), at(&s, 1));
        ck_near(schedule_rate(&s, 10, 0.125), full / 2); /* 80 steps in all, say */
        ck_near(schedule_rate(&s, 2000, 0.125), full / 2);
        ck_near(schedule_rate(&s, 2500, 0.125), at(&s, 2500)); /* there is time enough for all of its steps */
        ck_assert(schedule_rate(&s, 19, 0.24) < schedule_rate(&s, 20, 0.249));
    }
    Schedule s = {.kind = SCHEDULE_NOAM, .rate = 1, .warmup = 4000, .dim = 512};
    ck_near(schedule_rate(&s, 20, 0.25), at(&s, 4000));
    ck_near(schedule_rate(&s, 80, 1), at(&s, 16000));
    s.kind = SCHEDULE_LINEAR;
    s.decay_steps = 100000; /* as --steps sets it */
    ck_near(schedule_rate(&s, 40, 0.5), 0.5);
    ck_near(schedule_rate(&s, 80, 1), 0);
    s.decay_steps = 100; /* which ends in the warm-up: no step decays before 4000 are made */
    ck_near(schedule_rate(&s, 40, 0.5), 0.5);
}

START_TEST(a_decay_that_ends_in_the_warmup_is_over_after_it)
{
    const Schedule s = {.kind = SCHEDULE_LINEAR, .rate = 0.01, .warmup = 10, .decay_steps = 5};
    ck_near(at(&s, 5), 0.005);
    ck_near(at(&s, 9), 0.009);
    ck_near(at(&s, 10), 0);
    ck_near(at(&s, 11), 0);
    const Schedule none = {.kind = SCHEDULE_LINEAR, .rate = 0.01, .warmup = 10, .decay_steps = 10},
                   one = {.kind = SCHEDULE_LINEAR, .rate = 0.01, .warmup = 10, .decay_steps = 11};
    ck_near(at(&none, 10), 0);
    ck_near(at(&one, 10), 0.01);
    ck_near(at(&one, 11), 0);
}

static const Test tests[] = {TEST(constant_rises_in_a_line_and_stays),
                             TEST(no_warmup_begins_at_the_rate),
                             TEST(linear_falls_to_zero),
                             TEST(cosine_falls_to_a_tenth),
                             TEST(wsd_falls_in_its_last_fifth),
                             TEST(what_falls_ends_at_the_part_that_is_given),
                             TEST(rsqrt_is_noam_with_its_peak_at_the_rate),
                             TEST(noam_peaks_at_the_end_of_its_warmup),
                             TEST(a_run_limited_by_time_falls_with_the_part_that_is_done),
                             TEST(of_two_limits_it_falls_with_the_nearer_one),
                             TEST(a_warmup_of_more_steps_than_there_is_time_for_ends_after_a_quarter_of_it),
                             TEST(a_decay_that_ends_in_the_warmup_is_over_after_it)};

int main(int argc, char **argv) { return suite_run("train/schedule", tests, sizeof tests / sizeof *tests, argc, argv); }
