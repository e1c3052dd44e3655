/* Lesson 14: what is graded. */
#include "course/14-translating/exercise.h"
#include "course/frame/grade.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { NEVER = -77 };

static void expect_ids(Grade *g, const char *name, const int32_t *found, const int32_t *expected, size_t n,
                       const char *hint)
{
    for (size_t i = 0; i < n; i++)
        expect(g, found[i] == expected[i], found[i] == NEVER ? "it was not written" : hint, "%s[%zu] is %d, not %d",
               name, i, (int)found[i], (int)expected[i]);
    expect(g, found[n] == NEVER, "write no more than was asked for", "%s[%zu] was written", name, n);
}

/* ---- 1. the cache */

enum { ROWS = 4, CAPACITY = 6, D = 3, N = 7 };

static const int32_t length[ROWS] = {2, 0, 5, 3}, start[ROWS + 1] = {0, 3, 4, 4, 7};

static void counts_lengths(Grade *g)
{
    static const int32_t sums[ROWS] = {5, 1, 5, 6};
    int32_t valid[ROWS + 1] = {NEVER, NEVER, NEVER, NEVER, NEVER};
    mine_cache_lengths(NULL, valid, length, start, ROWS);
    expect_ids(g, "valid", valid, sums, ROWS, "what the row holds, and how many vectors of this call it gets");
}

static void appends(Grade *g, size_t stride)
{
    enum { SIZE = ROWS * CAPACITY * D };
    float *cache = grade_output(g, "cache", SIZE), *x = grade_input(g, "x", N * stride, 1);
    double expected[SIZE], over[SIZE], through[SIZE];
    for (size_t i = 0; i < SIZE; i++)
        expected[i] = over[i] = through[i] = cache[i] = (float)i / 10;
    for (size_t r = 0; r < ROWS; r++)
        for (size_t i = (size_t)start[r]; i < (size_t)start[r + 1]; i++)
            for (size_t j = 0; j < D; j++) {
                size_t nth = i - (size_t)start[r], held = (size_t)length[r];
                expected[(r * CAPACITY + held + nth) * D + j] = (double)x[i * stride + j];
                over[(r * CAPACITY + nth) * D + j] = (double)x[i * stride + j];
                if ((r * CAPACITY + held + i) * D + j < SIZE)
                    through[(r * CAPACITY + held + i) * D + j] = (double)x[i * stride + j];
            }
    mine_cache_append(NULL, cache, length, CAPACITY, (Strided){x, stride}, start, ROWS, D);
    const Suspect suspects[] = {{over, "after what the row holds, not over it: vector length[r] is the first free one"},
                                {through, "the first vector of a row is start[r] in x, and 0 in the row"},
                                {NULL, NULL}};
    expect_numbers(g, "cache", cache, expected, SIZE, D, 0, suspects,
                   "row r begins at r * capacity vectors; x's vectors go after the length[r] that it holds, and "
                   "nothing else changes");
}

static void appends_rows(Grade *g)
{
    appends(g, D);
    appends(g, D + 2);
}

/* ---- 2. choices */

typedef struct Chosen {
    int32_t which[64];
    double values[64], one[16];
} Chosen;

static double countable(float z) { return isnan(z) ? -(double)INFINITY : fmin((double)z, (double)FLT_MAX); }

static Chosen choose(const float *z, int32_t wanted, size_t n, size_t v, size_t k)
{
    Chosen c = {{0}, {0}, {0}};
    for (size_t i = 0; i < n; i++, z += v) {
        double largest = -(double)INFINITY, sum = 0;
        bool taken[64] = {false};
        for (size_t j = 0; j < v; j++)
            largest = fmax(largest, countable(z[j]));
        for (size_t j = 0; j < v && isfinite(largest); j++)
            sum += exp(countable(z[j]) - largest);
        for (size_t m = 0; m < k; m++) {
            int32_t best = -1;
            for (size_t j = 0; j < v; j++)
                if (!taken[j] && countable(z[j]) > (best < 0 ? -(double)INFINITY : countable(z[best])))
                    best = (int32_t)j;
            c.which[i * k + m] = best;
            c.values[i * k + m] = best < 0 ? -(double)INFINITY : countable(z[best]) - largest - log(sum);
            if (best >= 0)
                taken[best] = true;
        }
        double z_one = countable(z[wanted]);
        c.one[i] = z_one > -(double)INFINITY ? z_one - largest - log(sum) : -(double)INFINITY;
    }
    return c;
}

/* Numbers that may be -infinity, which must be where they should */
static void expect_logs(Grade *g, const char *name, float *found, double *expected, size_t n, size_t columns,
                        const Suspect *suspects, const char *hint)
{
    for (size_t i = 0; i < n; i++)
        if (isinf(expected[i])) {
            expect(g, isinf(found[i]) && found[i] < 0,
                   "what cannot be chosen has probability 0, and -infinity for its logarithm", "%s[%zu] is %g", name, i,
                   (double)found[i]);
            found[i] = 0, expected[i] = 0;
        }
    expect_numbers(g, name, found, expected, n, columns, 1e-5, suspects, hint);
}

static bool has_nan(const float *z, size_t v)
{
    bool found = false;
    for (size_t j = 0; j < v; j++)
        found = found || isnan(z[j]);
    return found;
}

static void chooses(Grade *g, const float *given, size_t n, size_t v, size_t k, int32_t wanted, const char *hint)
{
    float *z = grade_input(g, "logits", n * v, 1), *values = grade_output(g, "values", n * k);
    float *one = grade_output(g, "one", n);
    int32_t which[65];
    double raw[64] = {0};
    for (size_t i = 0; i < 65; i++)
        which[i] = NEVER;
    for (size_t i = 0; given && i < n * v; i++)
        z[i] = given[i];
    for (size_t i = 0; !given && i < n * v; i++)
        z[i] *= 5;
    grade_seal(g);
    Chosen c = choose(z, wanted, n, v, k);
    for (size_t i = 0; i < n * k; i++)
        raw[i] = c.which[i] < 0 ? 0 : (double)z[i / k * v + (size_t)c.which[i]];
    mine_choices(NULL, which, values, one, z, wanted, n, v, k);
    expect_ids(g, "which", which, c.which, n * k, hint);
    const Suspect suspects[] = {{raw, "log softmax: from each logit, log of the sum of exp of all is taken off"},
                                {NULL, NULL}};
    for (size_t i = 0; i < n * k; i++)
        expect(g, !isnan(values[i]),
               has_nan(z + i / k * v, v) ? "NaN has no share: leave it out of the largest, and of the sum"
                                         : "take the largest off before exp, or it overflows",
               "values[%zu] is NaN", i);
    expect_logs(g, "values", values, c.values, n * k, k, suspects,
                "logit - largest - log(sum of exp(logit - largest))");
    expect_logs(g, "one", one, c.one, n, 1, NULL, "the log softmax of the class `wanted`, whether it is chosen or not");
}

static const char *const in_order = "the likeliest first, each class once";

static void chooses_best(Grade *g)
{
    chooses(g, NULL, 5, 9, 1, 2, in_order);
    chooses(g, NULL, 5, 9, 4, 0, in_order);
    chooses(g, NULL, 2, 7, 7, 6, in_order);
}

static void chooses_equal(Grade *g)
{
    static const float alike[] = {1, 3, 3, 0, 3, 1, -2, -2, -2, -2, -2, -2};
    chooses(g, alike, 2, 6, 5, 3, "of equal ones the first comes first, and each once");
    chooses(g, alike, 2, 6, 6, 5, "of equal ones the first comes first, and each once");
}

static void chooses_odd(Grade *g)
{
    static const char *const infinite = "NaN and -infinity cannot be chosen, infinity can, and is equal to FLT_MAX; "
                                        "where nothing is left, -1";
    static const float large[] = {3000, 2999, -3000, 88, 89, 90, -5000, -5001, -5002};
    static const float odd[] = {NAN,      1, -INFINITY, 2,         NAN,     NAN,      NAN, -INFINITY,
                                INFINITY, 7, INFINITY,  -INFINITY, FLT_MAX, INFINITY, 1,   FLT_MAX};
    chooses(g, large, 3, 3, 2, 2, in_order);
    chooses(g, odd, 4, 4, 4, 3, infinite);
    chooses(g, odd, 4, 4, 2, 2, infinite);
    chooses(g, NULL, 2, 3, 5, 1, "k may be larger than there are classes: where nothing is left, -1");
}

/* ---- 3. hypothesis_score */

static void scores(Grade *g)
{
    static const struct {
        double log_p;
        size_t n;
        double alpha;
    } asked[] = {{-3, 1, 0.6}, {-3, 7, 0}, {-3, 7, 0.6}, {-5, 12, 1}, {-0.5, 30, 2}};
    enum { ASKED = sizeof asked / sizeof *asked };
    float found[ASKED];
    double expected[ASKED], times[ASKED], plain[ASKED];
    for (size_t i = 0; i < ASKED; i++) {
        double penalty = pow((5 + (double)asked[i].n) / 6, asked[i].alpha);
        found[i] = (float)hypothesis_score(asked[i].log_p, asked[i].n, asked[i].alpha);
        expected[i] = asked[i].log_p / penalty;
        times[i] = asked[i].log_p * penalty;
        plain[i] = asked[i].log_p / pow((double)asked[i].n, asked[i].alpha);
    }
    const Suspect suspects[] = {{times, "divided by lp: log p is below 0, and a long hypothesis must come nearer to 0"},
                                {plain, "lp(n) is ((5 + n) / 6)^alpha, not n^alpha"},
                                {NULL, NULL}};
    expect_numbers(g, "hypothesis_score", found, expected, ASKED, 0, 1e-6, suspects, "log_p / ((5 + n) / 6)^alpha");
}

/* ---- 4. beam_step */

enum { MOST = 8 };

/* The likeliest of all that is not taken yet, as the header orders them */
static void best_of(size_t *parent, int32_t *token, double *sum, bool *taken, const double *log_p,
                    const double *log_next, size_t live, size_t v)
{
    size_t best = SIZE_MAX;
    for (size_t t = 0; t < v; t++)
        for (size_t p = 0; p < live; p++) {
            size_t at = p * v + t;
            if (!taken[at] && (best == SIZE_MAX || log_p[p] + log_next[at] > log_p[best / v] + log_next[best]))
                best = at;
        }
    taken[best] = true;
    *parent = best / v, *token = (int32_t)(best % v), *sum = log_p[best / v] + log_next[best];
}

static void steps(Grade *g, const double *log_p, const double *log_next, size_t live, size_t v, size_t beam,
                  const char *hint)
{
    size_t parent[MOST + 1], own_parent[MOST], each = beam / (live ? live : 1);
    int32_t token[MOST + 1];
    double sum[MOST + 1];
    bool taken[64] = {false};
    for (size_t i = 0; i <= MOST; i++)
        parent[i] = 777, token[i] = NEVER, sum[i] = 7;
    size_t count = beam_step(parent, token, sum, log_p, log_next, live, v, beam);
    size_t expected = beam < live * v ? beam : live * v, per_parent = 0;
    expect(g, count == expected, "as many as the beam has, and all where there are fewer", "it returns %zu, not %zu",
           count, expected);
    expect(g, parent[count] == 777 && token[count] == NEVER, "write no more than the beam has",
           "continuation %zu was written", count);
    for (size_t i = 0; i < count; i++)
        for (size_t o = per_parent = 0; o < count; o++)
            per_parent += parent[o] == parent[i];
    for (size_t i = 0; i < count; i++) {
        int32_t right_token;
        double right;
        best_of(&own_parent[i], &right_token, &right, taken, log_p, log_next, live, v);
        bool wrong = parent[i] != own_parent[i] || token[i] != right_token;
        const char *why = hint;
        if (wrong && parent[i] < live && token[i] >= 0 && (size_t)token[i] < v &&
            log_p[parent[i]] + log_next[parent[i] * v + (size_t)token[i]] < right - 1e-12)
            why = live > 1 && each && per_parent == each
                      ? "not the best of each hypothesis, but the best of all together: a weak one may have no child"
                      : "what counts is the sum: log p of the hypothesis and of the class after it";
        expect(g, !wrong, parent[i] == 777 ? "it was not written" : why,
               "continuation %zu is class %d after hypothesis %zu, not %d after %zu", i, (int)token[i], parent[i],
               (int)right_token, own_parent[i]);
        expect(g, fabs(sum[i] - right) < 1e-12, "the hypothesis' log p and that of the class, added",
               "sum[%zu] is %g, "
               "not %g",
               i, sum[i], right);
    }
}

static void steps_one(Grade *g)
{
    static const double none[] = {0}, next[] = {-1.5, -0.4, -3, -2.25, -2.2};
    steps(g, none, next, 1, 5, 3, "the likeliest first");
    steps(g, none, next, 1, 5, 5, "the likeliest first");
    steps(g, none, next, 1, 5, 8, "all of them, where the beam is larger");
}

static void steps_many(Grade *g)
{
    static const double log_p[] = {-0.1, -4, -1}, next[] = {-1, -1.1, -1.2, -3, -0.1, -6, -7, -8, -2, -0.3, -2.5, -5};
    steps(g, log_p, next, 3, 4, 3, "the likeliest of all continuations first");
    steps(g, log_p, next, 3, 4, 6, "the likeliest of all continuations first");
    steps(g, log_p, next, 3, 4, 1, "beam 1 is greedy search");
    static const double even[] = {-1, -1}, ties[] = {-2, -1, -1, -1, -2, -1};
    steps(g, even, ties, 2, 3, 4, "of equal ones the smaller token first, then the smaller parent");
}

/* ---- 5. matches */

static void matched(Grade *g, const char *found, const char *reference, size_t n, size_t expected, const char *hint)
{
    int32_t a[32], b[32];
    size_t size = strlen(found), reference_size = strlen(reference);
    for (size_t i = 0; i < 32; i++) {
        a[i] = i < size ? found[i] : 1000; /* the same after both ends: a read beyond them shows */
        b[i] = i < reference_size ? reference[i] : 1000;
    }
    size_t count = matches(a, size, b, reference_size, n);
    expect(g, count == expected, hint, "of \"%s\", %zu n-grams of %zu are in \"%s\", not %zu", found, count, n,
           reference, expected);
}

static void matches_once(Grade *g)
{
    matched(g, "abcd", "dxab", 1, 3, "each token that is in the reference, wherever it is");
    matched(g, "abcabd", "xabdab", 2, 3, "pairs of neighbours that the reference has, too");
    matched(g, "abcd", "abcd", 4, 1, "a text of four tokens has one 4-gram");
    matched(g, "abc", "abcd", 4, 0, "a text that is shorter than n has no n-gram");
    matched(g, "", "abcd", 1, 0, "an empty text has none");
    matched(g, "ab", "", 1, 0, "an empty reference has none");
    matched(g, "ab", "a", 2, 0, "no n-gram goes beyond the end of the text");
}

static void matches_clipped(Grade *g)
{
    static const char *const hint = "no n-gram counts more often than the reference has it: \"the the the\" is no "
                                    "translation of every sentence with a \"the\"";
    matched(g, "aaaaaaa", "abcade", 1, 2, hint);
    matched(g, "ababab", "xabyab", 2, 2, hint);
    matched(g, "aaaa", "aaa", 2, 2, hint);
    matched(g, "aab", "aaaab", 1, 3, "and not more often than the translation has it, either");
}

/* ---- 6. bleu */

static void scores_bleu(Grade *g, const size_t correct[4], const size_t total[4], size_t found, size_t reference,
                        bool zero)
{
    double sum = 0, mean = 0, brevity = found < reference ? exp(1 - (double)reference / (double)found) : 1;
    for (size_t n = 0; n < 4; n++) {
        sum += zero ? 0 : log((double)correct[n] / (double)total[n]) / 4;
        mean += 25.0 * (double)correct[n] / (double)total[n];
    }
    double expected = zero ? 0 : 100 * brevity * exp(sum), unbrief = 100 * exp(sum), score;
    double ratio = 100 * exp(sum) * fmin(1, (double)found / (double)reference);
    float y = (float)(score = bleu(correct, total, found, reference));
    const Suspect suspects[] = {
        {&unbrief, "what is too short has few n-grams that could be wrong: times exp(1 - reference / found)"},
        {&mean, "the geometric mean of the four: exp of the mean of their logarithms"},
        {&ratio, "the penalty is exp(1 - reference / found), not the quotient"},
        {NULL, NULL}};
    expect(g, isfinite(score), "log(0): where one order has nothing correct, BLEU is 0", "it is %g", score);
    expect_numbers(g, "bleu", &y, &expected, 1, 0, 1e-6, zero ? NULL : suspects,
                   zero ? "where one order has nothing correct, BLEU is 0"
                        : "100 * penalty * exp(mean of log(correct / total)); the penalty is 1 where found is not "
                          "shorter than reference");
}

static void of_counts(Grade *g)
{
    scores_bleu(g, (const size_t[]){9, 6, 4, 2}, (const size_t[]){10, 9, 8, 7}, 10, 10, false);
    scores_bleu(g, (const size_t[]){9, 6, 4, 2}, (const size_t[]){10, 9, 8, 7}, 10, 8, false);
    scores_bleu(g, (const size_t[]){9, 6, 4, 2}, (const size_t[]){10, 9, 8, 7}, 10, 13, false);
    scores_bleu(g, (const size_t[]){10, 9, 8, 7}, (const size_t[]){10, 9, 8, 7}, 10, 10, false);
}

static void of_nothing(Grade *g)
{
    scores_bleu(g, (const size_t[]){9, 6, 4, 1}, (const size_t[]){10, 9, 8, 7}, 10, 10, false);
    scores_bleu(g, (const size_t[]){9, 6, 4, 0}, (const size_t[]){10, 9, 8, 7}, 10, 10, true);
    scores_bleu(g, (const size_t[]){0, 0, 0, 0}, (const size_t[]){0, 0, 0, 0}, 0, 10, true);
}

/* ---- 7. average_checkpoints */

static void averages(Grade *g)
{
    enum { COUNT = 3, SIZE = 7 };
    static const char *const names[COUNT] = {"checkpoint[0]", "checkpoint[1]", "checkpoint[2]"};
    const float *checkpoint[COUNT];
    float *mean = grade_output(g, "mean", SIZE);
    double expected[SIZE] = {0}, sum[SIZE], last[SIZE];
    for (unsigned c = 0; c < COUNT; c++) {
        checkpoint[c] = grade_input(g, names[c], SIZE, c + 1);
        for (size_t i = 0; i < SIZE; i++)
            expected[i] += (double)checkpoint[c][i] / COUNT, last[i] = (double)checkpoint[c][i];
    }
    for (size_t i = 0; i < SIZE; i++)
        sum[i] = COUNT * expected[i];
    average_checkpoints(mean, checkpoint, COUNT, SIZE);
    const Suspect suspects[] = {
        {sum, "divided by how many there are"}, {last, "all of them, not the last"}, {NULL, NULL}};
    expect_numbers(g, "mean", mean, expected, SIZE, 0, 1e-6, suspects, "number by number");
}

static void mine(Kernels *k)
{
    k->cache_lengths = mine_cache_lengths, k->cache_append = mine_cache_append;
    k->choices = mine_choices;
}

/* ---- speed */

enum { MANY = 4096, WIDE = 64, LONG = 32 };

static void time_lengths(Grade *g, const Kernels *k, Stream *s)
{
    static int32_t held[64 * MANY], begins[64 * MANY + 1], valid[64 * MANY];
    for (int32_t i = 0; i < 64 * MANY; i++)
        held[i] = i % LONG, begins[i + 1] = i + 1;
    while (grade_again(g))
        k->cache_lengths(s, valid, held, begins, 64 * MANY);
}

static void time_append(Grade *g, const Kernels *k, Stream *s)
{
    static int32_t held[MANY], begins[MANY + 1];
    float *cache = grade_output(g, "cache", (size_t)MANY * 4 * WIDE), *x = grade_input(g, "x", MANY * WIDE, 1);
    for (int32_t i = 0; i < MANY; i++)
        held[i] = i % 4, begins[i + 1] = i + 1;
    while (grade_again(g))
        k->cache_append(s, cache, held, 4, (Strided){x, WIDE}, begins, MANY, WIDE);
}

static void time_choices(Grade *g, const Kernels *k, Stream *s)
{
    enum { LIVE = 8, V = 2000, BEAM = 4 };
    float *z = grade_input(g, "logits", LIVE * V, 1), *values = grade_output(g, "values", LIVE * BEAM);
    float *one = grade_output(g, "one", LIVE);
    int32_t which[LIVE * BEAM];
    while (grade_again(g))
        k->choices(s, which, values, one, z, 1, LIVE, V, BEAM);
}

int main(int argc, char **argv)
{
    static const Check checks[] = {
        {"cache_lengths", "what there is, and what comes", 1, counts_lengths, 0},
        {"cache_append", "after what is there", 2, appends_rows, 0},
        {"choices", "the likeliest, and their log p", 2, chooses_best, 0},
        {"choices", "of equal ones the first", 1, chooses_equal, 0},
        {"choices", "large logits, and what cannot be chosen", 1, chooses_odd, 0},
        {"hypothesis_score", "log p over the length penalty", 1, scores, 0},
        {"beam_step", "of one hypothesis", 1, steps_one, 0},
        {"beam_step", "of several: the best of all", 2, steps_many, 0},
        {"matches", "n-grams that the reference has", 1, matches_once, 0},
        {"matches", "no more often than it has them", 1, matches_clipped, 0},
        {"bleu", "of what was counted", 1, of_counts, 0},
        {"bleu", "of nothing", 1, of_nothing, 0},
        {"average_checkpoints", "the mean of weights", 1, averages, 0},
    };
    static const Timed timed[] = {
        {"cache_lengths", time_lengths}, {"cache_append", time_append}, {"choices", time_choices}};
    const Lesson lesson = {"Lesson 14: translating",    checks, sizeof checks / sizeof *checks, mine, timed,
                           sizeof timed / sizeof *timed};
    return grade_main(&lesson, argc, argv);
}
