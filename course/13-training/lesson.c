/* Lesson 13: training a translator. See README.md beside this file; `make lesson-13` runs it.
 *
 * What stands around the network of lesson 12: subwords, batches of tokens, Adam, Noam's rate, smoothing,
 * dropout; each by itself, and then without it. */
#include "core/text/bpe.h"
#include "course/frame/draw.h"
#include "course/translator/translator.h"
#include "encdec/builtin.h"
#include "kernels/dropout.h"
#include "kernels/plain/plain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const Kernels *const k = &plain_f32;

/* ---- 1. byte pairs */

static void count_words(Vocabulary *words)
{
    Error e;
    for (size_t i = 0; i < BUILTIN_TRAINING; i++) {
        Buffer english = {0}, german = {0};
        builtin_pair(&english, &german, i);
        must(bpe_count_words(words, english.text, english.size, NULL, &e), &e);
        must(bpe_count_words(words, german.text, german.size, NULL, &e), &e);
        buffer_free(&english);
        buffer_free(&german);
    }
}

/* A line as subwords: " Schwester@@ n" */
static void print_cut(BpeCoder *c, const char *line)
{
    Error e;
    must(bpe_encode(c, line, strlen(line), &e), &e);
    for (size_t i = 0; i < c->count; i++)
        printf(" %s", bpe_subword(c, i));
}

static void subwords_by_merges(const Vocabulary *words, size_t merges)
{
    Error e;
    Bpe b = {0};
    BpeCoder c;
    size_t all = 0, subwords = 0;
    must(bpe_learn(&b, words, merges, BPE_LEAST, &e), &e);
    must(bpe_coder_open(&c, &b, NULL, 0, &e), &e);
    for (size_t i = 0; i < words->count; i++) {
        const char *word = vocabulary_word(words, (int32_t)i);
        size_t count = (size_t)words->counts[i];
        must(bpe_encode(&c, word, strlen(word), &e), &e);
        all += count;
        subwords += count * c.count;
    }
    printf("  %6zu  %6zu  %15.2f  ", b.count, c.subwords.count, (double)subwords / (double)all);
    print_cut(&c, "Schwestern schönes Baumkatze");
    printf("\n");
    bpe_coder_close(&c);
    bpe_close(&b);
}

static void byte_pairs(void)
{
    static const size_t merges[] = {0, 10, 50, 100, 200, 400, 1000};
    Error e;
    Vocabulary words = {0};
    Bpe b = {0};
    section("1. Byte pairs");
    count_words(&words);
    must(bpe_learn(&b, &words, 12, BPE_LEAST, &e), &e);
    printf("  %zu different words; the first merges:", words.count);
    for (size_t i = 0; i < b.count; i++) {
        Pair pair = b.pairs.pair[b.order[i]];
        printf(" %s+%s", vocabulary_word(&b.symbols, pair.left), vocabulary_word(&b.symbols, pair.right));
    }
    printf("\n\n  merges  tokens  tokens a word   cut\n");
    for (size_t i = 0; i < sizeof merges / sizeof *merges; i++)
        subwords_by_merges(&words, merges[i]);
    bpe_close(&b);
    vocabulary_close(&words);
}

/* ---- 2. Adam */

enum { WALK = 400 };

/* A valley that is a hundred times as steep across as it is along: (100 x^2 + y^2) / 2 * scale */
typedef struct Walk {
    double rate, epsilon, scale;
    bool uncorrected;
    float path[WALK + 1][2];
} Walk;

static void walk(Walk *w)
{
    float at[2] = {1, 1}, m[2] = {0, 0}, v[2] = {0, 0};
    memcpy(w->path[0], at, sizeof at);
    for (int step = 1; step <= WALK; step++) {
        float g[2] = {(float)w->scale * 100 * at[0], (float)w->scale * at[1]};
        const StepState state = {.finite = 1,
                                 .clip = 1,
                                 .learning_rate = w->rate,
                                 .correction1 = w->uncorrected ? 1 : 1 - pow(0.9, step),
                                 .correction2 = w->uncorrected ? 1 : 1 - pow(0.98, step)};
        if (w->epsilon > 0)
            k->adam(NULL, at, NULL, m, v, g, &state, (Adam){0.9, 0.98, w->epsilon}, NULL, 0, 0, 2);
        else
            at[0] -= (float)w->rate * g[0], at[1] -= (float)w->rate * g[1];
        memcpy(w->path[step], at, sizeof at);
    }
}

static double height(const float at[2]) { return (100 * (double)at[0] * at[0] + (double)at[1] * at[1]) / 2; }

static void print_walk(const char *title, const Walk *w)
{
    static const int shown[] = {1, 10, 50, 100, 400};
    printf("  %-34s", title);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        double h = height(w->path[shown[i]]);
        h < 1e6 ? printf(" %10.1e", h) : printf(" %10s", "lost");
    }
    printf("\n");
}

static void adams(void)
{
    static Walk down = {.rate = 0.019, .scale = 1}, steep = {.rate = 0.021, .scale = 1};
    static Walk adam = {.rate = 0.1, .epsilon = 1e-9, .scale = 1},
                scaled = {.rate = 0.1, .epsilon = 1e-9, .scale = 1000};
    static Walk raw = {.rate = 0.1, .epsilon = 1e-9, .scale = 1, .uncorrected = true};
    float step[WALK + 1], of_down[WALK + 1], of_adam[WALK + 1], most = 0;
    section("2. Adam");
    printf("  a valley, 100 times as steep across as along, from (1, 1); its height after steps\n  %-34s", "");
    printf(" %10d %10d %10d %10d %10d\n", 1, 10, 50, 100, 400);
    walk(&down), walk(&steep), walk(&adam), walk(&scaled), walk(&raw);
    print_walk("gradient descent, rate 0.019", &down);
    print_walk("gradient descent, rate 0.021", &steep);
    print_walk("Adam, rate 0.1", &adam);
    print_walk("Adam, a loss 1000 times as large", &scaled);
    for (int i = 0; i <= WALK; i++) {
        step[i] = (float)i;
        of_down[i] = (float)height(down.path[i]), of_adam[i] = (float)height(adam.path[i]);
        most = fmaxf(most,
                     fmaxf(fabsf(adam.path[i][0] - scaled.path[i][0]), fabsf(adam.path[i][1] - scaled.path[i][1])));
    }
    printf("\n  the path with a loss 1000 times as large differs by less than 1e-4: %s\n", most < 1e-4f ? "yes" : "no");
    printf("  its first step: %.4f along and %.4f across; without corrections: %.4f and %.4f\n\n",
           1 - (double)adam.path[1][1], 1 - (double)adam.path[1][0], 1 - (double)raw.path[1][1],
           1 - (double)raw.path[1][0]);
    const Curve curves[] = {{"descent, rate 0.019", step, of_down, WALK + 1},
                            {"Adam, rate 0.1", step, of_adam, WALK + 1}};
    draw_curves(&(Plot){"13-adam", "down a valley", "step", "height", false, true}, curves, 2);
}

/* ---- 3. Noam's rate */

static void noam(void)
{
    enum { POINTS = 61 };
    static const Schedule ours = {.kind = SCHEDULE_NOAM, .rate = 1, .warmup = 200, .dim = 64},
                          paper = {.kind = SCHEDULE_NOAM, .rate = 1, .warmup = 4000, .dim = 512};
    static const uint64_t shown[] = {1, 50, 100, 200, 400, 800, 4000, 16000, 100000};
    float step[POINTS], rate[2][POINTS];
    section("3. Noam's rate");
    printf("  %-22s %10s %12s\n", "step", "D 64, 200", "D 512, 4000");
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        printf("  %-22llu %10.6f %12.6f\n", (unsigned long long)shown[i], schedule_rate(&ours, shown[i], -1),
               schedule_rate(&paper, shown[i], -1));
    for (int i = 0; i < POINTS; i++) {
        uint64_t at = (uint64_t)llround(pow(10, i / 12.0));
        step[i] = (float)at;
        rate[0][i] = (float)schedule_rate(&ours, at, -1), rate[1][i] = (float)schedule_rate(&paper, at, -1);
    }
    printf("\n");
    const Curve curves[] = {{"64 wide, 200 steps of warm-up", step, rate[0], POINTS},
                            {"512 wide, 4000 steps", step, rate[1], POINTS}};
    draw_curves(&(Plot){"13-noam", "Noam's rate", "step", "learning rate", true, true}, curves, 2);
}

/* ---- 4. label smoothing */

/* The loss of a target that gets the share p of V, the others sharing the rest evenly */
static double loss_of(double p, double smoothing, bool plain_loss)
{
    enum { SUBWORDS = 199 };
    static float logits[SUBWORDS];
    const int32_t target = 0;
    float loss, lse;
    StepState state = {0};
    logits[0] = (float)log(p * (SUBWORDS - 1) / (1 - p));
    k->cross_entropy_forward(NULL, &loss, &lse, &state, 0, logits, &target, smoothing, 1, SUBWORDS);
    return plain_loss ? state.loss[0].nll : state.loss[0].sum;
}

static void smooth(void)
{
    static const double shares[] = {0.5, 0.8, 0.9, 0.9005, 0.95, 0.99, 0.999, 0.99999};
    section("4. Label smoothing");
    printf("  199 tokens; the target gets the share p, and the others share the rest\n");
    printf("  %-10s %14s %18s %10s\n", "p", "without", "smoothing 0.1", "logit");
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        printf("  %-10g %14.4f %18.4f %10.2f\n", shares[i], loss_of(shares[i], 0, false),
               loss_of(shares[i], 0.1, false), log(shares[i] * 198 / (1 - shares[i])));
}

/* ---- 5. dropout */

static void drop(void)
{
    enum { MANY = 200000, D = 64 };
    const StepState state = {.seed = 1, .step = 7}, later = {.seed = 1, .step = 7, .first_position = {100, 0}};
    const Dropout rate = {.rate = 0.1, .site = 3};
    double sum = 0;
    size_t zeros = 0, same = 0;
    section("5. Dropout");
    for (size_t i = 0; i < MANY; i++) {
        double factor = dropout_factor(rate, &state, i / D, 0, i % D);
        zeros += factor == 0, sum += factor;
    }
    for (size_t i = 0; i < MANY; i++)
        same += dropout_factor(rate, &state, 100 + i / D, 0, i % D) == dropout_factor(rate, &later, i / D, 0, i % D);
    printf("  rate 0.1, %d numbers: %.3f of them are dropped, the others times %.4f; their mean factor %.3f\n", MANY,
           (double)zeros / MANY, 1 / 0.9, sum / MANY);
    printf("  position 100 drops the same, whether its batch is computed whole or in parts: %s\n",
           same == MANY ? "yes" : "no");
}

/* ---- 6. batches of tokens */

static void print_batches(const char *title, const SmallTranslator *s, bool by_length, size_t tokens)
{
    const SentencePairs *p = &s->bitext.parts[SPLIT_TRAIN];
    const OrderOptions how = {.tokens = tokens, .rows = 40, .by_length = by_length, .seed = 1};
    size_t read = 0, padded = 0, fewest = SIZE_MAX, most = 0;
    Order order;
    Error e;
    must(order_open(&order, p->length, p->count, &how, &e), &e);
    for (uint64_t step = 1; step <= order.batches; step++) {
        size_t count, positions = 0, longest = 0;
        const size_t *pair = order_batch(&order, step, &count);
        for (size_t i = 0; i < count; i++) {
            size_t length = p->start[TARGET][pair[i] + 1] - p->start[TARGET][pair[i]];
            positions += length, longest = length > longest ? length : longest;
        }
        read += positions, padded += count * longest;
        fewest = positions < fewest ? positions : fewest, most = positions > most ? positions : most;
    }
    printf("  %-36s %8zu %8zu to %4zu %11.1f %%\n", title, order.batches, fewest, most,
           100 * (1 - (double)read / (double)padded));
    order_close(&order);
}

static void batches(const SmallTranslator *s)
{
    section("6. Batches of tokens");
    printf("  %-36s %8s %16s %13s\n", "", "batches", "target tokens", "padding");
    print_batches("40 pairs, any lengths", s, false, 0);
    print_batches("40 pairs of like length", s, true, 0);
    print_batches("512 tokens, any lengths", s, false, 512);
    print_batches("512 tokens, pairs of like length", s, true, 512);
}

/* ---- 7. all of it, and each left out */

enum { ROUNDS = 4 };

typedef struct Trial {
    const char *title;
    TranslatorOptions options;
    Schedule schedule;
} Trial;

static void try_it(const Trial *trial, size_t steps, float score[ROUNDS], double *trained)
{
    SmallTranslator s;
    small_open(&s, &trial->options);
    for (size_t r = 0; r < ROUNDS; r++) {
        small_train(&s, steps / ROUNDS - 1, &trial->schedule);
        StepResult last = small_step(&s, schedule_rate(&trial->schedule, s.steps + 1, -1));
        *trained = last.nll;
        score[r] = (float)small_score(&s);
    }
    small_close(&s);
}

static void print_trials(const Trial *trial, size_t count, size_t steps, const char *name, bool trained_too)
{
    float step[ROUNDS], score[8][ROUNDS];
    Curve curves[8];
    printf("  %-36s", "after steps");
    for (size_t r = 0; r < ROUNDS; r++) {
        step[r] = (float)(steps / ROUNDS * (r + 1));
        printf(" %7.0f", (double)step[r]);
    }
    printf("%s\n", trained_too ? "  in training" : "");
    for (size_t i = 0; i < count; i++) {
        double trained;
        try_it(&trial[i], steps, score[i], &trained);
        printf("  %-36s", trial[i].title);
        for (size_t r = 0; r < ROUNDS; r++)
            printf(" %7.3f", (double)score[i][r]);
        trained_too ? printf(" %12.3f\n", trained) : printf("\n");
        curves[i] = (Curve){trial[i].title, step, score[i], ROUNDS};
    }
    printf("\n");
    draw_curves(&(Plot){name, "nats a token, by steps", "step", "nats a token", false, false}, curves, count);
}

static void all_of_it(void)
{
    const Schedule noams = small_schedule();
    const Schedule peak = {.kind = SCHEDULE_CONSTANT, .rate = schedule_rate(&noams, noams.warmup, -1)};
    const Schedule tenth = {.kind = SCHEDULE_CONSTANT, .rate = peak.rate / 10};
    const Schedule steep = {.kind = SCHEDULE_CONSTANT, .rate = 0.5};
    const Trial trials[] = {{"all of it", {.smoothing = 0.1, .dropout = 0.1}, noams},
                            {"highest rate from the first step", {.smoothing = 0.1, .dropout = 0.1}, peak},
                            {"tenth of it from the first step", {.smoothing = 0.1, .dropout = 0.1}, tenth},
                            {"descent instead of Adam", {.smoothing = 0.1, .dropout = 0.1, .epsilon = 1}, steep},
                            {"no smoothing, no dropout", {.smoothing = 0}, noams}};
    section("7. All of it, and each left out");
    printf("  nats a token on sentences that were kept back\n\n");
    print_trials(trials, sizeof trials / sizeof *trials, lesson_is_fast() ? 24 : 240, "13-trials", false);

    const Trial few[] = {{"nothing dropped", {.pairs = 150}, noams},
                         {"dropout 0.3", {.pairs = 150, .dropout = 0.3}, noams}};
    section("8. Few sentences");
    printf("  150 pairs to learn from\n\n");
    print_trials(few, 2, lesson_is_fast() ? 24 : 200, "13-few", true);
}

int main(void)
{
    SmallTranslator s;
    byte_pairs();
    adams();
    noam();
    smooth();
    drop();
    small_open(&s, &(TranslatorOptions){.dropout = 0});
    batches(&s);
    small_close(&s);
    all_of_it();
    return 0;
}
