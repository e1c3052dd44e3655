/* See texts.h. */
#include "core/plot/texts.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

enum { BARS = 100 }; /* about this many are below the length that one text in a hundred exceeds */

void texts_close(TextSet *t)
{
    for (size_t i = 0; i < TEXT_LISTS; i++)
        memory_free(t->owned[i]);
    *t = (TextSet){0};
}

/* ---- lengths */

static int shorter(const void *a, const void *b)
{
    const size_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Lengths of a list in order [count], to be freed with memory_free. */
static bool sort_lengths(size_t **sorted, const TextList *l, Error *e)
{
    *sorted = memory_get(l->count, sizeof **sorted);
    if (!*sorted)
        return memory_error(e, "lengths of texts", l->count, sizeof **sorted);
    for (size_t i = 0; i < l->count; i++)
        (*sorted)[i] = l->start[i + 1] - l->start[i];
    qsort(*sorted, l->count, sizeof **sorted, shorter);
    return true;
}

/* 1, 2, 5 of a power of ten, so that `range` is at most BARS of it. */
static size_t bar_width(size_t range)
{
    static const size_t digits[] = {1, 2, 5};
    for (size_t power = 1;; power *= 10)
        for (size_t i = 0; i < 3; i++)
            if (digits[i] * power * BARS >= range)
                return digits[i] * power;
}

static void add_lengths(Buffer *b, const TextSet *t, const TextList *l, const size_t *sorted, size_t width)
{
    size_t at = 0, over = 0;
    double count = (double)l->count, sum = (double)(l->start[l->count] - l->start[0]);
    for (size_t i = 0; i < l->count; i++)
        over += t->reads && sorted[i] > t->reads;
    buffer_print(b, "%s%s\t%zu\t%.1f\t%zu\t%zu\t%zu\t%.4g\n", b->size ? "\n\n" : "", l->name, l->count, sum / count,
                 sorted[l->count / 2], sorted[l->count * 99 / 100], sorted[l->count - 1], 100 * (double)over / count);
    for (size_t from = 0; at < l->count;) {
        size_t first = at;
        while (at < l->count && sorted[at] < from + width)
            at++;
        buffer_print(b, "%zu\t%zu\t%.6g\n", from, from + width, 100 * (double)(at - first) / count);
        from += width;
        if (at < l->count && sorted[at] >= from && from > sorted[l->count * 99 / 100])
            from = sorted[at] / width * width; /* nothing is between */
    }
}

bool texts_lengths(Buffer *b, const TextSet *t, Error *e)
{
    size_t *sorted[TEXT_LISTS] = {NULL}, longest = 0, lists = 0;
    bool fine = true;
    for (size_t i = 0; fine && i < t->count; i++)
        if (t->list[i].count) {
            fine = sort_lengths(&sorted[i], &t->list[i], e);
            size_t most = fine ? sorted[i][t->list[i].count * 99 / 100] : 0;
            longest = most > longest ? most : longest;
            lists++;
        }
    for (size_t i = 0; fine && i < t->count; i++)
        if (sorted[i])
            add_lengths(b, t, &t->list[i], sorted[i], bar_width(longest));
    for (size_t i = 0; i < t->count; i++)
        memory_free(sorted[i]);
    fine = fine && (lists || fail(e, "there are no texts whose lengths could be drawn"));
    return fine && (!b->failed || fail(e, "out of memory for the data of a picture"));
}

/* ---- coverage */

static size_t tokens_of(const TextList *l) { return l->count ? l->start[l->count] - l->start[0] : 0; }

static void count(uint64_t *counts, const TextList *l)
{
    for (size_t i = l->start[0]; i < l->start[l->count]; i++)
        counts[l->bytes ? l->bytes[i] : (size_t)l->ids[i]]++;
}

/* A token, how often it is in what is trained on, and in one list. */
typedef struct Kind {
    uint64_t learnt, here;
    size_t id;
} Kind;

static int more_frequent(const void *a, const void *b)
{
    const Kind *x = a, *y = b;
    if (x->learnt != y->learnt)
        return x->learnt > y->learnt ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

/* Each rank where there are few of them, and about 30 in each power of ten. */
static size_t next_rank(size_t rank) { return rank < 10 ? rank + 1 : rank + (size_t)ceil((double)rank * 0.08); }

/* kinds [met], the most frequent first */
static void add_coverage(Buffer *b, const TextList *l, const Kind *kinds, size_t met)
{
    uint64_t sum = 0;
    size_t rank = 0;
    const double all = (double)tokens_of(l);
    buffer_print(b, "%s%s\t%zu\t%zu\n", b->size ? "\n\n" : "", l->name, tokens_of(l), met);
    for (size_t next = 1; rank < met; next = next_rank(next)) {
        for (next = next < met ? next : met; rank < next; rank++)
            sum += kinds[rank].here;
        buffer_print(b, "%zu\t%.8g\n", rank, 100 * (double)sum / all);
    }
}

/* learnt, here and kinds have room for t->kinds */
static void cover(Buffer *b, const TextSet *t, const TextList *l, uint64_t *learnt, uint64_t *here, Kind *kinds)
{
    size_t met = 0;
    for (size_t i = 0; i < t->kinds; i++)
        learnt[i] = here[i] = 0;
    for (size_t i = 0; i < t->count; i++)
        if (t->list[i].learnt && t->list[i].count && t->list[i].vocabulary == l->vocabulary)
            count(learnt, &t->list[i]);
    count(here, l);
    for (size_t i = 0; i < t->kinds; i++)
        if (learnt[i] && (int64_t)i != t->unknown)
            kinds[met++] = (Kind){learnt[i], here[i], i};
    qsort(kinds, met, sizeof *kinds, more_frequent);
    add_coverage(b, l, kinds, met);
}

bool texts_coverage(Buffer *b, const TextSet *t, Error *e)
{
    uint64_t *learnt = memory_get(t->kinds, 2 * sizeof *learnt), *here = learnt ? learnt + t->kinds : NULL;
    Kind *kinds = memory_get(t->kinds, sizeof *kinds);
    size_t lists = 0;
    bool fine = (learnt && kinds) || memory_error(e, "counts of tokens", t->kinds, 4 * sizeof *learnt);
    for (size_t i = 0; fine && i < t->count; i++)
        if (tokens_of(&t->list[i])) {
            cover(b, t, &t->list[i], learnt, here, kinds);
            lists++;
        }
    memory_free(learnt);
    memory_free(kinds);
    fine = fine && (lists || fail(e, "there are no texts whose tokens could be counted"));
    return fine && (!b->failed || fail(e, "out of memory for the data of a picture"));
}
