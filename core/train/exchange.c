/* See exchange.h. */
#include "core/train/exchange.h"

#include "base/memory.h"

bool exchange_open(Trainer *c, Error *e)
{
    const Division d = plan_division(&c->options, c->task, c->task->most_rows);
    const size_t sums = others_sums(&d);
    Exchange *x = &c->exchange;
    if (d.ranks == 1)
        return true;
    if (!c->options.k->on_host)
        return fail(e, "--device %s: several processes can share the steps of host devices only (cpu, plain)",
                    c->options.k->backend);
    x->range = range_capacity(plan_gradient(c->parameters, c->task), d.ranks);
    x->received = c->options.k->allocate(sums * x->range * c->options.k->real);
    x->sent = memory_get(TREE_SUMS * d.ranks, sizeof *x->sent);
    x->come = memory_get(TREE_SUMS * d.ranks, sizeof *x->come);
    return ((x->received || !sums) && x->sent && x->come) ||
           memory_error(e, "other processes' gradients", sums * x->range, c->options.k->real);
}

void exchange_close(Trainer *c)
{
    c->options.k->release(c->exchange.received);
    memory_free(c->exchange.sent);
    memory_free(c->exchange.come);
    c->exchange = (Exchange){0};
}

static void *at(const Trainer *c, void *block, size_t offset) { return (char *)block + offset * c->options.k->real; }

/* Where rank `rank` has a range, as a piece of a block. */
static RankPiece piece(const Trainer *c, void *block, size_t of, size_t rank)
{
    size_t first, count;
    optimizer_range(used_rows_gradient(&c->used), of, c->division.ranks, &first, &count);
    return (RankPiece){rank, at(c, block, first), count * c->options.k->real};
}

/* Every other rank gets the range of this rank's sums that it adds up, and this one gets its range of theirs. */
static void send_sums(Trainer *c)
{
    Exchange *x = &c->exchange;
    const Division *d = &c->division;
    const SumTree *own = &c->worker[0].left;
    size_t outs = 0, ins = 0, slot = 0;
    for (size_t rank = 0; rank < d->ranks; rank++) {
        const size_t theirs = rank_sums(d, rank).count;
        if (rank == d->rank)
            continue;
        for (size_t i = 0; i < own->count; i++)
            x->sent[outs++] = piece(c, own->sum[i].block, rank, rank);
        for (size_t i = 0; i < theirs; i++, slot++) {
            x->come[ins] = piece(c, x->received, d->rank, rank);
            x->come[ins++].data = at(c, x->received, slot * x->range);
        }
    }
    ranks_exchange(x->sent, outs, x->come, ins);
}

/* All ranks' sums over a piece of this rank's range, which begins at `first`, `from` numbers after it. */
static void add_piece(Trainer *c, Worker *w, size_t first, size_t from, size_t count)
{
    const Kernels *k = c->options.k;
    const Division *d = &c->division;
    SumTree all = {.leaves = d->shares};
    void *result = at(c, c->worker[0].gradient[0], first + from);
    size_t slot = 0;
    for (size_t rank = 0; rank < d->ranks; rank++) {
        SumTree sums = rank == d->rank ? w->left : rank_sums(d, rank);
        for (size_t i = 0; i < sums.count; i++) {
            void *to, *block = sums.sum[i].block, *add;
            sums.sum[i].block = rank == d->rank ? at(c, block, first + from)
                                                : at(c, c->exchange.received, slot++ * c->exchange.range + from);
            tree_push(&all, sums.sum[i]);
            while (tree_join(&all, &to, &add))
                k->accumulate(w->stream, to, add, count);
        }
    }
    if (all.sum[0].block != result)
        k->copy(w->stream, result, all.sum[0].block, count * k->real);
}

/* Each worker adds up a part of this rank's range. */
static void add_sums(const Part *part)
{
    Trainer *c = part->c;
    size_t first, all, from, mine;
    optimizer_range(used_rows_gradient(&c->used), c->division.rank, c->division.ranks, &first, &all);
    optimizer_range(all, part->number, c->options.workers, &from, &mine);
    for (size_t end = from + mine, count; from < end; from += count) {
        count = end - from < SQUARES_CHUNK ? end - from : SQUARES_CHUNK;
        add_piece(c, part->w, first, from, count);
    }
}

/* Every rank gets the result from those that have added up its ranges. */
static void send_results(Trainer *c)
{
    Exchange *x = &c->exchange;
    size_t others = 0;
    for (size_t rank = 0; rank < c->division.ranks; rank++)
        if (rank != c->division.rank) {
            x->sent[others] = piece(c, c->worker[0].gradient[0], c->division.rank, rank);
            x->come[others++] = piece(c, c->worker[0].gradient[0], rank, rank);
        }
    ranks_exchange(x->sent, others, x->come, others);
}

/* What held other sums holds zeros again. */
static void zero_others(const Part *part)
{
    const Trainer *c = part->c;
    size_t first, count;
    optimizer_range(used_rows_gradient(&c->used), part->number, c->options.workers, &first, &count);
    for (size_t i = 1; i < part->w->left.count; i++)
        c->options.k->zero(part->w->stream, at(c, part->w->left.sum[i].block, first), count * c->options.k->real);
}

void exchange_sums(Part *part)
{
    if (part->number == 0)
        send_sums(part->c);
    step_barrier(part);
    add_sums(part);
    step_barrier(part);
    zero_others(part);
    if (part->number == 0)
        send_results(part->c);
    step_barrier(part);
}

void exchange_states(Trainer *c)
{
    const Division *d = &c->division;
    size_t own, own_end, others = 0;
    rank_shares(d, d->rank, &own, &own_end);
    for (size_t rank = 0; rank < d->ranks; rank++) {
        size_t first, end;
        rank_shares(d, rank, &first, &end);
        if (rank == d->rank)
            continue;
        c->exchange.sent[others] = (RankPiece){rank, c->ended + own, (own_end - own) * sizeof *c->ended};
        c->exchange.come[others++] = (RankPiece){rank, c->ended + first, (end - first) * sizeof *c->ended};
    }
    ranks_exchange(c->exchange.sent, others, c->exchange.come, others);
}
