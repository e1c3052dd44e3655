/* Lesson 16: what is graded. */
#include "course/16-why/exercise.h"
#include "course/frame/grade.h"

#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- 1. multiply_adds: counted one by one */

typedef struct Mistake {
    size_t value;
    const char *hint;
} Mistake;

static void expect_count(Grade *g, LayerKind kind, size_t n, size_t d, size_t width, size_t expected,
                         const Mistake *mistakes, const char *hint)
{
    static const char *const names[] = {"ATTENTION", "LOCAL_ATTENTION", "RECURRENCE", "CONVOLUTION", "SEPARABLE"};
    size_t found = multiply_adds(kind, n, d, width);
    for (; mistakes && mistakes->hint; mistakes++)
        if (found == mistakes->value && found != expected)
            hint = mistakes->hint;
    expect(g, found == expected, hint, "%s of %zu vectors of %zu numbers, width %zu: %zu, and should be %zu",
           names[kind], n, d, width, found, expected);
}

static void counts_attention(Grade *g)
{
    static const size_t sizes[][3] = {{10, 4, 3}, {1000, 64, 64}, {2, 8, 1}, {3, 16, 64}, {1, 1, 1}};
    for (size_t c = 0; c < 5; c++)
        for (int local = 0; local < 2; local++) {
            size_t n = sizes[c][0], d = sizes[c][1], width = local ? sizes[c][2] : n, pairs = 0;
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j <= i; j++)
                    pairs += i - j < width;
            const Mistake mistakes[] = {
                {2 * pairs * d, "the maps to q, k, v and out are four products with a matrix [d,d] for each vector"},
                {3 * n * d * d + 2 * pairs * d, "there are four maps: the results of all heads go through one, too"},
                {4 * n * d * d + pairs * d, "a pair costs d for its score, and d again for adding the value"},
                {4 * n * d * d + 2 * n * (local ? width : n) * d,
                 "a query sees the past alone: the first one sees one key, and a window is not full at the beginning"},
                {0, NULL}};
            expect_count(g, local ? LOCAL_ATTENTION : ATTENTION, n, d, sizes[c][2], 4 * n * d * d + 2 * pairs * d,
                         mistakes, "four maps, and 2 d for each pair that is seen");
        }
}

static void counts_others(Grade *g)
{
    static const size_t sizes[][3] = {{5, 4, 3}, {4096, 512, 3}, {2, 8, 7}, {1, 1, 1}};
    for (size_t c = 0; c < 4; c++) {
        size_t n = sizes[c][0], d = sizes[c][1], width = sizes[c][2];
        const Mistake recurrence[] = {
            {2 * n * d * d, "y[0] has nothing before it: wh is used one time less than there are vectors"},
            {n * d * d, "there are two matrices, one for x[t] and one for y[t-1]"},
            {0, NULL}};
        const Mistake convolution[] = {
            {width * n * d, "each tap is a matrix [d,d], so that each number of y sees all columns of x: d times more"},
            {0, NULL}};
        const Mistake separable[] = {
            {width * n * d, "after the columns by themselves comes a map [d,d] of each vector"},
            {width * n * d * d, "here the taps are numbers for each column: only the map after them is a matrix"},
            {width * n * d + d * d, "the map is applied to each of the n vectors"},
            {0, NULL}};
        expect_count(g, RECURRENCE, n, d, width, n * d * d + (n - 1) * d * d, recurrence, "n times wx, n - 1 times wh");
        expect_count(g, CONVOLUTION, n, d, width, width * n * d * d, convolution, "width matrices for each vector");
        expect_count(g, SEPARABLE, n, d, width, width * n * d + n * d * d, separable,
                     "width numbers for each column of each vector, and a matrix for each vector");
    }
}

/* ---- 2. convolution */

/* How it may be misread: forwards; w[0] for the farthest tap; w as [taps,d,out]; step as 1 */
typedef struct Reading {
    bool future, reversed, turned, once;
} Reading;

static double *convolved(const float *x, const float *w, const float *bias, size_t n, size_t d, size_t out, size_t taps,
                         size_t step, Reading r)
{
    double *y = grade_doubles(n * out);
    for (size_t t = 0; t < n; t++)
        for (size_t o = 0; o < out; o++) {
            y[t * out + o] = bias ? (double)bias[o] : 0;
            for (size_t tap = 0; tap < taps; tap++) {
                size_t back = (r.reversed ? taps - 1 - tap : tap) * (r.once ? 1 : step);
                size_t from = r.future ? t + back : t - back; /* below 0 is very large */
                for (size_t j = 0; from < n && j < d; j++)
                    y[t * out + o] += (double)w[tap * out * d + (r.turned ? j * out + o : o * d + j)] *
                                      (double)x[from * d + j];
            }
        }
    return y;
}

static void convolves(Grade *g, size_t n, size_t d, size_t out, size_t taps, size_t step, bool biased)
{
    float *x = grade_input(g, "x", n * d, 1), *w = grade_input(g, "w", taps * out * d, 2);
    float *bias = biased ? grade_input(g, "bias", out, 3) : NULL, *y = grade_output(g, "y", n * out);
    double *expected = convolved(x, w, bias, n, d, out, taps, step, (Reading){0});
    const Suspect suspects[] = {
        {convolved(x, w, bias, n, d, out, taps, step, (Reading){.future = true}),
         "this reads x[t + tap * step], which is in the future"},
        {convolved(x, w, bias, n, d, out, taps, step, (Reading){.reversed = true}),
         "w[0] is for the vector itself, w[1] for the one before it"},
        {convolved(x, w, bias, n, d, out, taps, step, (Reading){.turned = true}),
         "w[tap] is [out,d], a row for each number of the result: its element o, j is w[tap * out * d + o * d + j]"},
        {convolved(x, w, bias, n, d, out, taps, step, (Reading){.once = true}),
         "taps are `step` vectors apart: tap reads x[t - tap * step]"},
        {NULL, NULL}};
    convolution(y, x, w, bias, n, d, out, taps, step);
    expect_numbers(g, "y", y, expected, n * out, out, 1e-5, suspects,
                   "bias, and for each tap that is not before the beginning a matrix times a vector");
}

static void convolves_one_map(Grade *g) { convolves(g, 4, 3, 5, 1, 1, true); }
static void convolves_taps(Grade *g) { convolves(g, 9, 3, 4, 3, 1, true); }

static void convolves_far(Grade *g)
{
    convolves(g, 20, 4, 4, 3, 5, false);
    convolves(g, 3, 2, 3, 4, 7, true); /* most taps are before the beginning */
}

/* ---- 3. separable */

static void separates(Grade *g)
{
    enum { N = 8, D = 4, OUT = 3, TAPS = 3 };
    float *x = grade_input(g, "x", N * D, 4), *depth = grade_input(g, "depth", TAPS * D, 5);
    float *point = grade_input(g, "point", OUT * D, 6), *y = grade_output(g, "y", N * OUT);
    double expected[N * OUT] = {0}, last[N * OUT] = {0}, turned[N * OUT] = {0};
    for (size_t t = 0; t < N; t++)
        for (size_t o = 0; o < OUT; o++)
            for (size_t j = 0; j < D; j++) {
                double p = (double)point[o * D + j];
                for (size_t tap = 0; tap < TAPS && tap <= t; tap++) {
                    double from = (double)x[(t - tap) * D + j];
                    expected[t * OUT + o] += p * (double)depth[tap * D + j] * from;
                    last[t * OUT + o] += p * (double)depth[(TAPS - 1 - tap) * D + j] * from;
                    turned[t * OUT + o] += p * (double)depth[j * TAPS + tap] * from;
                }
            }
    separable(y, x, depth, point, N, D, OUT, TAPS);
    const Suspect suspects[] = {{last, "depth's row 0 is for the vector itself, row 1 for the one before it"},
                                {turned, "depth is [taps,d]: the number of tap and column j is depth[tap * d + j]"},
                                {NULL, NULL}};
    expect_numbers(g, "y", y, expected, N * OUT, OUT, 1e-5, suspects,
                   "first a sum over taps for each column, then a matrix for each vector");
}

/* ---- 4. recurrence */

static void recurs(Grade *g)
{
    enum { N = 12, D = 5 };
    float *x = grade_input(g, "x", N * D, 7), *wx = grade_input(g, "wx", D * D, 8),
          *wh = grade_input(g, "wh", D * D, 9);
    float *bias = grade_input(g, "bias", D, 10), *y = grade_output(g, "y", N * D);
    double expected[N * D] = {0}, unbent[N * D] = {0}, inputs[N * D] = {0};
    for (size_t t = 0; t < N; t++)
        for (size_t o = 0; o < D; o++) {
            double sum = (double)bias[o], plain = sum, other = sum;
            for (size_t j = 0; j < D; j++) {
                double from_x = (double)wx[o * D + j] * (double)x[t * D + j], w = (double)wh[o * D + j];
                sum += from_x + (t ? w * expected[(t - 1) * D + j] : 0);
                plain += from_x + (t ? w * unbent[(t - 1) * D + j] : 0);
                other += from_x + (t ? w * (double)x[(t - 1) * D + j] : 0);
            }
            expected[t * D + o] = tanh(sum), unbent[t * D + o] = plain, inputs[t * D + o] = tanh(other);
        }
    recurrence(y, x, wx, wh, bias, N, D);
    const Suspect suspects[] = {{unbent, "tanh is missing"},
                                {inputs, "wh is for y[t-1], what came out one step before, not for x[t-1]"},
                                {NULL, NULL}};
    expect_numbers(g, "y", y, expected, N * D, D, 1e-5, suspects,
                   "finish all numbers of y[t-1] before y[t] is begun: each of them is in each of these");
}

/* ---- 5. local_attention */

static void attend_near(double *y, const float *q, const float *k, const float *v, size_t window, size_t n, size_t d)
{
    for (size_t t = 0; t < n; t++) {
        double sum = 0;
        for (size_t j = t + 1 > window ? t + 1 - window : 0; j <= t; j++) {
            double score = 0;
            for (size_t i = 0; i < d; i++)
                score += (double)q[t * d + i] * (double)k[j * d + i] / sqrt((double)d);
            sum += exp(score);
            for (size_t i = 0; i < d; i++)
                y[t * d + i] += exp(score) * (double)v[j * d + i];
        }
        for (size_t i = 0; i < d; i++)
            y[t * d + i] /= sum;
    }
}

static void attends_locally(Grade *g, size_t n, size_t d, size_t window)
{
    float *q = grade_input(g, "q", n * d, 11), *k = grade_input(g, "k", n * d, 12), *v = grade_input(g, "v", n * d, 13);
    float *y = grade_output(g, "y", n * d);
    double *expected = grade_doubles(n * d), *all = grade_doubles(n * d), *wide = grade_doubles(n * d);
    for (size_t i = 0; i < n * d; i++)
        q[i] *= 3;
    grade_seal(g);
    attend_near(expected, q, k, v, window, n, d);
    attend_near(all, q, k, v, n, n, d);
    attend_near(wide, q, k, v, window + 1, n, d);
    local_attention(y, q, k, v, window, n, d);
    const Suspect suspects[] = {{all, "this is all of the past: the first keys are out of the window"},
                                {wide, "one key too many: the query's own is one of the `window`"},
                                {NULL, NULL}};
    expect_numbers(g, "y", y, expected, n * d, d, 1e-5, suspects,
                   "keys t + 1 - window .. t, or 0 .. t if there are fewer; softmax over these alone");
}

static void attends_few(Grade *g)
{
    attends_locally(g, 10, 4, 3);
    attends_locally(g, 6, 3, 1);
    attends_locally(g, 5, 2, 100);
}

/* Which pairs of a query and a key are read. Each vector is a page of memory, and of the queries and of the keys only
 * the one that was asked for last can be read; so each change from one to another is a fault, which is noted here. */
enum { QUERIES = 48 };

static struct Hook {
    char *at[2];
    size_t page, open[2];
    bool read[QUERIES * QUERIES];
} watch;

static void note(int number, siginfo_t *info, void *context)
{
    (void)context;
    for (int side = 0; side < 2; side++) {
        const uintptr_t offset = (uintptr_t)info->si_addr - (uintptr_t)watch.at[side];
        if (offset < QUERIES * watch.page) {
            mprotect(watch.at[side] + watch.open[side] * watch.page, watch.page, PROT_NONE);
            watch.open[side] = offset / watch.page;
            mprotect(watch.at[side] + watch.open[side] * watch.page, watch.page, PROT_READ);
            watch.read[watch.open[0] * QUERIES + watch.open[1]] = true;
            return;
        }
    }
    signal(number, SIG_DFL); /* not ours: it happens again, and ends the check */
}

static float *watched(Grade *g, int side, size_t d)
{
    void *all = NULL;
    expect(g, posix_memalign(&all, watch.page, QUERIES * watch.page) == 0, NULL, "the check itself ran out of memory");
    for (size_t i = 0; i < QUERIES * d; i++)
        ((float *)all)[i] = (float)(i % 7) / 7;
    watch.at[side] = all;
    mprotect(all, QUERIES * watch.page, PROT_NONE);
    return all;
}

/* Queries and keys are not read in the same moment: where one of them changes, the other is still an old one. */
static void reads_few_pairs(Grade *g)
{
    enum { WINDOW = 4, MOST = QUERIES * (WINDOW + 2) };
    struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO};
    watch.page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t d = watch.page / sizeof(float);
    float *v = grade_input(g, "v", QUERIES * d, 14), *y = grade_output(g, "y", QUERIES * d);
    const float *q = watched(g, 0, d), *k = watched(g, 1, d);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    local_attention(y, q, k, v, WINDOW, QUERIES, d);
    size_t pairs = 0;
    for (size_t i = 0; i < QUERIES * QUERIES; i++)
        pairs += watch.read[i];
    expect(g, pairs > 0, "is the function still empty?", "no query and no key was read");
    expect(g, pairs <= MOST, "compute no score that is not used: the loop over keys begins at t + 1 - window",
           "a window of %d over %d vectors: about %zu pairs of a query and a key were read, and %d are enough", WINDOW,
           QUERIES, pairs, QUERIES * WINDOW);
}

/* ---- 6. layers_needed */

static void expect_layers(Grade *g, const char *what, const bool *sees, size_t n, size_t expected, const char *hint)
{
    size_t found = layers_needed(sees, n);
    expect(g, found == expected, hint, "%s of %zu vectors: %zu, and should be %zu", what, n, found, expected);
}

static void needs_layers(Grade *g)
{
    enum { N = 24 };
    static bool sees[N * N];
    for (size_t i = 0; i < N * N; i++)
        sees[i] = i % N <= i / N;
    expect_layers(g, "attention to the past", sees, N, 1,
                  "one layer, and every vector that can be heard has been heard");
    for (size_t i = 0; i < N * N; i++)
        sees[i] = i % N <= i / N && i / N - i % N < 4;
    expect_layers(g, "a window of 4", sees, N, 8,
                  "each layer brings 3 vectors farther, and the way from 23 to 0 is 23");
    for (size_t i = 0; i < N * N; i++)
        sees[i] = i % N <= i / N && (i / N - i % N == 0 || i / N - i % N == 1 || i / N - i % N == 5);
    expect_layers(
        g, "taps 0, 1 and 5 back", sees, N, 7,
        "the longest of the shortest ways: 19 vectors back are 3 steps of 5 and 4 of 1; of a vector it is how "
        "few layers bring it, of all vectors how many the last one needs");
}

static void needs_odd_layers(Grade *g)
{
    enum { N = 9 };
    static bool sees[N * N];
    expect_layers(g, "vectors that see nobody", sees, N, 0,
                  "a vector that cannot be heard in any layer does not count");
    for (size_t i = 0; i < N; i++)
        sees[i * N + (i + N - 1) % N] = true; /* a ring, and nobody sees himself */
    expect_layers(g, "a ring", sees, N, N - 1,
                  "a vector keeps what it has heard, whether or not it sees itself: what is heard only grows");
    memset(sees, 0, sizeof sees);
    for (size_t i = 0; i + 1 < N; i++)
        sees[i * N + i + 1] = true;
    expect_layers(g, "vectors that see the next one", sees, N, N - 1,
                  "nothing says that a vector sees only those before it; and use in a layer what was heard before that "
                  "layer alone, or news travels through all vectors at once");
    sees[0] = true;
    expect_layers(g, "a single vector", sees, 1, 0, "one vector has nobody to wait for");
}

int main(int argc, char **argv)
{
    static const Check checks[] = {
        {"multiply_adds", "attention, and attention in a window", 2, counts_attention, 0},
        {"multiply_adds", "recurrence, convolution, separable convolution", 2, counts_others, 0},
        {"convolution", "one tap is a linear map of each vector", 1, convolves_one_map, 0},
        {"convolution", "three taps, from the vector itself backwards", 1, convolves_taps, 0},
        {"convolution", "taps that are apart, and beyond the beginning", 1, convolves_far, 0},
        {"separable", "columns first, then vectors", 2, separates, 0},
        {"recurrence", "twelve steps", 2, recurs, 0},
        {"local_attention", "windows of 3, of 1 and of more than there is", 2, attends_few, 0},
        {"local_attention", "a small window compares few pairs", 1, reads_few_pairs, 0},
        {"layers_needed", "attention, a window, taps that are apart", 2, needs_layers, 0},
        {"layers_needed", "vectors that nobody hears, and rings", 1, needs_odd_layers, 0},
    };
    const Lesson lesson = {"Lesson 16: why self-attention", checks, sizeof checks / sizeof *checks, NULL, NULL, 0};
    return grade_main(&lesson, argc, argv);
}
