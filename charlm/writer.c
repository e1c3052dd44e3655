/* See writer.h. */
#include "charlm/writer.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/philox.h"
#include "base/size.h"
#include "core/session/session.h"
#include "core/tensor/sites.h"
#include "kernels/cost/cost.h"

#include <assert.h>
#include <string.h>

struct Writer {
    const Model *m;
    Worker *w;
    Cache cache;
    bool exact;
    size_t texts;    /* at once; all have equally many tokens */
    size_t held;     /* tokens of each in the cache, after the registers */
    bool refilled;   /* since the prompt was read: it is no longer there */
    int32_t *prompt; /* [prompt_size] no more of it than the model reads */
    size_t prompt_size;
    double prompt_seconds; /* to read it */
    int32_t *text;         /* [count, texts] prompt and what was written */
    size_t count, capacity;
    int32_t *row; /* ids of one text, and before them those that its n-grams reach back to */
    Batch batch;
    int32_t *last;   /* [3 texts + 1] on the device: where logits are wanted (Queries) */
    int32_t *starts; /* the same on the host */
    int32_t *length; /* [texts] on the device: positions in the cache when the prompt had been read */
    size_t vocabulary;
    double *logits;        /* [texts, vocabulary] */
    double *prompt_logits; /* [vocabulary] */
    Sampler sampler;
};

/* The last position of each row, after what the cache holds. */
static Tensor *network(void *self, Tape *t, const Rows *rows)
{
    Writer *w = self;
    const size_t n = rows->rows;
    const Queries only = {n, 1, .index = w->last, .start = w->last + n, .offset = w->last + 2 * n + 1};
    if (w->exact)
        return model_logits(t, w->m, rows, NULL, &only);
    cache_begin(&w->cache, w->w->stream, rows->start, n);
    Tensor *logits = model_logits(t, w->m, rows, &w->cache, &only);
    cache_end(&w->cache, w->w->stream, n);
    return logits;
}

/* Of the row of a text, whose last `count` tokens are in the batch: n-grams of its first ones may begin in the cache. */
static void add_ngrams(Writer *w, size_t text, size_t count)
{
    const Ngrams *g = &w->m->ngrams;
    const Side *side = &w->batch.side[WINDOW];
    const size_t first = (size_t)side->start[text], before = smaller(w->held, ngrams_sides(g));
    if (!w->held) {
        ngrams_add(g, &w->batch);
        return;
    }
    for (size_t i = 0; i < before; i++)
        w->row[i] = w->text[(w->count - count - before + i) * w->texts + text];
    memcpy(w->row + before, side->ids + first, (side->positions - first) * sizeof *w->row);
    ngrams_continue(g, &w->batch, w->row, before);
}

/* Runs the last `count` tokens of texts after what the cache holds, and fetches the logits of the very last ones. */
static bool feed(Writer *w, size_t texts, size_t count, Error *e)
{
    const Registers registers = {w->m->registers.first, w->exact || !w->held ? w->m->registers.count : 0};
    const size_t length = registers.count + count;

    batch_clear(&w->batch);
    w->starts[texts] = 0;
    for (size_t n = 0; n < texts; n++) {
        const size_t at = batch_row_after(&w->batch, WINDOW, registers, count);
        if (w->m->memory && w->batch.size.sides > MEMORY) /* tokens before are in the cache, or in the row */
            batch_row(&w->batch, MEMORY, 0);
        for (size_t i = 0; i < count; i++) {
            w->batch.side[0].ids[at + i] = w->text[(w->count - count + i) * w->texts + n];
            w->batch.side[0].position[at + i] = (int32_t)(w->m->registers.count + w->held + i);
        }
        add_ngrams(w, n, count);
        w->starts[n] = (int32_t)((n + 1) * length - 1);
        w->starts[texts + n + 1] = (int32_t)(n + 1);
        w->starts[2 * texts + n + 1] = (int32_t)length - 1;
    }
    w->w->tape.k->upload(w->w->stream, w->last, w->starts, (3 * texts + 1) * sizeof *w->last);
    bool fine = session_doubles(w->w, session_run(w->w, &w->batch, network, w), 0, texts * w->vocabulary, w->logits, e);
    if (!w->exact)
        w->held += count;
    session_end(w->w);
    return fine;
}

/* Brings the cache up to the end of texts, refilling it when it would overflow. */
static bool read_on(Writer *w, size_t texts, size_t new, Error *e)
{
    size_t context = model_reads(w->m);
    if (w->exact)
        return feed(w, texts, smaller(w->count, context), e);
    if (w->held + new <= context)
        return feed(w, texts, new, e);
    cache_reset(&w->cache, w->w->stream);
    w->held = 0;
    w->refilled = true;
    return feed(w, texts, (context + 1) / 2, e);
}

static void begin_texts(Writer *w)
{
    w->count = w->prompt_size;
    for (size_t i = 0; i < w->count; i++)
        for (size_t n = 0; n < w->texts; n++)
            w->text[i * w->texts + n] = w->prompt[i];
}

/* Once; all texts continue from it. */
static bool read_prompt(Writer *w, Error *e)
{
    const Kernels *k = w->w->tape.k;
    Stream *s = w->w->stream;
    const double start = clock_seconds();
    begin_texts(w);
    if (!w->exact)
        cache_reset(&w->cache, s);
    w->held = 0;
    w->refilled = false;
    bool fine = read_on(w, 1, w->prompt_size, e);
    w->prompt_seconds = clock_seconds() - start;
    memcpy(w->prompt_logits, w->logits, w->vocabulary * sizeof *w->logits);
    if (w->exact)
        return fine;
    const size_t length = w->m->registers.count + w->held;
    for (size_t n = 0; n < w->texts; n++) {
        w->starts[n] = (int32_t)length;
        if (n)
            cache_copy_row(&w->cache, s, n, 0, length);
    }
    k->upload(s, w->length, w->starts, w->texts * sizeof *w->length);
    return fine;
}

/* Back to where the prompt had just been read. */
static bool begin_again(Writer *w, Error *e)
{
    if (w->refilled && !read_prompt(w, e))
        return false;
    begin_texts(w);
    for (size_t n = 0; n < w->texts; n++)
        memcpy(w->logits + n * w->vocabulary, w->prompt_logits, w->vocabulary * sizeof *w->logits);
    if (w->exact)
        return true;
    cache_rewind(&w->cache, w->w->stream, w->length);
    w->held = w->prompt_size;
    return true;
}

/* --- the next token --- */

bool writer_write(Writer *w, Sampling *s, Error *e)
{
    bool fine = begin_again(w, e);
    double start = clock_seconds();
    assert(s->texts && s->texts <= w->texts);
    for (size_t i = 0; fine && i < s->length; i++) {
        fine = memory_grow(&w->text, &w->capacity, (w->count + 1) * w->texts, sizeof *w->text, "a sample", e);
        for (size_t n = 0; fine && n < s->texts; n++) {
            const double point = philox_uniform(s->seed, 0, i, SITE_SAMPLER + s->number + (uint32_t)n);
            const int32_t id = sampler_draw(&w->sampler, &s->how, w->logits + n * w->vocabulary, point);
            w->text[w->count * w->texts + n] = id;
            s->write(s->to, n, id);
        }
        w->count++;
        if (fine && i + 1 < s->length)
            fine = read_on(w, s->texts, 1, e);
    }
    s->seconds = clock_seconds() - start;
    s->prompt = w->prompt_size;
    s->prompt_seconds = w->prompt_seconds;
    return w->w->tape.k->finish(w->w->stream, e) && fine;
}

/* --- opening --- */

static bool reserve(Writer *w, const Kernels *k, Error *e)
{
    const size_t n = w->texts;
    w->last = k->allocate((3 * n + 1) * sizeof *w->last);
    w->length = k->allocate(n * sizeof *w->length);
    w->starts = memory_get(3 * n + 1, sizeof *w->starts);
    w->logits = memory_get((n + 1) * w->vocabulary, sizeof *w->logits);
    w->capacity = n * w->prompt_size;
    w->text = memory_get(w->capacity, sizeof *w->text);
    w->prompt = memory_get(w->prompt_size, sizeof *w->prompt);
    w->row = memory_get(model_positions(w->m) + ngrams_sides(&w->m->ngrams), sizeof *w->row);
    if (!w->last || !w->length || !w->starts || !w->logits || !w->text || !w->prompt || !w->row)
        return fail(e, "out of memory for a sample");
    w->prompt_logits = w->logits + n * w->vocabulary;
    return sampler_open(&w->sampler, w->vocabulary, e);
}

bool writer_open(Writer **out, const Charlm *c, Trainer *trainer, size_t texts, const int32_t *prompt, size_t size,
                 bool exact, Error *e)
{
    const Kernels *k = trainer->options.k;
    const Model *m = &c->model;
    const Tokenizer *tokens = &c->tokenizer;
    const int32_t first = tokens->kind == TOKEN_BYTES ? '\n'
                          : tokens->separator >= 0    ? tokens->separator
                                                      : tokens->gpt2.byte['\n'];
    Writer *w = *out = memory_get(1, sizeof *w);
    if (!w)
        return memory_error(e, "a text generator", 1, sizeof *w);
    *w = (Writer){.m = m,
                  .w = &trainer->worker[0],
                  .exact = exact,
                  .texts = texts,
                  .prompt_size = size ? smaller(size, model_reads(m)) : 1,
                  .vocabulary = m->vocabulary};
    if (!reserve(w, k, e))
        return false;
    memcpy(w->prompt, size ? prompt + size - w->prompt_size : &first, w->prompt_size * sizeof *w->prompt);
    BatchSize rows = {.sides = trainer->task->sides, .rows = texts};
    for (size_t side = 0; side < rows.sides; side++)
        rows.positions[side] = m->memory && side == MEMORY ? 0 : texts * model_positions(m);
    if (!batch_open(&w->batch, &rows, e) ||
        (!exact && !stack_cache(&w->cache, &m->stack, k, w->w->stream, texts, model_positions(m), e)))
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
    k->release(w->length);
    memory_free(w->starts);
    memory_free(w->text);
    memory_free(w->prompt);
    memory_free(w->row);
    memory_free(w->logits);
    sampler_close(&w->sampler);
    memory_free(w);
}

/* What a tape must have room for: rows of all positions, with a cache. The walk over shapes runs this. */
typedef struct Walk {
    const Model *m;
    Cache cache;
} Walk;

static Tensor *walk(void *self, Tape *t, const Rows *rows)
{
    const Walk *w = self;
    const Queries last = {rows->rows, 1, rows->position, NULL, rows->start, rows->ids /* zeros */};
    Tensor *with = model_logits(t, w->m, rows, &w->cache, &last);
    tape_reset(t);
    Tensor *without = model_logits(t, w->m, rows, NULL, &last);
    return without ? without : with;
}

bool writer_trainer(Charlm *c, Trainer *trainer, size_t texts, bool (*open)(App *, Trainer *, Error *), Error *e)
{
    const Model *m = &c->model;
    SharedOptions *o = &c->options->shared;
    const Kernels *k = cost_kernels((NumberType)o->precision);
    Walk w = {.m = m};
    Stream *s = NULL;
    o->workers = 1;
    o->batch = o->micro_batch = texts;
    bool fine = k->open(&s, 1, e) && stack_cache(&w.cache, &m->stack, k, s, texts, model_positions(m), e);
    charlm_task(c, (Part){NULL, 0, NULL}, model_window(m));
    if (m->memory) /* which is in a text's own row */
        c->app.task.sides = 1, c->app.task.before = 0, c->app.task.longest[WINDOW] = model_positions(m);
    c->app.task.self = &w;
    c->app.task.loss = walk;
    fine = fine && open(&c->app, trainer, e);
    cache_close(&w.cache);
    if (s)
        k->close(s);
    return fine;
}
