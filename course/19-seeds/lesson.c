/* Lesson 19: is A better than B? See README.md beside this file; `make lesson-19` runs it.
 *
 * Four recipes for a small language model, each trained with many seeds. Two of them are the same recipe. */
#include "base/philox.h"
#include "charlm/data.h"
#include "core/nn/embedding.h"
#include "core/nn/loss.h"
#include "core/nn/stack.h"
#include "core/research/statistics.h"
#include "course/frame/draw.h"
#include "course/frame/learner.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { D = 16, H = 2, F = 32, CONTEXT = 32, BATCH = 4, SCORED = 2048 };
enum { RECIPES = 4, SEEDS = 20, MOST = 2 * SEEDS };

typedef struct Recipe {
    const char *name;
    double rate;
    uint32_t first_seed;
} Recipe;

static const Recipe recipes[RECIPES] = {{"A, rate 0.010", 0.010, 1},
                                        {"B, A under another name", 0.010, 101},
                                        {"C, rate 0.011", 0.011, 1},
                                        {"D, rate 0.020", 0.020, 1}};

/* ---- a run */

typedef struct Reader {
    Learner learner;
    Embedding embedding;
    Stack stack;
    Linear logits;
    Part text;
    Windows windows;
    uint32_t seed;
} Reader;

static void read_batch(void *self, uint64_t step, Batch *b)
{
    const Reader *r = self;
    training_batch(r->text, (Lead){0}, CONTEXT, BATCH, r->seed, step, b);
}

static void score_batch(void *self, size_t i, Batch *b)
{
    const Reader *r = self;
    batch_clear(b);
    for (size_t w = i * BATCH; w < (i + 1) * BATCH && w < r->windows.count; w++)
        windows_row(&r->windows, w, b);
}

static Tensor *read_loss(void *self, Tape *t, const Rows *rows)
{
    const Reader *r = self;
    const AttentionContext context = context_rows(rows, true);
    Tensor *x = stack(t, &r->stack, embed(t, &r->embedding, rows), NULL, &context);
    return cross_entropy(t, linear_logits(t, &r->logits, x), rows->targets, 0, 0);
}

/* Bits per byte of text that it has not read. The seed draws the weights and the order of the text. */
static double trained(const Recipe *how, const Text *text, uint32_t seed, size_t steps)
{
    Part valid = text_part(text, SPLIT_VALID);
    valid.size = SCORED + 1;
    Reader r = {.text = text_part(text, SPLIT_TRAIN),
                .windows = windows_over(valid, CONTEXT, CONTEXT),
                .seed = lesson_seed(seed)};
    const StackOptions o = {.block = {.attention = {D, H, D / H, D / H, .bias = true}, .ff = F, .norm = NORM_PRE},
                            .depth = 1,
                            .blocks = "blocks",
                            .norm = "norm"};
    const EmbeddingOptions bytes = {
        .vocabulary = BYTES, .context = CONTEXT, .dim = D, .positions = POSITIONS_LEARNED, .scale = 1};
    Parameters *p = &r.learner.parameters;
    r.embedding = embedding_new(p, &bytes, "bytes", "positions");
    r.stack = stack_new(p, &o);
    r.logits = linear_new(p, D, BYTES, true, "logits");
    r.learner.task = (Task){.self = &r,
                            .sides = 1,
                            .most_rows = BATCH,
                            .longest = {CONTEXT},
                            .batch = read_batch,
                            .loss = read_loss,
                            .score_batch = score_batch,
                            .score_rows = BATCH,
                            .score_batches = (r.windows.count + BATCH - 1) / BATCH};
    learner_open(&r.learner, INIT_GPT2, 1, seed);
    for (size_t step = 1; step <= steps; step++)
        learner_step(&r.learner, step, how->rate * fmin(1, (double)step / 10));
    const double bits = learner_score(&r.learner).loss / log(2);
    learner_close(&r.learner);
    stack_close(&r.stack);
    return bits;
}

/* ---- what is said of them */

static double bits[RECIPES][SEEDS];

static void train_all(void)
{
    Text text;
    Error e;
    const size_t steps = 150;
    learner_expect(text_open(&text, NULL, &e), &e);
    for (size_t r = 0; r < RECIPES; r++)
        for (uint32_t i = 0; i < SEEDS; i++)
            bits[r][i] = trained(&recipes[r], &text, recipes[r].first_seed + i, steps);
    text_close(&text);
}

static void one_seed(void)
{
    section("1. One seed");
    for (size_t i = 0; i < 5; i++)
        printf("  run %zu:  A %.3f  B %.3f bits per byte, B - A %.3f\n", i + 1, bits[0][i], bits[1][i],
               bits[1][i] - bits[0][i]);
}

static void many_seeds(void)
{
    static float place[RECIPES * SEEDS], value[RECIPES * SEEDS];
    Curve curves[RECIPES];
    section("2. Twenty seeds");
    printf("  %-24s %8s %8s %8s %8s   mean and its 95 %% interval\n", "", "best", "median", "worst", "sd");
    for (size_t r = 0; r < RECIPES; r++) {
        double sorted[SEEDS];
        memcpy(sorted, bits[r], sizeof sorted);
        for (size_t i = 1; i < SEEDS; i++)
            for (size_t k = i; k && sorted[k] < sorted[k - 1]; k--) {
                const double larger = sorted[k - 1];
                sorted[k - 1] = sorted[k], sorted[k] = larger;
            }
        const Moments m = moments_of(sorted, SEEDS);
        printf("  %-24s %8.3f %8.3f %8.3f %8.3f   %.3f +- %.3f\n", recipes[r].name, sorted[0],
               (sorted[SEEDS / 2 - 1] + sorted[SEEDS / 2]) / 2, sorted[SEEDS - 1], m.sd, m.mean, moments_margin(&m));
        for (size_t i = 0; i < SEEDS; i++) {
            place[r * SEEDS + i] = (float)(i + 1);
            value[r * SEEDS + i] = (float)sorted[i];
        }
        curves[r] = (Curve){recipes[r].name, place + r * SEEDS, value + r * SEEDS, SEEDS};
    }
    printf("\n");
    draw_curves(&(Plot){"19-seeds", "twenty runs of each recipe, the best first", "run", "bits per byte", false, false},
                curves, RECIPES);
}

static void compared(void)
{
    static const size_t counts[] = {2, 3, 5, 10, SEEDS};
    section("3. Compared");
    for (size_t r = 1; r < RECIPES; r++) {
        printf("  %s, against A\n  seeds   difference   95 %% interval        Welch's p   paired p   needed\n",
               recipes[r].name);
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            const Moments a = moments_of(bits[r], counts[c]), b = moments_of(bits[0], counts[c]);
            const Difference d = difference_welch(&a, &b);
            printf("  %5zu   %10.3f   %7.3f to %6.3f   %9.4f  ", counts[c], d.mean, d.low, d.high, d.p);
            if (recipes[r].first_seed == recipes[0].first_seed)
                printf("%9.4f", difference_paired(bits[r], bits[0], counts[c]).p);
            else
                printf("%9s", "-");
            printf("%9zu\n", count_needed(d.mean, sqrt((a.sd * a.sd + b.sd * b.sd) / 2)));
        }
        printf("\n");
    }
}

/* Takes two groups of `count` at random from the runs of A and B: by chance alone, how often ... */
static void by_chance(void)
{
    enum { TIMES = 2000 };
    static const size_t counts[] = {2, 3, 5, 10};
    section("4. By chance");
    printf("  groups of the runs of A and B, drawn %d times\n"
           "  seeds   mean difference   p < 0.05   the best of 8 groups against the first: p < 0.05   after Holm\n",
           TIMES);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        enum { GROUPS = 8 };
        const size_t n = counts[c];
        double size = 0, found = 0, chosen = 0, corrected = 0;
        for (uint32_t time = 0; time < TIMES; time++) {
            Moments m[GROUPS];
            double p[GROUPS - 1], holm[GROUPS - 1];
            size_t best = 1;
            for (uint32_t g = 0; g < GROUPS; g++) {
                double x[SEEDS];
                for (uint32_t i = 0; i < n; i++)
                    x[i] = (&bits[0][0])[philox_below(MOST, 19, time, g * SEEDS + i, (uint32_t)c)];
                m[g] = moments_of(x, n);
            }
            for (size_t g = 1; g < GROUPS; g++) {
                p[g - 1] = difference_welch(&m[g], &m[0]).p;
                best = m[g].mean < m[best].mean ? g : best;
            }
            holm_correct(holm, p, GROUPS - 1);
            size += fabs(m[1].mean - m[0].mean) / TIMES;
            found += p[0] < 0.05 ? 1.0 / TIMES : 0;
            chosen += p[best - 1] < 0.05 ? 1.0 / TIMES : 0;
            corrected += holm[best - 1] < 0.05 ? 1.0 / TIMES : 0;
        }
        printf("  %5zu   %15.3f   %8.3f   %49.3f   %10.3f\n", n, size, found, chosen, corrected);
    }
}

int main(void)
{
    train_all();
    one_seed();
    many_seeds();
    compared();
    by_chance();
    return 0;
}
