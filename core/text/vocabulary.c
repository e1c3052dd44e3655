/* See vocabulary.h. Words are one after the other in one block; a hash table of open addressing, never more than half
 * full, finds them. */
#include "core/text/vocabulary.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };
static const char unknown[] = "<unk>";

/* FNV-1a, and its high bits folded into the low ones that choose a slot. */
static size_t hash(const char *word, size_t length)
{
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)word[i]) * 0x100000001b3;
    return (size_t)(h ^ h >> 32);
}

/* The slot of a word, or the free one where it would go. */
static uint32_t *slot_of(const Vocabulary *v, const char *word, size_t length)
{
    size_t mask = v->slot_count - 1, at = hash(word, length) & mask;
    for (;; at = (at + 1) & mask) {
        uint32_t id = v->slots[at];
        if (!id)
            return &v->slots[at];
        const char *there = v->letters + v->start[id - 1];
        if (!strncmp(there, word, length) && !there[length])
            return &v->slots[at];
    }
}

static bool more_slots(Vocabulary *v, Error *e)
{
    size_t count = v->slot_count ? 2 * v->slot_count : FIRST_SLOTS;
    uint32_t *slots = memory_get(count, sizeof *slots);
    if (!slots)
        return memory_error(e, "a vocabulary", count, sizeof *slots);
    memory_free(v->slots);
    v->slots = slots;
    v->slot_count = count;
    for (size_t i = 0; i < v->count; i++) {
        const char *word = v->letters + v->start[i];
        *slot_of(v, word, strlen(word)) = (uint32_t)i + 1;
    }
    return true;
}

/* Room for one word more, and for its letters. */
static bool reserve(Vocabulary *v, size_t length, Error *e)
{
    static const char what[] = "a vocabulary";
    size_t capacity = v->capacity;
    return memory_grow(&v->start, &capacity, v->count + 1, sizeof *v->start, what, e) &&
           memory_grow(&v->counts, &v->capacity, v->count + 1, sizeof *v->counts, what, e) &&
           memory_grow(&v->letters, &v->letters_capacity, v->size + length + 1, 1, what, e);
}

bool vocabulary_add(Vocabulary *v, const char *word, size_t length, uint64_t times, int32_t *id, Error *e)
{
    if ((2 * (v->count + 1) > v->slot_count && !more_slots(v, e)) || !reserve(v, length, e))
        return false;
    uint32_t *slot = slot_of(v, word, length);
    if (!*slot) {
        if (v->count == INT32_MAX)
            return fail(e, "the texts have more than %d different words", INT32_MAX);
        v->start[v->count] = v->size;
        v->counts[v->count] = 0;
        memcpy(v->letters + v->size, word, length);
        v->letters[v->size + length] = 0;
        v->size += length + 1;
        *slot = (uint32_t)++v->count;
    }
    v->counts[*slot - 1] += times;
    if (id)
        *id = (int32_t)*slot - 1;
    return true;
}

int32_t vocabulary_search(const Vocabulary *v, const char *word, size_t length)
{
    return v->count ? (int32_t)*slot_of(v, word, length) - 1 : -1;
}

int32_t vocabulary_find(const Vocabulary *v, const char *word, size_t length)
{
    int32_t id = vocabulary_search(v, word, length);
    return id < 0 ? UNKNOWN : id;
}

bool vocabulary_open(Vocabulary *v, Error *e)
{
    *v = (Vocabulary){0};
    if (vocabulary_add(v, unknown, strlen(unknown), 0, NULL, e))
        return true;
    vocabulary_close(v);
    return false;
}

void vocabulary_close(Vocabulary *v)
{
    memory_free(v->counts);
    memory_free(v->start);
    memory_free(v->letters);
    memory_free(v->slots);
    *v = (Vocabulary){0};
}

/* --- the most frequent --- */

typedef struct Ranked {
    const char *word;
    uint64_t count;
    int32_t id;
} Ranked;

static int by_rank(const void *a, const void *b)
{
    const Ranked *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : strcmp(x->word, y->word);
}

static bool add_ranked(Vocabulary *v, const Ranked *ranked, size_t count, size_t most, int32_t *ids, Error *e)
{
    for (size_t i = 0; i < count; i++) {
        const Ranked *word = &ranked[i];
        int32_t id = UNKNOWN;
        if (v->count < most && !vocabulary_add(v, word->word, strlen(word->word), word->count, &id, e))
            return false;
        if (id == UNKNOWN)
            v->counts[UNKNOWN] += word->count;
        if (ids)
            ids[word->id] = id;
    }
    return true;
}

bool vocabulary_cut(Vocabulary *v, const Vocabulary *from, size_t most, int32_t *ids, Error *e)
{
    size_t count = 0;
    Ranked *ranked = memory_get(from->count, sizeof *ranked);
    if (!ranked)
        return memory_error(e, "a vocabulary", from->count, sizeof *ranked);
    for (size_t i = 0; i < from->count; i++) {
        if (ids)
            ids[i] = UNKNOWN;
        if (i != UNKNOWN && from->counts[i])
            ranked[count++] = (Ranked){vocabulary_word(from, (int32_t)i), from->counts[i], (int32_t)i};
    }
    qsort(ranked, count, sizeof *ranked, by_rank);
    bool opened = vocabulary_open(v, e), done = opened;
    if (opened) {
        v->counts[UNKNOWN] = from->counts[UNKNOWN];
        done = add_ranked(v, ranked, count, most, ids, e);
        if (!done)
            vocabulary_close(v);
    }
    memory_free(ranked);
    return done;
}

/* --- as a text --- */

bool vocabulary_write(const Vocabulary *v, const char *path, Error *e)
{
    Buffer b = {0};
    for (size_t i = 0; i < v->count; i++)
        buffer_print(&b, "%s\t%" PRIu64 "\n", vocabulary_word(v, (int32_t)i), v->counts[i]);
    return file_write_buffer(path, &b, e);
}

static bool read_line(void *context, const FileLine *l, Error *e)
{
    Vocabulary *v = context;
    const char *line = l->text, *end = line + l->size, *tab = end; /* the last one: a subword may have others */
    if (!l->ended)
        return fail(e, "%s, line %zu: the line has no end: the file is truncated", l->path, l->number);
    while (tab > line && *tab != '\t')
        tab--;
    char *after = NULL;
    errno = 0;
    uint64_t times = tab > line && tab[1] >= '0' && tab[1] <= '9' ? strtoull(tab + 1, &after, 10) : 0;
    if (!after || after != end || errno || memchr(line, 0, (size_t)(tab - line)))
        return fail(e, "%s, line %zu: expected a word, a tab and its count", l->path, l->number);
    size_t length = (size_t)(tab - line), before = v->count;
    int32_t id;
    if (l->number == 1 && (length != strlen(unknown) || memcmp(line, unknown, length) != 0))
        return fail(e, "%s: the first word of a vocabulary is %s, not '%.*s'", l->path, unknown, (int)length, line);
    if (!vocabulary_add(v, line, length, times, &id, e))
        return false;
    return v->count > before || fail(e, "%s, line %zu: '%.*s' appears twice", l->path, l->number, (int)length, line);
}

bool vocabulary_read(Vocabulary *v, const char *path, Error *e)
{
    *v = (Vocabulary){0};
    bool done = file_lines(path, read_line, v, e);
    if (done && !v->count)
        done = fail(e, "%s is empty: a vocabulary has at least the line for %s", path, unknown);
    if (!done)
        vocabulary_close(v);
    return done;
}
