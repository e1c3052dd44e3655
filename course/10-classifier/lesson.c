/* Lesson 10: a classifier. See README.md beside this file; `make lesson-10` runs it.
 *
 *     x = words[ids] + positions        x = block(x)        logits = mean(x) w^T + bias
 *     loss = -log softmax(logits)[label] */
#include "base/memory.h"
#include "base/philox.h"
#include "classifier/builtin.h"
#include "classifier/data.h"
#include "core/nn/embedding.h"
#include "core/nn/loss.h"
#include "core/nn/stack.h"
#include "core/tensor/operations.h"
#include "course/frame/draw.h"
#include "course/frame/learner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 2, WORDS = 400 }; /* more than there are */

static const char *const verdicts[] = {
    "Before, I expected a dull film, but it was a moving film.",
    "Before, I expected a moving film, but it was a dull film.",
    "The music was not in any way dull.",
    "The music was indeed in any way dull.",
    "Nobody could ever say that the story was weak.",
    "Anybody could ever say that the story was weak.",
    "The cast was superb. There is a dog in it.",
};
enum { VERDICTS = sizeof verdicts / sizeof *verdicts };

/* ---- 1. naive Bayes */

typedef struct Bayes {
    double ratio[WORDS]; /* log of how much likelier a word is in a good review */
} Bayes;

/* Whether the word at `at` of a text stands there for the first time */
static bool first_time(const int32_t *ids, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (ids[i] == ids[at])
            return false;
    return true;
}

static void count_words(Bayes *b, const Texts *texts, size_t words)
{
    double seen[CLASSES][WORDS] = {{0}}, all[CLASSES] = {0};
    for (size_t t = 0; t < texts->count; t++)
        for (size_t i = 0; i < texts->start[t + 1] - texts->start[t]; i++)
            if (first_time(texts->ids + texts->start[t], i)) {
                seen[texts->labels[t]][texts->ids[texts->start[t] + i]] += 1;
                all[texts->labels[t]] += 1;
            }
    for (size_t w = 0; w < words; w++)
        b->ratio[w] = log((seen[1][w] + 1) / (all[1] + (double)words)) -
                      log((seen[0][w] + 1) / (all[0] + (double)words));
}

/* The log of how much likelier good is than bad */
static double weigh(const Bayes *b, const int32_t *ids, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += first_time(ids, i) ? b->ratio[ids[i]] : 0;
    return sum;
}

static double accuracy(const Bayes *b, const Texts *texts)
{
    size_t right = 0;
    for (size_t t = 0; t < texts->count; t++)
        right += (weigh(b, texts->ids + texts->start[t], texts->start[t + 1] - texts->start[t]) > 0) ==
                 texts->labels[t];
    return 100 * (double)right / (double)texts->count;
}

/* The words that speak most for one side */
static void print_loudest(const Bayes *b, const Vocabulary *v, double side)
{
    bool said[WORDS] = {false};
    printf("  for %s:", side > 0 ? "good" : "bad ");
    for (int n = 0; n < 6; n++) {
        size_t best = 0;
        for (size_t w = 1; w < v->count; w++)
            if (!said[w] && (said[best] || best == 0 || side * b->ratio[w] > side * b->ratio[best]))
                best = w;
        said[best] = true;
        printf(" %s %.1f", vocabulary_word(v, (int32_t)best), b->ratio[best]);
    }
    printf("\n");
}

static int32_t *ids_of(const Tokens *t, const char *text, size_t *count)
{
    Error e;
    int32_t *ids;
    size_t cut;
    learner_expect(text_to_ids(t, text, strlen(text), 0, &ids, count, &cut, &e), &e);
    return ids;
}

static void counting(Bayes *b, const Reviews *r)
{
    const Texts *train = reviews_part(r, SPLIT_TRAIN), *valid = reviews_part(r, SPLIT_VALID);
    section("1. Counting words");
    printf("  %zu reviews to learn from, %zu held out; %zu different words\n", train->count, valid->count,
           tokens_count(&r->tokens));
    count_words(b, train, tokens_count(&r->tokens));
    print_loudest(b, tokens_list(&r->tokens), 1);
    print_loudest(b, tokens_list(&r->tokens), -1);
    printf("  naive Bayes is right in %.1f %% of those it has learned from, and in %.1f %% of the others\n",
           accuracy(b, train), accuracy(b, valid));
}

/* ---- 2. a network */

typedef struct Network {
    const char *name;
    size_t depth;
    Positions positions;
    bool fresh; /* each step has reviews that nobody has seen */
} Network;

enum { NETWORKS = 4 };

static const Network networks[NETWORKS] = {{"average of words", 0, POSITIONS_NONE, false},
                                           {"block, no positions", 1, POSITIONS_NONE, false},
                                           {"positions and a block", 1, POSITIONS_LEARNED, false},
                                           {"the same, new reviews", 1, POSITIONS_LEARNED, true}};

enum { D = 32, H = 4, F = 64, CONTEXT = 80, BATCH = 16, TEXT = 0, LABEL = 1 };

typedef struct Critic {
    Learner learner;
    Network how;
    Embedding words;
    Stack stack;
    Linear logits;
    const Tokens *tokens;
    const Texts *train, *scored;
} Critic;

/* A text is a row of side TEXT, and its label a row of one position */
static void add_text(Batch *b, const int32_t *ids, size_t length, int32_t label)
{
    size_t at = batch_row(b, TEXT, length);
    memcpy(b->side[TEXT].ids + at, ids, length * sizeof *ids);
    for (size_t i = 0; i < length; i++)
        b->side[TEXT].targets[at + i] = -1;
    at = batch_row(b, LABEL, 1);
    b->side[LABEL].ids[at] = 0;
    b->side[LABEL].targets[at] = label;
}

static void add_review(Batch *b, const Texts *t, size_t i)
{
    add_text(b, t->ids + t->start[i], t->start[i + 1] - t->start[i], t->labels[i]);
}

/* Number i of those that are written when they are needed: good ones have odd numbers */
static void add_fresh(Batch *b, const Tokens *t, size_t i)
{
    Buffer text = {0};
    size_t count;
    builtin_review(&text, i);
    int32_t *ids = ids_of(t, text.text, &count);
    add_text(b, ids, count, (int32_t)(i % 2));
    memory_free(ids);
    buffer_free(&text);
}

static void draw_batch(void *self, uint64_t step, Batch *b)
{
    const Critic *c = self;
    batch_clear(b);
    for (size_t i = 0; i < BATCH; i++)
        if (c->how.fresh)
            add_fresh(b, c->tokens, BUILTIN_TRAINING + BUILTIN_TEST + (size_t)step * BATCH + i);
        else
            add_review(b, c->train, (size_t)philox_below(c->train->count, 1, (uint32_t)step, i, 0));
}

static void scored_batch(void *self, size_t i, Batch *b)
{
    const Texts *t = ((const Critic *)self)->scored;
    batch_clear(b);
    for (size_t n = i * BATCH; n < (i + 1) * BATCH && n < t->count; n++)
        add_review(b, t, n);
}

static Tensor *loss(void *self, Tape *t, const Rows *rows)
{
    const Critic *c = self;
    AttentionContext context = context_rows(&rows[TEXT], false);
    Tensor *x = stack(t, &c->stack, embed(t, &c->words, &rows[TEXT]), NULL, &context);
    Tensor *logits = linear_logits(t, &c->logits, pool_rows(t, x, POOLING_MEAN, &rows[TEXT]));
    if (!t->training)
        t->guesses = likeliest(t, logits);
    return cross_entropy(t, logits, rows[LABEL].targets, 0, 0);
}

/* What learner_score scores from now on */
static void look_at(Critic *c, const Texts *texts)
{
    c->scored = texts;
    c->learner.task.score_batches = (texts->count + BATCH - 1) / BATCH;
}

static void critic_open(Critic *c, const Network *how, const Reviews *r)
{
    const EmbeddingOptions words = {
        .vocabulary = tokens_count(&r->tokens), .context = CONTEXT, .dim = D, .positions = how->positions, .scale = 1};
    const StackOptions blocks = {.block = {.attention = {.dim = D, .heads = H, .key_size = D / H, .value_size = D / H},
                                           .ff = F,
                                           .norm = NORM_POST,
                                           .dropout = 0.2},
                                 .depth = how->depth,
                                 .blocks = "blocks",
                                 .norm = "norm"};
    *c = (Critic){.how = *how,
                  .tokens = &r->tokens,
                  .train = reviews_part(r, SPLIT_TRAIN),
                  .scored = reviews_part(r, SPLIT_VALID)};
    Parameters *p = &c->learner.parameters;
    c->words = embedding_new(p, &words, "words", "positions");
    c->stack = stack_new(p, &blocks);
    c->logits = linear_new(p, D, CLASSES, true, "logits");
    c->learner.task = (Task){.self = c,
                             .sides = 2,
                             .longest = {CONTEXT, 1},
                             .most_rows = BATCH,
                             .loss_side = {LABEL},
                             .guesses = true,
                             .batch = draw_batch,
                             .loss = loss,
                             .score_rows = BATCH,
                             .score_batch = scored_batch};
    look_at(c, c->train);
    learner_open(&c->learner, INIT_PYTORCH, 1, 1);
}

static void critic_close(Critic *c)
{
    learner_close(&c->learner);
    stack_close(&c->stack);
}

static double right(Critic *c, const Texts *texts)
{
    look_at(c, texts);
    MeanLoss score = learner_score(&c->learner);
    return 100 * score.hits / score.targets;
}

/* How sure it is that a text is good */
static double good(Critic *c, const char *text)
{
    size_t count, start[2] = {0, 0};
    int32_t *ids = ids_of(c->tokens, text, &count), label = 1;
    const Texts one = {1, ids, start, &label, NULL, 0};
    start[1] = count;
    look_at(c, &one);
    double share = exp(-learner_score(&c->learner).nll);
    memory_free(ids);
    return share;
}

enum { POINTS = 16 };

static void learn(Critic *c, const Texts *valid, size_t steps, float *accuracies)
{
    const size_t every = steps / POINTS;
    for (size_t step = 0; step < every * POINTS; step++) {
        learner_step(&c->learner, step + 1,
                     2e-3 * fmin(1, (double)(step + 1) / 50) * (1 - (double)step / (double)steps));
        if ((step + 1) % every == 0)
            accuracies[step / every] = (float)right(c, valid);
    }
}

static void reading(const Reviews *r, const Bayes *bayes)
{
    static float at[POINTS], accuracies[NETWORKS + 1][POINTS];
    static double sure[NETWORKS][VERDICTS];
    const Texts *train = reviews_part(r, SPLIT_TRAIN), *valid = reviews_part(r, SPLIT_VALID);
    Curve curves[NETWORKS + 1];
    const size_t steps = lesson_is_fast() ? 32 : 4800;
    section("2. Reading");
    for (size_t i = 0; i < POINTS; i++) {
        at[i] = (float)((i + 1) * (steps / POINTS));
        accuracies[NETWORKS][i] = (float)accuracy(bayes, valid);
    }
    printf("  %zu steps of %d reviews                 right, %% of\n", steps, BATCH);
    printf("  %-24s %9s  the %zu   held out\n", "", "weights", train->count);
    for (size_t n = 0; n < NETWORKS; n++) {
        Critic c;
        critic_open(&c, &networks[n], r);
        learn(&c, valid, steps, accuracies[n]);
        printf("  %-24s %9zu %9.1f %10.1f\n", networks[n].name, c.learner.parameters.numbers, right(&c, train),
               right(&c, valid));
        for (size_t i = 0; i < VERDICTS; i++)
            sure[n][i] = good(&c, verdicts[i]);
        curves[n] = (Curve){networks[n].name, at, accuracies[n], POINTS};
        critic_close(&c);
    }
    curves[NETWORKS] = (Curve){"naive Bayes", at, accuracies[NETWORKS], POINTS};
    printf("\n");
    draw_curves(&(Plot){"10-accuracy", "reviews that were held out", "step", "% right", false, false}, curves,
                NETWORKS + 1);
    section("3. Pairs");
    printf("  how sure that it is good; a block that read               Bayes   %zu    new\n", train->count);
    for (size_t i = 0; i < VERDICTS; i++) {
        size_t count;
        int32_t *ids = ids_of(&r->tokens, verdicts[i], &count);
        printf("  %-57s %6.2f %6.2f %6.2f\n", verdicts[i], 1 / (1 + exp(-weigh(bayes, ids, count))), sure[2][i],
               sure[3][i]);
        memory_free(ids);
    }
}

int main(void)
{
    const ReviewsOptions options = {.seed = 1, .length = CONTEXT, .no_cache = true};
    static Bayes bayes;
    Reviews r;
    Error e;
    learner_expect(reviews_open(&r, &options, &e), &e);
    if (tokens_count(&r.tokens) > WORDS)
        return 1;
    counting(&bayes, &r);
    reading(&r, &bayes);
    reviews_close(&r);
    return 0;
}
