/* See dictionary.h. */
#include "encdec/dictionary.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Which pairs have a source word: pair[start[s]] .. pair[start[s+1]-1]. And what the rounds work with. */
typedef struct Learning {
    const SentencePairs *pairs;
    size_t ids, *start, *pair;
    size_t *seen;  /* [ids] the last source word, + 1, that a target word was listed for */
    size_t *entry; /* [the longest source] */
    double *count; /* [entries] */
} Learning;

static bool open_learning(Learning *l, Error *e)
{
    const size_t all = pairs_ids(l->pairs, SOURCE), ids = l->ids;
    l->start = memory_get(ids + 2, sizeof *l->start);
    l->pair = memory_get(all, sizeof *l->pair);
    l->seen = memory_get(ids, sizeof *l->seen);
    l->entry = memory_get(all, sizeof *l->entry);
    if (!l->start || !l->pair || !l->seen || !l->entry)
        return memory_error(e, "source words of pairs", all + ids, 2 * sizeof *l->pair);
    const int32_t *source = l->pairs->ids[SOURCE];
    for (size_t k = 0; k < all; k++)
        l->start[source[k] + 2]++;
    for (size_t s = 2; s < ids + 2; s++)
        l->start[s] += l->start[s - 1];
    for (size_t i = 0; i < l->pairs->count; i++)
        for (size_t k = l->pairs->start[SOURCE][i]; k < l->pairs->start[SOURCE][i + 1]; k++)
            l->pair[l->start[source[k] + 1]++] = i;
    return true;
}

static void close_learning(Learning *l)
{
    memory_free(l->start);
    memory_free(l->pair);
    memory_free(l->seen);
    memory_free(l->entry);
    memory_free(l->count);
}

/* The target's words of pair i, without </s> */
static const int32_t *target_of(const SentencePairs *p, size_t i, size_t *count)
{
    *count = p->start[TARGET][i + 1] - p->start[TARGET][i] - 1;
    return p->ids[TARGET] + p->start[TARGET][i];
}

static int by_id(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Lists all target words that source word s stands beside in any pair. */
static bool list_targets(Dictionary *d, Learning *l, size_t s, Error *e)
{
    size_t count;
    d->start[s] = d->target.count;
    for (size_t k = l->start[s]; k < l->start[s + 1]; k++) {
        const int32_t *target = target_of(l->pairs, l->pair[k], &count);
        for (size_t j = 0; j < count; j++) {
            if (l->seen[target[j]] != s + 1 && !ids_add(&d->target, target[j], e))
                return false;
            l->seen[target[j]] = s + 1;
        }
    }
    d->start[s + 1] = d->target.count;
    if (d->start[s] < d->target.count)
        qsort(d->target.id + d->start[s], d->target.count - d->start[s], sizeof *d->target.id, by_id);
    return true;
}

static bool list_all(Dictionary *d, Learning *l, Error *e)
{
    d->start = memory_get(l->ids + 1, sizeof *d->start);
    if (!d->start)
        return memory_error(e, "a dictionary", l->ids + 1, sizeof *d->start);
    for (size_t s = 0; s < l->ids; s++)
        if (!list_targets(d, l, s, e))
            return false;
    const size_t entries = d->target.count;
    d->p = memory_get(entries, sizeof *d->p);
    l->count = memory_get(entries, sizeof *l->count);
    for (size_t i = 0; d->p && i < entries; i++)
        d->p[i] = 1;
    return (d->p && l->count) || memory_error(e, "a dictionary", entries, 2 * sizeof *d->p);
}

static size_t find(const Dictionary *d, int32_t s, int32_t t)
{
    size_t low = d->start[s], high = d->start[s + 1] - 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (d->target.id[middle] < t)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Shares each target word of a pair out among its source words. */
static void count_pair(const Dictionary *d, Learning *l, size_t i)
{
    const size_t *start = l->pairs->start[SOURCE];
    const size_t sources = start[i + 1] - start[i];
    size_t targets;
    const int32_t *source = l->pairs->ids[SOURCE] + start[i], *target = target_of(l->pairs, i, &targets);
    for (size_t j = 0; j < targets; j++) {
        double sum = 0;
        for (size_t k = 0; k < sources; k++) {
            l->entry[k] = find(d, source[k], target[j]);
            sum += d->p[l->entry[k]];
        }
        for (size_t k = 0; sum > 0 && k < sources; k++)
            l->count[l->entry[k]] += d->p[l->entry[k]] / sum;
    }
}

static void learn_round(Dictionary *d, Learning *l)
{
    memset(l->count, 0, d->target.count * sizeof *l->count);
    for (size_t i = 0; i < l->pairs->count; i++)
        count_pair(d, l, i);
    for (size_t s = 0; s < l->ids; s++) {
        double sum = 0;
        for (size_t i = d->start[s]; i < d->start[s + 1]; i++)
            sum += l->count[i];
        for (size_t i = d->start[s]; i < d->start[s + 1]; i++)
            d->p[i] = sum > 0 ? l->count[i] / sum : 0;
    }
}

bool dictionary_learn(Dictionary *d, const SentencePairs *pairs, size_t ids, Error *e)
{
    Learning l = {.pairs = pairs, .ids = ids};
    *d = (Dictionary){0};
    bool done = open_learning(&l, e) && list_all(d, &l, e);
    for (size_t i = 0; done && i < DICTIONARY_ROUNDS; i++)
        learn_round(d, &l);
    close_learning(&l);
    if (!done)
        dictionary_close(d);
    return done;
}

void dictionary_close(Dictionary *d)
{
    memory_free(d->start);
    memory_free(d->p);
    ids_close(&d->target);
    *d = (Dictionary){0};
}

double dictionary_share(const Dictionary *d, int32_t source, int32_t target) { return d->p[find(d, source, target)]; }

int32_t dictionary_best(const Dictionary *d, int32_t source)
{
    size_t best = d->start[source];
    if (best == d->start[source + 1])
        return UNKNOWN;
    for (size_t i = best + 1; i < d->start[source + 1]; i++)
        best = d->p[i] > d->p[best] ? i : best;
    return d->target.id[best];
}
