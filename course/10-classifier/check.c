/* Lesson 10: what is graded. */
#include "course/10-classifier/exercise.h"
#include "course/frame/grade.h"

#include <math.h>
#include <string.h>

/* ---- 1. learn_words */

typedef enum Counting { ONCE, EVERY, NO_ONE_MORE, ALL_WORDS_OF_TEXTS } Counting;

enum { WORDS = 5, TEXTS = 5 };

static const int32_t ids[] = {0, 1, 1, 1, 2, 0, 3, 0, 1, 3, 2, 2, 0};
static const int32_t begins[TEXTS + 1] = {0, 5, 7, 7, 11, 13}, labels[TEXTS] = {1, 0, 1, 0, 1};

static void ratios(double *ratio, Counting how)
{
    double count[2][WORDS] = {{0}}, sum[2] = {0};
    for (size_t t = 0; t < TEXTS; t++)
        for (int32_t i = begins[t]; i < begins[t + 1]; i++) {
            bool again = false;
            for (int32_t j = begins[t]; j < i; j++)
                again = again || ids[j] == ids[i];
            count[labels[t]][ids[i]] += again && how != EVERY ? 0 : 1;
            sum[labels[t]] += again && how == ONCE ? 0 : 1;
        }
    for (size_t w = 0; w < WORDS; w++) {
        double one = how == NO_ONE_MORE ? 0 : 1;
        ratio[w] = log((count[1][w] + one) / (sum[1] + WORDS * one)) -
                   log((count[0][w] + one) / (sum[0] + WORDS * one));
    }
}

static void learns_words(Grade *g)
{
    float *ratio = grade_output(g, "ratio", WORDS);
    double expected[WORDS], every[WORDS], turned[WORDS], all[WORDS];
    ratios(expected, ONCE), ratios(every, EVERY), ratios(all, ALL_WORDS_OF_TEXTS);
    for (size_t w = 0; w < WORDS; w++)
        turned[w] = -expected[w];
    learn_words(ratio, ids, begins, labels, TEXTS, WORDS);
    const Suspect suspects[] = {
        {every, "a word counts once in a text, however often it occurs"},
        {all, "the sum is over the counts, in which a word of a text is one: so it is in the sum"},
        {turned, "this is class 0 against 1: log p(w|1) - log p(w|0)"},
        {NULL, NULL}};
    for (size_t w = 0; w < WORDS; w++)
        expect(g, !isinf(ratio[w]), "no word is impossible: add 1 to each count", "ratio[%zu] is %g", w,
               (double)ratio[w]);
    expect_numbers(g, "ratio", ratio, expected, WORDS, 0, 1e-5, suspects,
                   "log of (1 + count) / (words + sum of counts), of class 1 less of class 0");
}

/* ---- 2. cross_entropy_forward */

enum { N = 4, V = 5 };

static const int32_t targets[N] = {2, -1, 0, 4};

typedef struct Entropy {
    double losses[N], lse[N], sum, nll, count;
} Entropy;

static Entropy entropy(const float *z, double smoothing)
{
    Entropy r = {.sum = 0};
    for (size_t i = 0; i < N; i++, z += V) {
        double largest = -INFINITY, sum = 0, mean = 0;
        if (targets[i] < 0)
            continue;
        for (size_t j = 0; j < V; j++)
            largest = fmax(largest, (double)z[j]), mean += smoothing > 0 ? (double)z[j] / V : 0;
        for (size_t j = 0; j < V; j++)
            sum += exp((double)z[j] - largest);
        r.lse[i] = log(sum) + largest;
        r.losses[i] = r.lse[i] - (1 - smoothing) * (double)z[targets[i]] - smoothing * mean;
        r.sum += r.losses[i];
        r.nll += r.lse[i] - (double)z[targets[i]];
        r.count++;
    }
    return r;
}

static void expect_total(Grade *g, const char *name, double found, double expected)
{
    expect(g, fabs(found - expected) < 1e-4, "each is added to what is there, for targets that are not below 0",
           "state->loss[1].%s is %.6g and should be %.6g", name, found, expected);
}

static void entropies(Grade *g, const float *z, double smoothing, const char *hint)
{
    float *losses = grade_output(g, "losses", N), *lse = grade_output(g, "lse", N);
    StepState state = {.loss = {{.sum = 5, .nll = 6, .count = 7}, {.sum = 10, .nll = 20, .count = 30}}};
    Entropy r = entropy(z, smoothing), bare = entropy(z, 0);
    double others[N];
    for (size_t i = 0; i < N; i++) { /* smoothing spread over the other classes */
        double all = V * (r.losses[i] - bare.losses[i]) / (V - 1);
        others[i] = bare.losses[i] + all;
    }
    mine_cross_entropy_forward(NULL, losses, lse, &state, 1, z, targets, smoothing, N, V);
    const Suspect suspects[] = {{bare.losses, "smoothing takes e of the target's share, and gives it to all alike"},
                                {others, "e is spread over all classes, the target included"},
                                {NULL, NULL}};
    for (size_t i = 0; i < N; i++)
        expect(g, isfinite(losses[i]) && isfinite(lse[i]), hint, "losses[%zu] is %g, lse[%zu] is %g", i,
               (double)losses[i], i, (double)lse[i]);
    expect_numbers(g, "lse", lse, r.lse, N, 0, 1e-5, NULL, "log of the sum of exp; 0 where the target is below 0");
    expect_numbers(g, "losses", losses, r.losses, N, 0, 1e-5, smoothing > 0 ? suspects : NULL,
                   "lse less the target's logit; 0 where the target is below 0");
    expect_total(g, "sum", state.loss[1].sum, 10 + r.sum);
    expect_total(g, "nll", state.loss[1].nll, 20 + r.nll);
    expect_total(g, "count", state.loss[1].count, 30 + r.count);
    expect(g, state.loss[0].sum + state.loss[0].nll + state.loss[0].count < 18.5, "which is 1 here",
           "state->loss[0] was changed");
}

static void entropies_plain(Grade *g) { entropies(g, grade_input(g, "logits", N * V, 1), 0, NULL); }
static void entropies_smoothed(Grade *g) { entropies(g, grade_input(g, "logits", N * V, 2), 0.3, NULL); }

static void entropies_large(Grade *g)
{
    float *z = grade_input(g, "logits", N * V, 3);
    for (size_t i = 0; i < N * V; i++)
        z[i] = 300 * z[i] + (i < V ? 500 : -500);
    grade_seal(g);
    entropies(g, z, 0, "exp(89) is infinity in float, and log(0) is -infinity: take the largest off before exp");
    z = grade_input(g, "logits", N * V, 3);
    z[0] = z[2 * V + 3] = -INFINITY;
    grade_seal(g);
    entropies(g, z, 0, "0 times -infinity is NaN: without smoothing leave the mean out");
}

/* ---- 3. cross_entropy_backward */

static void entropies_back(Grade *g, bool add, double smoothing)
{
    float *z = grade_input(g, "logits", N * V, 4), *lse = grade_input(g, "lse", N, 5);
    float *dz = grade_output(g, "dlogits", N * V);
    Entropy r = entropy(z, smoothing);
    const StepState state = {.loss = {{.scale = 7}, {.scale = 0.25}}};
    double expected[N * V], unscaled[N * V], other[N * V], turned[N * V];
    for (size_t i = 0; i < N; i++)
        lse[i] = (float)r.lse[i];
    grade_seal(g);
    for (size_t e = 0; e < N * V; e++) {
        size_t i = e / V, j = e % V;
        double slope = targets[i] < 0 ? 0
                                      : exp((double)z[e] - r.lse[i]) - (1 - smoothing) * ((int32_t)j == targets[i]) -
                                            smoothing / V;
        double there = add ? 3 : 0;
        dz[e] = 3;
        expected[e] = there + 0.25 * slope, unscaled[e] = there + slope;
        turned[e] = there - 0.25 * slope, other[e] = 3 - there + 0.25 * slope;
    }
    mine_cross_entropy_backward(NULL, dz, add, &state, 1, lse, z, targets, smoothing, N, V);
    const Suspect suspects[] = {
        {unscaled, "the gradient is multiplied by the scale in state->loss[which]: a step's loss is a mean"},
        {turned, "this is uphill: softmax less what it should be"},
        {other, add ? "with `add`, the gradient is added to what is there" : "without `add`, dlogits is written over"},
        {NULL, NULL}};
    expect_numbers(g, "dlogits", dz, expected, N * V, V, 1e-5, suspects,
                   "(softmax - what it should be) * scale, zeros where the target is below 0");
}

static void entropies_back_plain(Grade *g) { entropies_back(g, false, 0); }

static void entropies_back_smoothed(Grade *g)
{
    entropies_back(g, false, 0.3);
    entropies_back(g, true, 0.3);
}

/* ---- 4. pool_backward */

enum { ROWS = 4, VECTORS = 9, D = 3 };

static const int32_t starts[ROWS + 1] = {0, 3, 3, 4, 7};
static const int32_t largest[ROWS * D] = {2, 0, 2, -1, -1, -1, 3, 3, 3, 4, 6, 5};

static void pools_back(Grade *g, Pooling how, bool add)
{
    float *dy = grade_input(g, "dy", ROWS * D, 6), *dx = grade_output(g, "dx", VECTORS * D);
    double expected[VECTORS * D] = {0}, whole[VECTORS * D] = {0}, other[VECTORS * D];
    for (size_t e = 0; e < VECTORS * D; e++)
        dx[e] = 2;
    for (size_t r = 0; r < ROWS; r++)
        for (int32_t i = starts[r]; i < starts[r + 1]; i++)
            for (size_t j = 0; j < D; j++) {
                size_t e = (size_t)i * D + j;
                bool source = how == POOLING_MAX ? i == largest[r * D + j] : i == starts[r];
                double share = how == POOLING_MEAN ? 1 / (double)(starts[r + 1] - starts[r]) : source ? 1 : 0;
                expected[e] = share * (double)dy[r * D + j];
                whole[e] = (double)dy[r * D + j];
            }
    for (size_t e = 0; e < VECTORS * D; e++) {
        other[e] = expected[e] + (add ? 0 : 2);
        expected[e] += add ? 2 : 0, whole[e] += add ? 2 : 0;
    }
    mine_pool_backward(NULL, dx, add, dy, how == POOLING_MAX ? largest : NULL, how, starts, ROWS, VECTORS, D);
    const Suspect suspects[] = {
        {other, add ? "with `add`, the gradient is added to what is there" : "without `add`, dx is written over"},
        {whole, how == POOLING_MEAN ? "the mean is shared: each of the row's vectors gets dy / how many they are"
                                    : "only the vector that the number came from gets it"},
        {NULL, NULL}};
    expect_numbers(g, "dx", dx, expected, VECTORS * D, D, 1e-5, suspects,
                   "vectors that no row has, after start[b], have gradient 0; a row of none gives nothing");
}

static void pools_back_mean(Grade *g)
{
    pools_back(g, POOLING_MEAN, false);
    pools_back(g, POOLING_MEAN, true);
}

static void pools_back_others(Grade *g)
{
    for (int add = 0; add < 2; add++) {
        pools_back(g, POOLING_FIRST, add);
        pools_back(g, POOLING_MAX, add);
    }
}

/* ---- 5. embed_backward */

static void embeds_back(Grade *g, bool with_positions, Dropout drop, const StepState *state)
{
    enum { M = 6, SLOTS = 3, PLACES = 3 };
    const int32_t slots[M] = {2, 0, 2, 1, with_positions ? -5 : 1, 2}, position[M] = {0, 1, 2, 0, -1, 1};
    float *dy = grade_input(g, "dy", M * D, 7), *dtable = grade_output(g, "dtable", SLOTS * D);
    float *dpositions = grade_output(g, "dpositions", PLACES * D);
    double table[SLOTS * D], last[SLOTS * D], undropped[SLOTS * D], unscaled[SLOTS * D], unplaced[SLOTS * D];
    double positions[PLACES * D];
    for (size_t e = 0; e < SLOTS * D; e++) {
        table[e] = last[e] = undropped[e] = unscaled[e] = unplaced[e] = positions[e] = 4;
        dtable[e] = dpositions[e] = 4;
    }
    for (size_t e = 0; e < M * D; e++) {
        size_t i = e / D, j = e % D, at = (size_t)slots[i] * D + j;
        double gradient = (double)dy[e] * dropout_factor(drop, state, i, 0, j);
        if (!with_positions || position[i] >= 0)
            unplaced[at] += 2.5 * gradient;
        if (position[i] < 0)
            continue;
        table[at] += 2.5 * gradient, unscaled[at] += gradient;
        last[at] = 2.5 * gradient, undropped[at] += 2.5 * (double)dy[e];
        positions[(size_t)position[i] * D + j] += gradient;
    }
    mine_embed_backward(NULL, dtable, with_positions ? dpositions : NULL, dy, slots, position, 2.5, drop, state, M, D);
    const Suspect suspects[] = {
        {unplaced,
         "where position[i] is below 0 embed_forward wrote zeros: it gets no gradient, and neither does dtable"},
        {last, "two words may be the same: gradients are added, always"},
        {unscaled, "what was multiplied by scale forward is multiplied by it backward"},
        {drop.rate > 0 ? undropped : last, "each number of dy is multiplied by its dropout_factor"},
        {NULL, NULL}};
    expect_numbers(g, "dtable", dtable, table, SLOTS * D, D, 1e-5, suspects,
                   "dtable[slots[i]] gains scale * dropout_factor * dy[i], where position[i] is not below 0");
    if (with_positions)
        expect_numbers(g, "dpositions", dpositions, positions, PLACES * D, D, 1e-5, NULL,
                       "dpositions[position[i]] gains dropout_factor * dy[i]: positions were not scaled");
}

static void embeds_back_words(Grade *g) { embeds_back(g, false, (Dropout){0}, NULL); }

static void embeds_back_all(Grade *g)
{
    static const StepState state = {.seed = 7, .step = 3, .first_position = {11, 5}};
    embeds_back(g, true, (Dropout){.rate = 0.4, .site = 2, .side = 1}, &state);
}

/* ---- */

static void mine(Kernels *k)
{
    k->cross_entropy_forward = mine_cross_entropy_forward;
    k->cross_entropy_backward = mine_cross_entropy_backward;
    k->pool_backward = mine_pool_backward;
    k->embed_backward = mine_embed_backward;
}

enum { MANY = 1024, WIDE = 128 };

static const int32_t *some_targets(void)
{
    static int32_t some[MANY];
    for (int32_t i = 0; i < MANY; i++)
        some[i] = i % WIDE;
    return some;
}

static void time_entropy(Grade *g, const Kernels *k, Stream *s)
{
    StepState state = {.seed = 0};
    float *z = grade_input(g, "logits", MANY * WIDE, 1), *losses = grade_output(g, "losses", MANY);
    float *lse = grade_output(g, "lse", MANY);
    while (grade_again(g))
        k->cross_entropy_forward(s, losses, lse, &state, 0, z, some_targets(), 0, MANY, WIDE);
}

static void time_entropy_back(Grade *g, const Kernels *k, Stream *s)
{
    const StepState state = {.loss = {{.scale = 0.1}}};
    float *z = grade_input(g, "logits", MANY * WIDE, 1), *lse = grade_input(g, "lse", MANY, 2);
    float *dz = grade_output(g, "dlogits", MANY * WIDE);
    while (grade_again(g))
        k->cross_entropy_backward(s, dz, false, &state, 0, lse, z, some_targets(), 0, MANY, WIDE);
}

static void time_pool_back(Grade *g, const Kernels *k, Stream *s)
{
    enum { EACH = 32 };
    static int32_t first[MANY / EACH + 1];
    float *dy = grade_input(g, "dy", MANY / EACH * WIDE, 1), *dx = grade_output(g, "dx", MANY * WIDE);
    for (int32_t i = 0; i <= MANY / EACH; i++)
        first[i] = i * EACH;
    while (grade_again(g))
        k->pool_backward(s, dx, false, dy, NULL, POOLING_MEAN, first, MANY / EACH, MANY, WIDE);
}

static void time_embed_back(Grade *g, const Kernels *k, Stream *s)
{
    float *dy = grade_input(g, "dy", MANY * WIDE, 1), *dtable = grade_output(g, "dtable", WIDE * WIDE);
    memset(dtable, 0, WIDE * WIDE * sizeof *dtable);
    while (grade_again(g))
        k->embed_backward(s, dtable, NULL, dy, some_targets(), some_targets(), 1, (Dropout){0}, NULL, MANY, WIDE);
}

int main(int argc, char **argv)
{
    static const Check checks[] = {
        {"learn_words", "how much a word speaks for a class", 2, learns_words, 0},
        {"cross_entropy_forward", "losses, lse, and what they sum up to", 2, entropies_plain, 0},
        {"cross_entropy_forward", "smoothing", 1, entropies_smoothed, 0},
        {"cross_entropy_forward", "large logits, and -infinity", 1, entropies_large, 0},
        {"cross_entropy_backward", "softmax less the target", 2, entropies_back_plain, 0},
        {"cross_entropy_backward", "smoothing, and added to what is there", 1, entropies_back_smoothed, 0},
        {"pool_backward", "the mean", 1, pools_back_mean, 0},
        {"pool_backward", "the first, and the largest", 1, pools_back_others, 0},
        {"embed_backward", "words that are met several times", 1, embeds_back_words, 0},
        {"embed_backward", "positions, and dropout", 1, embeds_back_all, 0},
    };
    static const Timed timed[] = {{"cross_entropy_forward", time_entropy},
                                  {"cross_entropy_backward", time_entropy_back},
                                  {"pool_backward", time_pool_back},
                                  {"embed_backward", time_embed_back}};
    const Lesson lesson = {"Lesson 10: a classifier",   checks, sizeof checks / sizeof *checks, mine, timed,
                           sizeof timed / sizeof *timed};
    return grade_main(&lesson, argc, argv);
}
