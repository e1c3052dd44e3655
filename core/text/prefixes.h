/* A sorted list of texts, to find those that another text begins with: after each byte, the texts that begin with the
 * bytes so far are a range of the list, which the next byte narrows.
 *
 *     Prefixes walk = prefixes_begin(&list);
 *     for (size_t i = 0; i < size && prefixes_step(&walk, text[i]);)
 *         if ((found = prefixes_here(&walk))) ... list text `found` is text[0 .. i] ... */
#ifndef CORE_TEXT_PREFIXES_H
#define CORE_TEXT_PREFIXES_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct SortedText {
    const char *text;
    size_t size;
    int32_t id;
} SortedText;

/* Begins as (SortedTexts){0}. Texts are not copied. */
typedef struct SortedTexts {
    SortedText *list; /* [count] in the order of their bytes, once sorted */
    size_t count, capacity;
} SortedTexts;

bool sorted_add(SortedTexts *s, const char *text, size_t size, int32_t id, Error *e);

/* NULL, or a text that is there twice. */
const SortedText *sorted_finish(SortedTexts *s);
void sorted_close(SortedTexts *s);

/* NULL: it is not there. */
const SortedText *sorted_find(const SortedTexts *s, const char *text, size_t size);

typedef struct Prefixes {
    const SortedText *first, *end; /* those that begin with the bytes so far, */
    size_t size;                   /* of which there are this many */
} Prefixes;

static inline Prefixes prefixes_begin(const SortedTexts *s)
{
    return (Prefixes){s->list, s->count ? s->list + s->count : s->list, 0};
}

/* One byte more; false: no text begins so. */
bool prefixes_step(Prefixes *p, char byte);

/* The text that these bytes are; NULL: none. */
static inline const SortedText *prefixes_here(const Prefixes *p)
{
    return p->first < p->end && p->first->size == p->size ? p->first : NULL;
}

/* The longest of the list that a text begins with; NULL: none. */
const SortedText *prefixes_longest(const SortedTexts *s, const char *text, size_t size);

#endif
