/* See exchange.h. */
#include "core/train/exchange.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/size.h"

enum { PIECES = 8 }; /* of what a rank adds up */

/* What tapes note of parameters, so that pieces may go before the backward pass is over. */
static bool follow_tapes(Trainer *c, Error *e)
{
    const size_t count = c->parameters->count;
    c->exchange.first_read = memory_get(c->options.workers * count, sizeof *c->exchange.first_read);
    for (size_t i = 0; i < c->options.workers && c->exchange.first_read; i++) {
        c->worker[i].tape.first_read = c->exchange.first_read + i * count;
        tape_reset(&c->worker[i].tape);
    }
    return c->exchange.first_read || memory_error(e, "notes of parameters", count, sizeof *c->exchange.first_read);
}

/* A device exchanges without cutting. */
static bool at_once(const Trainer *c) { return c->options.k->exchange != NULL; }

bool exchange_open(Trainer *c, Error *e)
{
    const Division d = plan_division(&c->options, c->task, c->task->most_rows);
    const size_t sums = others_sums(&d);
    Exchange *x = &c->exchange;
    if (d.ranks == 1)
        return true;
    if (c->options.k->meet && !c->options.k->meet(e))
        return false;
    x->range = range_capacity(plan_gradient(c->parameters, c->task), d.ranks);
    x->received = c->options.k->allocate(sums * x->range * c->options.k->real);
    x->sent = memory_get(TREE_SUMS * d.ranks, sizeof *x->sent);
    x->come = memory_get(TREE_SUMS * d.ranks, sizeof *x->come);
    if ((!x->received && sums) || !x->sent || !x->come)
        return memory_error(e, "other processes' gradients", sums * x->range, c->options.k->real);
    return at_once(c) || follow_tapes(c, e);
}

void exchange_close(Trainer *c)
{
    if (c->options.k->part)
        c->options.k->part();
    c->options.k->release(c->exchange.received);
    memory_free(c->exchange.sent);
    memory_free(c->exchange.come);
    memory_free(c->exchange.first_read);
    memory_free(c->exchange.under_way.list);
    c->exchange = (Exchange){0};
}

static void *at(const Trainer *c, void *block, size_t offset) { return (char *)block + offset * c->options.k->real; }

/* Numbers first .. end-1 of a block. */
typedef struct Range {
    size_t first, end;
} Range;

static Range common(Range a, Range b)
{
    const size_t first = larger(a.first, b.first), end = smaller(a.end, b.end);
    return (Range){first, larger(end, first)};
}

/* Of a gradient, what a rank adds up; of a block of parameters, what it moves. */
static Range added_by(size_t gradient, size_t rank, size_t ranks)
{
    size_t first, count;
    optimizer_range(gradient, rank, ranks, &first, &count);
    return (Range){first, first + count};
}

static Range moved_by(const OptimizerOptions *o, const Parameters *p, size_t rank)
{
    Range moved;
    optimizer_part(o, p, rank, &moved.first, &moved.end);
    return moved;
}

enum { RESULTS = 2 };

/* What rank `to` needs of what rank `from` has added up: all; or what it moves, and all used rows if some are of its own. */
static void results(Range out[RESULTS], const OptimizerOptions *o, const Parameters *p, Range added, size_t to)
{
    const Range moved = moved_by(o, p, to), dense = {0, p->dense},
                rows = {p->dense, moved.end > p->dense ? added.end : p->dense};
    out[0] = o->parts > 1 ? common(added, common(moved, dense)) : added;
    out[1] = o->parts > 1 ? common(added, rows) : (Range){0, 0};
}

static size_t chunks(Range added) { return squares_chunks(added.end - added.first); }

double exchange_bytes(const TrainerOptions *o, const Division *d, const Parameters *p, size_t gradient)
{
    const Range own = added_by(gradient, d->rank, d->ranks), moved = moved_by(&o->optimizer, p, d->rank);
    double numbers = (double)rank_sums(d, d->rank).count * (double)(gradient - (own.end - own.first)), others = 0;
    for (size_t rank = 0; rank < d->ranks; rank++) {
        Range out[RESULTS];
        if (rank == d->rank)
            continue;
        others++;
        results(out, &o->optimizer, p, own, rank);
        for (size_t i = 0; i < RESULTS; i++)
            numbers += (double)(out[i].end - out[i].first);
        numbers += o->optimizer.parts > 1 ? (double)(moved.end - moved.first) : 0;
    }
    return (double)o->k->real * numbers + others * (double)chunks(own) * sizeof(double);
}

/* A range of a block that goes to a rank or comes from it. */
static RankPiece piece(const Trainer *c, void *block, Range range, size_t rank)
{
    return (RankPiece){rank, at(c, block, range.first), (range.end - range.first) * c->options.k->real};
}

static Range added(const Trainer *c, size_t rank)
{
    return added_by(used_rows_gradient(&c->used), rank, c->division.ranks);
}

/* What goes to others, and comes from them, as lists that `exchange` holds. */
static void trade(Part *part, size_t outs, size_t ins)
{
    const Exchange *x = &part->c->exchange;
    const Kernels *k = part->c->options.k;
    if (at_once(part->c))
        k->exchange(part->w->stream, x->sent, outs, x->come, ins);
    else
        ranks_exchange(x->sent, outs, x->come, ins);
}

/* What a rank sends of its sums over a range that `rank` adds up. */
static size_t list_out(const Trainer *c, RankPiece *list, Range range, size_t rank)
{
    const SumTree *own = &c->worker[0].left;
    for (size_t i = 0; i < own->count; i++)
        list[i] = piece(c, own->sum[i].block, range, rank);
    return own->count;
}

/* Where others' sums go over a range that this one adds up. */
static size_t list_in(const Trainer *c, RankPiece *list, Range range)
{
    const Division *d = &c->division;
    const size_t from = range.first - added(c, d->rank).first;
    size_t slot = 0;
    for (size_t rank = 0; rank < d->ranks; rank++)
        for (size_t i = 0; rank != d->rank && i < rank_sums(d, rank).count; i++, slot++) {
            list[slot] = piece(c, c->exchange.received, range, rank);
            list[slot].data = at(c, c->exchange.received, slot * c->exchange.range + from);
        }
    return slot;
}

/* A piece of the gradient, and the rank that adds it up. */
typedef struct Cut {
    Range range;
    size_t rank;
} Cut;

static Cut cut(const Trainer *c, size_t number)
{
    const Range all = added(c, number / PIECES);
    size_t first, count;
    optimizer_range(all.end - all.first, number % PIECES, PIECES, &first, &count);
    return (Cut){{all.first + first, all.first + first + count}, number / PIECES};
}

/* The one at this place of the order: from the last dense numbers to the first, as backward passes go; and then what has
 * rows of tables. */
static Cut cut_at(const Trainer *c, size_t place)
{
    return cut(c, place < c->exchange.early ? c->exchange.early - 1 - place : place);
}

static size_t cuts(const Trainer *c) { return c->division.ranks * PIECES; }

void exchange_begin(Trainer *c)
{
    Exchange *x = &c->exchange;
    if (c->division.ranks == 1)
        return;
    for (size_t i = 0; i < c->options.workers; i++) {
        atomic_store(&c->worker[i].added, 0);
        atomic_store(&c->worker[i].finished, SIZE_MAX);
    }
    x->early = x->gone = 0;
    while (x->early < cuts(c) && cut(c, x->early).range.end <= c->parameters->dense)
        x->early++;
    for (size_t i = 0; i < cuts(c) && !at_once(c); i++)
        if (cut_at(c, i).rank == c->division.rank)
            ranks_begin(&x->under_way, NULL, 0, x->come, list_in(c, x->come, cut_at(c, i).range));
}

/* This worker's part of the piece that is next. */
static void add_next(Part *part)
{
    const Range all = cut_at(part->c, part->w->added).range;
    size_t first, count;
    optimizer_range(all.end - all.first, part->number, part->c->options.workers, &first, &count);
    update_add(part->c, part->w, all.first + first, count);
    atomic_fetch_add(&part->w->added, 1);
}

static void send_next(Trainer *c)
{
    Exchange *x = &c->exchange;
    const Cut next = cut_at(c, x->gone++);
    if (next.rank != c->division.rank)
        ranks_begin(&x->under_way, x->sent, list_out(c, x->sent, next.range, next.rank), NULL, 0);
}

/* From here on, dense numbers are finished by all workers. */
static size_t finished_by_all(const Trainer *c)
{
    size_t finished = 0;
    for (size_t i = 0; i < c->options.workers; i++)
        finished = larger(finished, atomic_load(&c->worker[i].finished));
    return finished;
}

/* What a worker can do with pieces by now. */
static void advance(Part *part)
{
    Trainer *c = part->c;
    Exchange *x = &c->exchange;
    const size_t finished = finished_by_all(c);
    size_t added_by_all = SIZE_MAX;
    while (part->w->added < x->early && cut_at(c, part->w->added).range.first >= finished)
        add_next(part);
    if (part->number)
        return;
    for (size_t i = 0; i < c->options.workers; i++)
        added_by_all = smaller(added_by_all, atomic_load(&c->worker[i].added));
    const double sent = ranks_sent();
    while (x->gone < added_by_all)
        send_next(c);
    x->ahead += ranks_sent() - sent;
    ranks_attend();
}

void exchange_follow(void *follower)
{
    Part *part = follower;
    atomic_store(&part->w->finished, tape_finished_from(&part->w->tape));
    advance(part);
}

void exchange_linger(Part *part)
{
    const double start = clock_seconds();
    atomic_store(&part->w->finished, 0);
    while (!at_once(part->c) && finished_by_all(part->c) && !atomic_load(&part->c->given_up)) {
        advance(part);
        clock_sleep(2e-5);
    }
    part->w->waited += clock_seconds() - start;
}

/* Every other rank gets the range of this rank's sums that it adds up, and this one gets its range of theirs. */
static void send_sums(Part *part)
{
    Trainer *c = part->c;
    Exchange *x = &c->exchange;
    if (!at_once(c)) {
        while (x->gone < cuts(c))
            send_next(c);
        ranks_finish(&x->under_way);
        return;
    }
    size_t outs = 0;
    for (size_t rank = 0; rank < c->division.ranks; rank++)
        outs += rank == c->division.rank ? 0 : list_out(c, x->sent + outs, added(c, rank), rank);
    trade(part, outs, list_in(c, x->come, added(c, c->division.rank)));
}

void exchange_give_up(Part *part)
{
    if (!at_once(part->c))
        send_sums(part);
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
    update_squares(c, w, first + from, count);
}

/* Each worker adds up a part of this rank's range. */
static void add_sums(const Part *part)
{
    Trainer *c = part->c;
    const Range own = added(c, c->division.rank);
    size_t from, mine;
    optimizer_range(own.end - own.first, part->number, c->options.workers, &from, &mine);
    for (size_t end = from + mine, count; from < end; from += count) {
        count = end - from < SQUARES_CHUNK ? end - from : SQUARES_CHUNK;
        add_piece(c, part->w, own.first, from, count);
    }
}

/* What a rank has added up, as pieces that go to another or come from it: results, and the sums of their squares. */
static size_t result_pieces(Trainer *c, RankPiece *list, size_t from, size_t to, size_t other)
{
    const Range all = added(c, from);
    Range needed[RESULTS];
    results(needed, &c->options.optimizer, c->parameters, all, to);
    for (size_t i = 0; i < RESULTS; i++)
        list[i] = piece(c, c->worker[0].gradient[0], needed[i], other);
    list[RESULTS] = (RankPiece){other, c->parts + all.first / SQUARES_CHUNK, chunks(all) * sizeof *c->parts};
    return RESULTS + 1;
}

static void send_results(Part *part)
{
    Trainer *c = part->c;
    Exchange *x = &c->exchange;
    const size_t own = c->division.rank;
    size_t outs = 0, ins = 0;
    for (size_t rank = 0; rank < c->division.ranks; rank++)
        if (rank != own) {
            outs += result_pieces(c, x->sent + outs, own, rank, rank);
            ins += result_pieces(c, x->come + ins, rank, own, rank);
        }
    trade(part, outs, ins);
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
    if (at_once(part->c))
        update_sum(part->c, part->w, part->number);
    while (!at_once(part->c) && part->w->added < cuts(part->c))
        add_next(part);
    step_barrier(part);
    if (part->number == 0)
        send_sums(part);
    step_barrier(part);
    add_sums(part);
    step_barrier(part);
    zero_others(part);
    if (part->number == 0)
        send_results(part);
}

static void send_weights(Part *part)
{
    Trainer *c = part->c;
    Exchange *x = &c->exchange;
    const OptimizerOptions *o = &c->options.optimizer;
    size_t others = 0;
    for (size_t rank = 0; rank < c->division.ranks; rank++)
        if (rank != c->division.rank) {
            x->sent[others] = piece(c, c->weights.reals, moved_by(o, c->parameters, c->division.rank), rank);
            x->come[others++] = piece(c, c->weights.reals, moved_by(o, c->parameters, rank), rank);
        }
    trade(part, others, others);
}

/* What an optimizer does with the weights that it moves: products read them as numbers. */
static void convert(const Part *part, Range range)
{
    const Kernels *k = part->c->options.k;
    const Weights *w = &part->c->weights;
    size_t first, count;
    optimizer_range(range.end - range.first, part->number, part->c->options.workers, &first, &count);
    first += range.first;
    k->convert(part->w->stream, (char *)w->numbers + first * k->number, (char *)w->reals + first * k->real, count);
}

void exchange_weights(Part *part)
{
    Trainer *c = part->c;
    const Parameters *p = c->parameters;
    if (part->number == 0)
        send_weights(part);
    step_barrier(part);
    for (size_t rank = 0; rank < c->division.ranks && c->weights.numbers != c->weights.reals; rank++)
        if (rank != c->division.rank)
            convert(part, common(moved_by(&c->options.optimizer, p, rank), (Range){0, p->dense}));
}

void exchange_states(Trainer *c, const Division *d)
{
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
