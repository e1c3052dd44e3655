/* See beam.h. */
#include "core/search/beam.h"

#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* One group of a sentence. */
typedef struct BeamGroup {
    size_t most, live, ended;
} BeamGroup;

typedef struct BeamLive {
    size_t slot; /* within the group */
    size_t row;  /* of the step to come */
    bool moves;  /* there, from its parent's */
    int32_t token;
    double log_p;
} BeamLive;

typedef struct BeamEnded {
    size_t group, length, slot; /* slot of its last token */
    double log_end, log_p, score;
} BeamEnded;

typedef struct BeamNode {
    int32_t token;
    uint32_t parent; /* slot of the token before it */
    double value;    /* log p */
} BeamNode;

/* A continuation; parent: its index among the live ones; penalty: of a token that earlier groups have taken. */
typedef struct BeamCandidate {
    int32_t token;
    size_t parent;
    double value, log_p, penalty;
} BeamCandidate;

bool beams_open(Beams *b, const BeamOptions *o, size_t sentences, size_t longest, Error *e)
{
    const size_t slots = sentences * o->beam, groups = o->groups ? o->groups : 1, width = o->beam / groups;
    assert(o->best >= 1 && o->best <= o->beam && o->alpha >= 0 && o->beam % groups == 0 && o->diversity >= 0);
    assert(!o->full || (groups == 1 && !o->drawn));
    *b = (Beams){.options = *o, .groups = groups, .width = width, .sentences = sentences, .longest = longest};
    b->row = memory_get(slots, sizeof *b->row);
    b->move = memory_get(slots, sizeof *b->move);
    b->group = memory_get(sentences * groups, sizeof *b->group);
    b->live = memory_get(slots, sizeof *b->live);
    b->ended = memory_get(slots, sizeof *b->ended);
    b->node = memory_get(slots * longest, sizeof *b->node);
    b->next = memory_get(width, sizeof *b->next);
    b->candidate = memory_get(o->full ? 2 * width : width, sizeof *b->candidate);
    b->taken = memory_get(width, sizeof *b->taken);
    b->rank = memory_get(width, sizeof *b->rank);
    b->chosen = memory_get(o->beam, sizeof *b->chosen);
    b->penalty = memory_get(longest + 2, sizeof *b->penalty);
    if (!b->row || !b->move || !b->group || !b->live || !b->ended || !b->node || !b->next || !b->candidate ||
        !b->taken || !b->rank || !b->chosen || !b->penalty) {
        beams_close(b);
        return memory_error(e, "hypotheses of a beam search", slots * longest, sizeof *b->node);
    }
    b->penalty[0] = 0;
    for (size_t n = 1; n < longest + 2; n++) /* it never falls, however pow rounds */
        b->penalty[n] = fmax(pow(o->full ? (double)n : (5 + (double)n) / 6, o->alpha), b->penalty[n - 1]);
    return true;
}

void beams_close(Beams *b)
{
    memory_free(b->row);
    memory_free(b->move);
    memory_free(b->group);
    memory_free(b->live);
    memory_free(b->ended);
    memory_free(b->node);
    memory_free(b->next);
    memory_free(b->candidate);
    memory_free(b->taken);
    memory_free(b->rank);
    memory_free(b->chosen);
    memory_free(b->penalty);
    *b = (Beams){0};
}

static BeamLive *live_of(const Beams *b, size_t g) { return b->live + g * b->width; }

/* What has ended in the sentence of a group. */
static BeamEnded *ended_of(const Beams *b, size_t g) { return b->ended + g / b->groups * b->options.beam; }

static size_t count_ended(const Beams *b, size_t s)
{
    size_t count = 0;
    for (size_t g = s * b->groups; g < (s + 1) * b->groups; g++)
        count += b->group[g].ended;
    return count;
}

/* How token number `step` came into a slot of a group. */
static BeamNode *node_of(const Beams *b, size_t g, size_t step, size_t slot)
{
    return b->node + (g * b->longest + step) * b->width + slot;
}

/* Rows of all that is live, by slot. */
static void list_rows(Beams *b)
{
    const size_t width = b->width;
    b->row_count = 0;
    for (size_t g = 0; g < b->count * b->groups; g++) {
        BeamLive *live = live_of(b, g);
        for (size_t i = 0; i < b->group[g].live; i++)
            b->rank[live[i].slot] = i + 1;
        for (size_t slot = 0; b->group[g].live && slot < width; slot++)
            if (b->rank[slot]) {
                BeamLive *h = &live[b->rank[slot] - 1];
                h->row = b->row_count;
                b->row[b->row_count++] = (BeamRow){g * width + slot, h->token};
                b->rank[slot] = 0;
            }
    }
}

void beams_begin(Beams *b, const size_t *most, size_t count)
{
    assert(count <= b->sentences);
    b->count = count;
    b->steps = b->move_count = 0;
    for (size_t g = 0; g < count * b->groups; g++) {
        const size_t longest = most[g / b->groups];
        assert(longest <= b->longest);
        b->group[g] = (BeamGroup){.most = longest, .live = 1};
        *live_of(b, g) = (BeamLive){.token = -1};
    }
    list_rows(b);
}

/* ---- one step of one group */

/* Candidate c comes before d. */
static bool before(const BeamCandidate *c, const BeamCandidate *d)
{
    const double x = c->log_p - c->penalty, y = d->log_p - d->penalty;
    if (x != y)
        return x > y;
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

/* What a token costs that earlier groups of the sentence have taken in this step. */
static double penalty_of(const Beams *b, int32_t token)
{
    size_t times = 0;
    for (size_t i = 0; i < b->chosen_count; i++)
        times += b->chosen[i] == token;
    return (double)times * b->options.diversity;
}

/* The likeliest continuations of a group's live hypotheses, at most `width`; or those that were drawn. */
static size_t find_candidates(const Beams *b, size_t g, size_t width, const Scores *scores)
{
    const size_t choices = beam_choices(&b->options);
    const bool last = b->steps == b->group[g].most, drawn = b->options.drawn;
    const size_t each = (drawn && b->steps) || (last && !drawn) ? 1 : choices;
    size_t count = 0;
    for (size_t i = 0; i < b->group[g].live; i++) {
        const BeamLive *h = live_of(b, g) + i;
        for (size_t m = 0; m < each; m++) {
            BeamCandidate c = {.token = last ? b->options.end : scores->which[h->row * choices + m],
                               .parent = i,
                               .value = last ? scores->ends[h->row] : scores->values[h->row * choices + m]};
            if (last && b->options.full)
                c.value = 0;
            c.value = c.value > 0 ? 0 : c.value;
            c.penalty = penalty_of(b, c.token);
            c.log_p = h->log_p + c.value;
            if (c.token >= 0)
                count = insert(b->candidate, count, width, &c);
        }
    }
    return count;
}

/* After those with equal scores: they ended earlier, or were likelier. Where there is no place left, the worst one goes. */
static void add_ended(Beams *b, size_t g, const BeamCandidate *c)
{
    BeamEnded *list = ended_of(b, g);
    const double score = c->log_p / b->penalty[b->steps + 1];
    size_t at = count_ended(b, g / b->groups);
    if (at == b->options.beam && !(score > list[at - 1].score))
        return;
    if (at == b->options.beam)
        at--;
    else
        b->group[g].ended++;
    for (; at > 0 && list[at - 1].score < score; at--)
        list[at] = list[at - 1];
    list[at] = (BeamEnded){g, b->steps, live_of(b, g)[c->parent].slot, c->value, c->log_p, score};
}

/* Children become the live ones. The first of each parent stays in its slot; the others move to the first that are
 * free, none of which is moved from, because its own first child would have stayed there. */
static void place_children(Beams *b, size_t g, size_t children)
{
    const BeamLive *parents = live_of(b, g);
    size_t free = 0, first = g * b->width;
    for (size_t slot = 0; slot < b->width; slot++)
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
        *node_of(b, g, b->steps, h->slot) = (BeamNode){h->token, (uint32_t)from, b->candidate[i].value};
    }
    memcpy(live_of(b, g), b->next, children * sizeof *b->next);
    b->group[g].live = children;
}

/* The score that a live hypothesis of a group must exceed to be among the best; -INFINITY: any will do. */
static double score_to_beat(const Beams *b, size_t g)
{
    const size_t best = b->options.best < b->width ? b->options.best : b->width;
    const BeamEnded *list = ended_of(b, g);
    size_t seen = 0;
    if (b->group[g].ended < best)
        return (double)-INFINITY;
    for (;; list++)
        if (list->group == g && ++seen == best)
            return list->score;
}

/* The exact rule: nothing that is live could become one of the best. */
static bool is_over(const Beams *b, size_t g)
{
    const BeamGroup *it = &b->group[g];
    if (b->options.full && it->live)
        return it->ended == b->options.beam &&
               !(live_of(b, g)->log_p / b->penalty[b->steps + 1] > ended_of(b, g)[it->ended - 1].score);
    return !it->live || score_to_beat(b, g) >= live_of(b, g)->log_p / b->penalty[it->most + 1];
}

/* A beam that stays full: what has ended is among the first `beam`, and as many live on. */
static void step_full(Beams *b, size_t g, const Scores *scores)
{
    const size_t beam = b->options.beam, count = find_candidates(b, g, 2 * beam, scores);
    size_t children = 0;
    for (size_t i = 0; i < count; i++) {
        const bool ends = b->candidate[i].token == b->options.end;
        if (ends && i < beam)
            add_ended(b, g, &b->candidate[i]);
        if (!ends && children < beam)
            b->candidate[children++] = b->candidate[i];
    }
    place_children(b, g, children);
}

static void step_group(Beams *b, size_t g, const Scores *scores)
{
    if (b->options.full) {
        step_full(b, g, scores);
        return;
    }
    size_t count = find_candidates(b, g, b->width - b->group[g].ended, scores), children = 0;
    for (size_t i = 0; i < count; i++) {
        b->chosen[b->chosen_count++] = b->candidate[i].token;
        if (b->candidate[i].token == b->options.end)
            add_ended(b, g, &b->candidate[i]);
        else
            b->candidate[children++] = b->candidate[i];
    }
    place_children(b, g, children);
}

/* A sentence is over when all of its groups are; until then what is live in one counts for those after it. */
static void step_sentence(Beams *b, size_t s, const Scores *scores)
{
    const size_t first = s * b->groups, end = first + b->groups, moves = b->move_count;
    bool over = true;
    b->chosen_count = 0;
    for (size_t g = first; g < end; g++) {
        if (b->group[g].live)
            step_group(b, g, scores);
        over = over && is_over(b, g);
    }
    if (!over)
        return;
    b->move_count = moves; /* it moves nowhere any more */
    for (size_t g = first; g < end; g++)
        b->group[g].live = 0;
}

void beams_step(Beams *b, const int32_t *which, const double *values, const double *ends)
{
    const Scores scores = {which, values, ends};
    b->move_count = 0;
    for (size_t s = 0; s < b->count; s++)
        step_sentence(b, s, &scores);
    b->steps++;
    list_rows(b);
}

/* ---- what was found */

/* The `count` tokens of which the last is in a slot, and log p of each; log_each may be NULL. */
static void trace(const Beams *b, size_t g, size_t slot, size_t count, int32_t *tokens, double *log_each)
{
    for (size_t n = count; n-- > 0;) {
        const BeamNode *node = node_of(b, g, n, slot);
        tokens[n] = node->token;
        if (log_each)
            log_each[n] = node->value;
        slot = node->parent;
    }
}

void beams_tokens(const Beams *b, size_t row, int32_t *tokens)
{
    const size_t slot = b->row[row].slot;
    trace(b, slot / b->width, slot % b->width, b->steps, tokens, NULL);
}

size_t beams_found(const Beams *b, size_t s)
{
    const size_t ended = count_ended(b, s);
    return ended < b->options.best ? ended : b->options.best;
}

Hypothesis beams_hypothesis(const Beams *b, size_t s, size_t i, int32_t *tokens, double *log_each)
{
    const BeamEnded *it = ended_of(b, s * b->groups) + i;
    assert(i < count_ended(b, s));
    trace(b, it->group, it->slot, it->length, tokens, log_each);
    log_each[it->length] = it->log_end;
    return (Hypothesis){it->length, tokens, log_each, it->log_p, it->score};
}
