/* See shares.h. */
#include "core/train/shares.h"

#include <assert.h>

/* Sums of a level. */
static size_t width(size_t leaves, size_t level) { return (leaves + ((size_t)1 << level) - 1) >> level; }

static bool alone(size_t leaves, const PartialSum *s)
{
    return s->index % 2 == 0 && s->index + 1 == width(leaves, s->level) && s->index > 0;
}

static void rise(size_t leaves, PartialSum *s)
{
    while (alone(leaves, s)) {
        s->level++;
        s->index /= 2;
    }
}

void tree_push(SumTree *t, PartialSum sum)
{
    assert(t->count < TREE_SUMS);
    rise(t->leaves, &sum);
    t->sum[t->count++] = sum;
}

bool tree_join(SumTree *t, void **to, void **from)
{
    if (t->count < 2)
        return false;
    PartialSum *a = &t->sum[t->count - 2];
    const PartialSum *b = a + 1;
    if (a->level != b->level || a->index % 2 || b->index != a->index + 1)
        return false;
    *to = a->block;
    *from = b->block;
    a->level++;
    a->index /= 2;
    rise(t->leaves, a);
    t->count--;
    return true;
}

void deal(size_t count, size_t parts, size_t number, size_t *first, size_t *end)
{
    parts = parts < count ? parts : count;
    *first = number < parts ? count * number / parts : count;
    *end = number < parts ? count * (number + 1) / parts : count;
}

void rank_shares(const Division *d, size_t rank, size_t *first, size_t *end)
{
    deal(d->shares, d->ranks, rank, first, end);
}

void worker_shares(const Division *d, size_t number, size_t *first, size_t *end)
{
    size_t from, to;
    rank_shares(d, d->rank, &from, &to);
    deal(to - from, d->workers, number, first, end);
    *first += from;
    *end += from;
}

void share_micros(const Division *d, size_t share, size_t *first, size_t *end)
{
    deal(d->micros, d->shares, share, first, end);
}

void worker_micros(const Division *d, size_t number, size_t *first, size_t *end)
{
    size_t from, to, nothing;
    worker_shares(d, number, &from, &to);
    *first = *end = d->micros;
    if (from == to)
        return;
    share_micros(d, from, first, &nothing);
    share_micros(d, to - 1, &nothing, end);
}

size_t busiest_micros(const Division *d)
{
    Division one = *d;
    size_t most = 0;
    for (one.rank = 0; one.rank < d->ranks; one.rank++)
        for (size_t i = 0; i < d->workers; i++) {
            size_t first, end;
            worker_micros(&one, i, &first, &end);
            most = end - first > most ? end - first : most;
        }
    return most;
}

/* As a worker does it: it adds up what it can before it begins a share. */
static size_t blocks_of(const Division *d, size_t number)
{
    SumTree t = {.leaves = d->shares};
    size_t first, end, most = 0;
    void *to, *from;
    worker_shares(d, number, &first, &end);
    for (size_t i = first; i < end; i++) {
        while (tree_join(&t, &to, &from))
            ;
        tree_push(&t, (PartialSum){0, i, NULL});
        most = t.count > most ? t.count : most;
    }
    return most;
}

size_t tree_blocks(const Division *d, size_t number)
{
    Division step = *d;
    size_t most = number == 0;
    for (step.shares = 1; step.shares <= d->shares; step.shares++) {
        size_t blocks = blocks_of(&step, number);
        most = blocks > most ? blocks : most;
    }
    return most;
}

SumTree rank_sums(const Division *d, size_t rank)
{
    SumTree t = {.leaves = d->shares};
    size_t first, end;
    void *to, *from;
    rank_shares(d, rank, &first, &end);
    for (size_t i = first; i < end; i++) {
        tree_push(&t, (PartialSum){0, i, NULL});
        while (tree_join(&t, &to, &from))
            ;
    }
    return t;
}

size_t others_sums(const Division *d)
{
    Division step = *d;
    size_t most = 0;
    for (step.shares = 1; step.shares <= d->shares; step.shares++) {
        size_t sums = 0;
        for (size_t rank = 0; rank < d->ranks; rank++)
            sums += rank == d->rank ? 0 : rank_sums(&step, rank).count;
        most = sums > most ? sums : most;
    }
    return most;
}
