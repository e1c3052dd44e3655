/* See translator.h. */
#include "course/translator/translator.h"

#include "base/memory.h"
#include "core/nn/loss.h"
#include "course/frame/draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 2, CONTEXT = 192, MICRO = 256, DIM = 64 };

void must(bool fine, const Error *e)
{
    if (fine)
        return;
    fprintf(stderr, "the lesson stops here: %s\n", e->text);
    exit(1);
}

/* ---- what the trainer is told */

static void add_row(const SmallTranslator *s, Split part, size_t i, Batch *b)
{
    const SentencePairs *p = &s->bitext.parts[part];
    pairs_row(p, i, b);
    if (s->options.unshifted) {
        Side *side = &b->side[TARGET];
        size_t first = (size_t)side->start[side->rows - 1], count = (size_t)side->start[side->rows] - first;
        memcpy(side->ids + first, side->targets + first, count * sizeof *side->ids);
    }
}

/* The source of the pair before, in place of its own; as far as there is room for it. */
static void take_other(const SmallTranslator *s, size_t i, Batch *b)
{
    const SentencePairs *p = &s->bitext.parts[SPLIT_VALID];
    size_t other = i ? i - 1 : p->count - 1;
    const int32_t *ids = p->ids[SOURCE] + p->start[SOURCE][other];
    size_t count = p->start[SOURCE][other + 1] - p->start[SOURCE][other];
    Side *side = &b->side[SOURCE];
    size_t first = (size_t)side->start[side->rows - 1], room = (size_t)side->start[side->rows] - first;
    for (size_t k = 0; k < room; k++)
        side->ids[first + k] = k + 1 < room && k < count ? ids[k] : END;
}

static void batch(void *self, uint64_t step, Batch *b)
{
    SmallTranslator *s = self;
    size_t count;
    const size_t *pair = order_batch(&s->order, step, &count);
    batch_clear(b);
    for (size_t i = 0; i < count; i++)
        add_row(s, SPLIT_TRAIN, pair[i], b);
}

static void score_batch(void *self, size_t number, Batch *b)
{
    const SmallTranslator *s = self;
    batch_clear(b);
    for (size_t i = s->cut[number]; i < s->cut[number + 1]; i++) {
        add_row(s, SPLIT_VALID, i, b);
        if (s->options.other)
            take_other(s, i, b);
    }
}

static Tensor *loss(void *self, Tape *t, const Rows *rows)
{
    const SmallTranslator *s = self;
    Tensor *logits = s->options.logits ? s->options.logits(&s->model, t, &rows[SOURCE], &rows[TARGET])
                                       : model_pairs(t, &s->model, &rows[SOURCE], &rows[TARGET]);
    return cross_entropy(t, logits, rows[TARGET].targets, t->training ? s->options.smoothing : 0, 0);
}

/* ---- opening */

static void open_pairs(SmallTranslator *s, Error *e)
{
    BitextOptions o = {.source = {.path = s->options.trees, .language = {"en", "de"}, .treebank = s->options.trees},
                       .subwords = {.type = s->options.merges ? SUBWORDS_BPE : SUBWORDS_WORDS,
                                    .merges = s->options.merges,
                                    .apart = s->options.trees,
                                    .word_positions = s->options.word_positions},
                       .longest = CONTEXT - 1,
                       .context = CONTEXT};
    must(bitext_open(&s->bitext, &o, e), e);
    const OrderOptions how = {.tokens = s->options.tokens ? s->options.tokens : 512,
                              .by_length = !s->options.any_lengths,
                              .seed = lesson_seed(1)};
    const SentencePairs *train = &s->bitext.parts[SPLIT_TRAIN];
    must(order_open(&s->order, train->length, s->options.pairs ? s->options.pairs : train->count, &how, e), e);
}

static void open_model(SmallTranslator *s, Error *e)
{
    s->built.shared = (SharedOptions){.dim = DIM,
                                      .heads = 4,
                                      .depth = 2,
                                      .ff = 2 * DIM,
                                      .context = CONTEXT,
                                      .activation = ACTIVATION_RELU,
                                      .norm = s->options.trees ? NORM_PRE : NORM_POST,
                                      .distances = s->options.trees ? DISTANCE_T5 : DISTANCE_NONE,
                                      .positions = POSITIONS_SINUSOID,
                                      .bias = true,
                                      .tie = true,
                                      .dropout = s->options.dropout};
    must(model_open(&s->model, &s->built, s->bitext.subwords->count, s->bitext.subwords->target.count, e), e);
    s->model.moves = s->bitext.subwords->moves;
}

/* Pairs of the validation part, in batches of no more than a micro-batch. */
static void cut_scored(SmallTranslator *s, Error *e)
{
    const SentencePairs *p = &s->bitext.parts[SPLIT_VALID];
    s->cut = memory_get(p->count + 1, sizeof *s->cut);
    must(s->cut || memory_error(e, "batches to score", p->count + 1, sizeof *s->cut), e);
    for (size_t i = 0, first = 0; i <= p->count; i++)
        if (i == p->count || p->length[i + 1] - p->length[first] > s->task.micro_positions) {
            size_t rows = i - first;
            s->cut[++s->task.score_batches] = first = i;
            s->task.score_rows = rows > s->task.score_rows ? rows : s->task.score_rows;
        }
}

static void open_trainer(SmallTranslator *s, Error *e)
{
    const size_t longest = s->bitext.longest;
    s->task = (Task){.self = s,
                     .sides = SIDES_USED,
                     .most_rows = s->order.most_rows,
                     .longest = {longest, longest},
                     .step_positions = s->order.options.tokens + longest,
                     .micro_positions = MICRO > longest ? MICRO : longest,
                     .loss_side = {TARGET},
                     .token_side = TARGET,
                     .batch = batch,
                     .loss = loss,
                     .score_batch = score_batch,
                     .unit = "nats/token",
                     .per_nat = 1};
    cut_scored(s, e);
    TrainerOptions o = {.k = kernels_find("cpu", NUMBER_F32, e),
                        .workers = WORKERS,
                        .training = true,
                        .optimizer = {.adam = {0.9, 0.98, s->options.epsilon > 0 ? s->options.epsilon : 1e-9}},
                        .seed = lesson_seed(1)};
    must(o.k, e);
    must(trainer_open(&s->trainer, &o, &s->model.parameters, &s->task, e), e);
    must(weights_init(&s->trainer.weights, s->trainer.worker[0].stream, INIT_XAVIER, 2, lesson_seed(1), e), e);
}

void small_open(SmallTranslator *s, const TranslatorOptions *o)
{
    Error e;
    *s = (SmallTranslator){.options = *o};
    open_pairs(s, &e);
    open_model(s, &e);
    open_trainer(s, &e);
}

void small_close(SmallTranslator *s)
{
    trainer_close(&s->trainer);
    model_close(&s->model);
    order_close(&s->order);
    bitext_close(&s->bitext);
    memory_free(s->cut);
    *s = (SmallTranslator){0};
}

/* ---- learning */

StepResult small_step(SmallTranslator *s, double rate)
{
    Error e;
    StepResult result;
    must(trainer_step(&s->trainer, ++s->steps, rate, &result, &e), &e);
    return result;
}

Schedule small_schedule(void) { return (Schedule){.kind = SCHEDULE_NOAM, .rate = 1.5, .warmup = 200, .dim = DIM}; }

void small_train(SmallTranslator *s, size_t steps, const Schedule *schedule)
{
    for (size_t i = 0; i < steps; i++)
        small_step(s, schedule_rate(schedule, s->steps + 1, -1));
}

double small_score(SmallTranslator *s)
{
    Error e;
    MeanLoss score;
    must(trainer_score(&s->trainer, &score, &e), &e);
    return score.nll;
}

/* ---- looking */

typedef struct CrossWatch {
    Hook hook; /* first */
    float *weights;
} CrossWatch;

static void *last_cross(Hook *w, Tape *t, const Parameter *out, const Attend *how)
{
    (void)t, (void)how;
    return strstr(out->name, "decoder.1.cross") ? ((CrossWatch *)w)->weights : NULL;
}

static Rows one_row(const int32_t *ids, int32_t *position, int32_t *start, size_t n)
{
    start[0] = 0, start[1] = (int32_t)n;
    for (size_t i = 0; i < n; i++)
        position[i] = (int32_t)i;
    return (Rows){.positions = n, .rows = 1, .longest = n, .ids = ids, .position = position, .start = start};
}

void small_read(SmallTranslator *s, const int32_t *source, size_t ns, const int32_t *target, size_t nt, float *logits,
                float *weights)
{
    const size_t heads = s->built.shared.heads;
    int32_t position[2][CONTEXT], start[2][2];
    Tape *t = &s->trainer.worker[0].tape;
    CrossWatch watch = {{.weights = last_cross}, memory_get(heads * nt * ns, sizeof(float))};
    Error e;
    must(watch.weights || memory_error(&e, "weights", heads * nt * ns, sizeof(float)), &e);
    Rows sources = one_row(source, position[0], start[0], ns), targets = one_row(target, position[1], start[1], nt);
    t->training = t->recording = false;
    t->hook = &watch.hook;
    Tensor *y = model_pairs(t, &s->model, &sources, &targets);
    memcpy(logits, y->data, nt * y->columns * sizeof *logits);
    tape_reset(t);
    t->hook = NULL;
    for (size_t i = 0; weights && i < nt * ns; i++) {
        weights[i] = 0;
        for (size_t h = 0; h < heads; h++)
            weights[i] += watch.weights[h * nt * ns + i] / (float)heads;
    }
    memory_free(watch.weights);
}

/* ---- translating */

void small_parsing(SmallTranslator *s, Translating *t, size_t beam, double alpha, bool well_formed)
{
    Error e;
    TranslatingOptions o = {.beam = beam,
                            .best = 1,
                            .alpha = alpha,
                            .well_formed = well_formed,
                            .max_extra = s->options.trees ? 60 : 20,
                            .max_tokens = 2048,
                            .longest = CONTEXT - 1,
                            .workers = WORKERS};
    must(translating_open(t, &s->model, s->bitext.subwords, &s->trainer.weights, &o, &e), &e);
}

void small_translating(SmallTranslator *s, Translating *t, size_t beam, double alpha)
{
    small_parsing(s, t, beam, alpha, false);
}

void small_lines(const SmallTranslator *s, size_t count, Lines side[SIDES_USED])
{
    Error e;
    for (size_t which = 0; which < SIDES_USED; which++)
        for (size_t i = 0; i < count; i++) {
            Line line = lines_at(&s->bitext.sentences.side[SPLIT_VALID][which], i);
            must(lines_add(&side[which], line.text, line.size, &e), &e);
        }
}
