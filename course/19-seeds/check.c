/* Lesson 19: what is graded. */
#include "course/19-seeds/exercise.h"
#include "course/frame/grade.h"

#include <math.h>
#include <string.h>

typedef struct Mistake {
    double value;
    const char *hint;
} Mistake;

static bool near(double a, double b) { return fabs(a - b) <= 1e-9 * fmax(1, fabs(b)); }

/* The hint is that of the mistake whose result was found. The last mistake has no hint. */
static void expect_number(Grade *g, const char *what, double found, double expected, const Mistake *mistakes,
                          const char *hint)
{
    for (; mistakes && mistakes->hint; mistakes++)
        if (near(found, mistakes->value))
            hint = mistakes->hint;
    expect(g, near(found, expected), hint, "%s: %.9g, and should be %.9g", what, found, expected);
}

static const double few[] = {2.5, 2.1, 2.9, 2.4}, others[] = {2.2, 1.7, 2.0, 2.6, 1.9, 2.3};

/* ---- 1. moments */

static void finds_moments(Grade *g)
{
    static const double far[] = {1e8 + 1, 1e8 + 2, 1e8 + 4};
    const Moments m = moments(few, 4), large = moments(far, 3);
    const Mistake mistakes[] = {
        {sqrt(0.3275 / 4),
         "the sum of squares is divided by n - 1: the mean is nearer to these numbers than the true one is"},
        {0.3275 / 3, "the root is missing: this is the variance"},
        {0, NULL}};
    expect_number(g, "the mean of 2.5, 2.1, 2.9 and 2.4", m.mean, 2.475, NULL, "their sum, divided by 4");
    expect_number(g, "their deviation", m.sd, sqrt(0.3275 / 3), mistakes, "squares of what is left without the mean");
    expect(g, fabs(large.sd - sqrt(14.0 / 6)) < 1e-6,
           "subtract the mean first, then square: mean of squares minus square of the mean has no digits left here",
           "the deviation of 100000001, 100000002 and 100000004: %g, and should be %g", large.sd, sqrt(14.0 / 6));
}

static void knows_nothing_of_one(Grade *g)
{
    const Moments m = moments(few, 1);
    expect_number(g, "the mean of 2.5 alone", m.mean, 2.5, NULL, NULL);
    expect(g, isnan(m.sd), "one number says nothing of how far others are from it: NaN",
           "the deviation of one number is %g, and should be NaN", m.sd);
}

/* ---- 2. welch */

static double squares(const double *x, size_t n, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sum;
}

static double mean(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

static void compares_groups(Grade *g, const double *a, size_t n, const double *b, size_t m)
{
    const double d = mean(a, n) - mean(b, m), of_a = squares(a, n, mean(a, n)), of_b = squares(b, m, mean(b, m));
    const double u = of_a / (double)(n - 1) / (double)n, v = of_b / (double)(m - 1) / (double)m;
    const double pooled = (of_a + of_b) / (double)(n + m - 2) * (1 / (double)n + 1 / (double)m);
    const Test found = welch(a, n, b, m);
    const Mistake signs[] = {{-d, "a - b, not b - a"}, {0, NULL}};
    const Mistake of_t[] = {
        {d / sqrt(pooled), "this supposes that both groups have the same deviation: each has its own, sd^2 / n"},
        {d / sqrt(u * (double)n + v * (double)m), "the error of a mean: sd^2 divided by how many numbers it is of"},
        {d / (u + v), "the root is missing"},
        {0, NULL}};
    const Mistake of_df[] = {{(double)(n + m - 2), "n + m - 2 is right where both groups have the same deviation"},
                             {0, NULL}};
    expect_number(g, "the difference", found.difference, d, signs, "the mean of a minus the mean of b");
    expect_number(g, "t", found.t, d / sqrt(u + v), of_t, "the difference divided by the root of u + v");
    expect_number(g, "the degrees of freedom", found.df,
                  (u + v) * (u + v) / (u * u / (double)(n - 1) + v * v / (double)(m - 1)), of_df,
                  "exercise.h has the formula");
}

static void finds_welch(Grade *g)
{
    static const double wide[] = {9, -4, 3, 20, 0};
    compares_groups(g, few, 4, others, 6);
    compares_groups(g, others, 6, wide, 5);
    compares_groups(g, wide, 2, few, 3);
}

/* ---- 3. paired */

static void finds_pairs(Grade *g)
{
    static const double a[] = {5.1, 3.3, 8.2, 6.0, 4.4}, b[] = {4.9, 3.2, 7.7, 5.9, 4.1};
    double d[5];
    for (size_t i = 0; i < 5; i++)
        d[i] = a[i] - b[i];
    const double of_a = squares(a, 5, mean(a, 5)) / 20, of_b = squares(b, 5, mean(b, 5)) / 20;
    const double t = mean(d, 5) / sqrt(squares(d, 5, mean(d, 5)) / 20);
    const Mistake mistakes[] = {
        {mean(d, 5) / sqrt(of_a + of_b), "this is the test of two groups: what both share is still in it"},
        {t / sqrt(5), "the error of a mean of n differences is their deviation over the root of n"},
        {-t, "a - b, not b - a"},
        {0, NULL}};
    const Test found = paired(a, b, 5);
    expect_number(g, "the difference", found.difference, mean(d, 5), NULL, "the mean of a[i] - b[i]");
    expect_number(g, "t", found.t, t, mistakes, "the moments of a[i] - b[i]");
    expect_number(g, "the degrees of freedom", found.df, 4, NULL, "n - 1: there are n differences");
}

/* ---- 4. permutation_p */

static void expect_p(Grade *g, const double *a, size_t n, const double *b, size_t m, double expected,
                     const Mistake *mistakes, const char *hint)
{
    expect_number(g, "p", permutation_p(a, n, b, m), expected, mistakes, hint);
}

static void deals_out(Grade *g)
{
    static const double low[] = {1, 2, 3}, high[] = {4, 5, 6}, mixed[] = {1, 6}, middle[] = {3, 4};
    const Mistake once[] = {
        {1.0 / 20, "the other direction counts, too: who knew beforehand which group would be ahead?"},
        {0, "the way that was found is one of the ways"},
        {0, NULL}};
    expect_p(g, low, 3, high, 3, 2.0 / 20, once,
             "3 of 6 numbers can be chosen in 20 ways, and 2 of them are as far apart");
    expect_p(g, mixed, 2, middle, 2, 1, NULL, "where the means are equal, every way is as far apart");
    expect_p(g, low, 1, high, 3, 1.0 / 4, NULL,
             "1 of 4 numbers can be chosen in 4 ways, and 1 is the farthest from the rest");
}

static void deals_out_unequal_groups(Grade *g)
{
    static const double a[] = {0.1, 0.2, 0.3}, b[] = {0.3, 0.4, 0.5, 0.6, 0.7};
    size_t ways = 0, larger = 0;
    double all[8], sum = 0;
    memcpy(all, a, sizeof a);
    memcpy(all + 3, b, sizeof b);
    for (size_t i = 0; i < 8; i++)
        sum += all[i];
    const double found = fabs(mean(a, 3) - mean(b, 5));
    for (size_t i = 0; i < 8; i++)
        for (size_t j = 0; j < i; j++)
            for (size_t k = 0; k < j; k++) {
                const double three = all[i] + all[j] + all[k];
                ways++;
                larger += fabs(three / 3 - (sum - three) / 5) >= found - 1e-12 ? 1 : 0;
            }
    expect_p(g, a, 3, b, 5, (double)larger / (double)ways, NULL,
             "groups stay as large as they are, and equal numbers are numbers of their own");
}

/* ---- 5. holm */

static void corrects(Grade *g)
{
    static const double p[] = {0.04, 0.01, 0.03, 0.5}, expected[] = {0.09, 0.04, 0.09, 0.5}, same[] = {0.02, 0.02, 0.9},
                        expected_same[] = {0.06, 0.06, 0.9}, large[] = {0.6, 0.7};
    double found[4];
    const Mistake first[] = {{0.16, "this is Bonferroni's, p times n for all: here the next one is times n - 1"},
                             {0.08, "none is below the corrected value of a smaller p: 0.03 becomes 0.09"},
                             {0.04, "three p are no smaller than 0.01 besides itself: each p is multiplied"},
                             {0, NULL}};
    holm(found, p, 4);
    expect_number(g, "0.01 of 0.04, 0.01, 0.03, 0.5", found[1], expected[1], NULL,
                  "the smallest times 4, in its place");
    expect_number(g, "0.04 of 0.04, 0.01, 0.03, 0.5", found[0], expected[0], first,
                  "the third smallest times 2, or what the second became");
    expect_number(g, "0.03 of 0.04, 0.01, 0.03, 0.5", found[2], expected[2], NULL, "the second smallest times 3");
    expect_number(g, "0.5 of 0.04, 0.01, 0.03, 0.5", found[3], expected[3], NULL, "the largest times 1");
    holm(found, same, 3);
    for (size_t i = 0; i < 3; i++)
        expect_number(g, "of 0.02, 0.02, 0.9", found[i], expected_same[i], NULL, "equal p get the same");
    holm(found, large, 2);
    for (size_t i = 0; i < 2; i++)
        expect_number(g, "of 0.6, 0.7", found[i], 1, NULL, "a probability is not above 1");
}

int main(int argc, char **argv)
{
    static const Check checks[] = {
        {"moments", "of four numbers, and of large ones", 2, finds_moments, 0},
        {"moments", "one number has no deviation", 1, knows_nothing_of_one, 0},
        {"welch", "groups of other sizes and deviations", 3, finds_welch, 0},
        {"paired", "five pairs", 2, finds_pairs, 0},
        {"permutation_p", "small groups, by hand", 2, deals_out, 0},
        {"permutation_p", "three numbers and five, two of them equal", 1, deals_out_unequal_groups, 0},
        {"holm", "four, equal ones and large ones", 3, corrects, 0},
    };
    const Lesson lesson = {"Lesson 19: is A better than B?", checks, sizeof checks / sizeof *checks, NULL, NULL, 0};
    return grade_main(&lesson, argc, argv);
}
