/* See slow.h. */
#include "tests/slow.h"

#include "base/memory.h"
#include "tests/suite.h"

#include <math.h>
#include <stdlib.h>

double slow_score(double log_p, size_t tokens, double alpha)
{
    return log_p / pow((5 + (double)(tokens + 1)) / 6, alpha);
}

typedef struct Continuation {
    Sequence h;
    int32_t token;
    size_t parent;
    double order; /* log p less what its token costs */
} Continuation;

static int by_rule(const void *a, const void *b)
{
    const Continuation *x = a, *y = b;
    if (x->order != y->order)
        return x->order > y->order ? -1 : 1;
    if (x->token != y->token)
        return x->token < y->token ? -1 : 1;
    return x->parent < y->parent ? -1 : x->parent > y->parent;
}

/* After equal scores, which ended earlier. */
static void add(Sequence *found, size_t count, Sequence h)
{
    for (; count > 0 && found[count - 1].score < h.score; count--)
        found[count] = found[count - 1];
    found[count] = h;
}

/* A group: its live hypotheses, and how many have ended. */
typedef struct Group {
    Sequence live[SLOW_BEAM];
    size_t lives, ended;
} Group;

/* Continuations of a group in a step, in order of their log p less what tokens cost; returns how many. */
static size_t continuations(const Language *l, size_t s, const BeamOptions *o, const Group *g, const double *costs,
                            bool full, Continuation *all)
{
    double *log_p = memory_get(l->words, sizeof *log_p);
    size_t n = 0;
    ck_assert_ptr_nonnull(log_p);
    for (size_t i = 0; i < g->lives; i++) {
        l->next(l->self, s, g->live[i].tokens, g->live[i].length, log_p);
        for (size_t j = 0; j < l->words; j++)
            if (log_p[j] > (double)-INFINITY && (!full || (int32_t)j == o->end)) {
                all[n] = (Continuation){.h = g->live[i], .token = (int32_t)j, .parent = i};
                all[n].h.log_p += log_p[j];
                all[n].order = all[n].h.log_p - costs[j];
                n++;
            }
    }
    memory_free(log_p);
    qsort(all, n, sizeof *all, by_rule);
    return n;
}

size_t slow_search(const Language *l, size_t s, const BeamOptions *o, size_t most, Sequence *found)
{
    const size_t groups = o->groups ? o->groups : 1, width = o->beam / groups;
    Group *group = memory_get(groups, sizeof *group);
    Continuation *all = memory_get(width * l->words, sizeof *all);
    double *costs = memory_get(l->words, sizeof *costs);
    size_t count = 0;
    ck_assert(group && all && costs && o->beam <= SLOW_BEAM && most <= SLOW_LONGEST);
    for (size_t g = 0; g < groups; g++)
        group[g].lives = 1;
    for (size_t step = 0; step <= most; step++) {
        for (size_t j = 0; j < l->words; j++)
            costs[j] = 0;
        for (size_t g = 0; g < groups; g++) {
            size_t n = continuations(l, s, o, &group[g], costs, step == most, all);
            size_t capacity = width - group[g].ended;
            group[g].lives = 0;
            for (size_t i = 0; i < n && i < capacity; i++) {
                Sequence h = all[i].h;
                costs[all[i].token] += o->diversity;
                if (all[i].token != o->end) {
                    h.tokens[h.length++] = all[i].token;
                    group[g].live[group[g].lives++] = h;
                } else {
                    h.score = slow_score(h.log_p, h.length, o->alpha);
                    add(found, count++, h);
                    group[g].ended++;
                }
            }
        }
    }
    memory_free(group);
    memory_free(all);
    memory_free(costs);
    return count < o->best ? count : o->best;
}

Sequence slow_greedy(const Language *l, size_t s, const BeamOptions *o, size_t most)
{
    Sequence h = {.length = 0};
    double *log_p = memory_get(l->words, sizeof *log_p);
    ck_assert_ptr_nonnull(log_p);
    for (;;) {
        int32_t best = h.length == most ? o->end : 0;
        l->next(l->self, s, h.tokens, h.length, log_p);
        for (size_t j = 0; j < l->words && h.length < most; j++)
            best = log_p[j] > log_p[best] ? (int32_t)j : best;
        h.log_p += log_p[best];
        if (best == o->end)
            break;
        h.tokens[h.length++] = best;
    }
    h.score = slow_score(h.log_p, h.length, o->alpha);
    memory_free(log_p);
    return h;
}
