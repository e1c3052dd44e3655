/* See translate.h. */
#include "core/search/translate.h"

#include "base/memory.h"
#include "base/ranks.h"
#include "base/size.h"
#include "core/nn/loss.h"
#include "core/search/member.h"
#include "core/search/together.h"
#include "kernels/cost/cost.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct Worker {
    Member *member; /* [members] */
    size_t members;
    Beams beams;
    Next next;               /* where the host chooses */
    const Sentence **source; /* [sentences] the batch */
    Tensor *live;            /* [members] their logits in a step, where the host chooses; */
    double *logits;          /* [words] those of one row */
    size_t *most;            /* [sentences] of the batch */
    int32_t *which;          /* [slots, up to beam + 2] what a step's choices are, from the device */
    double *values;          /* [slots, up to beam + 2] */
    double *ends;            /* [slots] */
    int32_t *tokens;         /* [most] of one hypothesis */
    double *log_each;        /* [most + 1] */
    bool failed;
    Error error;
} Worker;

typedef struct Item {
    size_t length, number; /* of the sentence in the order of the questions */
} Item;

struct Translator {
    TranslateMember *member; /* [members] the network, and what else is in the ensemble */
    size_t members;
    TapePlan *plan; /* [members] */
    TranslateOptions options;
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

static size_t longest_row(const TranslateOptions *o) { return larger(o->longest, o->most + 1); }
static size_t slots_of(const TranslateOptions *o) { return o->sentences * o->beam.beam; }

/* Positions of a batch: memory for the budget, for one row that is longer, and for what a walk rounds up. */
static size_t batch_positions(const TranslateOptions *o)
{
    return larger(o->positions, longest_row(o)) + larger(longest_row(o), o->sentences);
}

static MemberSize size_of_member(const TranslateOptions *o)
{
    return (MemberSize){.sentences = o->sentences,
                        .slots = slots_of(o),
                        .positions = batch_positions(o),
                        .capacity = (batch_positions(o) + o->sentences - 1) / o->sentences,
                        .most = o->most,
                        .team = o->team ? o->team : 1};
}

/* Whether the host chooses what comes next, because the device cannot. */
static bool host_chooses(const Translator *t)
{
    const NextOptions *o = &t->options.next;
    return t->members > 1 || o->prefixes || o->rule.forbid || o->no_repeat || o->drawn;
}

static bool open_lists(Worker *w, const TranslateOptions *o, Error *e)
{
    const size_t slots = slots_of(o);
    w->source = memory_get(o->sentences, sizeof *w->source);
    w->most = memory_get(o->sentences, sizeof *w->most);
    w->which = memory_get(slots * (o->beam.beam + 2), sizeof *w->which);
    w->values = memory_get(slots * (o->beam.beam + 2), sizeof *w->values);
    w->ends = memory_get(slots, sizeof *w->ends);
    w->tokens = memory_get(o->most, sizeof *w->tokens);
    w->log_each = memory_get(o->most + 1, sizeof *w->log_each);
    return (w->source && w->most && w->which && w->values && w->ends && w->tokens && w->log_each) ||
           memory_error(e, "a translation worker", slots * (o->beam.beam + 2), 2 * sizeof *w->values);
}

static bool open_choice(Worker *w, const Translator *t, Error *e)
{
    const size_t words = t->options.words;
    if (!host_chooses(t))
        return true;
    assert(words);
    w->live = memory_get(t->members, sizeof *w->live);
    w->logits = memory_get(words, sizeof *w->logits);
    return ((w->live && w->logits) || memory_error(e, "logits", words, sizeof *w->logits)) &&
           next_open(&w->next, &t->options.next, words, t->options.beam.end, e);
}

/* plan NULL: one that measures. */
static bool worker_open(Worker *w, const Translator *t, const Kernels *k, const TapePlan *plan, Error *e)
{
    const MemberSize size = size_of_member(&t->options);
    w->member = memory_get(t->members, sizeof *w->member);
    if (!w->member)
        return memory_error(e, "networks", t->members, sizeof *w->member);
    w->members = t->members;
    for (size_t i = 0; i < w->members; i++)
        if (!member_open(&w->member[i], &t->member[i], &size, k, plan ? &plan[i] : NULL, e))
            return false;
    return beams_open(&w->beams, &t->options.beam, t->options.sentences, t->options.most, e) &&
           open_lists(w, &t->options, e) && open_choice(w, t, e);
}

static void worker_close(Worker *w)
{
    for (size_t i = 0; i < w->members; i++)
        member_close(&w->member[i]);
    memory_free(w->member);
    beams_close(&w->beams);
    next_close(&w->next);
    memory_free(w->source);
    memory_free(w->live);
    memory_free(w->logits);
    memory_free(w->most);
    memory_free(w->which);
    memory_free(w->values);
    memory_free(w->ends);
    memory_free(w->tokens);
    memory_free(w->log_each);
}

/* ---- one batch */

/* One more than the beam holds, where one of them may be a token that no translation has. */
static Choices choose_on_device(Member *m, const Beams *b)
{
    const Tensor live = member_read_targets(m, b);
    return choices(&m->tape, &live, beam_choices(&b->options) + m->n->begin_only, b->options.end);
}

/* Each row's choices [count] become [count - 1], without this token or without the last one. */
static void leave_out(Worker *w, int32_t token, size_t rows, size_t count)
{
    for (size_t r = 0, to = 0; r < rows; r++) {
        const size_t end = (r + 1) * (count - 1);
        for (size_t i = r * count; i < (r + 1) * count && to < end; i++) {
            if (w->which[i] == token)
                continue;
            w->which[to] = w->which[i];
            w->values[to++] = w->values[i];
        }
    }
}

static void fetch_choices(Worker *w)
{
    Member *m = w->member;
    Choices c = choose_on_device(m, &w->beams);
    const size_t rows = w->beams.row_count, all = rows * c.count; /* positions that fill up have no room here */
    m->k->download(m->stream, w->which, c.which, all * sizeof *w->which);
    download_doubles(m->k, m->stream, w->values, c.values, all);
    download_doubles(m->k, m->stream, w->ends, c.one, rows);
    if (m->n->begin_only)
        leave_out(w, m->n->begin, rows, c.count);
    tape_reset(&m->tape);
}

/* The same on the host, from all logits of all networks. */
static void choose_on_host(Worker *w)
{
    const Beams *b = &w->beams;
    const size_t beam = b->options.beam, choices = beam_choices(&b->options);
    for (size_t i = 0; i < w->members; i++)
        w->live[i] = member_read_targets(&w->member[i], b);
    for (size_t r = 0; r < b->row_count; r++) {
        const size_t slot = b->row[r].slot;
        const Sentence *s = w->source[slot / beam];
        for (size_t i = 0; i < w->members; i++) {
            const Member *m = &w->member[i];
            const char *logits = tensor_whole(&w->live[i]);
            download_doubles(m->k, m->stream, w->logits, logits + r * w->next.words * m->k->real, w->next.words);
            next_add(&w->next, w->logits, i, w->members);
        }
        beams_tokens(b, r, w->tokens);
        if (w->member->n->begin_only)
            w->next.log_p[w->member->n->begin] = (double)-INFINITY;
        const NextRow row = {w->tokens, b->steps, s->prefix, s->prefix_length, s->number, (uint32_t)(slot % beam),
                             s->most,   s->about};
        next_choose(&w->next, &row, choices, w->which + r * choices, w->values + r * choices);
        w->ends[r] = w->next.log_p[b->options.end];
    }
    for (size_t i = 0; i < w->members; i++)
        tape_reset(&w->member[i].tape);
}

static void search_step(Worker *w)
{
    if (w->logits)
        choose_on_host(w);
    else
        fetch_choices(w);
    beams_step(&w->beams, w->which, w->values, w->ends);
}

static void begin_search(Worker *w, size_t count)
{
    size_t most = 0;
    for (size_t s = 0; s < count; s++) {
        w->most[s] = w->source[s]->most;
        most = larger(most, w->most[s]);
    }
    for (size_t i = 0; i < w->members; i++) {
        Member *m = &w->member[i];
        member_read_sources(m, w->source, count);
        cache_lay(&m->past, m->stream, count * w->beams.options.beam, most + 1);
    }
    beams_begin(&w->beams, w->most, count);
}

/* ---- answers */

/* The hypotheses of a sentence in one block: themselves, then numbers of 8 bytes, then of 4. */
static bool take_answer(const Worker *w, size_t s, Translation *to, Error *e)
{
    const Beams *b = &w->beams;
    const size_t count = beams_found(b, s);
    size_t tokens = 0;
    for (size_t i = 0; i < count; i++)
        tokens += beams_hypothesis(b, s, i, w->tokens, w->log_each).length;
    size_t bytes = count * sizeof *to->hypothesis + (tokens + count) * sizeof(double) + tokens * sizeof(int32_t);
    to->hypothesis = memory_get(bytes, 1);
    if (!to->hypothesis)
        return memory_error(e, "a translation", bytes, 1);
    double *log_each = (double *)(void *)(to->hypothesis + count);
    int32_t *token = (int32_t *)(void *)(log_each + tokens + count);
    for (to->count = 0; to->count < count; to->count++) {
        Hypothesis *h = &to->hypothesis[to->count];
        *h = beams_hypothesis(b, s, to->count, token, log_each);
        log_each += h->length + 1;
        token += h->length;
    }
    return true;
}

static bool finish(const Worker *w, Error *e)
{
    bool fine = true;
    for (size_t i = 0; fine && i < w->members; i++)
        fine = w->member[i].k->finish(w->member[i].stream, e);
    return fine;
}

static bool translate_batch(Translator *t, Worker *w, size_t batch, Error *e)
{
    const Item *item = t->item + t->batch[batch];
    const size_t count = t->batch[batch + 1] - t->batch[batch];
    bool fine = true;
    for (size_t s = 0; s < count; s++)
        w->source[s] = &t->sentences[item[s].number];
    begin_search(w, count);
    while (w->beams.row_count)
        search_step(w);
    for (size_t s = 0; fine && s < count; s++)
        fine = take_answer(w, s, &t->translations[item[s].number], e);
    return finish(w, e) && fine;
}

static size_t ranks_of(const TranslateOptions *o) { return o->together ? ranks_count() : 1; }

/* Processes take batches in turn, and workers what their process has. */
static void work(void *argument, size_t number)
{
    Translator *t = argument;
    Worker *w = &t->worker[number];
    w->failed = false;
    const size_t ranks = ranks_of(&t->options);
    for (size_t i; !w->failed && (i = ranks_own() % ranks + ranks * atomic_fetch_add(&t->next, 1)) < t->batches;)
        w->failed = !translate_batch(t, w, i, &w->error);
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
    return ranks_of(&t->options) == 1 || answers_share(t->translations, count, e);
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

/* What one batch of this many rows of such length asks of a tape, when all beams live. */
static bool walk(const Translator *t, Worker *w, size_t rows, size_t length, Error *e)
{
    const TranslateOptions *o = &t->options;
    const size_t source = smaller(length, o->longest);
    int32_t *ids = memory_get(source, sizeof *ids);
    if (!ids)
        return memory_error(e, "a plan for sentences", source, sizeof *ids);
    const Sentence one = {.ids = ids, .length = source, .most = smaller(length, o->most + 1) - 1};
    Beams *b = &w->beams;
    for (size_t s = 0; s < rows; s++)
        w->source[s] = &one;
    begin_search(w, rows);
    b->row_count = rows * o->beam.beam;
    for (size_t i = 0; i < b->row_count; i++)
        b->row[i] = (BeamRow){i, 0};
    for (size_t i = 0; i < w->members; i++) {
        choose_on_device(&w->member[i], b);
        tape_reset(&w->member[i].tape);
    }
    memory_free(ids);
    return true;
}

/* What a worker's tapes need: a part of one grows with powers of a batch's rows and of their length, whose product is
 * limited; so there is no more in between than at the two ends, as many rows as can be, and as long as can be. */
static bool make_plan(Translator *t, const Kernels *k, Error *e)
{
    const TranslateOptions *o = &t->options;
    const size_t longest = longest_row(o), positions = larger(o->positions, longest);
    size_t length = smaller((positions + o->sentences - 1) / o->sentences, longest);
    size_t rows = smaller((positions + longest - 1) / longest, o->sentences);
    Worker w = {0};
    bool fine = worker_open(&w, t, cost_kernels(k->type), NULL, e) && walk(t, &w, o->sentences, length, e) &&
                walk(t, &w, rows, longest, e);
    for (size_t i = 0; fine && i < t->members; i++)
        t->plan[i] = tape_plan(&w.member[i].tape);
    worker_close(&w);
    return fine;
}

static void hold_weights(const Translator *t)
{
    for (size_t i = 0; i < t->options.workers; i++)
        for (size_t m = 0; m < t->members; m++) {
            const Member *it = &t->worker[i].member[m];
            const Weights *w = t->member[m].weights;
            if (it->k->hold)
                it->k->hold(it->stream, w->numbers, w->parameters->whole * w->k->number);
        }
}

/* A translator without workers. */
static bool prepare(Translator *t, const TranslateNetwork *n, const Weights *w, const TranslateOptions *o, Error *e)
{
    *t = (Translator){.members = 1 + o->other_count, .options = *o};
    t->member = memory_get(t->members, sizeof *t->member);
    t->plan = memory_get(t->members, sizeof *t->plan);
    if (!t->member || !t->plan)
        return memory_error(e, "networks", t->members, sizeof *t->member);
    t->member[0] = (TranslateMember){*n, w};
    for (size_t i = 0; i < o->other_count; i++)
        t->member[1 + i] = o->other[i];
    return make_plan(t, w->k, e);
}

static void forget(Translator *t)
{
    memory_free(t->member);
    memory_free(t->plan);
}

bool translator_open(Translator **out, const TranslateNetwork *n, const Weights *w, const TranslateOptions *o, Error *e)
{
    Translator *t = *out = memory_get(1, sizeof *t);
    if (!t)
        return memory_error(e, "a translator", 1, sizeof *t);
    assert(o->workers && o->sentences && o->longest);
    bool fine = prepare(t, n, w, o, e);
    t->worker = memory_get(o->workers, sizeof *t->worker);
    fine = fine && (t->worker || memory_error(e, "workers", o->workers, sizeof *t->worker)) &&
           (o->pool || pool_open(&t->own_pool, o->workers, o->workers > 1 && ranks_of(o) == 1, e));
    t->pool = o->pool ? o->pool : t->own_pool;
    for (size_t i = 0; fine && i < o->workers; i++)
        fine = worker_open(&t->worker[i], t, w->k, t->plan, e);
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
    Translator t;
    Worker worker = {0};
    bool fine = prepare(&t, n, w, o, e);
    const size_t before = memory_in_use();
    fine = fine && worker_open(&worker, &t, cost_kernels(w->k->type), t.plan, e);
    *bytes = memory_in_use() - before;
    worker_close(&worker);
    forget(&t);
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
    forget(t);
    memory_free(t);
}
