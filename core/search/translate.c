/* See translate.h. */
#include "core/search/translate.h"

#include "base/memory.h"
#include "core/nn/loss.h"
#include "kernels/cost/cost.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Shapes of products are multiples of these, so that few are prepared; positions after the last belong to no row. A
 * few targets stay as few as they are: all shapes up to a grain are not many. */
enum { SOURCE_GRAIN = 32, TARGET_GRAIN = 8 };

static size_t round_up(size_t n, size_t grain) { return (n + grain - 1) / grain * grain; }
static size_t larger(size_t a, size_t b) { return a > b ? a : b; }
static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Integers on their way to the device, in one upload. */
typedef struct Staged {
    int32_t *host, *device;
    size_t used, capacity;
} Staged;

typedef struct Worker {
    const Kernels *k;
    Stream *stream;
    Tape tape;
    StepState *state; /* on the device: zeros */
    Cache past, memory;
    Beams beams;
    Staged source, target;
    size_t *most;     /* [sentences] of the batch */
    int32_t *which;   /* [slots, beam] what a step's choices are, from the device */
    double *values;   /* [slots, beam] */
    double *ends;     /* [slots] */
    int32_t *pieces;  /* [most] of one hypothesis */
    double *log_each; /* [most + 1] */
    bool failed;
    Error error;
} Worker;

typedef struct Item {
    size_t length, number; /* of the sentence in the order of the questions */
} Item;

struct Translator {
    TranslateNetwork n;
    TranslateOptions options;
    const Weights *weights;
    TapePlan plan;
    Pool *pool, *own_pool; /* its own: NULL where it was given one */
    Worker *worker;

    const Sentence *sentences; /* of the running call */
    Translation *translations;
    Item *item;    /* [sentences] by length */
    size_t *batch; /* [batches + 1] where in item each begins */
    size_t batches;
    atomic_size_t next; /* batch to be taken */
};

/* ---- workers */

static bool staged_open(Staged *s, const Kernels *k, size_t capacity)
{
    *s = (Staged){.host = memory_get(capacity, sizeof *s->host),
                  .device = k->allocate(capacity * sizeof *s->device),
                  .capacity = capacity};
    return s->host && s->device;
}

/* So many numbers more; *device is where they will be. */
static int32_t *stage(Staged *s, size_t count, const int32_t **device)
{
    assert(s->used + count <= s->capacity);
    int32_t *host = s->host + s->used;
    *device = s->device + s->used;
    s->used += count;
    return host;
}

static void staged_send(Staged *s, const Kernels *k, Stream *stream)
{
    k->upload(stream, s->device, s->host, s->used * sizeof *s->host);
    s->used = 0;
}

static size_t longest_row(const TranslateOptions *o) { return larger(o->longest, o->most + 1); }
static size_t slots_of(const TranslateOptions *o) { return o->sentences * o->beam.beam; }

/* Positions of a batch: memory for the budget, for one row that is longer, and for what a walk rounds up. */
static size_t batch_positions(const TranslateOptions *o)
{
    return larger(o->positions, longest_row(o)) + larger(longest_row(o), o->sentences);
}

static bool open_caches(Worker *w, const Translator *t, Error *e)
{
    const TranslateOptions *o = &t->options;
    size_t capacity = (batch_positions(o) + o->sentences - 1) / o->sentences;
    return stack_cache(&w->memory, t->n.decoder, w->k, w->stream, o->sentences, capacity, e) &&
           stack_cache(&w->past, t->n.decoder, w->k, w->stream, slots_of(o), capacity, e);
}

static bool open_lists(Worker *w, const TranslateOptions *o, Error *e)
{
    size_t slots = slots_of(o), most = o->most, targets = round_up(slots, TARGET_GRAIN);
    w->state = w->k->allocate(sizeof *w->state);
    w->most = memory_get(o->sentences, sizeof *w->most);
    w->which = memory_get(slots * o->beam.beam, sizeof *w->which);
    w->values = memory_get(slots * o->beam.beam, sizeof *w->values);
    w->ends = memory_get(slots, sizeof *w->ends);
    w->pieces = memory_get(most, sizeof *w->pieces);
    w->log_each = memory_get(most + 1, sizeof *w->log_each);
    bool fine = w->state && w->most && w->which && w->values && w->ends && w->pieces && w->log_each;
    return (fine && staged_open(&w->source, w->k, 2 * round_up(batch_positions(o), SOURCE_GRAIN) + o->sentences + 1) &&
            staged_open(&w->target, w->k, 2 * targets + 3 * slots + 1)) ||
           memory_error(e, "a translation worker", slots * (o->beam.beam + 1), 2 * sizeof *w->values);
}

/* plan NULL: one that measures. */
static bool worker_open(Worker *w, const Translator *t, const Kernels *k, const TapePlan *plan, Error *e)
{
    w->k = k;
    if (!k->open(&w->stream, t->options.team ? t->options.team : 1, e) ||
        !tape_open(&w->tape, k, w->stream, t->weights, plan, e) || !open_caches(w, t, e) ||
        !beams_open(&w->beams, &t->options.beam, t->options.sentences, t->options.most, e) ||
        !open_lists(w, &t->options, e))
        return false;
    w->tape.state = w->state;
    return true;
}

static void worker_close(Worker *w)
{
    if (!w->k)
        return;
    tape_close(&w->tape);
    cache_close(&w->past);
    cache_close(&w->memory);
    beams_close(&w->beams);
    w->k->release(w->state);
    w->k->release(w->source.device);
    w->k->release(w->target.device);
    memory_free(w->source.host);
    memory_free(w->target.host);
    memory_free(w->most);
    memory_free(w->which);
    memory_free(w->values);
    memory_free(w->ends);
    memory_free(w->pieces);
    memory_free(w->log_each);
    if (w->stream)
        w->k->close(w->stream);
}

/* ---- one batch */

/* Sources one after the other. */
static Rows stage_sources(Worker *w, const Sentence *const *sentence, size_t count)
{
    Rows rows = {.rows = count};
    size_t n = 0;
    for (size_t s = 0; s < count; s++) {
        n += sentence[s]->length;
        rows.longest = larger(rows.longest, sentence[s]->length);
    }
    rows.positions = round_up(n, SOURCE_GRAIN);
    int32_t *ids = stage(&w->source, rows.positions, &rows.ids),
            *position = stage(&w->source, rows.positions, &rows.position);
    int32_t *start = stage(&w->source, count + 1, &rows.start);
    n = 0;
    for (size_t s = 0; s < count; s++) {
        start[s] = (int32_t)n;
        for (size_t i = 0; i < sentence[s]->length; i++, n++) {
            ids[n] = sentence[s]->ids[i];
            position[n] = (int32_t)i;
        }
    }
    start[count] = (int32_t)n;
    for (; n < rows.positions; n++) {
        ids[n] = 0;
        position[n] = -1;
    }
    staged_send(&w->source, w->k, w->stream);
    return rows;
}

/* Encodes them and remembers what the decoder reads of it. */
static void read_sources(Worker *w, const TranslateNetwork *n, const Sentence *const *sentence, size_t count)
{
    Rows rows = stage_sources(w, sentence, count);
    cache_lay(&w->memory, w->stream, count, rows.longest);
    stack_remember(&w->tape, n->decoder, n->memory(n->model, &w->tape, &rows), &rows, &w->memory);
    tape_reset(&w->tape);
}

/* What a step reads beside tokens. */
typedef struct Step {
    Rows rows;
    const int32_t *key_row; /* [slots] the sentence of each slot */
    const int32_t *length;  /* [slots] positions that were read before: as many for all that live */
} Step;

/* The last piece of each live hypothesis: in its slot a row of one position; in other slots are none. */
static Step stage_targets(Worker *w, const TranslateNetwork *n)
{
    const Beams *b = &w->beams;
    const size_t slots = b->count * b->options.beam;
    const size_t count = b->row_count < TARGET_GRAIN ? b->row_count : round_up(b->row_count, TARGET_GRAIN);
    Step step = {.rows = {.positions = count, .rows = slots, .longest = 1}};
    int32_t *ids = stage(&w->target, count, &step.rows.ids), *position = stage(&w->target, count, &step.rows.position);
    int32_t *start = stage(&w->target, slots + 1, &step.rows.start);
    int32_t *key_row = stage(&w->target, slots, &step.key_row), *length = stage(&w->target, slots, &step.length);
    for (size_t slot = 0, r = 0; slot < slots; slot++) {
        start[slot] = (int32_t)r;
        key_row[slot] = (int32_t)(slot / b->options.beam);
        length[slot] = (int32_t)b->steps;
        r += r < b->row_count && b->row[r].slot == slot;
    }
    start[slots] = (int32_t)b->row_count;
    for (size_t r = 0; r < count; r++) {
        bool live = r < b->row_count;
        ids[r] = !live ? 0 : b->row[r].token >= 0 ? b->row[r].token : n->begin;
        position[r] = live ? (int32_t)b->steps : -1;
    }
    staged_send(&w->target, w->k, w->stream);
    return step;
}

/* The likeliest next tokens of each live hypothesis. */
static Choices read_targets(Worker *w, const TranslateNetwork *n)
{
    const Beams *b = &w->beams;
    Step step = stage_targets(w, n);
    for (size_t i = 0; i < b->move_count; i++)
        cache_copy_row(&w->past, w->stream, b->move[i].to, b->move[i].from, b->steps);
    cache_rewind(&w->past, w->stream, step.length);
    cache_begin(&w->past, w->stream, step.rows.start, step.rows.rows);
    AttentionContext context = context_remembered(&step.rows, &w->past, &w->memory, step.key_row);
    Tensor live = *n->logits(n->model, &w->tape, &step.rows, &context);
    live.rows = b->row_count;
    return choices(&w->tape, &live, b->options.beam, b->options.end);
}

static void search_step(Worker *w, const TranslateNetwork *n)
{
    Choices c = read_targets(w, n);
    size_t all = c.positions * c.count;
    w->k->download(w->stream, w->which, c.which, all * sizeof *w->which);
    download_doubles(w->k, w->stream, w->values, c.values, all);
    download_doubles(w->k, w->stream, w->ends, c.one, c.positions);
    tape_reset(&w->tape);
    beams_step(&w->beams, w->which, w->values, w->ends);
}

static void begin_search(Worker *w, const Sentence *const *sentence, size_t count)
{
    size_t most = 0;
    for (size_t s = 0; s < count; s++) {
        w->most[s] = sentence[s]->most;
        most = larger(most, w->most[s]);
    }
    cache_lay(&w->past, w->stream, count * w->beams.options.beam, most + 1);
    beams_begin(&w->beams, w->most, count);
}

/* ---- answers */

/* The hypotheses of a sentence in one block: themselves, then numbers of 8 bytes, then of 4. */
static bool take_answer(const Worker *w, size_t s, Translation *to, Error *e)
{
    const Beams *b = &w->beams;
    const size_t count = beams_found(b, s);
    size_t pieces = 0;
    for (size_t i = 0; i < count; i++)
        pieces += beams_hypothesis(b, s, i, w->pieces, w->log_each).length;
    size_t bytes = count * sizeof *to->hypothesis + (pieces + count) * sizeof(double) + pieces * sizeof(int32_t);
    to->hypothesis = memory_get(bytes, 1);
    if (!to->hypothesis)
        return memory_error(e, "a translation", bytes, 1);
    double *log_each = (double *)(void *)(to->hypothesis + count);
    int32_t *piece = (int32_t *)(void *)(log_each + pieces + count);
    for (to->count = 0; to->count < count; to->count++) {
        Hypothesis *h = &to->hypothesis[to->count];
        *h = beams_hypothesis(b, s, to->count, piece, log_each);
        log_each += h->length + 1;
        piece += h->length;
    }
    return true;
}

/* sentence: room for a batch */
static bool translate_batch(Translator *t, Worker *w, const Sentence **sentence, size_t batch, Error *e)
{
    const Item *item = t->item + t->batch[batch];
    const size_t count = t->batch[batch + 1] - t->batch[batch];
    bool fine = true;
    for (size_t s = 0; s < count; s++)
        sentence[s] = &t->sentences[item[s].number];
    read_sources(w, &t->n, sentence, count);
    begin_search(w, sentence, count);
    while (w->beams.row_count)
        search_step(w, &t->n);
    for (size_t s = 0; fine && s < count; s++)
        fine = take_answer(w, s, &t->translations[item[s].number], e);
    return w->k->finish(w->stream, e) && fine;
}

static void work(void *argument, size_t number)
{
    Translator *t = argument;
    Worker *w = &t->worker[number];
    const Sentence **sentence = memory_get(t->options.sentences, sizeof *sentence);
    w->failed = !sentence;
    if (!sentence)
        memory_error(&w->error, "a batch of sentences", t->options.sentences, sizeof *sentence);
    for (size_t i; !w->failed && (i = atomic_fetch_add(&t->next, 1)) < t->batches;)
        w->failed = !translate_batch(t, w, sentence, i, &w->error);
    memory_free(sentence);
}

/* ---- batches */

/* The longest first, so that no worker is left with a long batch at the end. */
static int by_length(const void *a, const void *b)
{
    const Item *x = a, *y = b;
    if (x->length != y->length)
        return x->length > y->length ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void cut_batches(Translator *t, size_t count)
{
    const TranslateOptions *o = &t->options;
    size_t first = 0, longest = 0;
    t->batches = 0;
    for (size_t i = 0; i < count; i++) {
        const Sentence *s = &t->sentences[t->item[i].number];
        size_t row = larger(s->length, s->most + 1), with = larger(longest, row);
        assert(s->length <= o->longest && s->most <= o->most);
        if (i == first || (i - first < o->sentences && (i - first + 1) * with <= o->positions)) {
            longest = with;
            continue;
        }
        t->batch[++t->batches] = first = i;
        longest = row;
    }
    t->batch[t->batches += count > 0] = count;
}

static bool run_batches(Translator *t, size_t count, Error *e)
{
    for (size_t i = 0; i < count; i++)
        t->item[i] = (Item){t->sentences[i].length, i};
    qsort(t->item, count, sizeof *t->item, by_length);
    cut_batches(t, count);
    atomic_store(&t->next, 0);
    pool_run(t->pool, work, t);
    for (size_t i = 0; i < t->options.workers; i++)
        if (t->worker[i].failed)
            return fail(e, "%s", t->worker[i].error.text);
    return true;
}

bool translator_run(Translator *t, const Sentence *sentences, size_t count, Translation *translations, Error *e)
{
    t->sentences = sentences;
    t->translations = translations;
    for (size_t i = 0; i < count; i++)
        translations[i] = (Translation){0};
    t->item = memory_get(count, sizeof *t->item);
    t->batch = memory_get(count + 1, sizeof *t->batch);
    bool fine = (t->item && t->batch) || memory_error(e, "sentences", count, sizeof *t->item);
    fine = fine && run_batches(t, count, e);
    if (!fine)
        translations_close(translations, count);
    memory_free(t->item);
    memory_free(t->batch);
    return fine;
}

void translations_close(Translation *translations, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        memory_free(translations[i].hypothesis);
        translations[i] = (Translation){0};
    }
}

/* ---- opening */

/* What one batch of so many rows of such length asks of a tape, when all beams live. */
static bool walk(Translator *t, Worker *w, size_t rows, size_t length, Error *e)
{
    const TranslateOptions *o = &t->options;
    const size_t source = smaller(length, o->longest);
    int32_t *ids = memory_get(source, sizeof *ids);
    const Sentence **list = memory_get(rows, sizeof *list);
    bool fine = (ids && list) || memory_error(e, "a plan for sentences", source, sizeof *ids);
    if (fine) {
        const Sentence one = {ids, source, smaller(length, o->most + 1) - 1};
        Beams *b = &w->beams;
        for (size_t s = 0; s < rows; s++)
            list[s] = &one;
        read_sources(w, &t->n, list, rows);
        begin_search(w, list, rows);
        b->row_count = rows * o->beam.beam;
        for (size_t i = 0; i < b->row_count; i++)
            b->row[i] = (BeamRow){i, 0};
        read_targets(w, &t->n);
        tape_reset(&w->tape);
    }
    memory_free(ids);
    memory_free(list);
    return fine;
}

/* What a worker's tape needs: a piece of it grows with powers of a batch's rows and of their length, whose product is
 * limited; so there is no more in between than at the two ends, as many rows as can be, and as long as can be. */
static bool make_plan(Translator *t, Error *e)
{
    const TranslateOptions *o = &t->options;
    const size_t longest = longest_row(o), positions = larger(o->positions, longest);
    size_t length = smaller((positions + o->sentences - 1) / o->sentences, longest);
    size_t rows = smaller((positions + longest - 1) / longest, o->sentences);
    Worker w = {0};
    bool fine = worker_open(&w, t, cost_kernels(t->weights->k->type), NULL, e) &&
                walk(t, &w, o->sentences, length, e) && walk(t, &w, rows, longest, e);
    t->plan = tape_plan(&w.tape);
    worker_close(&w);
    return fine;
}

static void hold_weights(const Translator *t)
{
    const Weights *w = t->weights;
    for (size_t i = 0; i < t->options.workers && w->k->hold; i++)
        w->k->hold(t->worker[i].stream, w->numbers, w->parameters->whole * w->k->number);
}

bool translator_open(Translator **out, const TranslateNetwork *n, const Weights *w, const TranslateOptions *o, Error *e)
{
    Translator *t = *out = memory_get(1, sizeof *t);
    if (!t)
        return memory_error(e, "a translator", 1, sizeof *t);
    assert(o->workers && o->sentences && o->longest);
    t->n = *n;
    t->options = *o;
    t->weights = w;
    t->worker = memory_get(o->workers, sizeof *t->worker);
    bool fine = (t->worker || memory_error(e, "workers", o->workers, sizeof *t->worker)) && make_plan(t, e) &&
                (o->pool || pool_open(&t->own_pool, o->workers, o->workers > 1, e));
    t->pool = o->pool ? o->pool : t->own_pool;
    for (size_t i = 0; fine && i < o->workers; i++)
        fine = worker_open(&t->worker[i], t, w->k, &t->plan, e);
    if (fine && o->hold)
        hold_weights(t);
    if (!fine) {
        translator_close(t);
        *out = NULL;
    }
    return fine;
}

/* A worker on shapes alone takes as much as one that works. */
bool translator_bytes(size_t *bytes, const TranslateNetwork *n, const Weights *w, const TranslateOptions *o, Error *e)
{
    Translator t = {.n = *n, .options = *o, .weights = w};
    Worker worker = {0};
    if (!make_plan(&t, e))
        return false;
    const size_t before = memory_in_use();
    bool fine = worker_open(&worker, &t, cost_kernels(w->k->type), &t.plan, e);
    *bytes = memory_in_use() - before;
    worker_close(&worker);
    return fine;
}

void translator_close(Translator *t)
{
    if (!t)
        return;
    for (size_t i = 0; t->worker && i < t->options.workers; i++)
        worker_close(&t->worker[i]);
    pool_close(t->own_pool);
    memory_free(t->worker);
    memory_free(t);
}
