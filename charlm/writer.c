/* See writer.h. */
#include "charlm/writer.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/philox.h"
#include "core/session/session.h"
#include "core/tensor/sites.h"
#include "kernels/cost/cost.h"

#include <string.h>

struct Writer {
    const Model *m;
    Worker *w;
    Cache cache;
    bool exact;
    size_t held;   /* tokens in the cache, after the registers */
    bool refilled; /* since the prompt was read: it is no longer there */
    int32_t *text; /* [count] prompt and what was written */
    size_t count, capacity;
    Batch batch;
    int32_t *last;          /* on the device: the position whose logits are wanted, and where rows of one begin */
    int32_t *prompt_length; /* on the device: positions in the cache when the prompt had been read */
    size_t prompt;          /* tokens */
    size_t vocabulary;
    double *logits, *prompt_logits; /* [vocabulary] */
    Sampler sampler;
};

/* The last position, after what the cache holds. */
static Tensor *network(void *self, Tape *t, const Rows *rows)
{
    Writer *r = self;
    const Queries only = {1, 1, .index = r->last, .start = r->last + 1, .offset = r->last};
    if (r->exact)
        return model_logits(t, r->m, rows, NULL, &only);
    cache_begin(&r->cache, r->w->stream, rows->start, 1);
    Tensor *logits = model_logits(t, r->m, rows, &r->cache, &only);
    cache_end(&r->cache, r->w->stream, 1);
    return logits;
}

/* Runs the text's last `count` tokens after what the cache holds, and fetches the logits of the very last one. */
static bool feed(Writer *r, size_t count, Error *e)
{
    const Kernels *k = r->w->tape.k;
    Stream *stream = r->w->stream;
    const int32_t *from = r->text + r->count - count;
    const Registers registers = {r->m->registers.first, r->exact || !r->held ? r->m->registers.count : 0};
    const int32_t last[] = {(int32_t)(registers.count + count) - 1, 0, 1};

    batch_clear(&r->batch);
    const size_t at = batch_row_after(&r->batch, WINDOW, registers, count);
    if (r->batch.size.sides > MEMORY) /* tokens before are in the cache, or in the row */
        batch_row(&r->batch, MEMORY, 0);
    for (size_t i = 0; i < count; i++) {
        r->batch.side[0].ids[at + i] = from[i];
        r->batch.side[0].position[at + i] = (int32_t)(r->m->registers.count + r->held + i);
    }
    k->upload(stream, r->last, last, sizeof last);
    bool fine = session_doubles(r->w, session_run(r->w, &r->batch, network, r), 0, r->vocabulary, r->logits, e);
    if (!r->exact)
        r->held += count;
    session_end(r->w);
    return fine;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Brings the cache up to the text's end, refilling it when it would overflow. */
static bool read_on(Writer *r, size_t new, Error *e)
{
    size_t context = model_reads(r->m);
    if (r->exact)
        return feed(r, least(r->count, context), e);
    if (r->held + new <= context)
        return feed(r, new, e);
    cache_reset(&r->cache, r->w->stream);
    r->held = 0;
    r->refilled = true;
    return feed(r, (context + 1) / 2, e);
}

static bool read_prompt(Writer *r, Error *e)
{
    const Kernels *k = r->w->tape.k;
    Stream *s = r->w->stream;
    if (!r->exact)
        cache_reset(&r->cache, s);
    r->held = 0;
    r->refilled = false;
    bool fine = read_on(r, least(r->prompt, model_reads(r->m)), e);
    memcpy(r->prompt_logits, r->logits, r->vocabulary * sizeof *r->logits);
    if (!r->exact)
        k->copy(s, r->prompt_length, r->cache.length, sizeof *r->prompt_length);
    return fine;
}

/* Back to where the prompt had just been read. */
static bool begin_again(Writer *r, Error *e)
{
    r->count = r->prompt;
    if (r->refilled)
        return read_prompt(r, e);
    memcpy(r->logits, r->prompt_logits, r->vocabulary * sizeof *r->logits);
    if (r->exact)
        return true;
    cache_rewind(&r->cache, r->w->stream, r->prompt_length);
    r->held = least(r->prompt, model_reads(r->m));
    return true;
}

/* --- the next token --- */

static bool add_token(Writer *w, int32_t id, Error *e)
{
    if (!memory_grow(&w->text, &w->capacity, w->count + 1, sizeof *w->text, "a sample", e))
        return false;
    w->text[w->count++] = id;
    return true;
}

bool writer_write(Writer *w, Sampling *s, Error *e)
{
    bool fine = begin_again(w, e);
    double start = clock_seconds();
    for (size_t i = 0; fine && i < s->length; i++) {
        const double point = philox_uniform(s->seed, 0, i, SITE_SAMPLER + s->number);
        const int32_t id = sampler_draw(&w->sampler, &s->how, w->logits, point);
        fine = add_token(w, id, e);
        s->write(s->to, id);
        if (fine && i + 1 < s->length)
            fine = read_on(w, 1, e);
    }
    s->seconds = clock_seconds() - start;
    return w->w->tape.k->finish(w->w->stream, e) && fine;
}

/* --- opening --- */

static bool reserve(Writer *w, const Kernels *k, Error *e)
{
    const size_t n = w->vocabulary;
    w->last = k->allocate(3 * sizeof *w->last);
    w->prompt_length = k->allocate(sizeof *w->prompt_length);
    w->logits = memory_get(2 * n, sizeof *w->logits);
    if (!w->last || !w->prompt_length || !w->logits)
        return fail(e, "out of memory for a sample");
    w->prompt_logits = w->logits + n;
    return sampler_open(&w->sampler, n, e);
}

bool writer_open(Writer **out, const Charlm *c, Trainer *trainer, const int32_t *prompt, size_t size, bool exact,
                 Error *e)
{
    const Kernels *k = trainer->options.k;
    const Model *m = &c->model;
    const int32_t first = c->tokenizer.separator > 0 ? c->tokenizer.separator : '\n';
    Writer *w = *out = memory_get(1, sizeof *w);
    if (!w)
        return memory_error(e, "a text generator", 1, sizeof *w);
    *w = (Writer){.m = m, .w = &trainer->worker[0], .exact = exact, .vocabulary = m->vocabulary};
    if (!reserve(w, k, e) || (!size && !add_token(w, first, e)))
        return false;
    for (size_t i = 0; i < size; i++)
        if (!add_token(w, prompt[i], e))
            return false;
    w->prompt = w->count;
    const BatchSize row = {.sides = trainer->task->sides, .rows = 1, .positions = {model_positions(m)}};
    if (!batch_open(&w->batch, &row, e) ||
        (!exact && !stack_cache(&w->cache, &m->stack, k, w->w->stream, 1, model_positions(m), e)))
        return false;
    return read_prompt(w, e);
}

void writer_close(Writer *w)
{
    if (!w)
        return;
    const Kernels *k = w->w->tape.k;
    cache_close(&w->cache);
    batch_close(&w->batch);
    k->release(w->last);
    k->release(w->prompt_length);
    memory_free(w->text);
    memory_free(w->logits);
    sampler_close(&w->sampler);
    memory_free(w);
}

/* What a tape must have room for: one row of all positions, with a cache. The walk over shapes runs this. */
typedef struct Walk {
    const Model *m;
    Cache cache;
} Walk;

static Tensor *walk(void *self, Tape *t, const Rows *rows)
{
    const Walk *w = self;
    const Queries all = {rows->positions, rows->longest, rows->position, NULL, rows->start, rows->ids /* zeros */};
    Tensor *with = model_logits(t, w->m, rows, &w->cache, &all);
    tape_reset(t);
    Tensor *without = model_logits(t, w->m, rows, NULL, &all);
    return without ? without : with;
}

bool writer_trainer(Charlm *c, Trainer *trainer, bool (*open)(App *, Trainer *, Error *), Error *e)
{
    const Model *m = &c->model;
    SharedOptions *o = &c->options->shared;
    const Kernels *k = cost_kernels((NumberType)o->precision);
    Walk w = {.m = m};
    Stream *s = NULL;
    o->batch = o->micro_batch = o->workers = 1;
    bool fine = k->open(&s, 1, e) && stack_cache(&w.cache, &m->stack, k, s, 1, model_positions(m), e);
    charlm_task(c, (Part){NULL, 0, NULL}, model_window(m));
    c->app.task.sides = 1, c->app.task.before = 0, c->app.task.longest[WINDOW] = model_positions(m);
    c->app.task.self = &w;
    c->app.task.loss = walk;
    fine = fine && open(&c->app, trainer, e);
    cache_close(&w.cache);
    if (s)
        k->close(s);
    return fine;
}
