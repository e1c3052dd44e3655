/* See features.h. */
#include "classifier/features.h"

#include "base/memory.h"

#include <string.h>

enum { FIRST_SLOTS = 1 << 12 };

static Feature *slot_of(const Features *f, uint64_t key)
{
    uint64_t h = key * 0x9e3779b97f4a7c15;
    size_t mask = f->slot_count - 1, at = (size_t)(h ^ h >> 32) & mask;
    while (f->slots[at].key && f->slots[at].key != key)
        at = (at + 1) & mask;
    return &f->slots[at];
}

/* Twice as many slots, so that three of four are taken at most. */
static bool more_slots(Features *f, Error *e)
{
    Features old = *f;
    size_t count = old.slot_count ? 2 * old.slot_count : FIRST_SLOTS;
    f->slots = memory_get(count, sizeof *f->slots);
    if (!f->slots) {
        f->slots = old.slots;
        return memory_error(e, "words and pairs", count, sizeof *f->slots);
    }
    f->slot_count = count;
    for (size_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].key)
            *slot_of(f, old.slots[i].key) = old.slots[i];
    memory_free(old.slots);
    return true;
}

bool features_open(Features *f, Error *e)
{
    *f = (Features){0};
    return more_slots(f, e);
}

void features_close(Features *f)
{
    memory_free(f->slots);
    *f = (Features){0};
}

void feature_rows_close(FeatureRows *rows)
{
    memory_free(rows->start);
    memory_free(rows->features);
    memory_free(rows->labels);
    *rows = (FeatureRows){0};
}

/* Room in a row for all that a text may have, so that none is asked for in between. */
static bool grow(FeatureRows *rows, size_t used, size_t more, Error *e)
{
    return memory_grow(&rows->features, &rows->capacity, used + more, sizeof *rows->features, "features of texts", e);
}

/* Adds a feature to the text that is being read, if it is not there yet. */
static bool add(Features *f, FeatureRows *rows, size_t *used, uint64_t key, bool learn, Error *e)
{
    Feature *slot = slot_of(f, key);
    if (!slot->key) {
        if (!learn)
            return true;
        if (4 * (f->count + 1) > 3 * f->slot_count) {
            if (!more_slots(f, e))
                return false;
            slot = slot_of(f, key);
        }
        *slot = (Feature){.key = key, .id = (uint32_t)f->count++};
    }
    if (slot->seen != f->texts)
        rows->features[(*used)++] = slot->id;
    slot->seen = f->texts;
    return true;
}

static bool add_text(Features *f, FeatureRows *rows, const Corpus *c, size_t text, bool learn, Error *e)
{
    const int32_t *ids = c->ids + c->start[text];
    size_t length = c->start[text + 1] - c->start[text], used = rows->start[rows->count];
    if (!grow(rows, used, 2 * length, e))
        return false;
    f->texts++;
    for (size_t i = 0; i < length; i++) {
        uint64_t word = (uint32_t)ids[i], before = i ? (uint32_t)ids[i - 1] : 0;
        if (!add(f, rows, &used, word, learn, e) || (i && !add(f, rows, &used, before << 32 | word, learn, e)))
            return false;
    }
    rows->labels[rows->count++] = c->labels[text];
    rows->start[rows->count] = used;
    return true;
}

bool feature_rows_make(FeatureRows *rows, Features *f, const Corpus *c, const size_t *texts, size_t count, bool learn,
                       Error *e)
{
    *rows = (FeatureRows){.start = memory_get(count + 1, sizeof *rows->start),
                          .labels = memory_get(count, sizeof *rows->labels)};
    bool done = rows->start && rows->labels;
    if (!done)
        memory_error(e, "features of texts", count, sizeof *rows->start);
    for (size_t i = 0; done && i < count; i++)
        done = add_text(f, rows, c, texts[i], learn, e);
    if (!done)
        feature_rows_close(rows);
    return done;
}
