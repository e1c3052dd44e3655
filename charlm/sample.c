/* charlm sample: text, byte by byte.
 *
 * Keys and values of earlier bytes are cached, so a byte costs one position's work. When the context is full, the
 * cache is filled again from its newer half: so a byte sees between half and all of the context. --exact computes the
 * whole window for every byte instead; both agree as long as everything fits into the context. */
#include "charlm/charlm.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "base/utf8.h"
#include "core/run/json.h"
#include "core/tensor/sites.h"
#include "kernels/measure/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Writer {
    const Model *m;
    Worker *w;
    Sampling *s;
    Cache cache;
    bool cached;
    size_t held; /* positions in the cache */
    Buffer text; /* prompt and what was written */
    Batch batch;
    int32_t *last; /* on the device: the position whose logits are wanted, and where rows of one position begin */
    double logits[BYTES];
} Writer;

/* Runs the text's last `count` bytes behind what the cache holds, and fetches the logits of the very last one. */
static void feed(Writer *r, size_t count)
{
    const Kernels *k = r->w->tape.k;
    Stream *stream = r->w->stream;
    const unsigned char *from = (const unsigned char *)r->text.text + r->text.size - count;
    const int32_t last[] = {(int32_t)count - 1, 0, 1};
    const Queries only = {1, 1, .index = r->last, .start = r->last + 1, .offset = r->last};

    batch_clear(&r->batch);
    batch_row(&r->batch, 0, count);
    for (size_t i = 0; i < count; i++) {
        r->batch.side[0].ids[i] = from[i];
        r->batch.side[0].place[i] = (int32_t)(r->held + i);
    }
    device_rows_upload(&r->w->rows, stream, &r->batch, 0, 1);
    k->upload(stream, r->last, last, sizeof last);
    const Rows *rows = r->w->rows.rows;
    if (r->cached)
        cache_begin(&r->cache, stream, rows->start, 1);
    Tensor *logits = model_logits(&r->w->tape, r->m, rows, r->cached ? &r->cache : NULL, &only);
    if (r->cached) {
        cache_end(&r->cache, stream, 1);
        r->held += count;
    }
    float values[BYTES];
    bool wide = k->real == sizeof(double);
    k->download(stream, wide ? (void *)r->logits : (void *)values, logits->data, BYTES * k->real);
    for (size_t i = 0; !wide && i < BYTES; i++)
        r->logits[i] = (double)values[i];
    tape_reset(&r->w->tape);
}

/* Brings the cache up to the text's end, refilling it when it would overflow. */
static void read_on(Writer *r, size_t new)
{
    size_t context = r->m->context, all = r->text.size < context ? r->text.size : context;
    if (!r->cached) {
        feed(r, all);
    } else if (r->held + new <= context) {
        feed(r, new);
    } else {
        cache_reset(&r->cache, r->w->stream);
        r->held = 0;
        feed(r, (context + 1) / 2);
    }
}

typedef struct Choice {
    double logit;
    int byte;
} Choice;

static int by_logit(const void *a, const void *b)
{
    const Choice *x = a, *y = b;
    return x->logit > y->logit ? -1 : x->logit < y->logit ? 1 : x->byte - y->byte;
}

/* The next byte: softmax(logits / temperature) over the likeliest ones. */
static unsigned char choose(const Writer *r, size_t i)
{
    const Sampling *s = r->s;
    Choice choices[BYTES];
    double shares[BYTES], sum = 0, kept = 0;
    size_t count = s->top_k && s->top_k < BYTES ? s->top_k : BYTES, n = 0;

    for (int j = 0; j < BYTES; j++)
        choices[j] = (Choice){r->logits[j], j};
    qsort(choices, BYTES, sizeof *choices, by_logit);
    if (s->temperature == 0)
        return (unsigned char)choices[0].byte;
    for (size_t j = 0; j < count; j++)
        sum += shares[j] = exp((choices[j].logit - choices[0].logit) / s->temperature);
    while (n < count && (n == 0 || kept < s->top_p * sum))
        kept += shares[n++];
    double point = kept * philox_uniform(s->seed, 0, i, SITE_SAMPLER + s->number);
    size_t j = 0;
    while (j + 1 < n && point >= shares[j])
        point -= shares[j++];
    return (unsigned char)choices[j].byte;
}

static bool writer_open(Writer *r, const Model *m, Crew *crew, Sampling *s, Error *e)
{
    const Kernels *k = crew->o.k;
    *r = (Writer){.m = m, .w = &crew->worker[0], .s = s, .cached = !s->exact};
    r->last = k->allocate(3 * sizeof *r->last);
    buffer_add(&r->text, s->prompt, s->prompt_size);
    if (!r->last || r->text.failed)
        return fail(e, "out of memory for a sample");
    return batch_open(&r->batch, &(BatchSize){1, 1, {m->context}}, e) &&
           (s->exact || cache_open(&r->cache, k, r->w->stream, m->depth, 1, m->context, model_key_columns(m),
                                   model_value_columns(m), e));
}

bool sample_text(const Model *m, Crew *crew, Sampling *s, Error *e)
{
    Writer r;
    bool fine = writer_open(&r, m, crew, s, e);
    if (fine && !s->prompt_size)
        buffer_add(&r.text, "\n", 1); /* something to begin behind */
    if (fine)
        read_on(&r, r.text.size < m->context ? r.text.size : m->context);
    double start = clock_seconds();
    for (size_t i = 0; fine && i < s->length; i++) {
        unsigned char byte = choose(&r, i);
        buffer_add(&r.text, &byte, 1);
        s->write(s->to, byte);
        if (r.text.failed)
            fine = fail(e, "out of memory for a sample");
        else if (i + 1 < s->length)
            read_on(&r, 1);
    }
    s->seconds = clock_seconds() - start;
    cache_close(&r.cache);
    batch_close(&r.batch);
    crew->o.k->release(r.last);
    buffer_free(&r.text);
    return fine;
}

/* --- the command --- */

typedef struct Output {
    Buffer all;   /* the prompt and the text so far */
    size_t shown; /* of it, on standard output */
    bool stream, terminal;
} Output;

/* A character that moves the cursor, or worse. */
static bool is_control(const char *at, size_t length)
{
    unsigned char c = (unsigned char)*at;
    return length == 1 ? (c < 0x20 && !strchr("\t\n\r", c)) || c == 0x7f
                       : length == 2 && c == 0xc2 && (unsigned char)at[1] < 0xa0;
}

/* A terminal gets whole characters only, and U+FFFD for what is none or would steer it. */
static void show(Output *o, bool end)
{
    while (o->shown < o->all.size) {
        const char *at = o->all.text + o->shown;
        size_t rest = o->all.size - o->shown, length = o->terminal ? utf8_length(at, rest) : rest;
        if (!length && !end && utf8_tail(at, rest) == rest)
            break; /* the next bytes will say */
        if (length && !(o->terminal && is_control(at, length)))
            fwrite(at, 1, length, stdout);
        else
            fputs("\xef\xbf\xbd", stdout);
        o->shown += length ? length : 1;
    }
    fflush(stdout);
}

static void take_byte(void *to, unsigned char byte)
{
    Output *o = to;
    buffer_add(&o->all, &byte, 1);
    if (o->stream && !o->all.failed)
        show(o, false);
}

/* The prompt: given, from a file, or the beginning of the run's validation text. */
static bool find_prompt(Charlm *c, Buffer *prompt, Error *e)
{
    if (c->v->prompt_file) {
        char *bytes;
        size_t size;
        if (!file_read(c->v->prompt_file, &bytes, &size, e))
            return false;
        buffer_add(prompt, bytes, size);
        memory_free(bytes);
    } else if (c->v->prompt) {
        buffer_add(prompt, c->v->prompt, strlen(c->v->prompt));
    } else {
        if (!charlm_open_text(c, false, e))
            return false;
        Part valid = text_part(&c->text, SPLIT_VALID);
        const char *text = (const char *)valid.bytes;
        size_t size = valid.size < 100 ? valid.size : 100, head = utf8_head(text, size);
        buffer_add(prompt, text + head, size - head - utf8_tail(text, size));
    }
    return !prompt->failed || fail(e, "out of memory for the prompt");
}

static void print_text_json(const char *text, size_t size, double seconds)
{
    Buffer b = {0};
    buffer_print(&b, "{");
    json_add_key(&b, "text");
    json_add_bytes(&b, text, size);
    json_add_member(&b, "characters", (double)size);
    json_add_member(&b, "characters_per_s", seconds > 0 ? (double)size / seconds : 0);
    json_print(&b);
}

static bool sample_one(Charlm *c, Crew *crew, const Buffer *prompt, size_t number, Error *e)
{
    const Values *v = c->v;
    Output o = {.stream = !v->shared.json, .terminal = isatty(STDOUT_FILENO)};
    Sampling s = {.prompt = (const unsigned char *)prompt->text,
                  .prompt_size = prompt->size,
                  .length = v->length,
                  .temperature = v->temperature,
                  .top_p = v->top_p,
                  .top_k = v->top_k,
                  .seed = (uint32_t)v->shared.seed,
                  .number = (uint32_t)number,
                  .exact = v->exact,
                  .write = take_byte,
                  .to = &o};
    buffer_add(&o.all, prompt->text, prompt->size);
    if (o.terminal)
        o.shown = utf8_head(o.all.text, o.all.size); /* of a character that nobody has */
    if (o.stream && !o.all.failed)
        show(&o, false);
    bool fine = sample_text(&c->model, crew, &s, e);
    if (fine && o.all.failed)
        fine = fail(e, "out of memory for a sample");
    if (fine && o.stream) {
        show(&o, true);
        printf("\n");
    } else if (fine) {
        print_text_json(o.all.text + prompt->size, o.all.size - prompt->size, s.seconds);
    }
    if (fine && !v->shared.quiet)
        fprintf(stderr, "%.0f characters/s\n", s.seconds > 0 ? (double)v->length / s.seconds : 0.0);
    buffer_free(&o.all);
    return fine;
}

/* What a tape must have room for: one row of all positions, with a cache. The walk over shapes runs this. */
typedef struct Walk {
    const Model *m;
    Cache cache;
} Walk;

static Tensor *walk(void *self, Tape *t, const Rows *rows)
{
    const Walk *w = self;
    const Queries all = {rows->positions, rows->longest, rows->place, NULL, rows->start, rows->ids /* zeros */};
    Tensor *with = model_logits(t, w->m, rows, &w->cache, &all);
    tape_reset(t);
    Tensor *without = model_logits(t, w->m, rows, NULL, &all);
    return without ? without : with;
}

static bool open_crew(Charlm *c, Crew *crew, Error *e)
{
    const Model *m = &c->model;
    const Kernels *k = measure_kernels((NumberType)c->v->shared.precision);
    Walk w = {.m = m};
    Stream *s = NULL;
    bool fine = k->open(&s, 1, e) &&
                cache_open(&w.cache, k, s, m->depth, 1, m->context, model_key_columns(m), model_value_columns(m), e);
    charlm_task(c, (Part){NULL, 0}, m->context);
    c->task.self = &w;
    c->task.loss = walk;
    fine = fine && charlm_open_crew(c, crew, e);
    cache_close(&w.cache);
    if (s)
        k->close(s);
    return fine;
}

bool charlm_sample(Charlm *c, Error *e)
{
    Crew crew = {0};
    Buffer prompt = {0};
    SharedValues *o = &c->v->shared;
    bool fine = charlm_open_run(c, o->run, false, e) && find_prompt(c, &prompt, e);
    if (fine) {
        o->batch = o->micro_batch = 1;
        o->workers = 1;
        fine = open_crew(c, &crew, e);
    }
    for (size_t i = 0; fine && i < c->v->count; i++)
        fine = sample_one(c, &crew, &prompt, i, e);
    crew_close(&crew);
    buffer_free(&prompt);
    return fine;
}
