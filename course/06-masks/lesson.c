/* Lesson 6: masks. See README.md beside this file; `make lesson-06` runs it.
 *
 *     y = softmax(s + m) v        m[i,j] = 0 where query i sees key j, -infinity where it does not */
#include "base/bf16.h"
#include "base/philox.h"
#include "course/frame/draw.h"
#include "course/frame/matrix.h"
#include "kernels/plain/plain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const Kernels *const k = &plain_f32;

/* Rows of equally many queries and keys: each row sees itself */
static Attend rows_of(const int32_t *start, size_t rows, size_t longest, size_t heads)
{
    return (Attend){.rows = rows,
                    .queries = (size_t)start[rows],
                    .keys = (size_t)start[rows],
                    .longest_query = longest,
                    .longest_key = longest,
                    .heads = heads,
                    .query_start = start,
                    .key_start = start};
}

/* ---- 1. a model that sees the next character, and one that does not */

enum {
    V = 28, /* a-z, a space, a full stop */
    T = 16,
    B = 16,
    H = 2,
    D = 16,
    STEPS = 600,
    SHOWN = 20,
    WIDTH = H * V,
    MAPS = H * D * D, /* w of each head: scores are P w P^T, P [T,D] */
    ALL = MAPS + V * WIDTH + V
};

static const char text[] =
    "this is the house that jack built. this is the malt that lay in the house that jack built. this is the rat that "
    "ate the malt that lay in the house that jack built. this is the cat that killed the rat that ate the malt that "
    "lay in the house that jack built. this is the dog that worried the cat that killed the rat that ate the malt "
    "that lay in the house that jack built. this is the cow with the crumpled horn that tossed the dog that worried "
    "the cat that killed the rat that ate the malt that lay in the house that jack built. ";

static const char letters[] = "abcdefghijklmnopqrstuvwxyz .";

typedef struct Model {
    bool causal;
    float p[ALL], m[ALL], v[ALL],
        g[ALL]; /* maps, then the output's matrix [V,WIDTH] and bias [V]; moments; gradients */
    float places[T * D], scrap[H * T * D];
    float weights[H * T * T];
    float x[B * T * V], y[B * T * WIDTH], logits[B * T * V];
} Model;

static int32_t letter(char c) { return (int32_t)(strchr(letters, c) - letters); }

/* logits [b,t,V]: of b rows of t characters; each averages characters with weights by position, for each head */
static void guess(Model *m, const char *const *rows, size_t b, size_t t)
{
    const int32_t start[2] = {0, (int32_t)t};
    Attend how = rows_of(start, 1, t, H);
    Operand P = matrix(m->places, D), W = {m->p, 0, D * D, D, 1}, PW = {m->scrap, 0, t * D, D, 1};
    Operand S = {m->weights, 0, t * t, t, 1};
    how.causal = m->causal;
    memset(m->x, 0, sizeof m->x);
    for (size_t i = 0; i < b * t; i++)
        m->x[i * V + (size_t)letter(rows[i / t][i % t])] = 1;
    k->product(NULL, PW, false, P, W, 1, 1, H, t, D, D);
    k->product(NULL, S, false, PW, transposed(P), 1, 1, H, t, t, D);
    k->mask(NULL, m->weights, &how);
    k->softmax_forward(NULL, m->weights, m->weights, H * t, t);
    k->product(NULL, (Operand){m->y, t * WIDTH, V, WIDTH, 1}, false, S, (Operand){m->x, t * V, 0, V, 1}, 1, b, H, t, V,
               t);
    k->linear_forward(NULL, m->logits, true, m->y, m->p + MAPS, m->p + MAPS + V * WIDTH, false, b * t, WIDTH, V);
}

/* One step of Adam, from rows of T characters and the one after each */
static void learn(Model *m, const char *const *rows, int step)
{
    static float dlogits[B * T * V], dy[B * T * WIDTH], ds[H * T * T], turn[H * T * D];
    StepState state = {.learning_rate = 0.02, .clip = 1, .finite = 1};
    Operand P = matrix(m->places, D), S = {ds, 0, T * T, T, 1};
    P.inner = 0;
    guess(m, rows, B, T);
    k->softmax_forward(NULL, dlogits, m->logits, B * T, V);
    for (size_t i = 0; i < B * T; i++)
        dlogits[i * V + (size_t)letter(rows[i / T][i % T + 1])] -= 1;
    for (size_t i = 0; i < B * T * V; i++)
        dlogits[i] /= B * T;
    memset(m->g, 0, sizeof m->g);
    memset(ds, 0, sizeof ds);
    k->linear_backward(NULL, dy, false, m->g + MAPS, m->g + MAPS + V * WIDTH, dlogits, NULL, m->y, m->p + MAPS, false,
                       B * T, WIDTH, V);
    k->product(NULL, S, true, (Operand){dy, T * WIDTH, V, WIDTH, 1}, (Operand){m->x, T * V, 0, 1, V}, 1, B, H, T, T, V);
    k->softmax_backward(NULL, ds, false, ds, m->weights, H * T, T);
    k->product(NULL, (Operand){turn, 0, T * D, D, 1}, false, S, P, 1, 1, H, T, D, T);
    k->product(NULL, (Operand){m->g, 0, D * D, D, 1}, false, transposed(P), (Operand){turn, 0, T * D, D, 1}, 1, 1, H, D,
               D, T);
    state.correction1 = 1 - pow(0.9, step), state.correction2 = 1 - pow(0.999, step);
    k->adam(NULL, m->p, NULL, m->m, m->v, m->g, &state, (Adam){0.9, 0.999, 1e-8}, NULL, 0, 0, ALL);
}

/* The mean of -log of what the model gave the next character, by position, over all rows that the text has */
static void losses(Model *m, float by_place[T])
{
    size_t count = sizeof text - 1 - T;
    memset(by_place, 0, T * sizeof *by_place);
    for (size_t at = 0; at < count; at++) {
        const char *row = text + at;
        guess(m, &row, 1, T);
        k->softmax_forward(NULL, m->logits, m->logits, T, V);
        for (size_t i = 0; i < T; i++)
            by_place[i] -= logf(m->logits[i * V + (size_t)letter(row[i + 1])]) / (float)count;
    }
}

/* Writes: the model guesses what comes after the last character, one is drawn, and it is the last one now. */
static void write_on(Model *m, const char *begin, size_t count)
{
    char written[128];
    size_t n = (size_t)snprintf(written, sizeof written, "%s", begin);
    for (size_t i = 0; i < count && n + 1 < sizeof written; i++) {
        size_t t = n < T ? n : T;
        const char *row = written + n - t;
        guess(m, &row, 1, t);
        float *w = m->logits + (t - 1) * V, dice = (float)philox_uniform(5, 0, i, 0);
        k->softmax_forward(NULL, w, w, 1, V);
        size_t c = 0;
        for (; c + 1 < V && dice >= w[c]; c++)
            dice -= w[c];
        written[n++] = letters[c];
    }
    written[n] = 0;
    size_t known = 0;
    for (size_t i = n - count; i < n; i++) {
        const char pair[3] = {written[i - 1], written[i]};
        known += strstr(text, pair) != NULL;
    }
    printf("      \"%s\"\n    of %zu pairs of characters in it, the text has %zu\n", written, count, known);
}

static void train(Model *m, bool causal)
{
    memset(m, 0, sizeof *m);
    m->causal = causal;
    for (size_t i = 0; i < T * D; i++) { /* sinusoids: lesson 8 */
        double angle = (double)(i / D) / pow(10000, (double)(i % D / 2 * 2) / D);
        m->places[i] = (float)(i % 2 ? cos(angle) : sin(angle));
    }
    for (size_t i = 0; i < ALL - V; i++)
        m->p[i] = 0.1f * (float)philox_normal(1, 0, i, 0);
    for (int step = 1; step <= STEPS; step++) {
        const char *rows[B];
        for (size_t b = 0; b < B; b++)
            rows[b] = text + (size_t)(philox_uniform(1, (uint32_t)step, b, 1) * (double)(sizeof text - 1 - T));
        learn(m, rows, step);
    }
}

static void next_character(void)
{
    static Model m;
    float place[T], loss[2][T];
    section("1. What may be seen");
    printf("  %d characters; rows of %d, each position guesses the character after it\n", (int)sizeof text - 1, T);
    for (int causal = 0; causal < 2; causal++) {
        float first = 0;
        train(&m, causal);
        losses(&m, loss[causal]);
        for (size_t i = 0; i < T; i++) {
            place[i] = (float)i;
            first += i < T - 1 ? loss[causal][i] / (T - 1) : 0;
        }
        printf("\n  %s\n    loss at positions 0 to %d, in nats: %5.2f\n    loss at the last position:          %5.2f\n"
               "    it writes:\n",
               causal ? "each position sees itself and those before it" : "each position sees the whole row", T - 2,
               (double)first, (double)loss[causal][T - 1]);
        write_on(&m, "this is the ", 60);
    }
    printf("\n");
    const Curve curves[] = {{"sees the whole row", place, loss[0], T}, {"causal", place, loss[1], T}};
    draw_curves(&(Plot){"06-future", "loss by position in the row", "position", "loss, nats", false, false}, curves, 2);
}

/* ---- 2. minus infinity before the softmax, or zero after it */

enum { KEYS = 4 };

static void print_weights(const char *how, const float *w)
{
    float sum = 0;
    printf("  %-28s", how);
    for (size_t j = 0; j < KEYS; j++) {
        sum += w[j];
        isnan(w[j]) ? printf("%8s", "nan") : printf("%8.2f", (double)w[j]);
    }
    isnan(sum) ? printf("   %8s\n", "nan") : printf("   %8.2f\n", (double)sum);
}

/* Query 1 of 4 sees keys 0 and 1; what the other two hold is none of its business. */
static void before_or_behind(void)
{
    static const float futures[3][2] = {{0, 0}, {3, 0}, {200, 0}};
    section("2. Before the softmax, or after it");
    printf("  query 1 sees keys 0 and 1, with scores 1 and 0\n  %-28s%8s%8s%8s%8s   %8s\n", "", "0", "1", "2", "3",
           "sum");
    for (int f = 0; f < 3; f++) {
        float scores[KEYS] = {1, 0, futures[f][0], futures[f][1]}, before[KEYS], after[KEYS], again[KEYS];
        memcpy(before, scores, sizeof scores);
        before[2] = before[3] = -INFINITY;
        k->softmax_forward(NULL, before, before, 1, KEYS);
        k->softmax_forward(NULL, after, scores, 1, KEYS);
        after[2] = after[3] = 0;
        for (size_t j = 0; j < KEYS; j++)
            again[j] = after[j] / (after[0] + after[1]);
        printf("  hidden scores %.0f and %.0f:\n", (double)futures[f][0], (double)futures[f][1]);
        print_weights("    -infinity before", before);
        print_weights("    0 after", after);
        print_weights("    0 after, divided again", again);
    }
}

/* ---- 3. what an Attend can say */

enum { N = 8, PANELS = 5, ACROSS = PANELS * (N + 1) - 1 };

/* seen [N,N]: 1 where a query (down) sees a key (across), in the panel's columns of a wider matrix */
static void panel(float *seen, int which, Attend how)
{
    float scores[N * N] = {0};
    k->mask(NULL, scores, &how);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            seen[i * ACROSS + (size_t)which * (N + 1) + j] = expf(scores[i * N + j]);
}

static void masks(void)
{
    static const int32_t whole[2] = {0, N}, shorter[2] = {0, 5};
    static const int32_t block_start[] = {0, 1, 3, 5, 7}, block_index[] = {0, 0, 1, 0, 2, 0, 3};
    static const char *const digits[N + 1] = {"0", "1", "2", "3", "4", "5", "6", "7", ""};
    static float seen[N * ACROSS];
    const char *across[ACROSS];
    Attend full = rows_of(whole, 1, N, 1), causal = full, some = rows_of(shorter, 1, N, 1), both = some;
    section("3. Masks");
    for (size_t j = 0; j < ACROSS; j++)
        across[j] = digits[j % (N + 1)];
    causal.causal = both.causal = true;
    Attend window = causal, blocks = causal;
    window.window = 3;
    blocks.block = 2, blocks.block_start = block_start, blocks.block_index = block_index;
    panel(seen, 0, causal), panel(seen, 1, some), panel(seen, 2, both), panel(seen, 3, window), panel(seen, 4, blocks);
    draw_matrix("06-masks", "causal; a row of 5; both; a window of 3; blocks of 2", seen, N, ACROSS, digits, across);
}

/* ---- 4. rows of different lengths */

enum { ROWS = 3, LONGEST = 4, WORDS = 7, FEATURES = 3 };

static const int32_t start[ROWS + 1] = {0, 4, 6, WORDS};

typedef enum Way { MASKED, UNMASKED, WRONG_AXIS } Way;

/* y [WORDS,FEATURES] of packed x: padded, multiplied all at once, masked or not, and packed again */
static void padded(float *y, float *weights, const float *x, const Attend *how, Way way)
{
    enum { PAIRS = LONGEST * LONGEST, ROW = LONGEST * FEATURES };
    float wide[ROWS * ROW], out[ROWS * ROW], mask[ROWS * PAIRS] = {0};
    Operand X = {wide, ROW, 0, FEATURES, 1}, W = {weights, PAIRS, 0, LONGEST, 1}, Y = {out, ROW, 0, FEATURES, 1};
    k->pad(NULL, wide, (Strided){(void *)(uintptr_t)x, FEATURES}, start, NULL, ROWS, LONGEST, FEATURES);
    k->product(NULL, W, false, X, transposed(X), how->scale, ROWS, 1, LONGEST, LONGEST, FEATURES);
    if (way == MASKED)
        k->mask(NULL, weights, how);
    for (size_t r = 0; r < ROWS && way == WRONG_AXIS; r++) /* hides queries after the end, and not keys */
        for (size_t i = 0; i < LONGEST; i++)
            for (size_t j = 0; j < LONGEST; j++)
                mask[r * PAIRS + i * LONGEST + j] = i < (size_t)(start[r + 1] - start[r]) ? 0 : -INFINITY;
    for (size_t i = 0; i < ROWS * PAIRS; i++)
        weights[i] += mask[i];
    k->softmax_forward(NULL, weights, weights, ROWS * LONGEST, LONGEST);
    k->product(NULL, Y, false, W, X, 1, ROWS, 1, LONGEST, FEATURES, LONGEST);
    k->unpad(NULL, (Strided){y, FEATURES}, false, out, start, NULL, ROWS, WORDS, LONGEST, FEATURES);
}

static float largest_difference(const float *a, const float *b, size_t n)
{
    float most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmaxf(most, fabsf(a[i] - b[i]));
    return most;
}

static void lengths(void)
{
    static const char *const ways[] = {"with its mask", "without a mask", "mask on the wrong axis"};
    static const char *const names[ROWS * LONGEST] = {"the", "dog", "runs", "away", "cats", "sleep",
                                                      "-",   "-",   "go",   "-",    "-",    "-"};
    float x[WORDS * FEATURES], packed[WORDS * FEATURES], lse[WORDS], y[WORDS * FEATURES];
    float weights[ROWS * LONGEST * LONGEST];
    Attend how = rows_of(start, ROWS, LONGEST, 1);
    section("4. Rows of different lengths");
    how.key_size = how.value_size = FEATURES, how.scale = 1 / sqrt((double)FEATURES);
    for (size_t i = 0; i < WORDS * FEATURES; i++)
        x[i] = (float)philox_normal(3, 0, i, 0);
    const Strided X = {x, FEATURES};
    k->attention_forward(NULL, packed, lse, X, X, X, &how, NULL);
    for (Way way = MASKED; way <= WRONG_AXIS; way++) {
        padded(y, weights, x, &how, way);
        float difference = largest_difference(y, packed, WORDS * FEATURES);
        printf("  padded, %-23s differs from packed by ", ways[way]);
        difference < 1e-6f ? printf("less than 1e-6\n") : printf("%.2f\n", (double)difference);
    }
    printf("\n");
    padded(y, weights, x, &how, UNMASKED);
    print_matrix("weights without a mask", weights, ROWS * LONGEST, LONGEST, names, NULL);
    padded(y, weights, x, &how, MASKED);
    print_matrix("weights with it", weights, ROWS * LONGEST, LONGEST, names, NULL);
}

static void what_padding_costs(void)
{
    enum { MANY = 64, MOST = 40 };
    size_t packed = 0, pairs = 0, longest = 0;
    for (size_t r = 0; r < MANY; r++) {
        size_t length = 1 + (size_t)(philox_uniform(4, 0, r, 0) * MOST);
        packed += length, pairs += length * length, longest = length > longest ? length : longest;
    }
    printf("  %d rows of 1 to %d positions       packed      padded\n", MANY, MOST);
    printf("  vectors for each linear map     %8zu    %8zu\n", packed, MANY * longest);
    printf("  scores for each head            %8zu    %8zu\n", pairs, MANY * longest * longest);
}

/* ---- 5. a query that sees nothing */

static void softmax_as_written(float *w)
{
    float largest = -INFINITY, sum = 0;
    for (size_t j = 0; j < KEYS; j++)
        largest = fmaxf(largest, w[j]);
    for (size_t j = 0; j < KEYS; j++)
        sum += w[j] = expf(w[j] - largest);
    for (size_t j = 0; j < KEYS; j++)
        w[j] /= sum;
}

static float in_bf16(float x) { return bf16_to_float(bf16_from_float(x)); }

static void nothing_to_see(void)
{
    static const float scores[KEYS] = {1, 2, 0, 3};
    float w[KEYS];
    section("5. A query that sees nothing");
    printf("  scores 1, 2, 0, 3, and all four are hidden\n  %-28s%8s%8s%8s%8s   %8s\n", "", "0", "1", "2", "3", "sum");
    for (size_t j = 0; j < KEYS; j++)
        w[j] = -INFINITY;
    softmax_as_written(w);
    print_weights("-infinity, exp / sum only", w);
    for (size_t j = 0; j < KEYS; j++)
        w[j] = -INFINITY;
    k->softmax_forward(NULL, w, w, 1, KEYS);
    print_weights("-infinity, plain's softmax", w);
    static const float large[] = {-1e9f, -1e4f};
    for (int which = 0; which < 2; which++)
        for (int bf16 = 0; bf16 < 2; bf16++) {
            char how[32];
            snprintf(how, sizeof how, "%s added, %s", which ? "-1e4" : "-1e9", bf16 ? "bf16" : "f32");
            for (size_t j = 0; j < KEYS; j++)
                w[j] = bf16 ? in_bf16(scores[j] + in_bf16(large[which])) : scores[j] + large[which];
            softmax_as_written(w);
            print_weights(how, w);
        }
    for (size_t j = 0; j < KEYS; j++)
        w[j] = scores[j] + -1e9f + (j < 2 ? -1e9f : 0);
    softmax_as_written(w);
    print_weights("-1e9, and again for 0 and 1", w);
    double apart = (double)nextafterf(1e9f, INFINITY) - 1e9;
    printf("\n  numbers about 1e9 are %.0f apart in f32, and %.0f in bf16\n", apart, ldexp(apart, 16));
}

int main(void)
{
    next_character();
    before_or_behind();
    masks();
    lengths();
    what_padding_costs();
    nothing_to_see();
    return 0;
}
