/* Lesson 11: a language model. See README.md beside this file; `make lesson-11` runs it.
 *
 *     share of each next character = softmax(logits / temperature), of the likeliest ones alone */
#include "base/buffer.h"
#include "base/philox.h"
#include "charlm/data.h"
#include "charlm/ngram.h"
#include "core/nn/embedding.h"
#include "core/nn/loss.h"
#include "core/nn/stack.h"
#include "course/frame/draw.h"
#include "course/frame/learner.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { V = 256, D = 64, H = 4, F = 256, L = 2, CONTEXT = 64, BATCH = 16, POINTS = 10 };

/* ---- the text: a book, with a link around each long word, as in an encyclopedia */

enum { LONG = 8 };

static bool is_letter(char c) { return isalpha((unsigned char)c); }

static size_t add_links(Buffer *b, const Text *book)
{
    const char *text = (const char *)book->bytes;
    size_t links = 0;
    for (size_t i = 0, end; i < book->size; i = end) {
        for (end = i + 1; is_letter(text[i]) && end < book->size && is_letter(text[end]); end++)
            ;
        links += end - i >= LONG;
        buffer_print(b, end - i >= LONG ? "[[%.*s]]" : "%.*s", (int)(end - i), text + i);
    }
    return links;
}

/* ---- 1. counting */

static double count(Part train, Part valid, NgramBits *bits)
{
    Ngram g;
    Error e;
    learner_expect(ngram_open(&g, train.size + valid.size, &e), &e);
    for (size_t i = 0; i < train.size; i++)
        ngram_learn(&g, train.bytes, i, ngram_rate(i, train.size), NULL);
    *bits = (NgramBits){{0}, {0}};
    for (size_t i = 1; i < valid.size; i++)
        ngram_score(&g, valid.bytes, i, bits);
    ngram_close(&g);
    double n = (double)valid.size - 1;
    printf("  characters before    alone   all up to it\n");
    for (size_t i = 0; i < ORDERS; i++)
        printf("  %17zu  %7.2f  %13.2f\n", i, bits->alone[i] / n, bits->mixed[i] / n);
    return bits->mixed[ORDERS - 1] / n;
}

/* ---- 2. a network */

typedef struct Writer {
    Learner learner;
    Embedding characters;
    Stack stack;
    Linear logits;
    Part train;
    Windows valid;
} Writer;

static Tensor *network(Tape *t, const Writer *w, const Rows *rows)
{
    AttentionContext context = context_rows(rows, true);
    return linear_logits(t, &w->logits, stack(t, &w->stack, embed(t, &w->characters, rows), NULL, &context));
}

static void draw_batch(void *self, uint64_t step, Batch *b)
{
    training_batch(((const Writer *)self)->train, (Lead){0}, CONTEXT, BATCH, 1, step, b);
}

static void scored_batch(void *self, size_t i, Batch *b)
{
    const Windows *w = &((const Writer *)self)->valid;
    batch_clear(b);
    for (size_t n = i * BATCH; n < (i + 1) * BATCH && n < w->count; n++)
        windows_row(w, n, b);
}

static Tensor *loss(void *self, Tape *t, const Rows *rows)
{
    return cross_entropy(t, network(t, self, rows), rows->targets, 0, 0);
}

static void writer_begin(Writer *w, Part train, Part valid)
{
    const EmbeddingOptions characters = {.vocabulary = V, .context = CONTEXT, .dim = D, .scale = 1};
    const StackOptions blocks = {
        .block = {.attention = {D, H, D / H, D / H, .distances = {.kind = DISTANCE_BIAS, .reach = CONTEXT}},
                  .ff = F,
                  .norm = NORM_POST},
        .depth = L,
        .blocks = "blocks",
        .norm = "norm"};
    *w = (Writer){.train = train, .valid = windows_over(valid, CONTEXT, CONTEXT / 2)};
    Parameters *p = &w->learner.parameters;
    w->characters = embedding_new(p, &characters, "characters", "positions");
    w->stack = stack_new(p, &blocks);
    w->logits = linear_new(p, D, V, true, "logits");
    w->learner.task = (Task){.self = w,
                             .sides = 1,
                             .longest = {CONTEXT},
                             .most_rows = BATCH,
                             .batch = draw_batch,
                             .loss = loss,
                             .score_batches = (w->valid.count + BATCH - 1) / BATCH,
                             .score_rows = BATCH,
                             .score_batch = scored_batch};
    learner_open(&w->learner, INIT_PYTORCH, L, 1);
}

static void writer_end(Writer *w)
{
    learner_close(&w->learner);
    stack_close(&w->stack);
}

/* ---- 3. choosing */

typedef struct Taste {
    const char *name;
    double temperature;
    size_t top_k; /* 0: all */
    double top_p; /* 1: all */
} Taste;

typedef struct Choice {
    double share;
    int character;
} Choice;

static int by_share(const void *a, const void *b)
{
    const Choice *x = a, *y = b;
    return x->share > y->share ? -1 : x->share < y->share ? 1 : x->character - y->character;
}

/* The next character; point: a random number in [0,1) */
static char choose(const float *logits, const Taste *taste, double point)
{
    Choice choice[V];
    double largest = -INFINITY, all = 0, kept = 0;
    size_t n = 0;
    for (size_t j = 0; j < V; j++)
        largest = fmax(largest, (double)logits[j]);
    for (size_t j = 0; j < V; j++) {
        choice[j] = (Choice){exp(((double)logits[j] - largest) / taste->temperature), (int)j};
        all += choice[j].share;
    }
    qsort(choice, V, sizeof *choice, by_share);
    while (n < V && (!taste->top_k || n < taste->top_k) && (n == 0 || kept < taste->top_p * all))
        kept += choice[n++].share;
    for (size_t j = 0; j < n; j++) {
        point -= choice[j].share / kept;
        if (point < 0)
            return (char)choice[j].character;
    }
    return (char)choice[0].character; /* rounding left the point after all shares */
}

enum { WRITTEN = 300, PROMPT = CONTEXT };

/* BATCH texts, each WRITTEN characters after a prompt from the validation part; each character sees CONTEXT before it
 */
static void write_texts(Writer *w, const Taste *taste, char texts[BATCH][WRITTEN])
{
    char all[BATCH][PROMPT + WRITTEN] = {{0}};
    static float logits[BATCH * CONTEXT * V];
    Worker *worker = &w->learner.trainer.worker[0];
    Batch *b = &w->learner.trainer.batch;
    const Kernels *k = w->learner.trainer.options.k;
    for (size_t r = 0; r < BATCH; r++)
        memcpy(all[r], w->valid.part.bytes + r * (w->valid.part.size / BATCH), PROMPT);
    for (size_t i = 0; i < (lesson_is_fast() ? WRITTEN / 6 : WRITTEN); i++) {
        batch_clear(b);
        for (size_t r = 0; r < BATCH; r++) {
            size_t at = batch_row(b, 0, CONTEXT);
            for (size_t j = 0; j < CONTEXT; j++) {
                b->side[0].ids[at + j] = (unsigned char)all[r][PROMPT + i - CONTEXT + j];
                b->side[0].targets[at + j] = 0;
            }
        }
        device_rows_upload(&worker->rows, worker->stream, b, 0, BATCH);
        Tensor *y = network(&worker->tape, w, worker->rows.rows);
        k->download(worker->stream, logits, y->data, sizeof logits);
        tape_reset(&worker->tape);
        for (size_t r = 0; r < BATCH; r++)
            all[r][PROMPT + i] = choose(logits + ((r + 1) * CONTEXT - 1) * V, taste,
                                        philox_uniform(7, 0, i, (uint32_t)r));
    }
    for (size_t r = 0; r < BATCH; r++)
        memcpy(texts[r], all[r] + PROMPT, WRITTEN);
}

/* What texts are like */
typedef struct Counts {
    size_t opened, closed, words, known;
} Counts;

static bool is_in(const Part *text, const char *word, size_t size)
{
    char whole[WRITTEN + 2];
    whole[0] = ' ', memcpy(whole + 1, word, size), whole[size + 1] = 0;
    for (const char *at = (const char *)text->bytes; (at = strstr(at, whole)); at++)
        if (!is_letter(at[size + 1]))
            return true;
    return false;
}

/* Each [[ but those of the last 40 characters: whether ]] comes before another one, within 40. Each word between
 * spaces: whether the training text has it. */
static void count_text(Counts *l, const char *text, const Part *train)
{
    for (size_t i = 0; i + 42 < WRITTEN; i++) {
        if (text[i] != '[' || text[i + 1] != '[')
            continue;
        l->opened++;
        for (size_t j = i + 2; j < i + 42; j++)
            if (text[j] == text[j + 1] && (text[j] == ']' || text[j] == '[')) {
                l->closed += text[j] == ']';
                break;
            }
    }
    for (size_t i = 0, j; i + 1 < WRITTEN; i = j) {
        for (j = i + 1; j < WRITTEN && is_letter(text[j]); j++)
            ;
        if (text[i] == ' ' && j > i + 1 && j < WRITTEN && text[j] == ' ') {
            l->words++;
            l->known += is_in(train, text + i + 1, j - i - 1);
        }
    }
}

static Counts try(Writer *w, const Taste *taste, char texts[BATCH][WRITTEN])
{
    Counts l = {0};
    write_texts(w, taste, texts);
    for (size_t r = 0; r < BATCH; r++)
        count_text(&l, texts[r], &w->train);
    return l;
}

static void print_counts(const Counts *l)
{
    printf(" %6zu %7zu %9.0f\n", l->opened, l->closed, l->words ? 100.0 * (double)l->known / (double)l->words : 0.0);
}

/* ---- */

static void learn(Writer *w, double counted)
{
    static float at[POINTS], bits[POINTS], line[POINTS];
    char texts[BATCH][WRITTEN];
    const size_t steps = lesson_is_fast() ? 10 : 2500, every = steps / POINTS;
    printf("  %zu weights; %zu steps of %d characters\n\n", w->learner.parameters.numbers, steps, BATCH * CONTEXT);
    printf("  step   bits    opened  closed  words, %%\n");
    for (size_t step = 1; step <= steps; step++) {
        double rate = 6e-3 * fmin(1, (double)step / 100) * (1 - (double)step / (double)(steps + 1));
        learner_step(&w->learner, step, rate);
        if (step % every)
            continue;
        size_t i = step / every - 1;
        at[i] = (float)step, line[i] = (float)counted;
        bits[i] = (float)(learner_score(&w->learner).nll / log(2));
        if (i % 3 == 0) {
            Counts l = try(w, &(Taste){"", 1, 0, 1}, texts);
            printf("  %4zu  %5.2f   ", step, (double)bits[i]);
            print_counts(&l);
        }
    }
    printf("\n");
    const Curve curves[] = {{"network", at, bits, POINTS}, {"counting", at, line, POINTS}};
    draw_curves(&(Plot){"11-bits", "text that was held out", "step", "bits a character", false, false}, curves, 2);
}

static void taste_all(Writer *w)
{
    static const Taste tastes[] = {{"temperature 0.01", 0.01, 0, 1}, {"temperature 0.5", 0.5, 0, 1},
                                   {"temperature 1", 1, 0, 1},       {"temperature 1.5", 1.5, 0, 1},
                                   {"1.5, top-k 5", 1.5, 5, 1},      {"1, top-p 0.9", 1, 0, 0.9}};
    enum { TASTES = sizeof tastes / sizeof *tastes };
    static char texts[TASTES][BATCH][WRITTEN];
    section("3. Tastes");
    printf("  %-18s opened  closed  words, %%\n", "");
    for (size_t i = 0; i < TASTES; i++) {
        Counts l = try(w, &tastes[i], texts[i]);
        printf("  %-18s", tastes[i].name);
        print_counts(&l);
    }
    for (size_t i = 0; i < TASTES; i++) {
        printf("\n  %s:\n    ", tastes[i].name);
        for (size_t j = 0; j < 150; j++)
            putchar(isprint((unsigned char)texts[i][2][j]) ? texts[i][2][j] : ' ');
        printf("\n");
    }
}

int main(void)
{
    static Writer w;
    Text book;
    Error e;
    Buffer linked = {0};
    NgramBits bits;
    learner_expect(text_open(&book, NULL, &e), &e);
    size_t links = add_links(&linked, &book), size = linked.size;
    Part train = {(unsigned char *)linked.text, size - size / 20, NULL};
    Part valid = {train.bytes + train.size, size / 20, NULL};
    section("1. Counting");
    printf("  %zu characters with %zu links, of which the last %zu are held out\n\n", size, links, valid.size);
    double counted = count(train, valid, &bits);
    section("2. A network");
    writer_begin(&w, train, valid);
    learn(&w, counted);
    taste_all(&w);
    writer_end(&w);
    buffer_free(&linked);
    text_close(&book);
    return 0;
}
