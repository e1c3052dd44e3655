/* Lesson 11: what is graded. */
#include "course/11-language/exercise.h"
#include "course/frame/grade.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- 1. bits_per_byte */

static void counts_bits(Grade *g)
{
    enum { N = 5 };
    static const int32_t targets[N] = {3, -1, 0, 7, -1}, none[N] = {-1, -1, -1, -1, -1};
    float *losses = grade_input(g, "losses", N, 1);
    double sum = 0;
    for (size_t i = 0; i < N; i++) {
        losses[i] = fabsf(losses[i]) + 1;
        sum += targets[i] < 0 ? 0 : (double)losses[i];
    }
    grade_seal(g);
    double found = bits_per_byte(losses, targets, N), expected = sum / 3 / log(2);
    expect(g, fabs(found - expected) < 1e-6,
           fabs(found - sum / 3) < 1e-6            ? "these are nats: one bit is log 2 of them"
           : fabs(found - sum / 3 * log(2)) < 1e-6 ? "a nat is more than a bit: divide by log 2"
           : fabs(found - expected * 3 / N) < 1e-6 ? "divided by all n: those without a target do not count"
                                                   : "the mean over targets that are not below 0, divided by log 2",
           "%.6g bits, and should be %.6g", found, expected);
    found = bits_per_byte(losses, none, N);
    expect(g, found == 0, "0/0 is NaN", "without a target it is %g, and should be 0", found);
}

/* ---- 2. argmax */

static void expect_argmax(Grade *g, const float *rows, size_t n, size_t v, const int32_t *expected, const char *hint)
{
    float *logits = grade_input(g, "logits", n * v, 2);
    int32_t found[8] = {-9, -9, -9, -9, -9, -9, -9, -9};
    memcpy(logits, rows, n * v * sizeof *rows);
    grade_seal(g);
    mine_argmax(NULL, found, logits, n, v);
    for (size_t i = 0; i < n; i++)
        expect(g, found[i] == expected[i], found[i] == -9 ? "it was not written" : hint,
               "y[%zu] is %d and should be %d", i, (int)found[i], (int)expected[i]);
}

static void finds_largest(Grade *g)
{
    static const float rows[] = {1, 3, 2, 3, -5, -4, -6, -4, 0, -1, -2, -3};
    static const int32_t expected[] = {1, 1, 0};
    expect_argmax(g, rows, 3, 4, expected, "the first of the largest; all may be below 0");
    expect_argmax(g, rows, 3, 1, (const int32_t[]){0, 0, 0}, "of one class it is class 0");
}

static void finds_odd(Grade *g)
{
    static const float rows[] = {-INFINITY, -INFINITY, INFINITY,  INFINITY,  1,         NAN,
                                 2,         NAN,       -INFINITY, -INFINITY, -INFINITY, -INFINITY};
    static const int32_t expected[] = {2, 1, 0};
    expect_argmax(g, rows, 3, 4, expected, "NaN > x never holds: ask isnan. NaN is above all, of several the first");
}

/* ---- 3. choices */

static bool comes_before(const float *z, size_t a, size_t b) { return z[a] != z[b] ? z[a] > z[b] : a < b; }

static bool can_be_chosen(float z) { return !isnan(z) && !(isinf(z) && z < 0); }

static void chooses(Grade *g, float *z, size_t n, size_t v, size_t k, int32_t wanted)
{
    float *values = grade_output(g, "values", n * k), *one = grade_output(g, "one", n);
    int32_t which[64];
    double *value = grade_doubles(n * k), *bare = grade_doubles(n * k), *ones = grade_doubles(n);
    for (size_t i = 0; i < 64; i++)
        which[i] = -9;
    grade_seal(g);
    mine_choices(NULL, which, values, one, z, wanted, n, v, k);
    for (size_t i = 0; i < n; i++, z += v) {
        double sum = 0, largest = -INFINITY;
        for (size_t j = 0; j < v; j++)
            largest = can_be_chosen(z[j]) ? fmax(largest, fmin((double)z[j], (double)FLT_MAX)) : largest;
        for (size_t j = 0; j < v; j++)
            sum += can_be_chosen(z[j]) ? exp(fmin((double)z[j], (double)FLT_MAX) - largest) : 0;
        for (size_t m = 0; m < k; m++)
            value[i * k + m] = bare[i * k + m] = -INFINITY;
        for (size_t m = 0; m < k; m++) {
            int32_t expected = -1;
            for (size_t j = 0; j < v; j++) {
                size_t rank = 0;
                for (size_t l = 0; l < v; l++)
                    rank += can_be_chosen(z[l]) && comes_before(z, l, j);
                expected = can_be_chosen(z[j]) && rank == m ? (int32_t)j : expected;
            }
            expect(g, which[i * k + m] == expected,
                   "the likeliest first, of equal ones the first first; -1 where there are no more",
                   "which[%zu,%zu] is %d "
                   "and should be %d",
                   i, m, (int)which[i * k + m], (int)expected);
            if (expected >= 0) {
                value[i * k + m] = fmin((double)z[expected], (double)FLT_MAX) - largest - log(sum);
                bare[i * k + m] = (double)z[expected];
            }
        }
        ones[i] = can_be_chosen(z[wanted]) ? fmin((double)z[wanted], (double)FLT_MAX) - largest - log(sum) : -INFINITY;
        expect(g, isinf(ones[i]) ? isinf(one[i]) && one[i] < 0 : fabs((double)one[i] - ones[i]) < 1e-4,
               "one is the log softmax of the wanted class, chosen or not", "one[%zu] is %g and should be %g", i,
               (double)one[i], ones[i]);
        for (size_t m = 0; m < k; m++) {
            double found = (double)values[i * k + m], right = value[i * k + m];
            expect(g, isinf(right) ? isinf(found) && found < 0 : fabs(found - right) < 1e-4,
                   fabs(found - bare[i * k + m]) < 1e-4
                       ? "log softmax: less lse"
                       : "z - largest - log(sum of exp(z - largest)) over all v classes",
                   "values[%zu,%zu] is %g and should be %g", i, m, found, right);
        }
    }
}

static void chooses_some(Grade *g)
{
    float *z = grade_input(g, "logits", 3 * 9, 4);
    z[4] = z[2], z[9] = z[10] = z[11];
    chooses(g, z, 3, 9, 4, 5);
}

static void chooses_large(Grade *g)
{
    float *z = grade_input(g, "logits", 2 * 5, 5);
    for (size_t i = 0; i < 10; i++)
        z[i] = 400 * z[i] + 1000;
    chooses(g, z, 2, 5, 5, 0);
}

static void chooses_odd(Grade *g)
{
    static const float rows[3][4] = {
        {1, -INFINITY, NAN, 2}, {-INFINITY, NAN, -INFINITY, NAN}, {INFINITY, 3, INFINITY, -INFINITY}};
    float *z = grade_input(g, "logits", 12, 6);
    memcpy(z, rows, sizeof rows);
    chooses(g, z, 3, 4, 6, 3);
}

/* ---- 4. keep_likeliest */

static void keeps(Grade *g, const float *given, size_t v, size_t top_k, double top_p, const double *expected,
                  const double *uncrossed)
{
    float *shares = grade_output(g, "shares", v);
    double untouched[8], undivided[8];
    memcpy(shares, given, v * sizeof *given);
    for (size_t j = 0; j < v; j++) {
        untouched[j] = (double)given[j];
        undivided[j] = expected[j] > 0 ? (double)given[j] : 0;
    }
    keep_likeliest(shares, v, top_k, top_p);
    const Suspect suspects[] = {{untouched, "nothing was taken away"},
                                {undivided, "what stays is divided by its own sum"},
                                {uncrossed, "the one that crosses top_p stays: without it they do not make it up"},
                                {NULL, NULL}};
    expect_numbers(g, "shares", shares, expected, v, 0, 1e-5, suspects,
                   "the likeliest first: no more than top_k; of what these sum to, at least top_p");
}

static const float some[6] = {0.1f, 0.3f, 0.05f, 0.25f, 0.2f, 0.1f};

static void keeps_k(Grade *g)
{
    static const double three[6] = {0, 0.4, 0, 1 / 3.0, 0.8 / 3, 0},
                        four[6] = {2 / 17.0, 6 / 17.0, 0, 5 / 17.0, 4 / 17.0};
    static const double one[6] = {0, 1};
    keeps(g, some, 6, 3, 1, three, NULL);
    keeps(g, some, 6, 4, 1, four, NULL); /* of two equal ones the first */
    keeps(g, some, 6, 1, 1, one, NULL);
}

static void keeps_p(Grade *g)
{
    static const double two[6] = {0, 6 / 11.0, 0, 5 / 11.0}, one[6] = {0, 1}, three[6] = {0, 0.4, 0, 1 / 3.0, 0.8 / 3};
    static const double both[6] = {0, 0.4, 0, 1 / 3.0, 0.8 / 3, 0};
    double all[6];
    keeps(g, some, 6, 0, 0.5, two, one);
    keeps(g, some, 6, 0, 0.7, three, two);
    keeps(g, some, 6, 0, 0.001, one, NULL);
    keeps(g, some, 6, 3, 0.8, both, two); /* of 0.75 the first two have 0.55: less than 0.6 */
    for (size_t j = 0; j < 6; j++)
        all[j] = (double)some[j];
    keeps(g, some, 6, 0, 1, all, NULL);
    keeps(g, some, 6, 100, 1, all, NULL);
}

/* ---- 5. choose */

static size_t expected_choice(const float *z, size_t v, double temperature, double point)
{
    double sum = 0, largest = -INFINITY, so_far = 0;
    for (size_t j = 0; j < v; j++)
        largest = fmax(largest, (double)z[j]);
    for (size_t j = 0; j < v; j++)
        sum += exp(((double)z[j] - largest) / temperature);
    for (size_t j = 0; j < v; j++)
        if ((so_far += exp(((double)z[j] - largest) / temperature)) > point * sum)
            return j;
    return v - 1;
}

static void spins(Grade *g)
{
    enum { V = 7, POINTS = 23 };
    float *z = grade_input(g, "logits", V, 7);
    static const double temperatures[] = {1, 0.3, 3};
    for (size_t j = 0; j < V; j++)
        z[j] *= 3;
    grade_seal(g);
    for (size_t t = 0; t < 3; t++)
        for (size_t i = 0; i < POINTS; i++) {
            double point = (double)i / POINTS;
            size_t found = choose(z, V, temperatures[t], point), right = expected_choice(z, V, temperatures[t], point);
            expect(g, found == right,
                   t && found == expected_choice(z, V, 1, point)
                       ? "temperature divides logits, before the softmax"
                       : "the first j for which the sum of shares 0 .. j is above point",
                   "at temperature %g, point %.3f: %zu, and should be %zu", temperatures[t], point, found, right);
        }
}

static void spins_cold(Grade *g)
{
    float *z = grade_input(g, "logits", 5, 8);
    z[3] = 500, z[1] = 499;
    grade_seal(g);
    for (size_t i = 0; i < 4; i++) {
        double cold = i < 2 ? 0 : 0.001;
        size_t found = choose(z, 5, cold, (double)i / 4);
        expect(g, found == 3,
               cold > 0 ? "exp(500 / 0.001) is infinity: take the largest off first"
                        : "at 0 the largest, without dividing by 0",
               "at temperature %g: %zu, and should be 3", cold, found);
    }
}

/* ---- 6. caches */

static const int32_t lengths[] = {4, 0, 7};

static void expect_lengths(Grade *g, const int32_t *found, const int32_t *right, size_t n, const char *hint)
{
    for (size_t r = 0; r < n; r++)
        expect(g, found[r] == right[r], found[r] == -9 ? "it was not written" : hint,
               "number %zu is %d and should be %d", r, (int)found[r], (int)right[r]);
}

static void remembers_lengths(Grade *g)
{
    static const int32_t start[] = {2, 3, 3, 8}, right[] = {5, 0, 12};
    int32_t valid[3] = {-9, -9, -9};
    mine_cache_lengths(NULL, valid, lengths, start, 3);
    expect_lengths(g, valid, right, 3, "length[r] + start[r + 1] - start[r]");
}

static void remembers(Grade *g)
{
    enum { ROWS = 3, CAPACITY = 6, D = 3, STRIDE = 5, NEW = 5 };
    static const int32_t length[ROWS] = {1, 0, 4}, start[ROWS + 1] = {0, 3, 3, NEW};
    float *x = grade_input(g, "x", NEW * STRIDE, 9), *cache = grade_output(g, "cache", ROWS * CAPACITY * D);
    double expected[ROWS * CAPACITY * D], first[ROWS * CAPACITY * D], dense[ROWS * CAPACITY * D];
    for (size_t e = 0; e < ROWS * CAPACITY * D; e++)
        expected[e] = first[e] = dense[e] = 2, cache[e] = 2;
    for (size_t r = 0; r < ROWS; r++)
        for (size_t i = (size_t)start[r]; i < (size_t)start[r + 1]; i++)
            for (size_t j = 0; j < D; j++) {
                size_t at = r * CAPACITY + i - (size_t)start[r];
                first[at * D + j] = (double)x[i * STRIDE + j];
                at += (size_t)length[r];
                expected[at * D + j] = (double)x[i * STRIDE + j], dense[at * D + j] = (double)x[i * D + j];
            }
    mine_cache_append(NULL, cache, length, CAPACITY, (Strided){x, STRIDE}, start, ROWS, D);
    const Suspect suspects[] = {
        {first, "new positions go after the length[r] that are there"},
        {dense, "from one position of x to the next it is x.stride numbers, of which d are copied"},
        {NULL, NULL}};
    expect_numbers(g, "cache", cache, expected, ROWS * CAPACITY * D, D, 0, suspects,
                   "row r of the cache begins at r * capacity * d; nothing else of it is touched");
}

/* ---- */

static void mine(Kernels *k)
{
    k->argmax = mine_argmax;
    k->choices = mine_choices;
    k->cache_lengths = mine_cache_lengths;
    k->cache_append = mine_cache_append;
}

enum { MANY = 1024, WIDE = 256 };

static void time_argmax(Grade *g, const Kernels *k, Stream *s)
{
    static int32_t y[MANY];
    float *z = grade_input(g, "logits", MANY * WIDE, 1);
    while (grade_again(g))
        k->argmax(s, y, z, MANY, WIDE);
}

static void time_choices(Grade *g, const Kernels *k, Stream *s)
{
    static int32_t which[MANY];
    float *z = grade_input(g, "logits", MANY * WIDE, 1), *values = grade_output(g, "values", MANY);
    float *one = grade_output(g, "one", MANY);
    while (grade_again(g))
        k->choices(s, which, values, one, z, 0, MANY / 4, WIDE, 4);
}

static void time_append(Grade *g, const Kernels *k, Stream *s)
{
    enum { CAPACITY = 32, ROWS = MANY / CAPACITY };
    static int32_t length[ROWS], start[ROWS + 1];
    float *x = grade_input(g, "x", MANY * WIDE, 1), *cache = grade_output(g, "cache", MANY * WIDE);
    for (int32_t r = 0; r <= ROWS; r++)
        start[r] = r * CAPACITY;
    while (grade_again(g))
        k->cache_append(s, cache, length, CAPACITY, (Strided){x, WIDE}, start, ROWS, WIDE);
}

static void time_lengths(Grade *g, const Kernels *k, Stream *s)
{
    static int32_t length[MANY], start[MANY + 1], valid[MANY];
    while (grade_again(g))
        k->cache_lengths(s, valid, length, start, MANY);
}

int main(int argc, char **argv)
{
    static const Check checks[] = {
        {"bits_per_byte", "nats become bits, of those that count", 1, counts_bits, 0},
        {"argmax", "the first of the largest", 1, finds_largest, 0},
        {"argmax", "infinity and NaN", 1, finds_odd, 0},
        {"choices", "the likeliest, and their log softmax", 2, chooses_some, 0},
        {"choices", "large logits", 1, chooses_large, 0},
        {"choices", "what cannot be chosen", 1, chooses_odd, 0},
        {"keep_likeliest", "top-k", 1, keeps_k, 0},
        {"keep_likeliest", "top-p", 2, keeps_p, 0},
        {"choose", "shares, temperature, and a point", 2, spins, 0},
        {"choose", "temperature 0, and hardly more", 1, spins_cold, 0},
        {"cache_lengths", "lengths", 1, remembers_lengths, 0},
        {"cache_append", "new positions after those that are there", 2, remembers, 0},
    };
    static const Timed timed[] = {{"argmax", time_argmax},
                                  {"choices", time_choices},
                                  {"cache_lengths", time_lengths},
                                  {"cache_append", time_append}};
    const Lesson lesson = {"Lesson 11: a language model", checks, sizeof checks / sizeof *checks, mine, timed,
                           sizeof timed / sizeof *timed};
    return grade_main(&lesson, argc, argv);
}
