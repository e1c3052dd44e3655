/* See reader.h. */
#include "course/15-reading/reader.h"

#include "base/memory.h"
#include "base/philox.h"
#include "core/nn/loss.h"
#include "core/tensor/operations.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BATCH = 32, TRAINED = 1 << 20 /* sentences from this number on are not trained on */ };

/* ---- sentences */

static const char *const words[] = {"the",    "was",     ".",      "but",    "and",  "while", "film",  "story",
                                    "acting", "popcorn", "seat",   "ticket", "not",  "very",  "quite", "good",
                                    "great",  "fine",    "lovely", "bad",    "dull", "poor",  "awful"};

enum {
    THE,
    WAS,
    STOP,
    JOINS,
    FILMS = 6,
    OTHERS = 9,
    NOT = 12,
    PRAISE = 15,
    BLAME = 19,
    VOCABULARY = sizeof words / sizeof *words
};

const char *word(int32_t id) { return words[id]; }

int32_t another_word(int32_t id, size_t n)
{
    static const int32_t kinds[] = {THE, WAS, STOP, JOINS, FILMS, OTHERS, NOT, PRAISE, VOCABULARY};
    size_t kind = 0;
    while (kinds[kind + 1] <= id)
        kind++;
    const int32_t other = kinds[kind] + (int32_t)n;
    const int32_t found = other < id ? other : other + 1; /* not the word itself */
    return found < kinds[kind + 1] ? found : -1;
}

/* "the film was not good", and what part each word plays */
static void clause(Sentence *s, size_t at, bool film, bool good, uint32_t i)
{
    uint32_t dice[4];
    for (uint32_t n = 0; n < 4; n++)
        dice[n] = (uint32_t)philox_below(60, 7, i, 8 + n + (film ? 0 : 4), 1);
    bool negated = dice[0] % 5 < 2;
    const int32_t ids[5] = {THE, (film ? FILMS : OTHERS) + (int32_t)dice[1] % 3, WAS,
                            negated ? NOT : NOT + 1 + (int32_t)dice[2] % 2,
                            (good != negated ? PRAISE : BLAME) + (int32_t)dice[3] % 4};
    const Part parts[5] = {REST, film ? FILM : OTHER, REST, film ? FILM_ADVERB : OTHER_ADVERB,
                           film ? FILM_WORD : OTHER_WORD};
    memcpy(s->ids + at, ids, sizeof ids);
    memcpy(s->part + at, parts, sizeof parts);
    s->negated = film ? negated : s->negated;
}

Sentence sentence(uint32_t i)
{
    Sentence s = {.likes = philox_below(2, 7, i, 0, 1)};
    bool film_first = philox_below(2, 7, i, 1, 1), other = philox_below(2, 7, i, 2, 1);
    clause(&s, film_first ? 0 : 6, true, s.likes, i);
    clause(&s, film_first ? 6 : 0, false, other, i);
    s.ids[5] = JOINS + (int32_t)philox_below(3, 7, i, 3, 1), s.ids[11] = STOP;
    s.part[5] = s.part[11] = REST;
    return s;
}

/* ---- the network */

static bool build(Reader *r, Error *e)
{
    const EmbeddingOptions embedding = {
        .vocabulary = VOCABULARY, .context = WORDS, .dim = D, .positions = POSITIONS_LEARNED, .scale = 1};
    const StackOptions blocks = {
        .block = {.attention = {.dim = D, .heads = HEADS, .key_size = D / HEADS, .value_size = DV, .bias = true},
                  .ff = F,
                  .activation = ACTIVATION_RELU,
                  .norm = NORM_POST},
        .depth = DEPTH,
        .blocks = "blocks",
        .norm = "norm"};
    r->embedding = embedding_new(&r->parameters, &embedding, "token_embedding.weight", "position_embedding.weight");
    r->stack = stack_new(&r->parameters, &blocks);
    r->logits = linear_new(&r->parameters, D, 2, true, "logits");
    return parameters_finish(&r->parameters, e);
}

static bool find_memory(Reader *r, Error *e)
{
    const size_t all = r->parameters.size, tokens = MOST * WORDS;
    r->gradient = memory_get(3 * all, sizeof *r->gradient);
    r->ids = memory_get(3 * tokens + 1 + MOST, sizeof *r->ids);
    if (!r->gradient || !r->ids)
        return memory_error(e, "a reader", all, sizeof *r->gradient);
    r->m = r->gradient + all, r->v = r->m + all;
    r->position = r->ids + tokens, r->start = r->position + tokens, r->targets = r->start + MOST + 1;
    return true;
}

bool reader_open(Reader *r, uint32_t seed, Error *e)
{
    const TapePlan room = {.memory = (size_t)64 << 20, .gradients = (size_t)16 << 20, .host = (size_t)1 << 20};
    *r = (Reader){.k = kernels_find("cpu", NUMBER_F32, e)};
    bool fine = r->k && r->k->open(&r->s, 1, e) && build(r, e) && find_memory(r, e) &&
                weights_open(&r->weights, r->k, r->s, &r->parameters, e) &&
                weights_init(&r->weights, r->s, INIT_XAVIER, DEPTH, seed, e) &&
                tape_open(&r->tape, r->k, r->s, &r->weights, &room, e);
    r->tape.state = &r->state;
    r->tape.gradient = r->gradient;
    return fine;
}

void reader_close(Reader *r)
{
    tape_close(&r->tape);
    weights_close(&r->weights);
    stack_close(&r->stack);
    parameters_close(&r->parameters);
    memory_free(r->gradient);
    memory_free(r->ids);
    if (r->s)
        r->k->close(r->s);
}

/* logits [count,2] of texts of n words each */
static Tensor *read_texts(Reader *r, const int32_t *ids, size_t count, size_t n)
{
    memcpy(r->ids, ids, count * n * sizeof *ids);
    for (size_t i = 0; i < count * n; i++)
        r->position[i] = (int32_t)(i % n);
    for (size_t i = 0; i <= count; i++)
        r->start[i] = (int32_t)(i * n);
    r->rows = (Rows){
        .positions = count * n, .rows = count, .longest = n, .ids = r->ids, .position = r->position, .start = r->start};
    r->context = context_rows(&r->rows, false);
    Tensor *x = stack(&r->tape, &r->stack, embed(&r->tape, &r->embedding, &r->rows), NULL, &r->context);
    return linear_logits(&r->tape, &r->logits, pool_rows(&r->tape, x, POOLING_MEAN, &r->rows));
}

static double learn_batch(Reader *r, size_t step)
{
    int32_t ids[BATCH * WORDS];
    for (uint32_t i = 0; i < BATCH; i++) {
        const Sentence s = sentence((uint32_t)step * BATCH + i);
        memcpy(ids + i * WORDS, s.ids, sizeof s.ids);
        r->targets[i] = s.likes;
    }
    r->state = (StepState){.learning_rate = 0.003, .clip = 1, .finite = 1, .loss = {{.scale = 1.0 / BATCH}}};
    r->state.correction1 = 1 - pow(0.9, (double)step + 1), r->state.correction2 = 1 - pow(0.999, (double)step + 1);
    r->tape.training = r->tape.recording = true;
    memset(r->gradient, 0, r->parameters.size * sizeof *r->gradient);
    cross_entropy(&r->tape, read_texts(r, ids, BATCH, WORDS), r->targets, 0, 0);
    tape_backward(&r->tape);
    tape_reset(&r->tape);
    r->tape.training = r->tape.recording = false;
    r->k->adam(r->s, r->weights.reals, NULL, r->m, r->v, r->gradient, &r->state, (Adam){0.9, 0.999, 1e-8}, NULL, 0, 0,
               r->parameters.size);
    return r->state.loss[0].nll / BATCH;
}

double reader_learn(Reader *r, size_t steps)
{
    double loss = 0;
    for (size_t step = 0; step < steps; step++)
        loss += learn_batch(r, step) * (step + 20 >= steps ? 1 / 20.0 : 0);
    return loss;
}

void reader_ask(Reader *r, const int32_t *ids, size_t count, size_t n, double *odds)
{
    const float *logits = tensor_whole(read_texts(r, ids, count, n));
    for (size_t i = 0; i < count; i++)
        odds[i] = (double)logits[2 * i + 1] - (double)logits[2 * i];
    tape_reset(&r->tape);
}

double reader_score(Reader *r, size_t count)
{
    static int32_t ids[MOST * WORDS];
    static double odds[MOST];
    size_t right = 0;
    for (uint32_t i = 0; i < count; i++)
        memcpy(ids + i * WORDS, sentence(TRAINED + i).ids, WORDS * sizeof *ids);
    reader_ask(r, ids, count, WORDS, odds);
    for (uint32_t i = 0; i < count; i++)
        right += (odds[i] > 0) == sentence(TRAINED + i).likes;
    return (double)right / (double)count;
}

/* ---- looked into */

Maps *reader_inspect(Reader *r, const Sentence *s, MapRecorder *w, Error *e)
{
    recorder_begin(w, &r->tape);
    read_texts(r, s->ids, 1, WORDS);
    bool fine = recorder_end(w, e);
    tape_reset(&r->tape);
    return fine ? recorder_maps(w, "blocks") : NULL;
}

/* Where a parameter's numbers are: the device is this process's own. */
static float *numbers_of(Reader *r, const char *format, size_t layer)
{
    char name[96];
    snprintf(name, sizeof name, format, (int)layer);
    return parameter_in(parameters_find(&r->parameters, name), r->weights.reals, sizeof(float));
}

void reader_values(Reader *r, const Sentence *s, size_t head, float *values)
{
    const float *weight = numbers_of(r, "blocks.%d.attention.value.weight", 0) + head * DV * D;
    const float *bias = numbers_of(r, "blocks.%d.attention.value.bias", 0) + head * DV;
    read_texts(r, s->ids, 1, WORDS); /* fills the rows */
    const Tensor *x = embed(&r->tape, &r->embedding, &r->rows);
    r->k->linear_forward(r->s, values, false, x->data, weight, bias, false, WORDS, D, DV);
    tape_reset(&r->tape);
}

void reader_save(Reader *r, size_t layer, float *saved)
{
    memcpy(saved, numbers_of(r, "blocks.%d.attention.out.weight", layer), sizeof(float) * D * D);
}

void reader_restore(Reader *r, size_t layer, const float *saved)
{
    memcpy(numbers_of(r, "blocks.%d.attention.out.weight", layer), saved, sizeof(float) * D * D);
}

void reader_cut(Reader *r, size_t layer, size_t head)
{
    float *out = numbers_of(r, "blocks.%d.attention.out.weight", layer);
    for (size_t i = 0; i < D; i++)
        memset(out + i * D + head * DV, 0, DV * sizeof *out);
}
