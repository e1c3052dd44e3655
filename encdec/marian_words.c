/* See marian_words.h. */
#include "encdec/marian_words.h"

#include "base/memory.h"

#include <string.h>

static bool is(const char *word, const char *other) { return word && !strcmp(word, other); }

/* Each name under its id: all ids are taken once. */
static bool order_names(const Json *ids, const char *path, const char **name, Error *e)
{
    for (size_t i = 0; i < ids->count; i++) {
        const Json *item = &ids->items[i];
        int64_t id;
        if (!json_integer(item, &id) || id < 0 || (size_t)id >= ids->count)
            return fail(e, "%s: the id of '%.100s' is not a number from 0 to %zu", path, item->key, ids->count - 1);
        if (name[id])
            return fail(e, "%s: '%.100s' and '%.100s' have the same id %d", path, name[id], item->key, (int)id);
        if (!*item->key || strchr(item->key, '\n'))
            return fail(e, "%s: the token with id %d is %s", path, (int)id, *item->key ? "two lines" : "empty");
        name[id] = item->key;
    }
    return true;
}

static bool add_word(MarianWords *w, const char *name, size_t theirs, Error *e)
{
    int32_t id;
    if (!vocabulary_add(&w->words, name, strlen(name), 0, &id, e))
        return false;
    w->theirs[id] = (int32_t)theirs;
    if (is(name, "<pad>"))
        w->pad = (int32_t)theirs;
    return true;
}

/* The two that are common to all of our vocabularies come first. */
static bool add_words(MarianWords *w, const char *const *name, size_t count, const char *path, Error *e)
{
    static const char *const first[] = {"<unk>", "</s>"};
    for (size_t k = 0; k < 2; k++) {
        size_t at = 0;
        while (at < count && !is(name[at], first[k]))
            at++;
        if (at == count)
            return fail(e, "%s has no token %s", path, first[k]);
        if (!add_word(w, first[k], at, e))
            return false;
    }
    for (size_t i = 0; i < count; i++)
        if (!is(name[i], first[0]) && !is(name[i], first[1]) && !add_word(w, name[i], i, e))
            return false;
    return true;
}

bool marian_words_read(MarianWords *w, const Json *ids, const char *path, Error *e)
{
    *w = (MarianWords){.pad = -1};
    if (ids->kind != JSON_OBJECT || !ids->count || ids->count > INT32_MAX)
        return fail(e, "%s is not an object of tokens and their ids", path);
    const char **name = memory_get(ids->count, sizeof *name);
    w->theirs = memory_get(ids->count, sizeof *w->theirs);
    const bool fine = ((name && w->theirs) || memory_error(e, path, ids->count, sizeof *name)) &&
                      order_names(ids, path, name, e) && vocabulary_open(&w->words, e) &&
                      add_words(w, name, ids->count, path, e);
    memory_free(name);
    if (!fine)
        marian_words_close(w);
    return fine;
}

void marian_words_close(MarianWords *w)
{
    vocabulary_close(&w->words);
    memory_free(w->theirs);
    *w = (MarianWords){.pad = -1};
}

float *marian_words_order(const MarianWords *w, float *values, size_t columns, Error *e)
{
    float *ordered = memory_get(w->words.count, columns * sizeof *ordered);
    if (ordered)
        for (size_t i = 0; i < w->words.count; i++)
            memcpy(ordered + i * columns, values + (size_t)w->theirs[i] * columns, columns * sizeof *ordered);
    else
        memory_error(e, "a table of embeddings", w->words.count, columns * sizeof *ordered);
    memory_free(values);
    return ordered;
}
