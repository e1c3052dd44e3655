/* Lesson 18: what is graded. Kernels run on the emulator: with its checker, where the build has it, and without. */
#include "course/18-kernel/device.h"
#include "course/18-kernel/exercise.h"
#include "course/frame/grade.h"
#include "kernels/cpu/vector.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what should come out, in doubles */

/* y [columns] = softmax(x), for finite numbers; `lanes` further numbers of 0 count in the sum alone */
static void softmax(double *y, const double *x, size_t columns, size_t lanes)
{
    double largest = columns ? x[0] : 0, sum = 0;
    for (size_t j = 0; j < columns; j++)
        largest = fmax(largest, x[j]);
    for (size_t j = 0; j < columns + lanes; j++)
        sum += exp((j < columns ? x[j] : 0) - largest);
    for (size_t j = 0; j < columns; j++)
        y[j] = exp(x[j] - largest) / sum;
}

/* An attention: q [n,d], k and v [m,d] */
typedef struct Attention {
    const float *q, *k, *v;
    double scale;
    size_t n, m, d;
} Attention;

/* Row i of y, where `hidden` further keys of score 0 and value 0 are met, and weights are not rescaled if `stiff`: each
 * tile of this many keys has a largest score of its own, which only the sum follows. */
static void attention_row(double *y, const Attention *a, size_t i, size_t hidden, size_t stiff)
{
    double largest = -INFINITY, sum = 0, *s = grade_doubles(a->m), tile = -INFINITY;
    for (size_t j = 0; j < a->m; j++) {
        for (size_t c = 0; c < a->d; c++)
            s[j] += a->scale * (double)a->q[i * a->d + c] * (double)a->k[j * a->d + c];
        largest = fmax(largest, s[j]);
    }
    for (size_t j = 0; j < a->m + hidden; j++)
        sum += exp((j < a->m ? s[j] : 0) - largest);
    for (size_t c = 0; c < a->d; c++)
        y[i * a->d + c] = 0;
    for (size_t j = 0; j < a->m; j++) {
        for (size_t l = j; stiff && j % stiff == 0 && l < j + stiff && l < a->m; l++)
            tile = fmax(tile, s[l]);
        for (size_t c = 0; c < a->d; c++)
            y[i * a->d + c] += exp(s[j] - (stiff ? tile : largest)) / sum * (double)a->v[j * a->d + c];
    }
    free(s);
}

static double *attention(const Attention *a, size_t hidden, size_t stiff)
{
    double *y = grade_doubles(a->n * a->d);
    for (size_t i = 0; i < a->n; i++)
        attention_row(y, a, i, hidden, stiff);
    return y;
}

/* ---- 1. softmax_forward */

static void of_one_vector(Grade *g)
{
    float *x = grade_input(g, "x", WIDTH, 1), *y = grade_output(g, "y", WIDTH);
    double in[WIDTH], expected[WIDTH];
    for (size_t j = 0; j < WIDTH; j++)
        in[j] = (double)x[j];
    softmax(expected, in, WIDTH, 0);
    mine_softmax_forward(NULL, y, x, 1, WIDTH);
    expect_numbers(g, "y", y, expected, WIDTH, 0, 1e-5, NULL,
                   "vec_largest and vec_sum make one number of a vector's; one division for all");
}

/* Rows of every length that a vector may have at its end */
static void of_lengths(Grade *g)
{
    enum { ROWS = 3 };
    for (size_t columns = 1; columns <= 2 * WIDTH + 1; columns += columns == WIDTH + 1 ? WIDTH - 2 : 1) {
        float *x = grade_input(g, "x", ROWS * columns, 2), *y = grade_output(g, "y", ROWS * columns);
        double *in = grade_doubles(ROWS * columns), *expected = grade_doubles(ROWS * columns);
        double *padded = grade_doubles(ROWS * columns);
        for (size_t i = 0; i < ROWS * columns; i++)
            in[i] = (double)(x[i] *= 4);
        grade_seal(g);
        for (size_t i = 0; i < ROWS; i++) {
            softmax(expected + i * columns, in + i * columns, columns, 0);
            softmax(padded + i * columns, in + i * columns, columns, WIDTH - columns % WIDTH);
        }
        mine_softmax_forward(NULL, y, x, ROWS, columns);
        const Suspect suspects[] = {{padded, "lanes after the end of a row hold 0, and exp(0 - largest) went into the "
                                             "sum: vec_first and vec_select put something else there"},
                                    {NULL, NULL}};
        expect_numbers(g, "y", y, expected, ROWS * columns, columns, 1e-5, suspects,
                       "a row ends where it ends: the next one begins after it, not at a multiple of WIDTH");
    }
}

static void of_large_numbers(Grade *g)
{
    enum { COLUMNS = WIDTH + 3 };
    float *x = grade_input(g, "x", 2 * COLUMNS, 3), *y = grade_output(g, "y", 2 * COLUMNS);
    double in[2 * COLUMNS], expected[2 * COLUMNS];
    for (size_t i = 0; i < 2 * COLUMNS; i++)
        in[i] = (double)(x[i] += i < COLUMNS ? 1000 : -1000);
    grade_seal(g);
    softmax(expected, in, COLUMNS, 0);
    softmax(expected + COLUMNS, in + COLUMNS, COLUMNS, 0);
    mine_softmax_forward(NULL, y, x, 2, COLUMNS);
    for (size_t i = 0; i < 2 * COLUMNS; i++)
        expect(g, !isnan(y[i]),
               i < COLUMNS ? "take the row's largest number off before exp, as in lesson 1"
                           : "all numbers are below 0 here, and the largest is not 0: what do the "
                             "lanes after the end of the row hold?",
               "softmax of numbers near %d has NaN in it", i < COLUMNS ? 1000 : -1000);
    expect_numbers(g, "y", y, expected, 2 * COLUMNS, COLUMNS, 1e-4, NULL, "exp(x - largest) / sum of the same");
}

static void of_masked_rows(Grade *g)
{
    enum { COLUMNS = WIDTH + 1 };
    float *y = grade_output(g, "y", 4 * COLUMNS);
    double expected[4 * COLUMNS] = {0};
    for (size_t i = 0; i < 4 * COLUMNS; i++)
        y[i] = -INFINITY;
    y[0] = y[WIDTH] = 1, expected[0] = expected[WIDTH] = 0.5;
    y[2 * COLUMNS] = NAN;
    y[3 * COLUMNS + WIDTH] = 5, expected[3 * COLUMNS + WIDTH] = 1;
    mine_softmax_forward(NULL, y, y, 4, COLUMNS);
    expect(g, y[0] != 1, "nothing was written: is the function still empty?",
           "y[0,0] is 1, as it was, and should be 0.5");
    expect(g, !isnan(y[COLUMNS]), "-infinity less -infinity is NaN: look for this row before exp, and write zeros",
           "softmax of nothing but -infinity is NaN, and should be zeros");
    expect(g, isnan(y[2 * COLUMNS]),
           "vec_max(a, b) gives b where a number is NaN, so the largest does not tell: what does a sum of all tell?",
           "softmax of NaN and -infinities has %g where NaN was: it is hidden", (double)y[2 * COLUMNS]);
    for (size_t j = 0; j < COLUMNS; j++)
        y[2 * COLUMNS + j] = 0;
    expect_numbers(g, "y", y, expected, 4 * COLUMNS, COLUMNS, 1e-6, NULL, "y may be x");
}

/* ---- 2. merge_parts */

enum { D = 5 };

/* A part of `count` scores and vectors, from doubles */
static Part part_of(Grade *g, const char *name, const float *s, const float *v, size_t count)
{
    Part p = {-INFINITY, 0, grade_output(g, name, D)};
    double sum = 0, y[D] = {0};
    for (size_t j = 0; j < count; j++)
        p.largest = fmaxf(p.largest, s[j]);
    for (size_t j = 0; j < count && p.largest > -INFINITY; j++) {
        sum += exp((double)s[j] - (double)p.largest);
        for (size_t c = 0; c < D; c++)
            y[c] += exp((double)s[j] - (double)p.largest) * (double)v[j * D + c];
    }
    p.sum = (float)sum;
    for (size_t c = 0; c < D; c++)
        p.y[c] = (float)y[c];
    return p;
}

/* Of `first` scores and `second` more: both parts, merged, against all at once */
static void merges(Grade *g, const float *s, size_t first, size_t second)
{
    float *v = grade_input(g, "v", (first + second) * D, 5);
    Part all = part_of(g, "all.y", s, v, first), other = part_of(g, "other.y", s + first, v + first * D, second);
    Part whole = part_of(g, "whole.y", s, v, first + second), before = other;
    double y[D], added[D], expected_sum = (double)whole.sum;
    for (size_t c = 0; c < D; c++)
        y[c] = (double)whole.y[c], added[c] = (double)all.y[c] + (double)other.y[c];
    bool both = all.sum > 0 && other.sum > 0 && all.largest != other.largest;
    float sum = all.sum + other.sum, largest = all.largest, alone = all.sum;
    grade_seal(g);
    merge_parts(&all, &other, D);
    const bool untouched = all.largest == largest && all.sum == alone;
    expect(g, other.largest == before.largest && other.sum == before.sum, "other is const", "other was changed");
    expect(g, all.largest == whole.largest,
           untouched ? "nothing was written: is the function still empty?" : "the larger one of the two",
           "largest is %g and should be %g", (double)all.largest, (double)whole.largest);
    expect(g, !isnan(all.sum) && !isnan(all.y[0]),
           "-infinity less -infinity is NaN: an empty part has nothing to add, and is the first thing to ask for",
           "sum is %g and y[0] %g, and should be %g and %g", (double)all.sum, (double)all.y[0], expected_sum, y[0]);
    expect(g, !(both && fabsf(all.sum - sum) < 1e-5f),
           "a sum was made with the largest score of its part: with another one it is exp(old - new) times that",
           "sum is %g and should be %g", (double)all.sum, expected_sum);
    expect(g, fabs((double)all.sum - expected_sum) < 1e-5 * (1 + expected_sum),
           "each part's sum times exp(its largest - the common one)", "sum is %g and should be %g", (double)all.sum,
           expected_sum);
    const Suspect suspects[] = {{both ? added : NULL, "y follows the largest score as the sum does"}, {NULL, NULL}};
    expect_numbers(g, "all.y", all.y, y, D, 0, 1e-5, suspects, "y follows the largest score as the sum does");
}

static const float scores[] = {1, 3, 2, 5, -4, 0.5f, 5, 2};

static void merges_two(Grade *g)
{
    merges(g, scores, 3, 3);
    merges(g, scores + 3, 1, 2);
    merges(g, scores, 1, 7);
}

static void merges_nothing(Grade *g)
{
    static const float out[] = {-INFINITY, -INFINITY, 1, 2};
    merges(g, scores, 4, 0);
    merges(g, scores, 0, 4);
    merges(g, scores, 0, 0);
    merges(g, out, 2, 2);
    merges(g, out, 1, 1);
}

static void merges_large(Grade *g)
{
    static const float large[] = {1000, 1001, 998, -1000};
    merges(g, large, 1, 1);
    merges(g, large, 2, 2);
    merges(g, large + 2, 1, 1);
}

/* ---- 3. attend_in_tiles */

typedef void (*Attending)(Grade *g, const Attention *a, float *y);

static Attention attention_inputs(Grade *g, double loud, size_t n, size_t m, size_t d)
{
    float *q = grade_input(g, "q", n * d, 6);
    for (size_t i = 0; i < n * d; i++)
        q[i] *= (float)loud;
    grade_seal(g);
    return (Attention){q, grade_input(g, "k", m * d, 7), grade_input(g, "v", m * d, 8), 0.5, n, m, d};
}

/* tile: how many keys the one who computes takes at once; 0: does not say */
static void attends(Grade *g, Attending how, double loud, size_t n, size_t m, size_t d, size_t tile)
{
    Attention a = attention_inputs(g, loud, n, m, d), bare = a;
    float *y = grade_output(g, "y", n * d);
    size_t missing = m % tile ? tile - m % tile : 0;
    bare.scale = 1;
    const Suspect suspects[] = {
        {missing ? attention(&a, missing, 0) : NULL,
         "keys after the last one had score 0 here, and weight exp(0 - largest): the last tile is not full"},
        {attention(&bare, 0, 0), "scale multiplies the scores"},
        {m > tile ? attention(&a, 0, tile) : NULL,
         "when a larger score turns up, what y holds already has to become smaller, as the sum does"},
        {NULL, NULL}};
    Suspect given[4];
    size_t count = 0;
    for (size_t i = 0; i < 3; i++)
        if (suspects[i].value)
            given[count++] = suspects[i];
    given[count] = (Suspect){NULL, NULL};
    how(g, &a, y);
    for (size_t i = 0; loud > 100 && i < n * d; i++)
        expect(g, !isnan(y[i]), "exp overflows: the largest score so far is taken off before exp",
               "scores are large, and y[%zu,%zu] is NaN", i / d, i % d);
    expect_numbers(g, "y", y, attention(&a, 0, 0), n * d, d, 1e-5, given,
                   "scores, their largest, exp, the sums; at the end y is divided by the sum");
}

static void on_cpu(Grade *g, const Attention *a, float *y)
{
    (void)g;
    attend_in_tiles(y, a->q, a->k, a->v, (float)a->scale, a->n, a->m, a->d);
}

static void one_tile(Grade *g) { attends(g, on_cpu, 1, 3, TILE, 4, TILE); }

static void many_tiles(Grade *g)
{
    attends(g, on_cpu, 4, 3, 3 * TILE, 7, TILE);
    attends(g, on_cpu, 4, 2, 2 * TILE + 5, MOST, TILE);
    attends(g, on_cpu, 4, 2, 3, 1, TILE);
    attends(g, on_cpu, 4, 3, 0, 4, TILE);
}

static void large_scores(Grade *g) { attends(g, on_cpu, 1000, 3, 2 * TILE + 1, 6, TILE); }

static void mine(Kernels *k) { k->softmax_forward = mine_softmax_forward; }

static void time_softmax(Grade *g, const Kernels *k, Stream *s)
{
    float *x = grade_input(g, "x", 256 * 256, 1), *y = grade_output(g, "y", 256 * 256);
    while (grade_again(g))
        k->softmax_forward(s, y, x, 256, 256);
}

/* ---- exercise.cu */

#ifdef HAVE_EMULATOR

enum { SLOW = 20 /* seconds that a check of kernels may take */ };

/* ---- 4. scale_on_gpu */

static void launch_scale(const Gpu *gpu, cudaStream_t queue, float *y, float *const *in, const void *sizes)
{
    gpu->scale(queue, y, in[0], 2.5f, *(const size_t *)sizes);
}

static void scales(Grade *g, size_t n)
{
    float *x = grade_input(g, "x", n, 9), *y = grade_output(g, "y", n);
    double *expected = grade_doubles(n);
    for (size_t i = 0; i < n; i++)
        expected[i] = 2.5 * (double)x[i];
    in_every_order(g, &(Launching){y, n, {x}, {n}, launch_scale, &n});
    expect_numbers(g, "y", y, expected, n, 0, 1e-6, NULL,
                   "thread threadIdx.x of block blockIdx.x is number blockIdx.x * blockDim.x + threadIdx.x of all");
}

static void scales_blocks(Grade *g)
{
    scales(g, 128);
    scales(g, 512);
}

static void scales_any(Grade *g)
{
    scales(g, 1);
    scales(g, 129);
    scales(g, 1000);
}

/* ---- 5. softmax_on_gpu */

static void launch_softmax(const Gpu *gpu, cudaStream_t queue, float *y, float *const *in, const void *sizes)
{
    const size_t *size = sizes;
    gpu->softmax(queue, y, in[0], size[0], size[1]);
}

static void softmaxes(Grade *g, size_t n, size_t columns, float add)
{
    float *x = grade_input(g, "x", n * columns, 10), *y = grade_output(g, "y", n * columns);
    double *in = grade_doubles(n * columns), *expected = grade_doubles(n * columns);
    for (size_t i = 0; i < n * columns; i++)
        in[i] = (double)(x[i] = 3 * x[i] + add);
    for (size_t i = 0; i < n; i++)
        softmax(expected + i * columns, in + i * columns, columns, 0);
    grade_seal(g);
    Launching l = {y, n * columns, {x}, {n * columns}, launch_softmax, (const size_t[]){n, columns}};
    on_device(g, looked_at, "forward", &l);
    for (size_t i = 0; add != 0 && i < n * columns; i++)
        expect(g, !isnan(y[i]), "take the row's largest number off before exp; it may be below 0",
               "softmax of numbers near %g has NaN in it", (double)add);
    expect_numbers(g, "y", y, expected, n * columns, columns, add == 0 ? 1e-5 : 1e-4, NULL,
                   "largest and sum are those of the whole row, which all threads of the block have read");
}

static void softmax_of_blocks(Grade *g)
{
    softmaxes(g, 1, 64, 0);
    softmaxes(g, 3, 128, 0);
}

static void softmax_of_any(Grade *g)
{
    softmaxes(g, 3, 1, 0);
    softmaxes(g, 2, 37, 0);
    softmaxes(g, 4, 65, 0);
    softmaxes(g, 2, 300, 0);
}

static void softmax_of_large(Grade *g)
{
    softmaxes(g, 2, 70, 1000);
    softmaxes(g, 2, 70, -1000);
}

static void softmax_of_masked(Grade *g)
{
    enum { COLUMNS = 70 };
    float *x = grade_input(g, "x", 3 * COLUMNS, 11), *y = grade_output(g, "y", 3 * COLUMNS);
    double expected[3 * COLUMNS] = {0};
    for (size_t i = 0; i < 3 * COLUMNS; i++)
        x[i] = -INFINITY;
    x[66] = x[3] = 1, expected[66] = expected[3] = 0.5;
    x[2 * COLUMNS + 5] = NAN;
    grade_seal(g);
    Launching l = {y, 3 * COLUMNS, {x}, {3 * COLUMNS}, launch_softmax, (const size_t[]){3, COLUMNS}};
    on_device(g, looked_at, "forward", &l);
    expect_numbers(g, "y", y, expected, COLUMNS, COLUMNS, 1e-6, NULL, "hidden numbers have weight 0");
    expect(g, !isnan(y[COLUMNS]), "-infinity less -infinity is NaN: look for this row before exp, and write zeros",
           "softmax of nothing but -infinity is NaN, and should be zeros");
    expect(g, isnan(y[2 * COLUMNS + 5]), "fmaxf passes NaN over; what does a sum of all tell?",
           "softmax of NaN and -infinities has %g where NaN was: it is hidden", (double)y[2 * COLUMNS + 5]);
    expect_numbers(g, "y", y, expected, 2 * COLUMNS, COLUMNS, 1e-6, NULL, "hidden numbers have weight 0");
}

static void softmax_in_order(Grade *g)
{
    float *x = grade_input(g, "x", 3 * 150, 12), *y = grade_output(g, "y", 3 * 150);
    double in[150], expected[150];
    for (size_t j = 0; j < 150; j++)
        in[j] = (double)x[j];
    softmax(expected, in, 150, 0);
    in_every_order(g, &(Launching){y, 450, {x}, {450}, launch_softmax, (const size_t[]){3, 150}});
    expect_numbers(g, "y", y, expected, 150, 0, 1e-5, NULL, NULL);
}

/* ---- 6. attend_on_gpu */

static void launch_attend(const Gpu *gpu, cudaStream_t queue, float *y, float *const *in, const void *sizes)
{
    const Attention *a = sizes;
    gpu->attend(queue, y, in[0], in[1], in[2], (float)a->scale, a->n, a->m, a->d);
}

static Launching launching(const Attention *a, float *y)
{
    return (Launching){y,
                       a->n * a->d,
                       {(float *)(uintptr_t)a->q, (float *)(uintptr_t)a->k, (float *)(uintptr_t)a->v},
                       {a->n * a->d, a->m * a->d, a->m * a->d},
                       launch_attend,
                       a};
}

static void on_gpu(Grade *g, const Attention *a, float *y)
{
    Launching l = launching(a, y);
    on_device(g, looked_at, "forward", &l);
}

enum { GPU_QUERIES = 32, GPU_KEYS = 16, GPU_MOST = 32 };

static void attends_one_tile(Grade *g) { attends(g, on_gpu, 1, GPU_QUERIES, GPU_KEYS, 8, GPU_KEYS); }

static void attends_any(Grade *g)
{
    attends(g, on_gpu, 4, 40, 2 * GPU_KEYS, 5, GPU_KEYS);
    attends(g, on_gpu, 4, 1, 3, 1, GPU_KEYS);
    attends(g, on_gpu, 4, 33, 50, GPU_MOST, GPU_KEYS);
    attends(g, on_gpu, 4, 3, 0, 4, GPU_KEYS);
}

static void attends_large(Grade *g) { attends(g, on_gpu, 1000, 5, 40, 6, GPU_KEYS); }

static void attends_in_order(Grade *g)
{
    Attention a = attention_inputs(g, 4, 70, 41, 9);
    float *y = grade_output(g, "y", a.n * a.d);
    Launching l = launching(&a, y);
    in_every_order(g, &l);
    expect_numbers(g, "y", y, attention(&a, 0, 0), a.n * a.d, a.d, 1e-5, NULL, NULL);
}

#endif

int main(int argc, char **argv)
{
    static const Check checks[] = {
        {"softmax_forward", "a row of WIDTH numbers", 1, of_one_vector, 0},
        {"softmax_forward", "rows of any length", 1, of_lengths, 0},
        {"softmax_forward", "large numbers do not overflow", 1, of_large_numbers, 0},
        {"softmax_forward", "rows with -infinity in them, in place", 1, of_masked_rows, 0},
        {"merge_parts", "two parts become what all of it would have been", 1, merges_two, 0},
        {"merge_parts", "empty parts change nothing", 1, merges_nothing, 0},
        {"merge_parts", "large scores do not overflow", 1, merges_large, 0},
        {"attend_in_tiles", "one tile of keys", 1, one_tile, 0},
        {"attend_in_tiles", "any number of keys, of any size", 1, many_tiles, 0},
        {"attend_in_tiles", "large scores do not overflow", 1, large_scores, 0},
#ifdef HAVE_EMULATOR
        {"scale_on_gpu", "whole blocks of threads", 1, scales_blocks, SLOW},
        {"scale_on_gpu", "any number of numbers, and nothing else is touched", 1, scales_any, SLOW},
        {"softmax_on_gpu", "rows that are multiples of the block", 1, softmax_of_blocks, SLOW},
        {"softmax_on_gpu", "rows of any length", 1, softmax_of_any, SLOW},
        {"softmax_on_gpu", "large numbers do not overflow", 1, softmax_of_large, SLOW},
        {"softmax_on_gpu", "rows with -infinity in them", 1, softmax_of_masked, SLOW},
        {"softmax_on_gpu", "the same bits in every order of threads", 1, softmax_in_order, SLOW},
        {"attend_on_gpu", "one tile, and a thread for each query", 1, attends_one_tile, SLOW},
        {"attend_on_gpu", "any number of queries and keys", 2, attends_any, SLOW},
        {"attend_on_gpu", "large scores do not overflow", 1, attends_large, SLOW},
        {"attend_on_gpu", "the same bits in every order of threads", 1, attends_in_order, SLOW},
#endif
    };
    static const Timed timed[] = {{"softmax_forward", time_softmax}};
    const Lesson lesson = {"Lesson 18: write a kernel", checks, sizeof checks / sizeof *checks, mine, timed, 1};
#ifndef HAVE_EMULATOR
    if (argc == 1)
        printf("left out: exercise.cu, because no C++17 compiler was found (make probe looks again)\n\n");
#endif
    return grade_main(&lesson, argc, argv);
}
