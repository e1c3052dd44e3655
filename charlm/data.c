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
    memory_free(t->owned);
    *t = (Text){0};
}

Part text_part(const Text *t, Split split)
{
    switch (split) {
    case SPLIT_TRAIN: return (Part){t->bytes, t->valid};
    case SPLIT_VALID: return (Part){t->bytes + t->valid, t->test - t->valid};
    case SPLIT_TEST: return (Part){t->bytes + t->test, t->size - t->test};
    default: break;
    }
    return (Part){t->bytes, t->size};
}

bool part_suits(Part part, const char *name, size_t context, Error *e)
{
    return part.size > context ||
           fail(e,
                "the data's %s part has %zu bytes; a context of %zu needs at least %zu. Give more data or a smaller "
                "--context",
                name, part.size, context, context + 1);
}

bool part_to_score(Part *part, const Text *t, const CharlmOptions *v, Error *e)
{
    Split split = (Split)v->split;
    *part = text_part(t, split);
    if (v->bytes && v->bytes < part->size)
        part->size = v->bytes + 1; /* the first is not scored */
    return part->size > 1 ||
           fail(e, "the data's %s part has %zu bytes; scoring needs at least 2, because the first is not scored",
                split_name(split), part->size);
}

void training_batch(Part part, size_t context, size_t rows, uint32_t seed, uint64_t step, Batch *b)
{
    batch_clear(b);
    for (size_t r = 0; r < rows; r++) {
        size_t from = (size_t)philox_below(part.size - context, seed, (uint32_t)step, r, SITE_DATA);
        size_t at = batch_row(b, 0, context);
        for (size_t i = 0; i < context; i++) {
            b->side[0].ids[at + i] = part.bytes[from + i];
            b->side[0].targets[at + i] = part.bytes[from + i + 1];
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
        b->side[0].ids[at + j] = w->part.bytes[from + j];
        b->side[0].targets[at + j] = j < old ? -1 : w->part.bytes[from + j + 1];
    }
}
