/* Lesson 15: what is graded. */
#include "course/15-reading/exercise.h"
#include "course/frame/grade.h"

#include <math.h>
#include <string.h>

/* maps w [count,n,n] whose rows sum to 1 */
static float *maps(Grade *g, size_t count, size_t n, unsigned seed)
{
    float *w = grade_input(g, "w", count * n * n, seed);
    for (size_t i = 0; i < count * n; i++) {
        float sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += w[i * n + j] = expf(2 * w[i * n + j]);
        for (size_t j = 0; j < n; j++)
            w[i * n + j] /= sum;
    }
    grade_seal(g);
    return w;
}

/* ---- 1. describe */

static void describes(Grade *g)
{
    enum { N = 6 };
    const float *w = maps(g, 1, N, 1);
    float *number = grade_output(g, "number", 3);
    double expected[3] = {0}, counted[3] = {0}, nats[3] = {0}, next[3] = {0};
    for (size_t i = 0; i < N; i++) {
        expected[0] += i ? (double)w[i * N + i - 1] / (N - 1) : 0;
        counted[0] += i ? (double)w[i * N + i - 1] / N : 0;
        next[0] += i ? (double)w[(i - 1) * N + i] / (N - 1) : 0;
        expected[1] += (double)w[i * N + i] / N;
        for (size_t j = 0; j < N; j++)
            expected[2] -= (double)w[i * N + j] * log2((double)w[i * N + j]) / N;
    }
    memcpy(nats, expected, sizeof nats), memcpy(counted + 1, expected + 1, 2 * sizeof *counted);
    memcpy(next + 1, expected + 1, 2 * sizeof *next);
    nats[2] *= log(2);
    describe(number, w, N);
    const Suspect suspects[] = {{counted, "the first word has none before it: number[0] is a mean over n - 1 words"},
                                {next, "row i is the word that looks: the one before it is column i - 1"},
                                {nats, "in bits: log2, not log"},
                                {NULL, NULL}};
    expect_numbers(g, "number", number, expected, 3, 0, 1e-5, suspects, "means over the rows, not sums");
}

static void describes_sharp(Grade *g)
{
    static const float rows[16] = {1, 0, 0, 0, 1, 0, 0, 0, 0, 0.5f, 0.5f, 0, 0, 0, 0, 1};
    static const double expected[3] = {0.5, 0.625, 0.25}, single[3] = {0, 1, 0};
    float *w = grade_input(g, "w", 16, 1), *number = grade_output(g, "number", 3), *one = grade_output(g, "number", 3);
    memcpy(w, rows, sizeof rows);
    grade_seal(g);
    describe(number, w, 4);
    expect(g, !isnan(number[2]), "0 log 0 is 0 times -infinity: leave weights of 0 out", "the entropy is NaN");
    expect_numbers(g, "number", number, expected, 3, 0, 1e-6, NULL, "means over the rows");
    describe(one, w, 1);
    expect_numbers(g, "number", one, single, 3, 0, 1e-6, NULL, "one word has none before it: number[0] is 0, not 0/0");
}

/* ---- 2. roll_out */

typedef struct Reading {
    bool backwards, bare,
        largest; /* mistakes: the first layer on the left; without I; the largest head, not the mean */
} Reading;

static double *rolled(const float *w, size_t layers, size_t heads, size_t n, Reading how)
{
    double *r = grade_doubles(n * n), *a = grade_doubles(n * n), *next = grade_doubles(n * n);
    for (size_t i = 0; i < n; i++)
        r[i * n + i] = 1;
    for (size_t l = 0; l < layers; l++) {
        for (size_t e = 0; e < n * n; e++) {
            double sum = 0, most = 0, one = e / n == e % n;
            for (size_t h = 0; h < heads; h++) {
                double now = (double)w[(l * heads + h) * n * n + e];
                sum += now / (double)heads, most = fmax(most, now);
            }
            a[e] = how.bare ? sum : ((how.largest ? most : sum) + one) / 2;
        }
        memset(next, 0, n * n * sizeof *next);
        for (size_t e = 0; e < n * n * n; e++) {
            size_t i = e / n / n, m = e / n % n, j = e % n;
            next[i * n + j] += how.backwards ? r[i * n + m] * a[m * n + j] : a[i * n + m] * r[m * n + j];
        }
        memcpy(r, next, n * n * sizeof *r);
    }
    return r;
}

static void rolls(Grade *g, size_t layers, size_t heads, size_t n)
{
    const float *w = maps(g, layers * heads, n, 2);
    float *r = grade_output(g, "r", n * n);
    const Suspect suspects[] = {
        {rolled(w, layers, heads, n, (Reading){.bare = true}), "half of each vector comes past attention: add I"},
        {rolled(w, layers, heads, n, (Reading){.largest = true}), "the mean over heads, not the largest"},
        {rolled(w, layers, heads, n, (Reading){.backwards = true}),
         "the last layer is on the left: each new one is multiplied from the left to what there is"},
        {NULL, NULL}};
    roll_out(r, w, layers, heads, n);
    expect_numbers(g, "r", r, rolled(w, layers, heads, n, (Reading){0}), n * n, n, 1e-5, suspects,
                   "rows of r sum to 1, as those of each A do");
}

static void rolls_one(Grade *g) { rolls(g, 1, 3, 4); }
static void rolls_three(Grade *g) { rolls(g, 3, 2, 5); }

/* ---- 3. leave_out */

/* A model to which order counts, and how many words there are */
static double weighs(const void *model, const int32_t *ids, size_t n)
{
    const double *weight = model;
    double score = (double)n;
    for (size_t i = 0; i < n; i++)
        score += weight[ids[i]] / (double)(i + 1);
    return score;
}

static void leaves_out(Grade *g)
{
    enum { N = 5 };
    static const double weight[] = {1, -2, 4, 8, 0.5};
    int32_t ids[N] = {3, 1, 4, 0, 2}, kept[N], rest[N];
    float *moved = grade_output(g, "moved", N), *single = grade_output(g, "moved", 1);
    double expected[N], turned[N], replaced[N];
    memcpy(kept, ids, sizeof ids);
    for (size_t left = 0; left < N; left++) {
        memcpy(rest, ids, left * sizeof *ids);
        memcpy(rest + left, ids + left + 1, (N - 1 - left) * sizeof *ids);
        expected[left] = weighs(weight, ids, N) - weighs(weight, rest, N - 1);
        turned[left] = -expected[left];
        memcpy(rest, ids, sizeof ids), rest[left] = 0;
        replaced[left] = weighs(weight, ids, N) - weighs(weight, rest, N);
    }
    leave_out(moved, weighs, weight, ids, N);
    expect(g, !memcmp(kept, ids, sizeof ids), "build each shorter text in memory of your own", "ids were changed");
    const Suspect suspects[] = {
        {turned, "the score with the word, less the score without it"},
        {replaced, "the text without the word is one word shorter: close the gap, and say n - 1"},
        {NULL, NULL}};
    expect_numbers(g, "moved", moved, expected, N, 0, 1e-5, suspects, "all words but one, in their order");
    expected[0] = weighs(weight, ids, 1) - weighs(weight, ids, 0);
    leave_out(single, weighs, weight, ids, 1);
    expect_numbers(g, "moved", single, expected, 1, 0, 1e-5, NULL, "a single word left out leaves a text of none");
}

/* ---- 4. cut_head */

static void cuts(Grade *g)
{
    enum { HEADS = 3, DV = 2, WIDE = HEADS * DV, SIZE = 6 };
    const float *before = grade_input(g, "out, before", SIZE * WIDE, 3);
    float *out = grade_output(g, "out", SIZE * WIDE);
    double expected[SIZE * WIDE], rows[SIZE * WIDE], strided[SIZE * WIDE];
    memcpy(out, before, SIZE * WIDE * sizeof *out);
    for (size_t e = 0; e < SIZE * WIDE; e++) {
        expected[e] = e % WIDE / DV == 1 ? 0 : (double)before[e];
        rows[e] = e / WIDE / DV == 1 ? 0 : (double)before[e];
        strided[e] = e % WIDE % HEADS == 1 ? 0 : (double)before[e];
    }
    cut_head(out, 1, HEADS, DV, SIZE);
    const Suspect suspects[] = {
        {rows, "these are rows: a row is one number of the result, to which all heads add; a head's are columns"},
        {strided, "a head's columns are side by side: head * dv .. head * dv + dv - 1"},
        {NULL, NULL}};
    expect_numbers(g, "out", out, expected, SIZE * WIDE, WIDE, 0, suspects, "dv columns in each of d rows");
}

/* ---- 5. cutting_order */

enum { HEADS = 6 };

/* Each head is worth something by itself. */
static double alone(const void *model, const bool *cut, size_t heads)
{
    const double *worth = model;
    double sum = 0;
    for (size_t h = 0; h < heads; h++)
        sum += cut[h] ? 0 : worth[h];
    return sum;
}

/* Heads 1 and 4 do the same: one of them is enough. */
static double doubled(const void *model, const bool *cut, size_t heads)
{
    const double *worth = model;
    double sum = cut[1] && cut[4] ? 0 : 10;
    for (size_t h = 0; h < heads; h++)
        sum += cut[h] || h == 1 || h == 4 ? 0 : worth[h];
    return sum;
}

static void expect_order(Grade *g, Quality quality, const double *worth, const size_t *expected, const char *hint)
{
    size_t order[HEADS];
    memset(order, 0x55, sizeof order);
    cutting_order(order, quality, worth, HEADS);
    for (size_t n = 0; n < HEADS; n++)
        expect(g, order[n] == expected[n], hint, "cut number %zu is head %zu, and should be head %zu", n, order[n],
               expected[n]);
}

static void orders(Grade *g)
{
    static const double worth[HEADS] = {3, 1, 4, 1.5, 5, 0.5}, same[HEADS] = {2, 2, 1, 2, 2, 1};
    static const size_t expected[HEADS] = {5, 1, 3, 0, 2, 4}, in_order[HEADS] = {2, 5, 0, 1, 3, 4};
    expect_order(g, alone, worth, expected, "the first to go is the one without which the quality is best");
    expect_order(g, alone, same, in_order, "of equal ones the smallest number");
}

static void orders_doubles(Grade *g)
{
    static const double worth[HEADS] = {3, 0, 1, 2, 0, 4};
    static const size_t expected[HEADS] = {1, 2, 3, 0, 5, 4};
    expect_order(g, doubled, worth, expected,
                 "heads 1 and 4 do the same: each can be cut, but not both. Ask again after each cut");
}

int main(int argc, char **argv)
{
    static const Check checks[] = {
        {"describe", "the word before, itself, entropy", 2, describes, 0},
        {"describe", "weights of 0, and a single word", 1, describes_sharp, 0},
        {"roll_out", "one layer: the mean over heads, and I", 1, rolls_one, 0},
        {"roll_out", "three layers, in their order", 2, rolls_three, 0},
        {"leave_out", "the score without each word", 2, leaves_out, 0},
        {"cut_head", "one head reaches nobody", 2, cuts, 0},
        {"cutting_order", "heads that work alone", 1, orders, 0},
        {"cutting_order", "two heads that do the same", 2, orders_doubles, 0},
    };
    const Lesson lesson = {"Lesson 15: reading heads", checks, sizeof checks / sizeof *checks, NULL, NULL, 0};
    return grade_main(&lesson, argc, argv);
}
