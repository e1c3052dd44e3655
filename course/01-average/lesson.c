/* Lesson 1: a weighted average. See README.md beside this file; `make lesson-01` runs it.
 *
 *     y = softmax(beta x x^T) x        x, y [n,d]: each vector becomes an average of all, by how alike they are */
#include "course/frame/draw.h"
#include "course/frame/matrix.h"
#include "kernels/plain/plain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const Kernels *const k = &plain_f32;

/* ---- 1. weights that are fixed: the guesses of three people, and a line that is smoothed */

static void three_guesses(void)
{
    static const float guesses[] = {1198, 1250, 900};
    static const float trust[][3] = {{1 / 3.0f, 1 / 3.0f, 1 / 3.0f}, {0.6f, 0.3f, 0.1f}, {0, 0, 1}};
    section("1. Weights that are fixed");
    printf("  guesses: %g (a farmer), %g (a butcher), %g (a child)\n", (double)guesses[0], (double)guesses[1],
           (double)guesses[2]);
    for (int i = 0; i < 3; i++) {
        float y = 0;
        k->product(NULL, matrix(&y, 1), false, matrix(trust[i], 3), matrix(guesses, 1), 1, 1, 1, 1, 1, 3);
        printf("  weights %.2f %.2f %.2f: %.1f\n", (double)trust[i][0], (double)trust[i][1], (double)trust[i][2],
               (double)y);
    }
    printf("\n");
}

/* ---- 2. weights that the vectors choose themselves */

enum { WORDS = 6, FEATURES = 3 };

static const char *const words[WORDS] = {"cat", "dog", "mat", "sofa", "runs", "naps"};
static const char *const features[FEATURES] = {"alive", "soft", "moves"};
static const float x[WORDS][FEATURES] = {{1.9f, 0.6f, 0.5f},  {1.8f, 0.3f, 0.9f},  {0.0f, 1.6f, 0.0f},
                                         {0.0f, 1.8f, -0.4f}, {0.7f, -0.3f, 1.9f}, {0.9f, 1.1f, -0.8f}};

/* y [n,d] = softmax(beta x x^T) x; weights [n,n] are kept to be looked at */
static void attend(float *y, float *weights, const float *x_, size_t n, size_t d, double beta)
{
    k->product(NULL, matrix(weights, n), false, matrix(x_, d), transposed(matrix(x_, d)), beta, 1, 1, n, n, d);
    k->softmax_forward(NULL, weights, weights, n, n);
    k->product(NULL, matrix(y, d), false, matrix(weights, n), matrix(x_, d), 1, 1, 1, n, d, n);
}

static void words_that_listen(void)
{
    float scores[WORDS * WORDS], weights[WORDS * WORDS], y[WORDS * FEATURES];
    section("2. Weights that the vectors choose themselves");
    print_matrix("x: six words, three features", x[0], WORDS, FEATURES, words, features);
    k->product(NULL, matrix(scores, WORDS), false, matrix(x[0], FEATURES), transposed(matrix(x[0], FEATURES)), 1, 1, 1,
               WORDS, WORDS, FEATURES);
    print_matrix("scores x x^T: how alike two words are", scores, WORDS, WORDS, words, words);
    attend(y, weights, x[0], WORDS, FEATURES, 1);
    print_matrix("weights softmax(x x^T): each row sums to 1", weights, WORDS, WORDS, words, words);
    draw_matrix("01-weights", "who listens (rows) to whom (columns)", weights, WORDS, WORDS, words, words);
    print_matrix("y = weights x: what each word has become", y, WORDS, FEATURES, words, features);
}

/* ---- 3. how sharply they choose */

/* exp of the entropy: how many vectors a row of weights listens to */
static double listened_to(const float *weights, size_t n)
{
    double entropy = 0;
    for (size_t i = 0; i < n; i++)
        entropy -= weights[i] > 0 ? (double)weights[i] * log((double)weights[i]) : 0;
    return exp(entropy);
}

static void sharpness(void)
{
    enum { STEPS = 25 };
    float beta[STEPS], own[STEPS], count[STEPS];
    float weights[WORDS * WORDS], y[WORDS * FEATURES];
    section("3. How sharply they choose");
    printf("  %8s  %18s  %12s\n", "beta", "cat's own weight", "listens to");
    for (int i = 0; i < STEPS; i++) {
        beta[i] = i ? 0.01f * powf(10, (float)(i - 1) / 6) : 0;
        attend(y, weights, x[0], WORDS, FEATURES, (double)beta[i]);
        own[i] = weights[0];
        count[i] = (float)listened_to(weights, WORDS);
        if (i % 6 == 1 || i == 0)
            printf("  %8.4g  %18.3f  %7.2f words\n", (double)beta[i], (double)own[i], (double)count[i]);
    }
    printf("\n");
    draw_curves(&(Plot){"01-sharpness", "how many words \"cat\" listens to", "beta", "words", true, false},
                &(Curve){"words: exp of the entropy of cat's weights", beta, count, STEPS}, 1);
}

/* ---- 4. the order of the vectors does not count */

static void another_order(void)
{
    static const size_t order[WORDS] = {4, 2, 0, 5, 1, 3};
    float turned_x[WORDS][FEATURES], y[WORDS][FEATURES], turned_y[WORDS][FEATURES], weights[WORDS * WORDS];
    float difference = 0;
    section("4. In another order");
    for (size_t i = 0; i < WORDS; i++)
        memcpy(turned_x[i], x[order[i]], sizeof turned_x[i]);
    attend(y[0], weights, x[0], WORDS, FEATURES, 1);
    attend(turned_y[0], weights, turned_x[0], WORDS, FEATURES, 1);
    for (size_t i = 0; i < WORDS; i++)
        for (size_t j = 0; j < FEATURES; j++)
            difference = fmaxf(difference, fabsf(turned_y[i][j] - y[order[i]][j]));
    printf("  the words in another order give the same y in that order: largest difference below 1e-6: %s\n",
           difference < 1e-6f ? "yes" : "no");
}

/* ---- 5. a dictionary that answers to anything */

enum { ENTRIES = 3 };

static void soft_dictionary(void)
{
    static const char *const keys[ENTRIES] = {"cat", "mat", "runs"};
    static const float key[ENTRIES][FEATURES] = {{1.9f, 0.6f, 0.5f}, {0.0f, 1.6f, 0.0f}, {0.7f, -0.3f, 1.9f}};
    static const float value[ENTRIES] = {9, 1, 4}; /* lives, owners, miles an hour */
    static const char *const asked[] = {"cat", "dog", "sofa"};
    static const float query[][FEATURES] = {{1.9f, 0.6f, 0.5f}, {1.8f, 0.3f, 0.9f}, {0.0f, 1.8f, -0.4f}};
    section("5. A dictionary that answers to anything");
    printf("  it holds %s: %g, %s: %g, %s: %g\n", keys[0], (double)value[0], keys[1], (double)value[1], keys[2],
           (double)value[2]);
    for (int beta = 1; beta <= 10; beta *= 10)
        for (int i = 0; i < 3; i++) {
            float weights[ENTRIES], y = 0;
            k->product(NULL, matrix(weights, ENTRIES), false, matrix(query[i], FEATURES),
                       transposed(matrix(key[0], FEATURES)), beta, 1, 1, 1, ENTRIES, FEATURES);
            k->softmax_forward(NULL, weights, weights, 1, ENTRIES);
            k->product(NULL, matrix(&y, 1), false, matrix(weights, ENTRIES), matrix(value, 1), 1, 1, 1, 1, 1, ENTRIES);
            printf("  beta %2d, asked for %-4s: %.2f\n", beta, asked[i], (double)y);
        }
}

/* ---- 6. what goes wrong */

static void print_row(const char *title, const float *y, size_t n)
{
    printf("  %s", title);
    for (size_t i = 0; i < n; i++)
        isnan(y[i]) ? printf(" NaN") : printf(" %.2g", (double)y[i]);
    printf("\n");
}

static void too_large(void)
{
    static const float score[] = {20, 50, 100};
    float sum = 0, y[3];
    section("6. What goes wrong");
    for (int i = 0; i < 3; i++)
        sum += y[i] = expf(score[i]);
    for (int i = 0; i < 3; i++)
        y[i] /= sum;
    print_row("softmax of 20, 50, 100 as it is written:", y, 3);
    k->softmax_forward(NULL, y, score, 1, 3);
    print_row("with the largest taken off first:      ", y, 3);
    printf("\n");
}

static void too_loud(void)
{
    float loud[WORDS][FEATURES], weights[WORDS * WORDS], y[WORDS * FEATURES];
    memcpy(loud, x, sizeof loud);
    for (size_t j = 0; j < FEATURES; j++)
        loud[2][j] *= 3;
    attend(y, weights, loud[0], WORDS, FEATURES, 1);
    draw_matrix("01-loud", "\"mat\" three times as long: who listens to whom", weights, WORDS, WORDS, words, words);
}

int main(void)
{
    three_guesses();
    words_that_listen();
    sharpness();
    another_order();
    soft_dictionary();
    too_large();
    too_loud();
    return 0;
}
