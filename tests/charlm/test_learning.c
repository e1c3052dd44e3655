/* What charlm is for: it foretells text better than counting does.
 *
 * The rival is an n-gram model of order 2 over the same training text, each order smoothed towards the one below it:
 *
 *     p(c | ab) = (count(abc) + s2 p(c | b)) / (count(ab) + s2)      p(c | b) = (count(bc) + s1 p(c)) / (count(b) + s1)
 *
 * s1 and s2 are chosen on the last tenth of the training text, then all of it is counted. Both are scored on the test
 * part, which neither has seen. */
#include "base/memory.h"
#include "charlm/data.h"
#include "tests/charlm/command.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { V = 256, STRENGTHS = 9 };

typedef struct Counts {
    uint32_t three[V * V * V], two[V * V], one[V], all; /* n-grams */
    uint32_t behind_two[V * V], behind_one[V];          /* that go on */
} Counts;

static void count(Counts *c, Part text)
{
    const unsigned char *t = text.bytes;
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < text.size; i++) {
        c->one[t[i]]++;
        c->all++;
        if (i < 1)
            continue;
        c->two[t[i - 1] * V + t[i]]++;
        c->behind_one[t[i - 1]]++;
        if (i < 2)
            continue;
        c->three[(t[i - 2] * V + t[i - 1]) * V + t[i]]++;
        c->behind_two[t[i - 2] * V + t[i - 1]]++;
    }
}

/* Bits per byte of a text; its first byte has nothing before it and is not scored, as charlm does. */
static double bits(const Counts *c, Part text, double s1, double s2)
{
    const unsigned char *t = text.bytes;
    double sum = 0;
    for (size_t i = 1; i < text.size; i++) {
        double p = (c->one[t[i]] + 1.0 / V) / (c->all + 1.0);
        p = (c->two[t[i - 1] * V + t[i]] + s1 * p) / (c->behind_one[t[i - 1]] + s1);
        if (i > 1) {
            int before = t[i - 2] * V + t[i - 1];
            p = (c->three[before * V + t[i]] + s2 * p) / (c->behind_two[before] + s2);
        }
        sum -= log2(p);
    }
    return sum / (double)(text.size - 1);
}

/* The n-gram's best, with what was chosen on the training text. */
static double bits_of_counting(Part training, Part test)
{
    Counts *c = memory_get(1, sizeof *c);
    Part most = {training.bytes, training.size * 9 / 10};
    Part rest = {training.bytes + most.size, training.size - most.size};
    double least = INFINITY, best1 = 0, best2 = 0;
    count(c, most);
    for (int i = 0; i < STRENGTHS; i++)
        for (int j = 0; j < STRENGTHS; j++) {
            double s1 = exp2(i), s2 = exp2(j), now = bits(c, rest, s1, s2);
            if (now < least)
                least = now, best1 = s1, best2 = s2;
        }
    count(c, training);
    double found = bits(c, test, best1, best2);
    memory_free(c);
    return found;
}

START_TEST(counting_is_counted_right)
{
    static const unsigned char text[] = "abcabd";
    Counts *c = memory_get(1, sizeof *c);
    count(c, (Part){text, 6});
    ck_assert(c->all == 6 && c->one['a'] == 2 && c->two['a' * V + 'b'] == 2 && c->behind_two['a' * V + 'b'] == 2);
    double of_b = (2 + 1.0 / V) / 7, of_c = (1 + 1.0 / V) / 7;
    double b = (2 + 3 * of_b) / (2 + 3), one = (1 + 3 * of_c) / (2 + 3), two = (1 + 5 * one) / (2 + 5);
    ck_assert_double_eq_tol(bits(c, (Part){text, 2}, 3, 5), -log2(b), 1e-12);
    ck_assert_double_eq_tol(bits(c, (Part){text, 3}, 3, 5), -(log2(b) + log2(two)) / 2, 1e-12);
    memory_free(c);
}
END_TEST

/* The preset for one minute, with a number of steps instead of the minute, so that it does not depend on the machine.
 */
START_TEST(a_minute_of_learning_beats_counting)
{
    Text text;
    Error e;
    const char *run = fresh_path("run");
    if (getenv("FAST")) {
        test_skip("a_minute_of_learning_beats_counting", "FAST is set, and this trains 2000 steps");
        return;
    }
    ck_done(text_open(&text, NULL, &e), e);
    double counted = bits_of_counting(text_part(&text, SPLIT_TRAIN), text_part(&text, SPLIT_TEST));
    Said train = must("train --run %s --preset minute --minutes 0 --steps 2000 -q", run);
    Said eval = must("eval --run %s --split test --json", run);
    Json *j = said_json(&eval);
    double learnt = json_real(j, "bits_per_byte");
    ck_assert_msg(counted > 2 && counted < 3, "%.4f bits/byte by counting", counted);
    ck_assert_msg(learnt < counted, "%.4f bits/byte learnt, %.4f by counting", learnt, counted);
    json_free(j);
    said_free(&train);
    said_free(&eval);
    text_close(&text);
}
END_TEST

static const Test tests[] = {TEST(counting_is_counted_right), TEST_SLOW(a_minute_of_learning_beats_counting, 300)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("charlm/learning", tests, sizeof tests / sizeof *tests, argc, argv);
}
