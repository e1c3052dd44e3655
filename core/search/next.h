/* What continues a hypothesis, decided on the host from all of a row's log p: for what a device cannot decide, which
 * returns the likeliest tokens alone (`choices` in kernels/operations.h). In this order:
 *
 *     ensemble     p(token) is the mean of the networks' p(token)
 *     prefix       as long as a translation is shorter than what it has to begin with, only the next token of that is
 *                  allowed
 *     rule         what a program forbids is not allowed
 *     no_repeat n  a token is not allowed that would make n tokens in a row which the translation has already (Paulus
 *                  et al. 2018); </s> always is
 *     drawn        of what is allowed a token is drawn (sampler.h); without, the likeliest `beam` are taken
 *
 * What is not allowed has log p = -INFINITY; other values stay those of the network, so log p of a translation is what
 * the network says of it, whatever has limited the choice. Random numbers depend on the seed, the sentence, the number of
 * tokens before and the hypothesis's slot, not on what is translated together. */
#ifndef CORE_SEARCH_NEXT_H
#define CORE_SEARCH_NEXT_H

#include "core/search/sampler.h"

typedef struct NextRow NextRow;

/* Sets log_p [words] of what may not continue a row to -INFINITY. It leaves something, if only </s>. */
typedef struct NextRule {
    void (*forbid)(const void *rule, const NextRow *row, double *log_p); /* NULL: there is none */
    const void *rule;
} NextRule;

typedef struct NextOptions {
    bool prefixes; /* sentences may have them */
    NextRule rule;
    size_t no_repeat; /* n; 0: all may be repeated */
    bool drawn;
    SamplerOptions how; /* where it is */
    uint32_t seed;
} NextOptions;

/* A live hypothesis. */
struct NextRow {
    const int32_t *tokens; /* [count] before it */
    size_t count;
    const int32_t *prefix; /* [prefix_count] what it has to begin with */
    size_t prefix_count;
    uint32_t sentence, slot; /* which of all, and of those of its sentence */
    size_t most;             /* tokens that it may have */
    const void *about;       /* what a rule knows of its sentence */
};

/* A worker's. */
typedef struct Next {
    NextOptions options;
    size_t words;
    int32_t end;
    double *log_p;     /* [words] of the row */
    double *p, *share; /* [words] of several networks: the mean so far; of the last one, up to a factor */
    Sampler sampler;
} Next;

bool next_open(Next *n, const NextOptions *o, size_t words, int32_t end, Error *e);
void next_close(Next *n);

/* logits [words] are those of network `i` of all `networks`: the first one begins a row. */
void next_add(Next *n, const double *logits, size_t i, size_t networks);

/* The tokens that continue it, `count` of them or, after the last, -1; and log p of each. */
void next_choose(Next *n, const NextRow *row, size_t count, int32_t *which, double *values);

#endif
