/* See pair_counts.h. */
#include "core/text/pair_counts.h"

#include "base/memory.h"

#include <string.h>

#define NOWHERE UINT32_MAX

static const char learning[] = "learning byte pairs";

/* A pair occurs in a word this many times more, or fewer: the sum over all occurrences of a word is what counts. */
typedef struct Occurrence {
    uint32_t word;
    int32_t times;
    uint32_t next; /* or NOWHERE */
} Occurrence;

typedef struct Offer {
    int64_t count;
    uint32_t pair;
} Offer;

static bool add_number(Numbers *n, uint32_t number, Error *e)
{
    if (!memory_grow(&n->number, &n->capacity, n->count + 1, sizeof *n->number, learning, e))
        return false;
    n->number[n->count++] = number;
    return true;
}

/* --- where pairs are --- */

static bool push_occurrence(PairCounts *c, PairCount *s, uint32_t word, int32_t times, Error *e)
{
    uint32_t occurrence = c->free_occurrence;
    if (occurrence != NOWHERE)
        c->free_occurrence = c->occurrences[occurrence].next;
    else if (c->occurrence_count == NOWHERE)
        return memory_error(e, learning, NOWHERE, sizeof *c->occurrences);
    else if (!memory_grow(&c->occurrences, &c->occurrence_capacity, c->occurrence_count + 1, sizeof *c->occurrences,
                          learning, e))
        return false;
    else
        occurrence = (uint32_t)c->occurrence_count++;
    c->occurrences[occurrence] = (Occurrence){word, times, s->occurrence};
    s->occurrence = occurrence;
    s->occurrences++;
    return true;
}

/* Takes all occurrences of a pair away: `met` are the words, and `sum` how often each has it. */
static bool take_occurrences(PairCounts *c, PairCount *s, Error *e)
{
    c->met.count = 0;
    for (uint32_t at = s->occurrence, next; at != NOWHERE; at = next) {
        Occurrence *p = &c->occurrences[at];
        if (c->sum[p->word] == INT32_MIN) {
            c->sum[p->word] = 0;
            if (!add_number(&c->met, p->word, e))
                return false;
        }
        c->sum[p->word] += p->times;
        next = p->next;
        p->next = c->free_occurrence;
        c->free_occurrence = at;
    }
    s->occurrence = NOWHERE;
    s->occurrences = s->merged = 0;
    return true;
}

static int32_t take_sum(PairCounts *c, uint32_t word)
{
    int32_t sum = c->sum[word];
    c->sum[word] = INT32_MIN;
    return sum;
}

/* One occurrence for each word, when there are twice as many occurrences as there were the last time. */
static bool merge_occurrences(PairCounts *c, PairCount *s, Error *e)
{
    if (!take_occurrences(c, s, e))
        return false;
    for (size_t i = 0; i < c->met.count; i++) {
        int32_t times = take_sum(c, c->met.number[i]);
        if (times && !push_occurrence(c, s, c->met.number[i], times, e))
            return false;
    }
    s->merged = s->occurrences;
    return true;
}

static bool add_occurrence(PairCounts *c, PairCount *s, uint32_t word, int32_t times, Error *e)
{
    if (s->occurrence != NOWHERE && c->occurrences[s->occurrence].word == word) {
        c->occurrences[s->occurrence].times += times;
        return true;
    }
    enum { FEW = 16 };
    if (s->occurrences > FEW + 2 * s->merged && !merge_occurrences(c, s, e))
        return false;
    return push_occurrence(c, s, word, times, e);
}

/* --- how often --- */

static bool count_of(PairCounts *c, int32_t left, int32_t right, size_t *pair, Error *e)
{
    size_t before = c->pairs.count;
    if (!pairs_add(&c->pairs, (Pair){left, right}, pair, e))
        return false;
    if (*pair < before)
        return true;
    if (before == UINT32_MAX)
        return fail(e, "the texts have more than %u different pairs of symbols", UINT32_MAX);
    if (!memory_grow(&c->of, &c->of_capacity, before + 1, sizeof *c->of, learning, e))
        return false;
    c->of[*pair] = (PairCount){.occurrence = NOWHERE};
    return true;
}

bool pair_counts_change(PairCounts *c, int32_t left, int32_t right, uint32_t word, int by, Error *e)
{
    size_t pair;
    if (!count_of(c, left, right, &pair, e))
        return false;
    PairCount *s = &c->of[pair];
    if (!s->working) { /* as there: it comes back with the change alone */
        if (!add_number(&c->working, (uint32_t)pair, e))
            return false;
        s->working = true;
        s->count = 0;
        s->offered = INT64_MIN;
    }
    if (!s->changed && !add_number(&c->changed, (uint32_t)pair, e))
        return false;
    s->changed = true;
    s->count += by * c->times[word];
    return add_occurrence(c, s, word, by, e);
}

/* --- the most frequent one: a heap --- */

/* Whether a comes before b: more often, or as often and after it in the order of letters. */
static bool is_before(const PairCounts *c, Offer a, Offer b)
{
    if (a.count != b.count)
        return a.count > b.count;
    const Pair *x = &c->pairs.pair[a.pair], *y = &c->pairs.pair[b.pair];
    int left = strcmp(vocabulary_word(c->symbols, x->left), vocabulary_word(c->symbols, y->left));
    return left ? left > 0 : strcmp(vocabulary_word(c->symbols, x->right), vocabulary_word(c->symbols, y->right)) > 0;
}

static void sink(PairCounts *c, size_t at)
{
    Offer offer = c->heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < c->heap_count && is_before(c, c->heap[child + 1], c->heap[child]))
            child++;
        if (child >= c->heap_count || !is_before(c, c->heap[child], offer))
            break;
        c->heap[at] = c->heap[child];
        at = child;
    }
    c->heap[at] = offer;
}

static bool grow_heap(PairCounts *c, size_t count, Error *e)
{
    return memory_grow(&c->heap, &c->heap_capacity, count, sizeof *c->heap, learning, e);
}

static bool offer(PairCounts *c, size_t pair, Error *e)
{
    PairCount *s = &c->of[pair];
    s->changed = false;
    if (s->offered >= s->count)
        return true;
    if (!grow_heap(c, c->heap_count + 1, e))
        return false;
    Offer new = {s->count, (uint32_t)pair};
    size_t at = c->heap_count++;
    for (; at && is_before(c, new, c->heap[(at - 1) / 2]); at = (at - 1) / 2)
        c->heap[at] = c->heap[(at - 1) / 2];
    c->heap[at] = new;
    s->offered = s->count;
    return true;
}

static bool offer_changed(PairCounts *c, Error *e)
{
    bool done = true;
    for (size_t i = 0; done && i < c->changed.count; i++)
        done = offer(c, c->changed.number[i], e);
    c->changed.count = 0;
    return done;
}

/* The heap of all that are in the working set. */
static bool offer_working(PairCounts *c, Error *e)
{
    if (!grow_heap(c, c->working.count, e))
        return false;
    for (size_t i = 0; i < c->working.count; i++) {
        uint32_t pair = c->working.number[i];
        c->of[pair].offered = c->of[pair].count;
        c->heap[i] = (Offer){c->of[pair].count, pair};
    }
    c->heap_count = c->working.count;
    for (size_t i = c->heap_count / 2; i-- > 0;)
        sink(c, i);
    return true;
}

size_t pair_counts_most(PairCounts *c)
{
    while (c->heap_count) {
        Offer *top = c->heap;
        PairCount *s = &c->of[top->pair];
        bool good = s->working && top->count == s->offered;
        if (good && top->count == s->count)
            return top->pair;
        if (good)
            top->count = s->offered = s->count;
        else
            *top = c->heap[--c->heap_count];
        if (c->heap_count)
            sink(c, 0);
    }
    return PAIR_NONE;
}

/* --- the working set --- */

static void leave(PairCount *s)
{
    s->working = false;
    if (s->count < 0)
        s->count_out += s->count; /* it had left before, and this is what it has lost since */
    else
        s->count_out = s->count;
}

bool pair_counts_prune(PairCounts *c, double threshold, Error *e)
{
    size_t left = 0;
    for (size_t i = 0; i < c->working.count; i++) {
        uint32_t pair = c->working.number[i];
        if ((double)c->of[pair].count < threshold)
            leave(&c->of[pair]);
        else
            c->working.number[left++] = pair;
    }
    c->working.count = left;
    return offer_working(c, e);
}

bool pair_counts_refill(PairCounts *c, size_t merges, double *threshold, Error *e)
{
    int64_t most = INT64_MIN;
    for (size_t i = 0; i < c->pairs.count; i++) {
        if (c->of[i].working)
            leave(&c->of[i]);
        if (c->of[i].count_out > most)
            most = c->of[i].count_out;
    }
    *threshold = (double)(most * (int64_t)merges) / ((double)merges + 10000.0);
    c->working.count = 0;
    for (size_t i = 0; i < c->pairs.count; i++) {
        PairCount *s = &c->of[i];
        s->count = s->count_out;
        s->working = (double)s->count >= *threshold;
        if (!s->working)
            leave(s);
        else if (!add_number(&c->working, (uint32_t)i, e))
            return false;
    }
    return offer_working(c, e);
}

/* --- from the first count to the last --- */

bool pair_counts_open(PairCounts *c, const Vocabulary *symbols, const int64_t *times, size_t words, Error *e)
{
    *c = (PairCounts){.symbols = symbols, .times = times, .free_occurrence = NOWHERE};
    c->sum = memory_get(words, sizeof *c->sum);
    if (!c->sum)
        return memory_error(e, learning, words, sizeof *c->sum);
    for (size_t i = 0; i < words; i++)
        c->sum[i] = INT32_MIN;
    return true;
}

void pair_counts_close(PairCounts *c)
{
    pairs_close(&c->pairs);
    memory_free(c->of);
    memory_free(c->occurrences);
    memory_free(c->working.number);
    memory_free(c->changed.number);
    memory_free(c->met.number);
    memory_free(c->sum);
    memory_free(c->heap);
    *c = (PairCounts){0};
}

bool pair_counts_begin(PairCounts *c, Error *e)
{
    for (size_t i = 0; i < c->pairs.count; i++) {
        c->of[i].count_out = c->of[i].count;
        c->of[i].changed = false;
    }
    c->changed.count = 0;
    return offer_working(c, e);
}

bool pair_counts_merged(PairCounts *c, size_t pair, Error *e)
{
    c->of[pair].count = 0;
    return offer_changed(c, e);
}

bool pair_counts_take(PairCounts *c, size_t pair, Numbers *words, Error *e)
{
    *words = (Numbers){0};
    bool done = take_occurrences(c, &c->of[pair], e);
    for (size_t i = 0; done && i < c->met.count; i++)
        if (take_sum(c, c->met.number[i]) > 0)
            done = add_number(words, c->met.number[i], e);
    if (!done)
        memory_free(words->number);
    return done;
}
