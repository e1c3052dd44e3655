/* See replay.h. */
#include "core/train/replay.h"

void replay_close(Replay *r)
{
    for (size_t i = 0; i < REPLAYS; i++)
        if (r->seen[i].operations)
            r->k->forget(r->seen[i].operations);
    *r = (Replay){.k = r->k};
}

/* Pointers of what is joined follow from the sides' and from how many positions it has. */
static bool same_rows(const Rows *a, const Rows *b)
{
    const Queries *x = &a->scored, *y = &b->scored;
    return a->positions == b->positions && a->rows == b->rows && a->longest == b->longest && a->ids == b->ids &&
           a->slots == b->slots && a->targets == b->targets && a->position == b->position && a->start == b->start &&
           a->joined.positions == b->joined.positions && a->joined.longest == b->joined.longest &&
           a->joined.own.positions == b->joined.own.positions && x->positions == y->positions &&
           x->longest == y->longest && x->index == y->index && x->targets == y->targets && x->start == y->start &&
           x->offset == y->offset;
}

static bool same(const Shape *a, const Shape *b)
{
    for (size_t i = 0; i < SIDES; i++)
        if (!same_rows(&a->rows[i], &b->rows[i]))
            return false;
    return a->slots == b->slots && a->shares == b->shares && a->gradient == b->gradient;
}

/* Where a shape is, or else where it can go. */
static size_t slot_of(const Replay *r, const Shape *shape, bool *known)
{
    size_t oldest = 0;
    for (size_t i = 0; i < REPLAYS; i++) {
        *known = r->seen[i].met && same(&r->seen[i].shape, shape);
        if (*known)
            return i;
        oldest = r->seen[i].met < r->seen[oldest].met ? i : oldest;
    }
    return oldest;
}

static Captured *capture(Replay *r, Stream *s, void (*ask)(void *argument), void *argument)
{
    if (!r->k->capture(s))
        return NULL;
    ask(argument);
    r->captures++;
    return r->k->captured(s);
}

void replay_run(Replay *r, Stream *s, const Shape *shape, void (*ask)(void *argument), void *argument)
{
    bool known = false;
    if (!r->k->capture) {
        ask(argument);
        return;
    }
    size_t i = slot_of(r, shape, &known);
    r->seen[i].met = ++r->turns;
    if (known && !r->seen[i].operations)
        r->seen[i].operations = capture(r, s, ask, argument);
    if (known && r->seen[i].operations) {
        r->k->replay(s, r->seen[i].operations);
        return;
    }
    if (!known) {
        if (r->seen[i].operations)
            r->k->forget(r->seen[i].operations);
        r->seen[i].operations = NULL;
        r->seen[i].shape = *shape;
    }
    ask(argument);
}
