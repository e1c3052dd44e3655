/* See beam.h. */
#include "core/search/beam.h"

#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef struct BeamSentence {
    size_t most, live, ended;
} BeamSentence;

typedef struct BeamLive {
    size_t slot; /* within the sentence */
    size_t row;  /* of the step to come */
    bool moves;  /* there, from its parent's */
    int32_t token;
    double log_p;
} BeamLive;

typedef struct BeamEnded {
    size_t length, slot; /* slot of its last piece */
    double log_end, log_p, score;
} BeamEnded;

typedef struct BeamNode {
    int32_t token;
    uint32_t parent; /* slot of the piece before it */
    double value;    /* log p */
} BeamNode;

/* A continuation; parent: its place among the live ones. */
typedef struct BeamCandidate {
    int32_t token;
    size_t parent;
    double value, log_p;
} BeamCandidate;

bool beams_open(Beams *b, const BeamOptions *o, size_t sentences, size_t longest, Error *e)
{
    size_t slots = sentences * o->beam;
    assert(o->best >= 1 && o->best <= o->beam && o->alpha >= 0);
    *b = (Beams){.options = *o, .sentences = sentences, .longest = longest};
    b->row = memory_get(slots, sizeof *b->row);
    b->move = memory_get(slots, sizeof *b->move);
    b->sentence = memory_get(sentences, sizeof *b->sentence);
    b->live = memory_get(slots, sizeof *b->live);
    b->ended = memory_get(slots, sizeof *b->ended);
    b->node = memory_get(slots * longest, sizeof *b->node);
    b->next = memory_get(o->beam, sizeof *b->next);
    b->candidate = memory_get(o->beam, sizeof *b->candidate);
    b->taken = memory_get(o->beam, sizeof *b->taken);
    b->rank = memory_get(o->beam, sizeof *b->rank);
    b->penalty = memory_get(longest + 2, sizeof *b->penalty);
    if (!b->row || !b->move || !b->sentence || !b->live || !b->ended || !b->node || !b->next || !b->candidate ||
        !b->taken || !b->rank || !b->penalty) {
        beams_close(b);
        return memory_error(e, "hypotheses of a beam search", slots * longest, sizeof *b->node);
    }
    b->penalty[0] = 0;
    for (size_t n = 1; n < longest + 2; n++) /* it never falls, however pow rounds */
        b->penalty[n] = fmax(pow((5 + (double)n) / 6, o->alpha), b->penalty[n - 1]);
    return true;
}

void beams_close(Beams *b)
{
    memory_free(b->row);
    memory_free(b->move);
    memory_free(b->sentence);
    memory_free(b->live);
    memory_free(b->ended);
    memory_free(b->node);
    memory_free(b->next);
    memory_free(b->candidate);
    memory_free(b->taken);
    memory_free(b->rank);
    memory_free(b->penalty);
    *b = (Beams){0};
}

static BeamLive *live_of(const Beams *b, size_t s) { return b->live + s * b->options.beam; }
static BeamEnded *ended_of(const Beams *b, size_t s) { return b->ended + s * b->options.beam; }

/* How piece number `step` came into a slot of a sentence. */
static BeamNode *node_of(const Beams *b, size_t s, size_t step, size_t slot)
{
    return b->node + (s * b->longest + step) * b->options.beam + slot;
}

/* Rows of all that is live, by slot. */
static void list_rows(Beams *b)
{
    const size_t beam = b->options.beam;
    b->row_count = 0;
    for (size_t s = 0; s < b->count; s++) {
        BeamLive *live = live_of(b, s);
        for (size_t i = 0; i < b->sentence[s].live; i++)
            b->rank[live[i].slot] = i + 1;
        for (size_t slot = 0; b->sentence[s].live && slot < beam; slot++)
            if (b->rank[slot]) {
                BeamLive *h = &live[b->rank[slot] - 1];
                h->row = b->row_count;
                b->row[b->row_count++] = (BeamRow){s * beam + slot, h->token};
                b->rank[slot] = 0;
            }
    }
}

void beams_begin(Beams *b, const size_t *most, size_t count)
{
    assert(count <= b->sentences);
    b->count = count;
    b->steps = b->move_count = 0;
    for (size_t s = 0; s < count; s++) {
        assert(most[s] <= b->longest);
        b->sentence[s] = (BeamSentence){.most = most[s], .live = 1};
        *live_of(b, s) = (BeamLive){.token = -1};
    }
    list_rows(b);
}

/* ---- one step of one sentence */

/* Candidate c comes before d. */
static bool before(const BeamCandidate *c, const BeamCandidate *d)
{
    if (c->log_p != d->log_p)
        return c->log_p > d->log_p;
    return c->token != d->token ? c->token < d->token : c->parent < d->parent;
}

/* c takes its place among the best `count` of at most `width` so far; returns how many there are now. */
static size_t insert(BeamCandidate *list, size_t count, size_t width, const BeamCandidate *c)
{
    if (!(c->log_p > (double)-INFINITY) || (count == width && !before(c, &list[width - 1])))
        return count;
    size_t at = count < width ? count++ : width - 1;
    for (; at > 0 && before(c, &list[at - 1]); at--)
        list[at] = list[at - 1];
    list[at] = *c;
    return count;
}

typedef struct Scores {
    const int32_t *which;
    const double *values, *ends;
} Scores;

/* The likeliest continuations of a sentence's live hypotheses, at most `width`. */
static size_t find_candidates(const Beams *b, size_t s, size_t width, const Scores *scores)
{
    const size_t beam = b->options.beam;
    const bool full = b->steps == b->sentence[s].most;
    size_t count = 0;
    for (size_t i = 0; i < b->sentence[s].live; i++) {
        const BeamLive *h = live_of(b, s) + i;
        for (size_t m = 0; m < (full ? 1 : beam); m++) {
            BeamCandidate c = {.token = full ? b->options.end : scores->which[h->row * beam + m],
                               .parent = i,
                               .value = full ? scores->ends[h->row] : scores->values[h->row * beam + m]};
            c.value = c.value > 0 ? 0 : c.value;
            c.log_p = h->log_p + c.value;
            if (c.token >= 0)
                count = insert(b->candidate, count, width, &c);
        }
    }
    return count;
}

/* After those with equal scores: they ended earlier, or were likelier. */
static void add_ended(Beams *b, size_t s, const BeamCandidate *c)
{
    BeamEnded *list = ended_of(b, s);
    const double score = c->log_p / b->penalty[b->steps + 1];
    size_t at = b->sentence[s].ended++;
    for (; at > 0 && list[at - 1].score < score; at--)
        list[at] = list[at - 1];
    list[at] = (BeamEnded){b->steps, live_of(b, s)[c->parent].slot, c->value, c->log_p, score};
}

/* Children become the live ones. The first of each parent stays in its slot; the others move to the first that are
 * free, none of which is moved from, because its own first child would have stayed there. */
static void place_children(Beams *b, size_t s, size_t children)
{
    const BeamLive *parents = live_of(b, s);
    size_t free = 0, first = s * b->options.beam;
    for (size_t slot = 0; slot < b->options.beam; slot++)
        b->taken[slot] = false;
    for (size_t i = 0; i < children; i++) {
        const BeamCandidate *c = &b->candidate[i];
        size_t slot = parents[c->parent].slot;
        b->next[i] = (BeamLive){.slot = slot, .moves = b->taken[slot], .token = c->token, .log_p = c->log_p};
        b->taken[slot] = true;
    }
    for (size_t i = 0; i < children; i++) {
        BeamLive *h = &b->next[i];
        size_t from = h->slot;
        if (h->moves) {
            while (b->taken[free])
                free++;
            b->taken[free] = true;
            h->slot = free;
            b->move[b->move_count++] = (BeamMove){first + from, first + free};
        }
        *node_of(b, s, b->steps, h->slot) = (BeamNode){h->token, (uint32_t)from, b->candidate[i].value};
    }
    memcpy(live_of(b, s), b->next, children * sizeof *b->next);
    b->sentence[s].live = children;
}

/* The exact rule: nothing that is live could become one of the best. */
static bool is_over(const Beams *b, size_t s)
{
    const BeamSentence *it = &b->sentence[s];
    return it->live && it->ended >= b->options.best &&
           ended_of(b, s)[b->options.best - 1].score >= live_of(b, s)->log_p / b->penalty[it->most + 1];
}

static void step_sentence(Beams *b, size_t s, const Scores *scores)
{
    size_t count = find_candidates(b, s, b->options.beam - b->sentence[s].ended, scores), children = 0;
    for (size_t i = 0; i < count; i++) {
        if (b->candidate[i].token == b->options.end)
            add_ended(b, s, &b->candidate[i]);
        else
            b->candidate[children++] = b->candidate[i];
    }
    place_children(b, s, children);
    if (is_over(b, s))
        b->sentence[s].live = 0;
}

void beams_step(Beams *b, const int32_t *which, const double *values, const double *ends)
{
    const Scores scores = {which, values, ends};
    size_t moves = 0;
    b->move_count = 0;
    for (size_t s = 0; s < b->count; s++, moves = b->move_count) {
        if (b->sentence[s].live)
            step_sentence(b, s, &scores);
        if (!b->sentence[s].live) /* it moves nowhere any more */
            b->move_count = moves;
    }
    b->steps++;
    list_rows(b);
}

/* ---- what was found */

size_t beams_found(const Beams *b, size_t s)
{
    return b->sentence[s].ended < b->options.best ? b->sentence[s].ended : b->options.best;
}

Hypothesis beams_hypothesis(const Beams *b, size_t s, size_t i, int32_t *pieces, double *log_each)
{
    const BeamEnded *it = ended_of(b, s) + i;
    size_t slot = it->slot;
    assert(i < b->sentence[s].ended);
    log_each[it->length] = it->log_end;
    for (size_t n = it->length; n-- > 0;) {
        const BeamNode *node = node_of(b, s, n, slot);
        pieces[n] = node->token;
        log_each[n] = node->value;
        slot = node->parent;
    }
    return (Hypothesis){it->length, pieces, log_each, it->log_p, it->score};
}
