/* See data.h. */
#include "charlm/data.h"

#include "base/memory.h"
#include "base/philox.h"
#include "base/sha256.h"
#include "charlm/prose.h"
#include "core/tensor/sites.h"
#include "core/text/archive.h"

#include <string.h>

/* Between two documents. */
static const char empty_line[] = "\n\n";
enum { EMPTY_LINE = sizeof empty_line - 1 };

typedef struct Documents {
    Buffer text;
    size_t *start, count, capacity;
} Documents;

static bool take_document(void *context, const char *name, const char *bytes, size_t size, Error *e)
{
    Documents *d = context;
    if (!size)
        return true;
    if (d->count)
        buffer_add(&d->text, empty_line, EMPTY_LINE);
    if (!memory_grow(&d->start, &d->capacity, d->count + 1, sizeof *d->start, "documents", e))
        return false;
    d->start[d->count++] = d->text.size;
    buffer_add(&d->text, bytes, size);
    return !d->text.failed || memory_error(e, name, d->text.size + size, 1);
}

static bool read_documents(Text *t, Error *e)
{
    Documents d = {0};
    const Entries entries = {.take = take_document, .context = &d};
    const bool fine = entries_read(t->path, &entries, e);
    t->owned = d.text.text;
    t->bytes = d.count ? (const unsigned char *)t->owned : (const unsigned char *)"";
    t->size = d.text.size;
    t->document = d.start;
    t->documents = d.count;
    if (!fine)
        text_close(t);
    return fine;
}

bool text_open(Text *t, const char *path, Error *e)
{
    *t = (Text){.bytes = prose_text, .size = prose_size, .path = path, .documents = 1};
    if (path && !read_documents(t, e))
        return false;
    size_t part = t->size / 20;
    t->test = t->size - part;
    t->valid = t->test - part;
    memcpy(t->sha256, sha256(t->bytes, t->size).text, sizeof t->sha256);
    return true;
}

void text_close(Text *t)
{
    for (size_t i = 0; i <= SPLIT_ALL; i++)
        buffer_free(&t->tokens[i]);
    memory_free(t->document);
    memory_free(t->owned);
    *t = (Text){0};
}

Part text_bytes(const Text *t, Split split)
{
    switch (split) {
    case SPLIT_TRAIN: return (Part){t->bytes, t->valid, NULL};
    case SPLIT_VALID: return (Part){t->bytes + t->valid, t->test - t->valid, NULL};
    case SPLIT_TEST: return (Part){t->bytes + t->test, t->size - t->test, NULL};
    default: break;
    }
    return (Part){t->bytes, t->size, NULL};
}

Part text_part(const Text *t, Split split)
{
    Part p = text_bytes(t, split);
    if (t->tokens[split].size) {
        p.ids = (const int32_t *)(const void *)t->tokens[split].text;
        p.size = t->tokens[split].size / sizeof *p.ids;
    }
    return p;
}

/* Documents of which the part has nothing are left out, and so are the empty lines between two. */
static bool add_documents(Buffer *ids, const Text *t, const Tokenizer *tokenizer, Part p, Error *e)
{
    const size_t first = (size_t)(p.bytes - t->bytes), last = first + p.size;
    bool fine = true;
    for (size_t i = 0; fine && i < t->documents; i++) {
        const size_t start = t->document[i], end = i + 1 < t->documents ? t->document[i + 1] - EMPTY_LINE : t->size,
                     from = start > first ? start : first, to = end < last ? end : last;
        if (start >= first && from < to)
            buffer_add(ids, &tokenizer->separator, sizeof tokenizer->separator);
        fine = from >= to || tokenizer_add(tokenizer, (const char *)t->bytes + from, to - from, ids, e);
    }
    return fine;
}

bool text_tokenize(Text *t, Split split, const Tokenizer *tokenizer, Error *e)
{
    const Part p = text_bytes(t, split);
    Buffer *ids = &t->tokens[split];
    if (tokenizer->kind == TOKEN_BYTES || ids->size)
        return true;
    const bool fine = t->documents > 1 && tokenizer->separator >= 0
                          ? add_documents(ids, t, tokenizer, p, e)
                          : tokenizer_add(tokenizer, (const char *)p.bytes, p.size, ids, e);
    return fine && (!ids->failed || memory_error(e, "ids of a text", ids->size, 1));
}

size_t part_bytes(const Part *p, const Tokenizer *t, size_t first, size_t count)
{
    size_t bytes = p->ids ? 0 : count;
    for (size_t i = first; p->ids && i < first + count; i++)
        bytes += tokenizer_length(t, p->ids[i]);
    return bytes;
}

/* Without separators at its end: no byte of the part follows them. */
static Part with_text_last(Part p, const Tokenizer *t)
{
    while (p.size > 1 && !tokenizer_length(t, part_id(&p, p.size - 1)))
        p.size--;
    return p;
}

Part part_head(Part p, const Tokenizer *t, size_t bytes)
{
    size_t size = p.size ? 1 : 0;
    for (size_t scored = 0; size < p.size; size++)
        if ((scored += tokenizer_length(t, part_id(&p, size))) > bytes)
            break;
    p.size = size;
    return with_text_last(p, t);
}

static const char *unit_of(Part part) { return part.ids ? "tokens" : "bytes"; }

/* What to call it: by the name that it was given by. */
static const char *name_of(const Text *t) { return t->path ? t->path : "the built-in text"; }

bool text_part_suits(const Text *t, Split split, size_t context, Error *e)
{
    const Part part = text_part(t, split);
    return part.size > context ||
           fail(
               e,
               "%s: its %s part has %zu %s; a context of %zu needs at least %zu. Give more data or a smaller --context",
               name_of(t), split == SPLIT_TRAIN ? "training" : "validation", part.size, unit_of(part), context,
               context + 1);
}

bool part_to_score(Part *part, Text *t, const Tokenizer *tokenizer, const CharlmOptions *v, Error *e)
{
    const Split split = (Split)v->split;
    if (!text_tokenize(t, split, tokenizer, e))
        return false;
    *part = text_part(t, split);
    *part = v->bytes ? part_head(*part, tokenizer, v->bytes) : with_text_last(*part, tokenizer);
    if (v->bytes && part->size == 1 && text_part(t, split).size > 1)
        return fail(e, "--bytes %zu: the first token that would be scored is longer; give more, or 0 for all",
                    v->bytes);
    const bool whole = split == SPLIT_ALL;
    return part->size > 1 || fail(e, "%s%s%s%s has %zu %s; scoring needs at least 2, because the first is not scored",
                                  name_of(t), whole ? "" : ": its ", whole ? "" : split_name(split),
                                  whole ? "" : " part", part->size, unit_of(*part));
}

/* The tokens before a window that begins at `from`. */
static void add_memory(const Part *part, const Lead *lead, size_t from, Batch *b)
{
    const size_t count = from < lead->memory ? from : lead->memory, at = lead->memory ? batch_row(b, MEMORY, count) : 0;
    for (size_t i = 0; i < count; i++) {
        b->side[MEMORY].ids[at + i] = part_id(part, from - count + i);
        b->side[MEMORY].targets[at + i] = -1;
    }
}

void training_batch(Part part, Lead lead, size_t context, size_t rows, uint32_t seed, uint64_t step, Batch *b)
{
    batch_clear(b);
    for (size_t r = 0; r < rows; r++) {
        size_t from = (size_t)philox_below(part.size - context, seed, (uint32_t)step, r, SITE_DATA);
        size_t at = batch_row_after(b, WINDOW, lead.registers, context);
        add_memory(&part, &lead, from, b);
        for (size_t i = 0; i < context; i++) {
            b->side[0].ids[at + i] = part_id(&part, from + i);
            b->side[0].targets[at + i] = part_id(&part, from + i + 1);
        }
        ngrams_add(&lead.ngrams, b);
    }
}

Windows windows_over(Part part, size_t context, size_t stride)
{
    Windows w = {.part = part, .context = context, .stride = stride};
    size_t scored = windows_scored(&w), rest = scored > context ? scored - context : 0;
    w.count = (scored > 0) + (rest + stride - 1) / stride;
    return w;
}

void windows_row(const Windows *w, size_t i, Batch *b)
{
    size_t from = i * w->stride, scored = windows_scored(w);
    size_t length = from + w->context < scored ? w->context : scored - from;
    size_t old = i ? w->context - w->stride : 0; /* scored by the windows before */
    size_t at = batch_row_after(b, WINDOW, w->lead.registers, length);
    add_memory(&w->part, &w->lead, from, b);
    for (size_t j = 0; j < length; j++) {
        b->side[0].ids[at + j] = part_id(&w->part, from + j);
        b->side[0].targets[at + j] = j < old ? -1 : part_id(&w->part, from + j + 1);
    }
    ngrams_add(&w->lead.ngrams, b);
}
