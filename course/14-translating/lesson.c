/* Lesson 14: translating. See README.md beside this file; `make lesson-14` runs it.
 *
 *     y = the sequence with the best score        score(y) = log p(y | source) / ((5 + n) / 6)^alpha
 *
 * The search knows no network: a table of five words will do to see what it does. */
#include "base/memory.h"
#include "core/search/beam.h"
#include "core/text/bleu.h"
#include "course/frame/draw.h"
#include "course/translator/translator.h"
#include "kernels/plain/plain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const Kernels *const k = &plain_f32;

/* ---- 1. a language of a few words */

enum { STOP, EIN, EINE, KIND, BAUM, BLUME, VOCABULARY, WIDEST = 4, MOST_SUBWORDS = 8 };

static const char *const words[VOCABULARY] = {"</s>", "ein", "eine", "Kind", "Baum", "Blume"};

/* p(next | last); the last row stands for the beginning. What is missing is 0. */
static const float next[VOCABULARY + 1][VOCABULARY] = {[EIN] = {[KIND] = 0.40f, [BAUM] = 0.35f, [BLUME] = 0.25f},
                                                       [EINE] = {[BLUME] = 0.95f, [KIND] = 0.05f},
                                                       [KIND] = {[STOP] = 1},
                                                       [BAUM] = {[STOP] = 1},
                                                       [BLUME] = {[STOP] = 0.90f, [EINE] = 0.10f},
                                                       [VOCABULARY] = {[EIN] = 0.58f, [EINE] = 0.42f}};

/* What follows each live hypothesis, as the search wants to be told it */
static void look_up(const Beams *b, int32_t *which, double *values, double *ends)
{
    for (size_t r = 0; r < b->row_count; r++) {
        float logits[VOCABULARY], best[WIDEST], end;
        for (size_t j = 0; j < VOCABULARY; j++)
            logits[j] = logf(next[b->row[r].token < 0 ? VOCABULARY : b->row[r].token][j]);
        k->choices(NULL, which + r * b->options.beam, best, &end, logits, STOP, 1, VOCABULARY, b->options.beam);
        for (size_t i = 0; i < b->options.beam; i++)
            values[r * b->options.beam + i] = (double)best[i];
        ends[r] = (double)end;
    }
}

static void search(size_t beam, double alpha)
{
    const BeamOptions options = {.beam = beam, .best = 1, .alpha = alpha, .end = STOP};
    const size_t most = MOST_SUBWORDS;
    int32_t which[WIDEST * WIDEST], subwords[MOST_SUBWORDS];
    double values[WIDEST * WIDEST], ends[WIDEST], log_each[MOST_SUBWORDS + 1];
    size_t rows = 0;
    Beams b;
    Error e;
    must(beams_open(&b, &options, 1, MOST_SUBWORDS, &e), &e);
    for (beams_begin(&b, &most, 1); b.row_count; beams_step(&b, which, values, ends)) {
        look_up(&b, which, values, ends);
        rows += b.row_count;
    }
    const Hypothesis h = beams_hypothesis(&b, 0, 0, subwords, log_each);
    printf("  beam %zu: p = %.4f, %zu rows computed: ", beam, exp(h.log_p), rows);
    for (size_t i = 0; i < h.length; i++)
        printf(" %s", words[subwords[i]]);
    printf("\n");
    beams_close(&b);
}

static void few_words(void)
{
    section("1. Greedy, and not");
    printf("  after       p of the next\n");
    for (size_t i = 0; i < VOCABULARY; i++) {
        size_t row = i ? i : VOCABULARY; /* </s> is followed by nothing; in its place the beginning */
        printf("  %-10s", i ? words[row] : "nothing");
        for (size_t j = 0; j < VOCABULARY; j++)
            if (next[row][j] > 0)
                printf("  %s %.2f", words[j], (double)next[row][j]);
        printf("\n");
    }
    printf("\n");
    for (size_t beam = 1; beam <= WIDEST; beam++)
        search(beam, 0);
}

/* ---- 2. the length penalty */

static void lengths(void)
{
    static const double alphas[] = {0, 0.6, 1, 2};
    static const struct {
        const char *name;
        double log_p;
        size_t n;
    } two[] = {{"short: 5 tokens, log p -2.5", -2.5, 5}, {"long: 12 tokens, log p -3.4", -3.4, 12}};
    section("2. The length penalty");
    printf("  %-30s", "alpha");
    for (size_t a = 0; a < 4; a++)
        printf(" %8.1f", alphas[a]);
    for (size_t n = 1; n <= 40; n = n < 5 ? 5 : 2 * n) {
        printf("\n  lp of %2zu tokens %14s", n, "");
        for (size_t a = 0; a < 4; a++)
            printf(" %8.3f", pow((5 + (double)n) / 6, alphas[a]));
    }
    for (size_t i = 0; i < 2; i++) {
        printf("\n  %-30s", two[i].name);
        for (size_t a = 0; a < 4; a++)
            printf(" %8.3f", two[i].log_p / pow((5 + (double)two[i].n) / 6, alphas[a]));
    }
    printf("\n");
}

/* ---- 3. BLEU by hand */

static BleuText text_of(const char *text) { return (BleuText){text, strlen(text)}; }

static void by_hand(void)
{
    static const char *const reference = "die alte Frau weiß , dass der Hund heute schläft .";
    static const char *const found[] = {
        "die alte Frau weiß , dass der Hund heute schläft .", "die alte Frau weiß , dass ein Hund heute schläft .",
        "heute weiß die alte Frau , dass der Hund schläft .", "die alte Frau weiß , dass der Hund",
        "der der der der der der der der der der ."};
    section("3. BLEU by hand");
    printf("  reference: %s\n", reference);
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        Bleu b = bleu_open(BLEU_AS_THEY_ARE, false);
        const BleuText to = text_of(reference);
        BleuCounts counts;
        Error e;
        must(bleu_count(&b, text_of(found[i]), &to, 1, &counts, &e), &e);
        BleuScore score = bleu_score(&counts);
        printf("\n  %s\n   ", found[i]);
        for (size_t n = 0; n < BLEU_ORDERS; n++)
            printf(" %llu/%llu", (unsigned long long)counts.correct[n], (unsigned long long)counts.total[n]);
        printf("  penalty %.3f  BLEU %.1f\n", score.brevity, score.score);
        bleu_close(&b);
    }
}

/* ---- 4. a translator, and how well it does */

typedef struct Result {
    double bleu, ratio, whole, log_p;
} Result;

static Result judge(SmallTranslator *s, size_t beam, double alpha, size_t sentences)
{
    Lines lines[SIDES_USED] = {{0}, {0}};
    Bleu b = bleu_open(BLEU_AS_THEY_ARE, false);
    BleuCounts sum = {0};
    Translating t;
    Error e;
    Result r = {0};
    small_lines(s, sentences, lines);
    small_translating(s, &t, beam, alpha);
    must(translating_run(&t, &lines[SOURCE], &e), &e);
    for (size_t i = 0; i < sentences; i++) {
        const Hypothesis *h = &translating_of(&t, i)->hypothesis[0];
        const Line line = lines_at(&lines[TARGET], i);
        const BleuText to = {line.text, line.size};
        Buffer text = {0};
        BleuCounts counts;
        translating_text(&t, h, &text);
        must(bleu_count(&b, (BleuText){text.text ? text.text : "", text.size}, &to, 1, &counts, &e), &e);
        bleu_add(&sum, &counts);
        r.whole += (text.size == line.size && !memcmp(text.text, line.text, line.size)) / (double)sentences;
        r.log_p += h->log_p / (double)sentences;
        buffer_free(&text);
    }
    BleuScore score = bleu_score(&sum);
    r.bleu = score.score, r.ratio = score.ratio;
    translating_close(&t);
    bleu_close(&b);
    for (size_t side = 0; side < SIDES_USED; side++)
        lines_close(&lines[side]);
    return r;
}

static void print_result(const char *title, const Result *r)
{
    printf("  %-26s %8.2f %11.1f %% %11.3f %10.3f\n", title, r->bleu, 100 * r->whole, r->ratio, r->log_p);
}

static size_t sentences_judged(void) { return lesson_is_fast() ? 20 : 200; }

static void searches(SmallTranslator *s)
{
    static const size_t beams[] = {1, 2, 4, 8};
    static const double alphas[] = {0, 1, 3};
    section("5. Searching");
    printf("  %-26s %8s %13s %11s %10s\n", "", "BLEU", "whole", "length", "log p");
    for (size_t i = 0; i < 4; i++) {
        char title[40];
        Result r = judge(s, beams[i], 0.6, sentences_judged());
        snprintf(title, sizeof title, i ? "beam %zu, alpha 0.6" : "greedy", beams[i]);
        print_result(title, &r);
    }
    for (size_t i = 0; i < 3; i++) {
        char title[40];
        Result r = judge(s, 4, alphas[i], sentences_judged());
        snprintf(title, sizeof title, "beam 4, alpha %.1f", alphas[i]);
        print_result(title, &r);
    }
}

/* ---- 5. averaging checkpoints */

enum { KEPT = 5, ROUNDS = 8 };

typedef struct Checkpoints {
    float *of[KEPT]; /* a ring */
    size_t count;
} Checkpoints;

static size_t numbers_of(const SmallTranslator *s) { return s->model.parameters.size; }

static void keep(Checkpoints *c, const SmallTranslator *s)
{
    memcpy(c->of[c->count++ % KEPT], s->trainer.weights.reals, numbers_of(s) * sizeof(float));
}

/* The weights become the mean of all that are kept; `last` [numbers] gets what they were. */
static void use_mean(SmallTranslator *s, const Checkpoints *c, float *last)
{
    float *w = s->trainer.weights.reals;
    memcpy(last, w, numbers_of(s) * sizeof *w);
    for (size_t i = 0; i < numbers_of(s); i++) {
        w[i] = 0;
        for (size_t n = 0; n < KEPT; n++)
            w[i] += c->of[n][i] / KEPT;
    }
}

static void use_last(SmallTranslator *s, const float *last)
{
    memcpy(s->trainer.weights.reals, last, numbers_of(s) * sizeof *last);
}

static void learn(SmallTranslator *s, Checkpoints *c, float *last)
{
    const size_t every = lesson_is_fast() ? 1 : 10, first = lesson_is_fast() ? 5 : 160;
    const Schedule schedule = small_schedule();
    float step[ROUNDS], score[2][ROUNDS];
    section("4. Checkpoints, and the mean of the last five");
    printf("  nats a token on sentences that were kept back; a checkpoint every %zu steps\n\n", every);
    printf("  %-8s %14s %14s\n", "step", "last weights", "mean of five");
    small_train(s, first, &schedule);
    for (size_t r = 0; r < ROUNDS; r++) {
        for (size_t i = 0; i < KEPT; i++) {
            small_train(s, every, &schedule);
            keep(c, s);
        }
        step[r] = (float)s->steps;
        score[0][r] = (float)small_score(s);
        use_mean(s, c, last);
        score[1][r] = (float)small_score(s);
        use_last(s, last);
        printf("  %-8.0f %14.3f %14.3f\n", (double)step[r], (double)score[0][r], (double)score[1][r]);
    }
    printf("\n");
    const Curve curves[] = {{"last weights", step, score[0], ROUNDS}, {"mean of five", step, score[1], ROUNDS}};
    draw_curves(&(Plot){"14-mean", "nats a token, by steps", "step", "nats a token", false, false}, curves, 2);
}

static void judge_mean(SmallTranslator *s, const Checkpoints *c, float *last)
{
    section("6. What the mean translates");
    printf("  %-26s %8s %13s %11s %10s\n", "", "BLEU", "whole", "length", "log p");
    Result r = judge(s, 4, 0.6, sentences_judged());
    print_result("last weights, beam 4", &r);
    use_mean(s, c, last);
    r = judge(s, 4, 0.6, sentences_judged());
    print_result("mean of five, beam 4", &r);
    r = judge(s, 1, 0, sentences_judged());
    print_result("mean of five, greedy", &r);
}

int main(void)
{
    SmallTranslator s;
    Checkpoints c = {{NULL}, 0};
    few_words();
    lengths();
    by_hand();
    small_open(&s, &(TranslatorOptions){.smoothing = 0.1});
    float *memory = memory_get((KEPT + 1) * numbers_of(&s), sizeof *memory);
    for (size_t i = 0; i < KEPT && memory; i++)
        c.of[i] = memory + (i + 1) * numbers_of(&s);
    must(memory != NULL, &(Error){"out of memory for checkpoints"});
    learn(&s, &c, memory);
    searches(&s);
    judge_mean(&s, &c, memory);
    memory_free(memory);
    small_close(&s);
    return 0;
}
