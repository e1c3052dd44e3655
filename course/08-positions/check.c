/* Lesson 8: what is graded. */
#include "course/08-positions/exercise.h"
#include "course/frame/grade.h"

#include <math.h>
#include <string.h>

/* ---- what should come out, in doubles */

static double wave(double p, size_t j, size_t d)
{
    double angle = p / pow(10000, (double)(j - j % 2) / (double)d);
    return j % 2 ? cos(angle) : sin(angle);
}

/* ---- 1. fill_sinusoids */

static void waves(Grade *g, size_t n, size_t d)
{
    float *positions = grade_output(g, "positions", n * d);
    double *expected = grade_doubles(n * d), *own = grade_doubles(n * d), *from_one = grade_doubles(n * d);
    for (size_t i = 0; i < n * d; i++) {
        double angle = (double)(i / d) / pow(10000, (double)(i % d) / (double)d);
        expected[i] = wave((double)(i / d), i % d, d);
        own[i] = i % d % 2 ? cos(angle) : sin(angle);
        from_one[i] = wave((double)(i / d + 1), i % d, d);
    }
    fill_sinusoids(positions, n, d);
    const Suspect suspects[] = {{own, "the sine and the cosine of a pair share one angle: column 2i and 2i+1 have 2i"},
                                {from_one, "the first position is 0: its sines are 0, and its cosines 1"},
                                {NULL, NULL}};
    expect_numbers(g, "positions", positions, expected, n * d, d, 1e-5, suspects,
                   "angle = p / 10000^(2i/d): even columns are its sine, odd ones its cosine");
}

static void few_waves(Grade *g) { waves(g, 5, 6); }
static void many_waves(Grade *g) { waves(g, 300, 7); }

/* ---- 2. shift_matrix */

static void shifts(Grade *g, double r)
{
    enum { D = 8, N = 20 };
    float *m = grade_output(g, "m", D * D);
    double expected[D * D] = {0}, turned[D * D];
    for (size_t j = 0; j < D; j += 2) {
        double angle = r / pow(10000, (double)j / D);
        expected[j * D + j] = expected[(j + 1) * D + j + 1] = cos(angle);
        expected[j * D + j + 1] = sin(angle);
        expected[(j + 1) * D + j] = -sin(angle);
    }
    for (size_t i = 0; i < D * D; i++)
        turned[i] = expected[i % D * D + i / D];
    shift_matrix(m, r, D);
    const Suspect suspects[] = {{turned,
                                 "this moves the other way: the sine comes first in a pair, so m has the sine of "
                                 "the angle above the diagonal and less the sine below it"},
                                {NULL, NULL}};
    expect_numbers(g, "m", m, expected, D * D, D, 1e-5, suspects,
                   "sin(a + b) = sin a cos b + cos a sin b gives the first row of a pair, cos(a + b) the second");
}

static void shifts_one(Grade *g) { shifts(g, 1); }
static void shifts_back(Grade *g) { shifts(g, -12.5); }

/* ---- 3. embed_forward */

enum { N = 6, D = 5, V = 4, PLACES = 3 };

static const int32_t ids[N] = {2, 0, 3, 2, -7, 1}, position[N] = {0, 1, 2, 0, -1, 1};

static void embeds(Grade *g, bool with_positions, Dropout drop, const StepState *state)
{
    const double scale = 2.5;
    float *table = grade_input(g, "table", V * D, 1), *positions = grade_input(g, "positions", N * D, 2);
    float *y = grade_output(g, "y", N * D);
    double expected[N * D], all_scaled[N * D], counted[N * D], undropped[N * D];
    for (size_t e = 0; e < N * D; e++) {
        size_t i = e / D, j = e % D;
        bool there = position[i] >= 0;
        double word = there ? (double)table[(size_t)ids[i] * D + j] : 0;
        double where = there && with_positions ? (double)positions[(size_t)position[i] * D + j] : 0;
        double factor = dropout_factor(drop, state, i, 0, j);
        expected[e] = factor * (scale * word + where);
        all_scaled[e] = factor * scale * (word + where);
        counted[e] = factor * (scale * word + (there && with_positions ? (double)positions[e] : 0));
        undropped[e] = scale * word + where;
    }
    mine_embed_forward(NULL, y, ids, position, table, with_positions ? positions : NULL, scale, drop, state, N, D);
    const Suspect suspects[] = {{undropped, "each number is multiplied by its dropout_factor"},
                                {all_scaled, "scale is for the word's vector alone"},
                                {counted, "each text begins at position 0: what is added is positions[position[i]]"},
                                {NULL, NULL}};
    bool drops = drop.rate > 0;
    expect_numbers(g, "y", y, expected, N * D, D, 1e-5,
                   drops            ? suspects
                   : with_positions ? suspects + 1
                                    : suspects + 3,
                   "scale * table[ids[i]] + positions[position[i]], and zeros where position[i] is below 0");
}

static void embeds_words(Grade *g) { embeds(g, false, (Dropout){0}, NULL); }
static void embeds_places(Grade *g) { embeds(g, true, (Dropout){0}, NULL); }

static void embeds_and_drops(Grade *g)
{
    static const StepState state = {.seed = 7, .step = 3, .first_position = {11, 5}};
    embeds(g, true, (Dropout){.rate = 0.4, .site = 2, .side = 1}, &state);
}

/* ---- 4. pool_forward */

enum { ROWS = 4, VECTORS = 7 };

static const int32_t start[ROWS + 1] = {0, 3, 3, 4, VECTORS};

static void pools_first_and_mean(Grade *g)
{
    float *x = grade_input(g, "x", VECTORS * D, 3), *first = grade_output(g, "y (first)", ROWS * D);
    float *mean = grade_output(g, "y (mean)", ROWS * D);
    double one[ROWS * D] = {0}, average[ROWS * D] = {0}, sums[ROWS * D] = {0};
    for (size_t r = 0; r < ROWS; r++)
        for (size_t j = 0; j < D; j++) {
            size_t n = (size_t)(start[r + 1] - start[r]);
            for (size_t i = 0; i < n; i++)
                sums[r * D + j] += (double)x[((size_t)start[r] + i) * D + j];
            one[r * D + j] = n ? (double)x[(size_t)start[r] * D + j] : 0;
            average[r * D + j] = n ? sums[r * D + j] / (double)n : 0;
        }
    mine_pool_forward(NULL, first, NULL, x, POOLING_FIRST, start, ROWS, D);
    expect_numbers(g, "y (first)", first, one, ROWS * D, D, 0, NULL,
                   "the vector start[r]; row 1 has none, and gives zeros");
    mine_pool_forward(NULL, mean, NULL, x, POOLING_MEAN, start, ROWS, D);
    const Suspect suspects[] = {{sums, "a mean is divided by how many vectors the row has"}, {NULL, NULL}};
    expect_numbers(g, "y (mean)", mean, average, ROWS * D, D, 1e-5, suspects,
                   "vectors start[r] .. start[r+1]-1; a row of none gives zeros, not 0/0");
}

static void pools_largest(Grade *g)
{
    static const int32_t begins[4] = {0, 4, 4, 6};
    static const float numbers[12] = {-3, 1, -1, 5, -2, 5, -1, 0, NAN, -INFINITY, 9, -INFINITY};
    static const double expected[6] = {-1, 5, 0, 0, NAN, -INFINITY};
    static const int32_t from[6] = {1, 1, -1, -1, 4, 4};
    float *x = grade_input(g, "x", 12, 4), *y = grade_output(g, "y", 6);
    int32_t which[6] = {-9, -9, -9, -9, -9, -9};
    memcpy(x, numbers, sizeof numbers);
    grade_seal(g);
    mine_pool_forward(NULL, y, which, x, POOLING_MAX, begins, 3, 2);
    for (size_t i = 0; i < 5; i++)
        expect(g, y[i] == (float)expected[i] || (isnan(y[i]) && isnan(expected[i])),
               i == 0   ? "all may be below 0: begin with the row's first number, not with 0"
               : i == 4 ? "NaN is above all: NaN > x never holds, so ask isnan"
                        : "in each column the largest; a row of no vectors gives zeros",
               "y[%zu,%zu] is %g and should be %g", i / 2, i % 2, (double)y[i], expected[i]);
    expect(g, isinf(y[5]) && y[5] < 0, "the largest of nothing but -infinity is -infinity", "y[2,1] is %g",
           (double)y[5]);
    for (size_t i = 0; i < 6; i++)
        expect(g, which[i] == from[i],
               "vectors are counted in all of x; of equal ones the first; -1 where there is none",
               "which[%zu,%zu] is %d and should be %d", i / 2, i % 2, (int)which[i], (int)from[i]);
}

static void mine(Kernels *k)
{
    k->embed_forward = mine_embed_forward;
    k->pool_forward = mine_pool_forward;
}

static void time_embed(Grade *g, const Kernels *k, Stream *s)
{
    enum { MANY = 4096, WIDE = 64 };
    static int32_t many[MANY], places[MANY];
    float *table = grade_input(g, "table", 256 * WIDE, 1), *positions = grade_input(g, "positions", 128 * WIDE, 2);
    float *y = grade_output(g, "y", MANY * WIDE);
    for (int32_t i = 0; i < MANY; i++)
        many[i] = i * 7 % 256, places[i] = i % 128;
    while (grade_again(g))
        k->embed_forward(s, y, many, places, table, positions, 1, (Dropout){0}, NULL, MANY, WIDE);
}

static void time_pool(Grade *g, const Kernels *k, Stream *s)
{
    enum { MANY = 4096, WIDE = 64, TEXTS = 32 };
    static int32_t begins[TEXTS + 1];
    float *x = grade_input(g, "x", MANY * WIDE, 1), *y = grade_output(g, "y", TEXTS * WIDE);
    for (int32_t i = 0; i <= TEXTS; i++)
        begins[i] = i * (MANY / TEXTS);
    while (grade_again(g))
        k->pool_forward(s, y, NULL, x, POOLING_MEAN, begins, TEXTS, WIDE);
}

int main(int argc, char **argv)
{
    static const Check checks[] = {
        {"fill_sinusoids", "six columns", 1, few_waves, 0},
        {"fill_sinusoids", "far positions, and an odd column at the end", 1, many_waves, 0},
        {"shift_matrix", "one position on", 2, shifts_one, 0},
        {"shift_matrix", "back, and by a part of a position", 1, shifts_back, 0},
        {"embed_forward", "words without positions", 1, embeds_words, 0},
        {"embed_forward", "words with positions", 2, embeds_places, 0},
        {"embed_forward", "dropout", 1, embeds_and_drops, 0},
        {"pool_forward", "the first vector, and the mean", 1, pools_first_and_mean, 0},
        {"pool_forward", "the largest numbers, and where they came from", 2, pools_largest, 0},
    };
    static const Timed timed[] = {{"embed_forward", time_embed}, {"pool_forward", time_pool}};
    const Lesson lesson = {"Lesson 08: where am I", checks, sizeof checks / sizeof *checks, mine, timed, 2};
    return grade_main(&lesson, argc, argv);
}
