/* See known.h. */
#include "core/text/known.h"

#include "base/memory.h"

#include <string.h>

void known_close(Known *k)
{
    vocabulary_close(&k->words);
    memory_free(k->start);
    memory_free(k->ids);
    *k = (Known){0};
}

static bool may_be_known(const char *word, size_t size)
{
    return size && size <= KNOWN_LONGEST && !memchr(word, 0, size);
}

const int32_t *known_find(const Known *k, const char *word, size_t size, size_t *count)
{
    int32_t i = may_be_known(word, size) ? vocabulary_search(&k->words, word, size) : -1;
    if (i < 0)
        return NULL;
    *count = k->start[i + 1] - k->start[i];
    return k->ids + k->start[i];
}

/* Room for `words` words and `ids` ids of them. */
static bool reserve(Known *k, size_t words, size_t ids, Error *e)
{
    return memory_grow(&k->start, &k->start_capacity, words + 1, sizeof *k->start, "words that are known", e) &&
           memory_grow(&k->ids, &k->ids_capacity, ids, sizeof *k->ids, "words that are known", e);
}

bool known_add(Known *k, const char *word, size_t size, const int32_t *ids, size_t count, Error *e)
{
    if (!may_be_known(word, size))
        return true;
    if (k->words.count == KNOWN_WORDS || k->words.size + size + 1 > KNOWN_BYTES)
        vocabulary_close(&k->words);
    size_t n = k->words.count, from = n ? k->start[n] : 0;
    if (!reserve(k, n + 1, from + count, e))
        return false;
    if (!n)
        k->start[0] = 0;
    if (count)
        memcpy(k->ids + from, ids, count * sizeof *ids);
    k->start[n + 1] = from + count;
    return vocabulary_add(&k->words, word, size, 1, NULL, e);
}
