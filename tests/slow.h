/* Beam search as one would explain it: whole hypotheses are copied, all continuations sorted, and nothing stops early.
 * What core/search/beam.h finds must be this. */
#ifndef TESTS_SLOW_H
#define TESTS_SLOW_H

#include "core/search/beam.h"

enum { SLOW_LONGEST = 40, SLOW_BEAM = 64 };

typedef struct Sequence {
    int32_t tokens[SLOW_LONGEST];
    size_t length;
    double log_p, score;
    uint32_t slot; /* where it was drawn */
    int32_t last;  /* and what was drawn last */
} Sequence;

typedef struct Language {
    void *self;
    size_t words;
    /* log p [words] of each next token of sentence s after n tokens */
    void (*next)(void *self, size_t s, const int32_t *prefix, size_t n, double *log_p);
} Language;

double slow_score(double log_p, size_t tokens, double alpha);

/* The best translations of sentence s of at most `most` tokens; returns how many. found: [o->beam]. */
size_t slow_search(const Language *l, size_t s, const BeamOptions *o, size_t most, Sequence *found);

/* The sequence that takes the likeliest token each time. */
Sequence slow_greedy(const Language *l, size_t s, const BeamOptions *o, size_t most);

#endif
