/* Lesson 3: queries, keys, values, and why scores are divided by the root of dk. See README.md; `make lesson-03`.
 *
 *     q = x wq^T, k = x wk^T [n,dk], v = x wv^T [n,dv]        y = softmax(q k^T / sqrt(dk)) v */
#include "course/frame/draw.h"
#include "course/frame/matrix.h"
#include "kernels/plain/plain.h"

#include "base/philox.h"

#include <math.h>
#include <stdio.h>

static const Kernels *const k = &plain_f32;

typedef struct Head {
    const float *wq, *wk, *wv; /* [dk,d], [dk,d], [dv,d] */
    size_t d, dk, dv;
} Head;

/* x [n,d] to y [n,dv]; q and keys [n,dk], v [n,dv] and weights [n,n] are kept to be looked at */
static void attend(float *y, float *weights, float *q, float *keys, float *v, const float *x, const Head *h, size_t n)
{
    k->linear_forward(NULL, q, false, x, h->wq, NULL, false, n, h->d, h->dk);
    k->linear_forward(NULL, keys, false, x, h->wk, NULL, false, n, h->d, h->dk);
    k->linear_forward(NULL, v, false, x, h->wv, NULL, false, n, h->d, h->dv);
    double scale = 1 / sqrt((double)h->dk);
    k->product(NULL, matrix(weights, n), false, matrix(q, h->dk), transposed(matrix(keys, h->dk)), scale, 1, 1, n, n,
               h->dk);
    k->softmax_forward(NULL, weights, weights, n, n);
    k->product(NULL, matrix(y, h->dv), false, matrix(weights, n), matrix(v, h->dv), 1, 1, 1, n, h->dv, n);
}

/* ---- 1. verbs look for those who do it */

enum { WORDS = 5, FEATURES = 4, DK = 2, DV = 1 };

static const char *const words[WORDS] = {"the", "dog", "runs", "a", "mat"};
static const char *const features[FEATURES] = {"article", "noun", "verb", "alive"};
static const float x[WORDS][FEATURES] = {{1, 0, 0, 0}, {0, 1, 0, 1}, {0, 0, 1, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}};

/* What a word asks for: a verb for something alive, an article for a noun; what it says of itself; what it hands on */
static const float wq[DK][FEATURES] = {{0, 0, 6, 0}, {6, 0, 0, 0}};
static const float wk[DK][FEATURES] = {{0, 0, 0, 1}, {0, 1, 0, 0}};
static const float wv[DV][FEATURES] = {{0, 0, 0, 1}};

static void verbs_and_nouns(void)
{
    static const char *const slots[] = {"alive?", "noun?"}, *const handed[] = {"alive"};
    const Head head = {wq[0], wk[0], wv[0], FEATURES, DK, DV};
    float q[WORDS * DK], keys[WORDS * DK], v[WORDS * DV], weights[WORDS * WORDS], y[WORDS * DV];
    attend(y, weights, q, keys, v, x[0], &head, WORDS);
    section("1. Verbs look for those who do it");
    print_matrix("x", x[0], WORDS, FEATURES, words, features);
    print_matrix("queries x wq^T: what a word looks for", q, WORDS, DK, words, slots);
    print_matrix("keys x wk^T: what it can be found by", keys, WORDS, DK, words, slots);
    print_matrix("weights softmax(q k^T / sqrt(2))", weights, WORDS, WORDS, words, words);
    draw_matrix("03-verbs", "who listens (rows) to whom (columns)", weights, WORDS, WORDS, words, words);
    print_matrix("y = weights v: is what I found alive?", y, WORDS, DV, words, handed);
}

/* ---- 2. why divide by the root of dk: measured */

enum { KEYS = 16, TRIALS = 400, SIZES = 6, WIDEST = 1024, HEADS = 8, WAYS = 3 };

static const char *const ways[WAYS] = {"1 (not at all)", "sqrt(dk)", "full: sqrt(8 dk), of all heads together"};
static double divisor(int way, size_t dk) { return way == 0 ? 1 : sqrt((double)(way == 1 ? dk : HEADS * dk)); }

/* The size of the softmax's gradient: the norm of the matrix dw[i]/ds[j] = w[i] ((i == j) - w[j]) */
static double slope(const float *w, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            sum += pow((double)w[i] * ((i == j) - (double)w[j]), 2);
    return sqrt(sum);
}

typedef struct Measured {
    double spread, length, largest[WAYS], slope[WAYS]; /* means over trials */
} Measured;

/* Queries and keys of normal numbers, each with variance 1 */
static Measured measure(size_t dk)
{
    static float q[WIDEST], keys[KEYS * WIDEST];
    float s[KEYS], w[KEYS];
    Measured m = {0};
    for (int t = 0; t < TRIALS; t++) {
        for (size_t i = 0; i < dk; i++)
            q[i] = (float)philox_normal(1, (uint32_t)t, i, 1);
        for (size_t i = 0; i < KEYS * dk; i++)
            keys[i] = (float)philox_normal(1, (uint32_t)t, i, 2);
        for (int way = 0; way < WAYS; way++) {
            k->product(NULL, matrix(s, KEYS), false, matrix(q, dk), transposed(matrix(keys, dk)), 1 / divisor(way, dk),
                       1, 1, 1, KEYS, dk);
            k->softmax_forward(NULL, w, s, 1, KEYS);
            float largest = 0;
            for (int i = 0; i < KEYS; i++) {
                m.spread += way == 0 ? (double)(s[i] * s[i]) / KEYS / TRIALS : 0;
                largest = fmaxf(largest, w[i]);
            }
            m.largest[way] += (double)largest / TRIALS;
            m.slope[way] += slope(w, KEYS) / TRIALS;
        }
        float square = 0;
        k->product(NULL, matrix(&square, 1), false, matrix(q, dk), transposed(matrix(q, dk)), 1, 1, 1, 1, 1, dk);
        m.length += sqrt((double)square) / TRIALS;
    }
    m.spread = sqrt(m.spread);
    return m;
}

static void why_the_root(void)
{
    static const size_t sizes[SIZES] = {1, 4, 16, 64, 256, WIDEST};
    float size[SIZES], slopes[WAYS][SIZES];
    section("2. Why divide by the root of dk");
    printf("  %d keys; means over random queries and keys        largest weight            gradient of the softmax\n",
           KEYS);
    printf("  %4s  %10s  %10s    %8s %8s %8s    %8s %8s %8s\n", "dk", "length", "spread", "/1", "/sqrt", "/full", "/1",
           "/sqrt", "/full");
    for (int i = 0; i < SIZES; i++) {
        Measured m = measure(sizes[i]);
        printf("  %4zu  %10.1f  %10.1f    %8.2f %8.2f %8.2f    %8.3f %8.3f %8.3f\n", sizes[i], m.length, m.spread,
               m.largest[0], m.largest[1], m.largest[2], m.slope[0], m.slope[1], m.slope[2]);
        size[i] = (float)sizes[i];
        for (int way = 0; way < WAYS; way++)
            slopes[way][i] = (float)m.slope[way];
    }
    printf("\n");
    const Curve curves[WAYS] = {
        {ways[0], size, slopes[0], SIZES}, {ways[1], size, slopes[1], SIZES}, {ways[2], size, slopes[2], SIZES}};
    draw_curves(&(Plot){"03-slope", "what reaches the scores of the gradient, by what they are divided by", "dk",
                        "gradient of the softmax", true, false},
                curves, WAYS);
}

int main(void)
{
    verbs_and_nouns();
    why_the_root();
    return 0;
}
