/* See alignments.h. */
#include "encdec/alignments.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "core/tensor/sites.h"
#include "encdec/dictionary.h"

#include <stdlib.h>

static bool begin(Alignments *a, const SentencePairs *p, Error *e)
{
    *a = (Alignments){.start = memory_get(pairs_ids(p, TARGET) + 1, sizeof *a->start)};
    return a->start || memory_error(e, "alignments", pairs_ids(p, TARGET) + 1, sizeof *a->start);
}

void alignments_close(Alignments *a)
{
    memory_free(a->start);
    ids_close(&a->source);
    *a = (Alignments){0};
}

/* The source position that a target comes from; -1: no word. */
static int32_t likeliest(const Dictionary *d, const SentencePairs *p, size_t i, int32_t target, size_t registers)
{
    const size_t first = p->start[SOURCE][i], count = p->start[SOURCE][i + 1] - first;
    double most = 0;
    int32_t best = -1;
    for (size_t k = 0; k < count; k++) {
        const double share = dictionary_share(d, p->ids[SOURCE][first + k], target);
        if (share > most)
            most = share, best = k < registers || k + 1 == count ? -1 : (int32_t)k;
    }
    return best;
}

bool alignments_learn(Alignments *a, const SentencePairs *p, const Subwords *s, Error *e)
{
    const size_t targets = subwords_count(s, TARGET), sources = s->count + s->registers;
    Dictionary d = {0};
    bool done = begin(a, p, e) && dictionary_learn(&d, p, targets > sources ? targets : sources, e);
    for (size_t i = 0; done && i < p->count; i++)
        for (size_t k = p->start[TARGET][i]; done && k < p->start[TARGET][i + 1]; k++) {
            const bool ends = k + 1 == p->start[TARGET][i + 1];
            const int32_t best = ends ? -1 : likeliest(&d, p, i, p->ids[TARGET][k], s->registers);
            done = best < 0 || ids_add(&a->source, best, e);
            a->start[k + 1] = a->source.count;
        }
    dictionary_close(&d);
    return done;
}

/* --- a file --- */

typedef struct Link {
    size_t source, target;
} Link;

typedef struct Reading {
    Alignments *a;
    const SentencePairs *p;
    size_t registers, next; /* the pair whose line comes next */
    size_t lines;           /* of the training part, pairs that are left out among them */
    Link *links;
    size_t capacity;
} Reading;

static int by_target(const void *a, const void *b)
{
    const Link *x = a, *y = b;
    return x->target != y->target ? (x->target > y->target) - (x->target < y->target)
                                  : (x->source > y->source) - (x->source < y->source);
}

static const char *number(const char *at, const char *end, size_t *value)
{
    const char *first = at;
    for (*value = 0; at < end && *at >= '0' && *at <= '9' && *value < INT32_MAX; at++)
        *value = 10 * *value + (size_t)(*at - '0');
    return at > first ? at : NULL;
}

static bool take_links(Reading *r, const FileLine *l, size_t *count, Error *e)
{
    const size_t i = r->next, sources = r->p->start[SOURCE][i + 1] - r->p->start[SOURCE][i] - r->registers - 1,
                 targets = r->p->start[TARGET][i + 1] - r->p->start[TARGET][i] - 1;
    const char *at = l->text, *end = l->text + l->size;
    *count = 0;
    for (;;) {
        Link link;
        while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
            at++;
        if (at == end)
            return true;
        const char *dash = number(at, end, &link.source);
        at = dash && dash < end && *dash == '-' ? number(dash + 1, end, &link.target) : NULL;
        if (!at)
            return fail(e, "%s, line %zu: expected links such as 0-0 1-2, source and target", l->path, l->number);
        if (link.source >= sources || link.target >= targets)
            return fail(e, "%s, line %zu: has a link %zu-%zu, but this pair has %zu and %zu subwords", l->path,
                        l->number, link.source, link.target, sources, targets);
        if (!memory_grow(&r->links, &r->capacity, *count + 1, sizeof *r->links, "alignments", e))
            return false;
        r->links[(*count)++] = link;
    }
}

static bool take_line(void *context, const FileLine *l, Error *e)
{
    Reading *r = context;
    size_t count, next = 0;
    if (l->number > r->lines)
        return fail(e, "%s has a line %zu, and the training part has %zu", l->path, l->number, r->lines);
    if (r->next == r->p->count || r->p->line[r->next] + 1 != l->number) /* a pair that is left out */
        return true;
    if (!take_links(r, l, &count, e))
        return false;
    if (count)
        qsort(r->links, count, sizeof *r->links, by_target);
    const size_t first = r->p->start[TARGET][r->next], end = r->p->start[TARGET][r->next + 1];
    for (size_t k = first; k < end; k++) {
        for (; next < count && r->links[next].target == k - first; next++)
            if (!ids_add(&r->a->source, (int32_t)(r->links[next].source + r->registers), e))
                return false;
        r->a->start[k + 1] = r->a->source.count;
    }
    r->next++;
    return true;
}

bool alignments_read(Alignments *a, const SentencePairs *p, const Subwords *s, size_t lines, const char *path, Error *e)
{
    Reading r = {.a = a, .p = p, .registers = s->registers, .lines = lines};
    bool done = begin(a, p, e) && file_lines(path, take_line, &r, e);
    memory_free(r.links);
    if (done && r.next < p->count)
        return fail(e, "%s has no line %zu: it must have one for each line of the training part", path,
                    p->line[r.next] + 1);
    return done &&
           (a->source.count ||
            fail(e, "%s has no link for a pair that is trained on: there is nothing to guide attention by", path));
}

/* --- a batch --- */

void alignments_row(const Alignments *a, const SentencePairs *p, size_t i, uint32_t seed, uint64_t step, Batch *b)
{
    Side *side = &b->side[ALIGNED];
    const uint64_t row = side->rows;
    const size_t first = p->start[TARGET][i], count = p->start[TARGET][i + 1] - first,
                 at = batch_row(b, ALIGNED, count);
    side->among = SOURCE + 1; /* its ids are read by nobody */
    for (size_t k = 0; k < count; k++) {
        const size_t links = a ? a->start[first + k + 1] - a->start[first + k] : 0;
        side->ids[at + k] = 0;
        side->targets[at + k] = -1;
        if (links)
            side->targets[at + k] = a->source.id[a->start[first + k] +
                                                 philox_below(links, seed, (uint32_t)step, row << 32 | k, SITE_LINKS)];
    }
}
