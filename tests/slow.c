/* See slow.h. */
#include "tests/slow.h"

#include "base/memory.h"
#include "tests/suite.h"

#include <math.h>
#include <stdlib.h>

double slow_score(double log_p, size_t pieces, double alpha)
{
    return log_p / pow((5 + (double)(pieces + 1)) / 6, alpha);
}

typedef struct Continuation {
    Sequence h;
    int32_t token;
    size_t parent;
} Continuation;

static int by_rule(const void *a, const void *b)
{
    const Continuation *x = a, *y = b;
    if (x->h.log_p != y->h.log_p)
        return x->h.log_p > y->h.log_p ? -1 : 1;
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

size_t slow_search(const Language *l, size_t s, const BeamOptions *o, size_t most, Sequence *found)
{
    Sequence live[SLOW_BEAM] = {{.length = 0}};
    Continuation *all = memory_get(o->beam * l->words, sizeof *all);
    double *log_p = memory_get(l->words, sizeof *log_p);
    size_t lives = 1, count = 0;
    ck_assert(all && log_p && o->beam <= SLOW_BEAM && most <= SLOW_LONGEST);
    for (size_t step = 0; step <= most; step++) {
        size_t n = 0, width = o->beam - count;
        for (size_t i = 0; i < lives; i++) {
            l->next(l->self, s, live[i].piece, step, log_p);
            for (size_t j = 0; j < l->words; j++)
                if (step < most || (int32_t)j == o->end) {
                    all[n] = (Continuation){live[i], (int32_t)j, i};
                    all[n++].h.log_p += log_p[j];
                }
        }
        qsort(all, n, sizeof *all, by_rule);
        lives = 0;
        for (size_t i = 0; i < n && i < width; i++) {
            Sequence h = all[i].h;
            if (all[i].token != o->end) {
                h.piece[h.length++] = all[i].token;
                live[lives++] = h;
            } else {
                h.score = slow_score(h.log_p, h.length, o->alpha);
                add(found, count++, h);
            }
        }
    }
    memory_free(all);
    memory_free(log_p);
    return count < o->best ? count : o->best;
}

Sequence slow_greedy(const Language *l, size_t s, const BeamOptions *o, size_t most)
{
    Sequence h = {.length = 0};
    double *log_p = memory_get(l->words, sizeof *log_p);
    ck_assert_ptr_nonnull(log_p);
    for (;;) {
        int32_t best = h.length == most ? o->end : 0;
        l->next(l->self, s, h.piece, h.length, log_p);
        for (size_t j = 0; j < l->words && h.length < most; j++)
            best = log_p[j] > log_p[best] ? (int32_t)j : best;
        h.log_p += log_p[best];
        if (best == o->end)
            break;
        h.piece[h.length++] = best;
    }
    h.score = slow_score(h.log_p, h.length, o->alpha);
    memory_free(log_p);
    return h;
}
