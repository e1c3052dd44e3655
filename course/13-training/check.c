/* Lesson 13: what is graded. */
#include "course/13-training/exercise.h"
#include "course/frame/grade.h"

#include <math.h>
#include <string.h>

/* ---- 1. most_frequent_pair */

static void asks_pair(Grade *g, const int32_t *symbol, const int32_t *start, const uint32_t *count, size_t words,
                      int32_t left, int32_t right, const char *hint)
{
    int32_t pair[2] = {-7, -7};
    bool found = most_frequent_pair(pair, symbol, start, count, words);
    expect(g, found, "a word of two symbols has a pair of neighbours", "it says that there is no pair");
    expect(g, pair[0] == left && pair[1] == right, pair[0] == -7 ? "pair was not written" : hint,
           "the pair is %d %d, not %d %d", (int)pair[0], (int)pair[1], (int)left, (int)right);
}

static void counts_pairs(Grade *g)
{
    static const int32_t one[] = {1, 2, 3, 2, 3, 4};
    asks_pair(g, one, (const int32_t[]){0, 6}, (const uint32_t[]){1}, 1, 2, 3, "count neighbours at every position");
    /* 1 2 in two words that are rare, 3 4 in one that is frequent, and 2 3 only across the end of a word */
    static const int32_t several[] = {1, 2, 1, 2, 3, 4, 5};
    asks_pair(g, several, (const int32_t[]){0, 2, 4, 6, 7}, (const uint32_t[]){2, 2, 5, 9}, 4, 3, 4,
              "a word that occurs count[w] times counts as often");
    static const int32_t ends[] = {1, 2, 3, 1, 2, 3, 1, 9, 8};
    asks_pair(g, ends, (const int32_t[]){0, 2, 4, 6, 7, 9}, (const uint32_t[]){1, 1, 1, 1, 2}, 5, 9, 8,
              "the last symbol of a word and the first of the next are no neighbours");
}

static void breaks_ties(Grade *g)
{
    static const int32_t ties[] = {7, 1, 3, 9, 3, 4, 5, 2};
    asks_pair(g, ties, (const int32_t[]){0, 2, 4, 6, 8}, (const uint32_t[]){3, 3, 3, 3}, 4, 3, 4,
              "of equally frequent pairs the one with the smaller first symbol, then with the smaller second");
    static const int32_t alike[] = {6, 6, 6, 6, 1, 2};
    asks_pair(g, alike, (const int32_t[]){0, 4, 6}, (const uint32_t[]){1, 2}, 2, 6, 6,
              "6 6 6 6 has the pair 6 6 three times: count at every position");
    int32_t pair[2];
    static const int32_t single[] = {1, 2};
    bool found = most_frequent_pair(pair, single, (const int32_t[]){0, 1, 1, 2}, (const uint32_t[]){3, 1, 4}, 3);
    expect(g, !found, "words of one symbol, or none, have no neighbours", "it finds a pair where there is none");
}

/* ---- 2. merge_pair */

static void merges(Grade *g, const int32_t *given, size_t n, const int32_t *expected, size_t left, const char *hint)
{
    int32_t symbol[16] = {0};
    const int32_t pair[2] = {5, 6}, same[2] = {5, 5};
    memcpy(symbol, given, n * sizeof *symbol);
    symbol[n] = 6; /* would make a pair of the last one, if that were read */
    bool alike = n > 1 && given[0] == 5 && given[1] == 5;
    size_t found = merge_pair(symbol, n, alike ? same : pair, 9);
    expect(g, symbol[n] == 6, "write no more than there was", "it writes after the end of the list");
    expect(g, found == left, hint, "%zu symbols are left, not %zu", found, left);
    for (size_t i = 0; i < left; i++)
        expect(g, symbol[i] == expected[i], hint, "symbol %zu is %d, not %d", i, (int)symbol[i], (int)expected[i]);
}

static void merges_pairs(Grade *g)
{
    merges(g, (const int32_t[]){1, 5, 6, 2, 5, 6}, 6, (const int32_t[]){1, 9, 2, 9}, 4,
           "each occurrence of the pair becomes one symbol, and what follows moves up");
    merges(g, (const int32_t[]){6, 5, 5, 6, 5}, 5, (const int32_t[]){6, 5, 9, 5}, 4,
           "only 5 with 6 right after it: not 6 5, and not a 5 at the end");
    merges(g, (const int32_t[]){5, 5, 5, 5, 5, 1}, 6, (const int32_t[]){9, 9, 5, 1}, 4,
           "from left to right: a symbol that was merged is not merged again");
    merges(g, (const int32_t[]){5}, 1, (const int32_t[]){5}, 1, "a single symbol stays");
    merges(g, (const int32_t[]){0}, 0, (const int32_t[]){0}, 0, "an empty list stays empty");
}

/* ---- 3. cut_batches */

static void cuts(Grade *g, const size_t *length, size_t n, size_t tokens, const size_t *expected, size_t batches,
                 const char *hint)
{
    size_t cut[16];
    for (size_t i = 0; i < 16; i++)
        cut[i] = 777;
    size_t found = cut_batches(cut, length, n, tokens);
    expect(g, found == batches, hint, "%zu batches, not %zu", found, batches);
    for (size_t i = 0; i <= batches; i++)
        expect(g, cut[i] == expected[i], cut[i] == 777 ? "cut has an end, too: cut[batches] is n" : hint,
               "cut[%zu] is %zu, not %zu", i, cut[i], expected[i]);
}

static void cuts_batches(Grade *g)
{
    static const size_t length[] = {3, 4, 3, 5, 5, 1, 10, 2};
    cuts(g, length, 8, 10, (const size_t[]){0, 3, 5, 6, 7, 8}, 5,
         "as many texts as have no more than `tokens` tokens together: 3 + 4 + 3 fit into 10, and 1 + 10 do not");
    static const size_t large[] = {4, 25, 4, 4};
    cuts(g, large, 4, 10, (const size_t[]){0, 1, 2, 4}, 3, "a text that is too long is a batch of its own");
    cuts(g, large, 1, 2, (const size_t[]){0, 1}, 1, "the first text is in the first batch, however long it is");
    cuts(g, large, 0, 10, (const size_t[]){0}, 0, "no texts, no batches");
}

/* ---- 4. noam_rate */

static void rates(Grade *g)
{
    static const size_t steps[] = {1, 17, 3999, 4000, 4001, 100000};
    enum { RATES = sizeof steps / sizeof *steps };
    float found[RATES];
    double expected[RATES], highest[RATES], undivided[RATES];
    for (size_t i = 0; i < RATES; i++) {
        double now = (double)steps[i], falls = 1 / sqrt(now), rises = now / pow(4000, 1.5);
        found[i] = (float)(1e5 * noam_rate(steps[i], 512, 4000));
        expected[i] = 1e5 * fmin(falls, rises) / sqrt(512);
        highest[i] = 1e5 * fmax(falls, rises) / sqrt(512);
        undivided[i] = 1e5 * fmin(falls, rises);
    }
    const Suspect suspects[] = {{highest, "the smaller of the two: it rises first, and falls after the warm-up"},
                                {undivided, "and all of it by the root of d: wide models take shorter steps"},
                                {NULL, NULL}};
    expect_numbers(g, "100000 * noam_rate", found, expected, RATES, 0, 1e-6, suspects,
                   "d^-1/2 min(step^-1/2, step warmup^-3/2), for steps 1, 17, 3999, 4000, 4001, 100000");
}

/* ---- 5. squares and clip */

static void sums_squares(Grade *g)
{
    enum { N = 2 * SQUARES_CHUNK + 77, PARTS = 3 };
    float *x = grade_input(g, "g", N, 1), sums[PARTS];
    double expected[PARTS] = {0}, plain[PARTS] = {0}, parts[PARTS + 1] = {-7, -7, -7, -7};
    for (size_t i = 0; i < N; i++) {
        x[i] = i % 3 ? x[i] : 100 * x[i];
        expected[i / SQUARES_CHUNK] += (double)x[i] * (double)x[i];
        plain[i / SQUARES_CHUNK] += (double)x[i];
    }
    grade_seal(g);
    mine_squares(NULL, parts, x, N);
    expect(g, parts[PARTS] == -7, "there are as many parts as chunks, the last of which may be shorter",
           "parts[%d] was written", PARTS);
    expect(g, parts[0] != -7, "nothing was written: is the function still empty?", "parts[0] was not written");
    for (size_t i = 0; i < PARTS; i++)
        sums[i] = (float)parts[i];
    const Suspect suspects[] = {{plain, "of the squares: signs must not cancel"}, {NULL, NULL}};
    expect_numbers(g, "parts", sums, expected, PARTS, 0, 1e-6, suspects,
                   "each chunk of SQUARES_CHUNK numbers has a sum of its own, which begins with 0");
    for (size_t i = 0; i < PARTS; i++)
        expect(g, fabs(parts[i] - expected[i]) <= 1e-12 * expected[i], "squares are summed in double",
               "parts[%zu] is %.10g and should be %.10g", i, parts[i], expected[i]);
}

static void clips(Grade *g)
{
    static const double parts[] = {9, 16}, broken[] = {1, (double)INFINITY}, none[] = {(double)NAN, 1};
    StepState state = {.norm = -7, .clip = -7, .finite = 7};
    mine_clip(NULL, &state, parts, 2, 1);
    expect(g, state.norm == 5, "norm is the root of the sum of all parts", "norm is %g, not 5", state.norm);
    expect(g, fabs(state.clip - 1 / 5.000001) < 1e-12, "max_norm / (norm + 1e-6), where norm is above max_norm",
           "clip is %.9g, not %.9g", state.clip, 1 / 5.000001);
    expect(g, state.finite == 1, "the norm is a finite number", "finite is %u", (unsigned)state.finite);
    mine_clip(NULL, &state, parts, 2, 6);
    expect(g, state.clip == 1, "a gradient that is short enough stays as it is: it is never made longer",
           "clip is %g, not 1", state.clip);
    mine_clip(NULL, &state, parts, 2, 0);
    expect(g, state.clip == 1, "max_norm 0: no limit", "clip is %g, not 1", state.clip);
    mine_clip(NULL, &state, broken, 2, 1);
    expect(g, state.finite == 0, "an infinite gradient is not finite", "finite is %u", (unsigned)state.finite);
    mine_clip(NULL, &state, none, 2, 1);
    expect(g, state.finite == 0, "NaN is not finite either", "finite is %u", (unsigned)state.finite);
    mine_clip(NULL, &state, parts, 1, 0);
    expect(g, state.norm == 3 && state.finite == 1, "norm and finite are written each time", "norm is %g, finite %u",
           state.norm, (unsigned)state.finite);
}

/* ---- 6. adam */

enum { BLOCK = 12 };

typedef enum Slip { RIGHT, UNCORRECTED, OUTSIDE_ROOT, UNCLIPPED, L2 } Slip;

typedef struct Numbers {
    double w[BLOCK], m[BLOCK], v[BLOCK];
} Numbers;

static double decay_of(const Span *spans, size_t count, size_t i)
{
    for (size_t s = 0; s < count; s++)
        if (i >= spans[s].begin && i < spans[s].end)
            return spans[s].decay;
    return 0;
}

static void move_one(Numbers *x, const float *g, const StepState *state, Adam adam, double decay, size_t i, Slip slip)
{
    double gradient = (double)g[i] * (slip == UNCLIPPED ? 1 : state->clip) + (slip == L2 ? decay * x->w[i] : 0);
    double c1 = slip == UNCORRECTED ? 1 : state->correction1, c2 = slip == UNCORRECTED ? 1 : state->correction2;
    x->m[i] += (1 - adam.beta1) * (gradient - x->m[i]);
    x->v[i] += (1 - adam.beta2) * (gradient * gradient - x->v[i]);
    double root = slip == OUTSIDE_ROOT ? sqrt(x->v[i] / c2 + adam.epsilon) : sqrt(x->v[i] / c2) + adam.epsilon;
    x->w[i] -= state->learning_rate * ((slip == L2 ? 0 : decay * x->w[i]) + x->m[i] / c1 / root);
}

static void step_of(Grade *g, const StepState *state, Adam adam, const Span *spans, size_t span_count, size_t first,
                    size_t n, bool with_copy)
{
    float *w = grade_output(g, "w", BLOCK), *m = grade_output(g, "m", BLOCK), *v = grade_output(g, "v", BLOCK);
    float *copy = grade_output(g, "copy", BLOCK), *gradient = grade_input(g, "g", BLOCK, 4);
    Numbers x[L2 + 1];
    for (size_t i = 0; i < BLOCK; i++) {
        w[i] = (float)sin(3.0 * (double)i + 1), m[i] = (float)cos((double)i) / 10, v[i] = (float)(i % 4) / 50;
        copy[i] = -7;
        for (size_t slip = 0; slip <= L2; slip++)
            x[slip].w[i] = (double)w[i], x[slip].m[i] = (double)m[i], x[slip].v[i] = (double)v[i];
    }
    for (size_t i = first; state->finite && i < first + n; i++)
        for (size_t slip = 0; slip <= L2; slip++)
            move_one(&x[slip], gradient, state, adam, decay_of(spans, span_count, i), i, (Slip)slip);
    mine_adam(NULL, w, with_copy ? copy : NULL, m, v, gradient, state, adam, spans, span_count, first, n);
    const Suspect of_m[] = {{x[UNCLIPPED].m, "the gradient is multiplied by state->clip before anything else"},
                            {x[L2].m, "decay is no part of the gradient: it goes past the moments (AdamW)"},
                            {NULL, NULL}};
    const Suspect of_w[] = {
        {x[UNCORRECTED].w, "divide m by correction1 and v by correction2: both moments began with 0"},
        {x[OUTSIDE_ROOT].w, "epsilon is outside the root: sqrt(v / correction2) + epsilon"},
        {NULL, NULL}};
    const char *others = "only numbers first .. first+n-1 change, and none where state->finite is 0";
    expect_numbers(g, "m", m, x[RIGHT].m, BLOCK, 0, 1e-6, of_m, state->finite ? "m += (1 - beta1) (g' - m)" : others);
    expect_numbers(g, "v", v, x[RIGHT].v, BLOCK, 0, 1e-6, NULL, state->finite ? "v += (1 - beta2) (g'^2 - v)" : others);
    expect_numbers(g, "w", w, x[RIGHT].w, BLOCK, 0, 1e-6, of_w,
                   state->finite
                       ? "w -= rate * decay * w + rate * (m / correction1) / (sqrt(v / correction2) + epsilon)"
                       : others);
    for (size_t i = 0; i < BLOCK; i++) {
        bool inside = with_copy && state->finite && i >= first && i < first + n;
        expect(g, inside ? copy[i] == w[i] : copy[i] == -7,
               "copy gets the new w, at the same positions, if it is there", "copy[%zu] is %g", i, (double)copy[i]);
    }
}

static StepState state_of(void)
{
    return (StepState){
        .finite = 1, .clip = 1, .learning_rate = 0.25, .correction1 = 1 - pow(0.9, 3), .correction2 = 1 - pow(0.98, 3)};
}

static const Adam usual = {0.9, 0.98, 1e-3};

static void steps_once(Grade *g)
{
    StepState state = state_of();
    step_of(g, &state, usual, NULL, 0, 0, BLOCK, false);
    state.clip = 0.125;
    step_of(g, &state, usual, NULL, 0, 0, BLOCK, true);
}

static void steps_part(Grade *g)
{
    StepState state = state_of();
    step_of(g, &state, usual, NULL, 0, 3, 5, false);
    step_of(g, &state, usual, NULL, 0, 11, 1, true);
    step_of(g, &state, usual, NULL, 0, 5, 0, false);
    state.finite = 0;
    step_of(g, &state, usual, NULL, 0, 0, BLOCK, true);
}

static void decays(Grade *g)
{
    static const Span spans[] = {{1, 3, 0.1}, {3, 4, 0.3}, {8, 10, 0.2}};
    StepState state = state_of();
    step_of(g, &state, usual, spans, 3, 0, BLOCK, false);
    step_of(g, &state, usual, spans, 3, 2, 7, false);
    step_of(g, &state, usual, spans, 3, 9, 3, false);
}

/* ---- 7. dropout_weights */

static void drops(Grade *g, bool add, bool in_place)
{
    enum { B = 3, H = 2, T = 4, S = 5, SIZE = B * H * T * S };
    static const int32_t start[B + 1] = {0, 4, 5, 8};
    const StepState state = {.seed = 9, .step = 2, .first_position = {3, 40}};
    const Attend how = {.rows = B,
                        .heads = H,
                        .longest_query = T,
                        .longest_key = S,
                        .query_start = start,
                        .dropout = {.rate = 0.4, .site = 6, .side = 1}};
    float *x = in_place ? grade_output(g, "x", SIZE) : grade_input(g, "x", SIZE, 1);
    float *y = in_place ? x : grade_output(g, "y", SIZE);
    double expected[SIZE], padded[SIZE], headless[SIZE];
    for (size_t e = 0; e < SIZE; e++) {
        size_t b = e / (H * T * S), h = e / (T * S) % H, i = e / S % T, j = e % S;
        if (in_place)
            x[e] = (float)(e % 13) - 6;
        if (add)
            y[e] = 0.5f;
        double before = add ? 0.5 : 0, value = (double)x[e];
        expected[e] = before + value * dropout_factor(how.dropout, &state, (size_t)start[b] + i, h, j);
        padded[e] = before + value * dropout_factor(how.dropout, &state, b * T + i, h, j);
        headless[e] = before + value * dropout_factor(how.dropout, &state, (size_t)start[b] + i, 0, j);
    }
    mine_dropout_weights(NULL, y, add, x, &how, &state);
    const Suspect suspects[] = {{padded, "positions are those of packed rows: query_start[b] + i, without padding"},
                                {headless, "each head has dice of its own"},
                                {NULL, NULL}};
    expect_numbers(g, "y", y, expected, SIZE, S, 1e-6, suspects,
                   "x times dropout_factor(how->dropout, state, query_start[b] + i, h, j)");
}

static void drops_weights(Grade *g)
{
    drops(g, false, false);
    drops(g, true, false);
    drops(g, false, true);
}

static void mine(Kernels *k)
{
    k->squares = mine_squares, k->clip = mine_clip, k->adam = mine_adam, k->dropout_weights = mine_dropout_weights;
}

/* ---- speed */

enum { MANY = 8 * SQUARES_CHUNK };

static void time_squares(Grade *g, const Kernels *k, Stream *s)
{
    float *x = grade_input(g, "g", MANY, 1);
    double parts[MANY / SQUARES_CHUNK];
    while (grade_again(g))
        k->squares(s, parts, x, MANY);
}

static void time_clip(Grade *g, const Kernels *k, Stream *s)
{
    enum { PARTS = 1 << 20 };
    double *parts = grade_doubles(PARTS);
    StepState state;
    while (grade_again(g))
        k->clip(s, &state, parts, PARTS, 1);
}

static void time_adam(Grade *g, const Kernels *k, Stream *s)
{
    float *w = grade_output(g, "w", MANY), *m = grade_output(g, "m", MANY), *v = grade_output(g, "v", MANY);
    float *x = grade_input(g, "g", MANY, 1);
    StepState state = state_of();
    for (size_t i = 0; i < MANY; i++)
        w[i] = m[i] = v[i] = 0;
    while (grade_again(g))
        k->adam(s, w, NULL, m, v, x, &state, usual, NULL, 0, 0, MANY);
}

static void time_dropout(Grade *g, const Kernels *k, Stream *s)
{
    enum { TEXTS = 8, LONG = 32, SIZE = TEXTS * 4 * LONG * LONG };
    static int32_t start[TEXTS + 1];
    const StepState state = {.seed = 1};
    float *x = grade_input(g, "x", SIZE, 1), *y = grade_output(g, "y", SIZE);
    for (int32_t i = 0; i < TEXTS; i++)
        start[i + 1] = start[i] + LONG;
    const Attend how = {.rows = TEXTS,
                        .heads = 4,
                        .longest_query = LONG,
                        .longest_key = LONG,
                        .query_start = start,
                        .dropout = {.rate = 0.1}};
    while (grade_again(g))
        k->dropout_weights(s, y, false, x, &how, &state);
}

int main(int argc, char **argv)
{
    static const Check checks[] = {
        {"most_frequent_pair", "neighbours in words, as often as the words", 1, counts_pairs, 0},
        {"most_frequent_pair", "equally frequent ones, pairs of like symbols, no pairs", 1, breaks_ties, 0},
        {"merge_pair", "from left to right", 2, merges_pairs, 0},
        {"cut_batches", "no more tokens than are allowed", 2, cuts_batches, 0},
        {"noam_rate", "rises, and falls", 1, rates, 0},
        {"squares", "of each chunk, in double", 1, sums_squares, 0},
        {"clip", "the norm, and the factor that limits it", 1, clips, 0},
        {"adam", "a step", 2, steps_once, 0},
        {"adam", "of a part of the block, or none", 1, steps_part, 0},
        {"adam", "weights that decay", 1, decays, 0},
        {"dropout_weights", "each weight by its own dice", 2, drops_weights, 0},
    };
    static const Timed timed[] = {
        {"squares", time_squares}, {"clip", time_clip}, {"adam", time_adam}, {"dropout_weights", time_dropout}};
    const Lesson lesson = {"Lesson 13: training", checks, sizeof checks / sizeof *checks, mine, timed, 4};
    return grade_main(&lesson, argc, argv);
}
