/* What words became, so that one that comes again need not be worked out again: ids by word. It is bounded: a word of
 * more than KNOWN_LONGEST bytes is not kept, and where there would be more than KNOWN_WORDS, or more than KNOWN_BYTES
 * of them, all are forgotten; so a text of any length with any number of different words takes some MiB at most. */
#ifndef CORE_TEXT_KNOWN_H
#define CORE_TEXT_KNOWN_H

#include "core/text/vocabulary.h"

enum { KNOWN_LONGEST = 64, KNOWN_WORDS = 1 << 17, KNOWN_BYTES = 2 << 20 };

/* Begins as (Known){0}. */
typedef struct Known {
    Vocabulary words; /* without <unk>: word i has the ids ids[start[i]] to ids[start[i + 1] - 1] */
    size_t *start;
    int32_t *ids;
    size_t start_capacity, ids_capacity;
} Known;

void known_close(Known *k);

/* The ids of a word; NULL: it is not known. A word with a zero byte never is. */
const int32_t *known_find(const Known *k, const char *word, size_t size, size_t *count);

/* Keeps a word that is not known yet, unless it is empty, too long or has a zero byte. */
bool known_add(Known *k, const char *word, size_t size, const int32_t *ids, size_t count, Error *e);

#endif
