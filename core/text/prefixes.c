/* See prefixes.h. */
#include "core/text/prefixes.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

bool sorted_add(SortedTexts *s, const char *text, size_t size, int32_t id, Error *e)
{
    if (!memory_grow(&s->list, &s->capacity, s->count + 1, sizeof *s->list, "a list of texts", e))
        return false;
    s->list[s->count++] = (SortedText){text, size, id};
    return true;
}

static int by_bytes(const void *a, const void *b)
{
    const SortedText *x = a, *y = b;
    const int order = memcmp(x->text, y->text, x->size < y->size ? x->size : y->size);
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

const SortedText *sorted_finish(SortedTexts *s)
{
    if (s->count)
        qsort(s->list, s->count, sizeof *s->list, by_bytes);
    for (size_t i = 1; i < s->count; i++)
        if (!by_bytes(&s->list[i - 1], &s->list[i]))
            return &s->list[i];
    return NULL;
}

void sorted_close(SortedTexts *s)
{
    memory_free(s->list);
    *s = (SortedTexts){0};
}

const SortedText *sorted_find(const SortedTexts *s, const char *text, size_t size)
{
    const SortedText wanted = {text, size, 0};
    return s->count ? bsearch(&wanted, s->list, s->count, sizeof *s->list, by_bytes) : NULL;
}

/* The first text whose byte after the ones so far is at least `byte`; 256: the end. A text that ends there comes first. */
static const SortedText *first_from(const Prefixes *p, unsigned byte)
{
    size_t from = 0, count = (size_t)(p->end - p->first);
    while (count) {
        const SortedText *middle = &p->first[from + count / 2];
        if (middle->size > p->size && (unsigned char)middle->text[p->size] >= byte) {
            count /= 2;
        } else {
            from += count / 2 + 1;
            count -= count / 2 + 1;
        }
    }
    return &p->first[from];
}

bool prefixes_step(Prefixes *p, char byte)
{
    if (p->first == p->end)
        return false;
    const SortedText *first = first_from(p, (unsigned char)byte);
    p->end = first_from(p, (unsigned char)byte + 1U);
    p->first = first;
    p->size++;
    return p->first < p->end;
}

const SortedText *prefixes_longest(const SortedTexts *s, const char *text, size_t size)
{
    const SortedText *longest = NULL;
    Prefixes walk = prefixes_begin(s);
    for (size_t i = 0; i < size && prefixes_step(&walk, text[i]); i++) {
        const SortedText *here = prefixes_here(&walk);
        longest = here ? here : longest;
    }
    return longest;
}
