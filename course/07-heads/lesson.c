/* Lesson 7: many heads. See README.md beside this file; `make lesson-07` runs it.
 *
 *     y = concat over h of softmax(q_h k_h^T / sqrt(dk)) v_h        q, k [n,H*dk], v, y [n,H*dv]
 *
 * Head h is columns h*dk .. of q and k, and h*dv .. of v and y; nothing is moved to get at it. */
#include "base/philox.h"
#include "core/nn/attention.h"
#include "course/frame/draw.h"
#include "course/frame/matrix.h"
#include "kernels/plain/plain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const Kernels *const k = &plain_f32;

/* The matrices [n, size] of all heads in x [n, heads*size], without a copy: the inner matrices of a product */
static Operand by_head(const float *x, size_t heads, size_t size)
{
    Operand all = matrix(x, heads * size);
    all.inner = size;
    return all;
}

/* Matrices [rows, columns] one after another */
static Operand one_by_one(const float *x, size_t rows, size_t columns)
{
    Operand all = matrix(x, columns);
    all.inner = rows * columns;
    return all;
}

/* y [n,H*dv] of q, k [n,H*dk] and v [n,H*dv]; weights [H,n,n] are kept to be looked at */
static void attend(float *y, float *weights, const float *q, const float *keys, const float *v, size_t n, size_t heads,
                   size_t dk, size_t dv)
{
    k->product(NULL, one_by_one(weights, n, n), false, by_head(q, heads, dk), transposed(by_head(keys, heads, dk)),
               1 / sqrt((double)dk), 1, heads, n, n, dk);
    k->softmax_forward(NULL, weights, weights, heads * n, n);
    k->product(NULL, by_head(y, heads, dv), false, one_by_one(weights, n, n), by_head(v, heads, dv), 1, 1, heads, n, dv,
               n);
}

/* ---- 1. mary gave roses to susan */

enum { WORDS = 5, FEATURES = 7, MOST = 2 };

static const char *const features[FEATURES] = {"mary", "susan", "roses", "gave", "to", "first", "last"};
static const char *const sentence[2][WORDS] = {{"mary", "gave", "roses", "to", "susan"},
                                               {"susan", "gave", "roses", "to", "mary"}};

/* x [5,7]: who it is, and whether it is first or last */
static void describe(float x[WORDS][FEATURES], const char *const *words)
{
    memset(x, 0, WORDS * sizeof *x);
    for (size_t i = 0; i < WORDS; i++)
        for (size_t j = 0; j < 5; j++)
            x[i][j] = strcmp(words[i], features[j]) == 0;
    x[0][5] = x[WORDS - 1][6] = 1;
}

/* What "gave" has heard, y [H*2]: how much of Mary, how much of Susan, for each head. A query of "gave" in head h is
 * sharp * ask[h] over (first, last), a key is what a word has of these two, a value is (mary, susan). */
static void hear(float *y, const char *const *words, const float ask[][2], size_t heads, const char *picture)
{
    float x[WORDS][FEATURES], q[WORDS * MOST * 2] = {0}, keys[WORDS * MOST * 2], v[WORDS * MOST * 2];
    float weights[MOST * WORDS * WORDS], all[WORDS * MOST * 2], gave[MOST * WORDS];
    const float sharp = 8;
    describe(x, words);
    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < WORDS; i++)
            for (size_t j = 0; j < 2; j++) {
                q[(i * heads + h) * 2 + j] = sharp * x[i][3] * ask[h][j];
                keys[(i * heads + h) * 2 + j] = x[i][5 + j];
                v[(i * heads + h) * 2 + j] = x[i][j];
            }
    attend(all, weights, q, keys, v, WORDS, heads, 2, 2);
    memcpy(y, all + 1 * heads * 2, heads * 2 * sizeof *y); /* "gave" is word 1 */
    for (size_t h = 0; h < heads; h++)
        memcpy(gave + h * WORDS, weights + (h * WORDS + 1) * WORDS, WORDS * sizeof *gave);
    if (picture)
        draw_matrix(picture, "whom \"gave\" listens to, a row for each head", gave, heads, WORDS,
                    (const char *const[]){"who gives", "who gets"}, words);
}

static void roses(void)
{
    static const float both[1][2] = {{1, 1}}, each[2][2] = {{1, 0}, {0, 1}};
    section("1. Mary gave roses to Susan");
    for (size_t heads = 1; heads <= 2; heads++) {
        float y[2][MOST * 2], difference = 0;
        printf("  %zu head%s of size 2; what \"gave\" has heard, (mary, susan) for each head:\n", heads,
               heads > 1 ? "s" : "");
        for (int i = 0; i < 2; i++) {
            hear(y[i], sentence[i], heads == 1 ? both : each, heads, NULL);
            printf("    %5s gave roses to %-5s ", sentence[i][0], sentence[i][4]);
            for (size_t h = 0; h < heads; h++)
                printf(" (%.2f, %.2f)", (double)y[i][2 * h], (double)y[i][2 * h + 1]);
            printf("\n");
        }
        for (size_t j = 0; j < heads * 2; j++)
            difference = fmaxf(difference, fabsf(y[0][j] - y[1][j]));
        printf("    largest difference: %.2f\n\n", (double)difference);
    }
    float y[MOST * 2];
    hear(y, sentence[0], each, 2, "07-roses");
}

/* ---- 2. narrow and wide heads: how many numbers */

/* Numbers of a layer as the repository builds it, biases left out */
static size_t numbers(size_t dim, size_t heads, size_t size)
{
    Parameters p = {0};
    size_t count = 0;
    AttentionOptions o = {.dim = dim, .heads = heads, .key_size = size, .value_size = size};
    attention_new(&p, &o, "attention");
    for (size_t i = 0; i < p.count; i++)
        count += p.list[i]->rank == 2 ? p.list[i]->count : 0;
    parameters_close(&p);
    return count;
}

static void narrow_and_wide(void)
{
    const size_t dim = 256;
    section("2. Narrow heads and wide ones");
    printf("  D = %zu; numbers in query, key, value and output, in units of D^2 = %zu\n", dim, dim * dim);
    printf("  %5s  %14s %8s  %14s %8s\n", "heads", "narrow, dk=D/H", "/ D^2", "wide, dk=D", "/ D^2");
    for (size_t heads = 1; heads <= 16; heads *= 2) {
        size_t narrow = numbers(dim, heads, dim / heads), wide = numbers(dim, heads, dim);
        printf("  %5zu  %14zu %8.2f  %14zu %8.2f\n", heads, narrow, (double)narrow / (double)(dim * dim), wide,
               (double)wide / (double)(dim * dim));
    }
    printf("\n");
}

/* ---- 3. the output matrix: can it be dropped? */

enum { N = 6, D = 8, H = 4, SIZE = D / H };

static void fill(float *x, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(2 * philox_uniform(seed, 0, i, 0) - 1);
}

static float difference(const float *a, const float *b, size_t n)
{
    float most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmaxf(most, fabsf(a[i] - b[i]));
    return most;
}

/* Which columns of the layer's result [N,D] change where head 1 is silenced */
static void print_changed(const char *title, const float *with, const float *without)
{
    printf("  %-28s", title);
    for (size_t j = 0; j < D; j++) {
        float most = 0;
        for (size_t i = 0; i < N; i++)
            most = fmaxf(most, fabsf(with[i * D + j] - without[i * D + j]));
        printf(" %c", most > 0 ? 'x' : '.');
    }
    printf("\n");
}

/* y [N,D] of each head alone, with its values and its part of the output matrix made one matrix [D,D], summed */
static void merged(float *y, const float *weights, const float *x, const float *value, const float *out)
{
    for (size_t h = 0; h < H; h++) {
        float both[D * D], v[N * D];
        k->product(NULL, matrix(both, D), false, matrix(out + h * SIZE, D), matrix(value + h * SIZE * D, D), 1, 1, 1, D,
                   D, SIZE);
        k->linear_forward(NULL, v, false, x, both, NULL, false, N, D, D);
        k->product(NULL, matrix(y, D), h > 0, matrix(weights + h * N * N, N), matrix(v, D), 1, 1, 1, N, D, N);
    }
}

static void output(void)
{
    float x[N * D], w[4][D * D], qkv[3][N * D], weights[H * N * N], y[N * D], silent[N * D], out[3][N * D];
    section("3. The output matrix: can it be dropped?");
    fill(x, N * D, 1);
    for (size_t i = 0; i < 4; i++)
        fill(w[i], D * D, (uint32_t)(2 + i));
    for (size_t i = 0; i < 3; i++)
        k->linear_forward(NULL, qkv[i], false, x, w[i], NULL, false, N, D, D);
    attend(y, weights, qkv[0], qkv[1], qkv[2], N, H, SIZE, SIZE);
    memcpy(silent, y, sizeof y);
    for (size_t i = 0; i < N; i++)
        silent[i * D + SIZE] = silent[i * D + SIZE + 1] = 0;
    k->linear_forward(NULL, out[0], false, y, w[3], NULL, false, N, D, D);
    k->linear_forward(NULL, out[1], false, silent, w[3], NULL, false, N, D, D);
    merged(out[2], weights, x, w[2], w[3]);
    printf("  %d heads of %d numbers, D = %d; columns that change where head 1 is silenced:\n", H, SIZE, D);
    print_changed("without the output matrix", y, silent);
    print_changed("with it", out[0], out[1]);
    printf("\n  value and output of each head made one matrix [D,D]: the same to 1e-5: %s\n",
           difference(out[0], out[2], N * D) < 1e-5f ? "yes" : "no");
    printf("  numbers in value and output: apart %d, made one %d\n", 2 * D * D, H * D * D);
}

/* ---- 4. nothing is moved */

/* The same with the heads copied apart first, and back afterwards */
static void attend_copied(float *y, const float *const qkv[3], size_t n, size_t heads, size_t size)
{
    float *apart[4], *weights = malloc(n * n * sizeof *weights);
    for (int i = 0; i < 4; i++)
        apart[i] = malloc(n * heads * size * sizeof **apart);
    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < 3; j++)
                memcpy(apart[j] + (h * n + i) * size, qkv[j] + (i * heads + h) * size, size * sizeof **apart);
    for (size_t h = 0; h < heads; h++) {
        size_t at = h * n * size;
        attend(apart[3] + at, weights, apart[0] + at, apart[1] + at, apart[2] + at, n, 1, size, size);
    }
    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < n; i++)
            memcpy(y + (i * heads + h) * size, apart[3] + (h * n + i) * size, size * sizeof *y);
    for (int i = 0; i < 4; i++)
        free(apart[i]);
    free(weights);
}

static void nothing_moves(void)
{
    const size_t n = 64, heads = 8, size = 16, width = heads * size;
    float *x[5], *weights = malloc(heads * n * n * sizeof *weights);
    section("4. Nothing is moved");
    for (size_t i = 0; i < 5; i++) {
        x[i] = malloc(n * width * sizeof **x);
        fill(x[i], n * width, (uint32_t)(10 + i));
    }
    attend(x[3], weights, x[0], x[1], x[2], n, heads, size, size);
    attend_copied(x[4], (const float *const[]){x[0], x[1], x[2]}, n, heads, size);
    printf("  %zu positions, %zu heads of %zu; copying q, k and v apart and y back moves %zu kB\n", n, heads, size,
           4 * n * width * sizeof **x / 1024);
    printf("  read in place: 0 kB, and the same to the last bit: %s\n",
           memcmp(x[3], x[4], n * width * sizeof **x) == 0 ? "yes" : "no");
    for (size_t i = 0; i < 5; i++)
        free(x[i]);
    free(weights);
}

/* ---- 5. what goes wrong: heads that are too narrow */

enum { KEYS = 64, WIDEST = 64 };

/* 64 random keys of length 1 in a head of size dk, 64 queries, each 20 times one of the keys: the weight that the right
 * key gets, on average, and how often it gets more than half */
static void tell_apart(size_t dk, float *mean, float *found)
{
    float keys[KEYS * WIDEST], weights[KEYS * KEYS];
    *mean = *found = 0;
    for (size_t i = 0; i < KEYS; i++) {
        double length = 0;
        for (size_t j = 0; j < dk; j++) {
            keys[i * dk + j] = (float)philox_normal(20, 0, i, (uint32_t)j);
            length += (double)keys[i * dk + j] * (double)keys[i * dk + j];
        }
        for (size_t j = 0; j < dk; j++)
            keys[i * dk + j] /= (float)sqrt(length);
    }
    k->product(NULL, matrix(weights, KEYS), false, matrix(keys, dk), transposed(matrix(keys, dk)), 20, 1, 1, KEYS, KEYS,
               dk);
    k->softmax_forward(NULL, weights, weights, KEYS, KEYS);
    for (size_t i = 0; i < KEYS; i++) {
        *mean += weights[i * KEYS + i] / KEYS;
        *found += weights[i * KEYS + i] > 0.5f ? 1.0f / KEYS : 0;
    }
}

static void too_narrow(void)
{
    float size[7], mean[7], found[7];
    section("5. Heads that are too narrow");
    printf("  64 keys in a head of size dk: what the right one gets\n  %4s  %11s  %s\n", "dk", "mean weight",
           "more than half");
    for (size_t i = 0; i < 7; i++) {
        size[i] = (float)(1 << i);
        tell_apart((size_t)1 << i, mean + i, found + i);
        printf("  %4g  %11.2f  %13.0f%%\n", (double)size[i], (double)mean[i], 100 * (double)found[i]);
    }
    printf("\n");
    const Curve curves[] = {{"mean weight of the right key", size, mean, 7},
                            {"found: it gets more than half", size, found, 7}};
    draw_curves(&(Plot){"07-narrow", "64 keys in a head of size dk", "dk", "share", true, false}, curves, 2);
}

int main(void)
{
    roses();
    narrow_and_wide();
    output();
    nothing_moves();
    too_narrow();
    return 0;
}
