/* See data.h. */
#include "charlm/data.h"

#include "base/memory.h"
#include "base/philox.h"
#include "base/sha256.h"
#include "charlm/prose.h"
#include "core/tensor/sites.h"
#include "core/text/archive.h"

#include <string.h>

bool text_open(Text *t, const char *path, Error *e)
{
    *t = (Text){.bytes = prose_text, .size = prose_size, .path = path};
    if (path) {
        if (!text_read(path, &t->owned, &t->size, e))
            return false;
        t->bytes = (const unsigned char *)t->owned;
    }
    size_t part = t->size / 20;
    t->test = t->size - part;
    t->valid = t->test - part;
    memcpy(t->sha256, sha256(t->bytes, t->size).text, sizeof t->sha256);
    return true;
}

void text_close(Text *t)
{
    for (size_t i = 0; i <= SPLIT_ALL; i++)
        memory_free(t->tokens[i].ids);
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
    if (t->tokens[split].ids) {
        p.ids = t->tokens[split].ids;
        p.size = t->tokens[split].count;
    }
    return p;
}

bool text_tokenize(Text *t, Split split, const Tokenizer *tokenizer, Error *e)
{
    const Part p = text_bytes(t, split);
    return tokenizer->kind == TOKEN_BYTES || t->tokens[split].ids ||
           tokenizer_ids(tokenizer, (const char *)p.bytes, p.size, &t->tokens[split].ids, &t->tokens[split].count, e);
}

size_t part_bytes(const Part *p, const Tokenizer *t, size_t first, size_t count)
{
    size_t bytes = p->ids ? 0 : count;
    for (size_t i = first; p->ids && i < first + count; i++)
        bytes += tokenizer_length(t, p->ids[i]);
    return bytes;
}

Part part_head(Part p, const Tokenizer *t, size_t bytes)
{
    size_t size = p.size ? 1 : 0;
    for (size_t scored = 0; size < p.size; size++)
        if ((scored += tokenizer_length(t, part_id(&p, size))) > bytes)
            break;
    p.size = size;
    return p;
}

static const char *unit_of(Part part) { return part.ids ? "tokens" : "bytes"; }

bool part_suits(Part part, const char *name, size_t context, Error *e)
{
    return part.size > context ||
           fail(e,
                "the data's %s part has %zu %s; a context of %zu needs at least %zu. Give more data or a smaller "
                "--context",
                name, part.size, unit_of(part), context, context + 1);
}

bool part_to_score(Part *part, Text *t, const Tokenizer *tokenizer, const CharlmOptions *v, Error *e)
{
    const Split split = (Split)v->split;
    if (!text_tokenize(t, split, tokenizer, e))
        return false;
    *part = text_part(t, split);
    if (v->bytes)
        *part = part_head(*part, tokenizer, v->bytes);
    return part->size > 1 ||
           fail(e, "the data's %s part has %zu %s; scoring needs at least 2, because the first is not scored",
                split_name(split), part->size, unit_of(*part));
}

void training_batch(Part part, size_t context, size_t rows, uint32_t seed, uint64_t step, Batch *b)
{
    batch_clear(b);
    for (size_t r = 0; r < rows; r++) {
        size_t from = (size_t)philox_below(part.size - context, seed, (uint32_t)step, r, SITE_DATA);
        size_t at = batch_row(b, 0, context);
        for (size_t i = 0; i < context; i++) {
            b->side[0].ids[at + i] = part_id(&part, from + i);
            b->side[0].targets[at + i] = part_id(&part, from + i + 1);
        }
    }
}

Windows windows_over(Part part, size_t context, size_t stride)
{
    Windows w = {part, context, stride, 0};
    size_t scored = windows_scored(&w), rest = scored > context ? scored - context : 0;
    w.count = (scored > 0) + (rest + stride - 1) / stride;
    return w;
}

void windows_row(const Windows *w, size_t i, Batch *b)
{
    size_t from = i * w->stride, scored = windows_scored(w);
    size_t length = from + w->context < scored ? w->context : scored - from;
    size_t old = i ? w->context - w->stride : 0; /* scored by the windows before */
    size_t at = batch_row(b, 0, length);
    for (size_t j = 0; j < length; j++) {
        b->side[0].ids[at + j] = part_id(&w->part, from + j);
        b->side[0].targets[at + j] = j < old ? -1 : part_id(&w->part, from + j + 1);
    }
}
