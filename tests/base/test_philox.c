/* Philox against the known answers of its authors (Random123, kat_vectors), and the moments of what is made from it. */
#include "base/philox.h"
#include "tests/suite.h"

#include <math.h>

static void equals(Philox r, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    ck_assert_uint_eq(r.word[0], a);
    ck_assert_uint_eq(r.word[1], b);
    ck_assert_uint_eq(r.word[2], c);
    ck_assert_uint_eq(r.word[3], d);
}

START_TEST(known_answers_come_out)
{
    const uint32_t ones = 0xffffffffu;
    equals(philox(0, 0, 0, 0, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
    equals(philox(ones, ones, ones, ones, ones, ones), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
    equals(philox(0xa4093822, 0x299f31d0, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344), 0xd16cfe09, 0x94fdcceb,
           0x5001e420, 0x24126ea1);
}

START_TEST(numbers_stay_inside_their_interval)
{
    ck_assert(philox_float(0) >= 0);
    ck_assert(philox_float(0xffffffffu) < 1);
    ck_assert(philox_double(0, 0) > 0);
    ck_assert(philox_double(0xffffffffu, 0xffffffffu) < 1);
}

enum { DRAWS = 200000 };

/* Bounds are five standard errors of each moment. */
START_TEST(normal_values_have_the_moments_of_a_normal)
{
    double sum[5] = {0}, neighbours = 0, last = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        double x = philox_normal(7, 3, i, 11), power = 1;
        for (int k = 1; k < 5; k++)
            sum[k] += power *= x;
        neighbours += x * last; /* the two of one counter, too, are independent */
        last = x;
    }
    const double error = 5 / sqrt(DRAWS);
    ck_assert_double_eq_tol(sum[1] / DRAWS, 0, error);
    ck_assert_double_eq_tol(sum[2] / DRAWS, 1, error * sqrt(2));
    ck_assert_double_eq_tol(sum[3] / DRAWS, 0, error * sqrt(15));
    ck_assert_double_eq_tol(sum[4] / DRAWS, 3, error * sqrt(96));
    ck_assert_double_eq_tol(neighbours / DRAWS, 0, error);
}

START_TEST(uniform_values_have_the_moments_of_a_uniform)
{
    double sum = 0, squares = 0, neighbours = 0, last = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        double x = philox_uniform(7, 3, i, 11) - 0.5;
        sum += x;
        squares += x * x;
        neighbours += x * last;
        last = x;
    }
    const double error = 5 / sqrt(DRAWS);
    ck_assert_double_eq_tol(sum / DRAWS, 0, error * sqrt(1 / 12.0));
    ck_assert_double_eq_tol(squares / DRAWS, 1 / 12.0, error * sqrt(1 / 180.0));
    ck_assert_double_eq_tol(neighbours / DRAWS, 0, error / 12);
}

START_TEST(whole_numbers_below_n_are_equally_likely)
{
    int hits[7] = {0}; /* the last: not below n */
    for (uint64_t i = 0; i < DRAWS; i++) {
        uint64_t x = philox_below(6, 1, 2, i, 3);
        hits[x < 6 ? x : 6]++;
    }
    ck_assert_int_eq(hits[6], 0);
    for (int k = 0; k < 6; k++)
        ck_assert_double_eq_tol(hits[k], DRAWS / 6.0, 5 * sqrt(DRAWS * 5 / 36.0));
    ck_assert_uint_eq(philox_below(1, 1, 2, 3, 4), 0);
}

/* The 128-bit product against shifting and adding. */
START_TEST(large_ranges_are_scaled_exactly)
{
    const uint64_t n = 0xfedcba9876543211u;
    for (uint64_t i = 0; i < 100; i++) {
        Philox r = philox(5, 6, (uint32_t)(i / 2), 0, 0, 7);
        uint64_t x = (uint64_t)r.word[2 * (i % 2)] << 32 | r.word[2 * (i % 2) + 1], high = 0, low = 0;
        for (int k = 63; k >= 0; k--) {
            high = high << 1 | low >> 63;
            low <<= 1;
            if (x >> k & 1) {
                low += n;
                high += low < n;
            }
        }
        ck_assert_uint_eq(philox_below(n, 5, 6, i, 7), high);
    }
}

static const Test tests[] = {
    TEST(known_answers_come_out),
    TEST(numbers_stay_inside_their_interval),
    TEST(normal_values_have_the_moments_of_a_normal),
    TEST(uniform_values_have_the_moments_of_a_uniform),
    TEST(whole_numbers_below_n_are_equally_likely),
    TEST(large_ranges_are_scaled_exactly),
};

int main(int argc, char **argv) { return suite_run("base/philox", tests, sizeof tests / sizeof *tests, argc, argv); }
