/* What a set of texts consists of, as plots/lengths.gp and plots/coverage.gp draw it: how long texts are, and how much
 * of them the most frequent tokens make up. */
#ifndef CORE_PLOT_TEXTS_H
#define CORE_PLOT_TEXTS_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdint.h>

enum { TEXT_LISTS = 4, NOT_KNOWN = -1 };

/* Texts of one part and side: text i has the tokens start[i] .. start[i+1]-1. */
typedef struct TextList {
    const char *name;           /* "train" */
    const int32_t *ids;         /* one of both: */
    const unsigned char *bytes; /* where tokens are bytes */
    const size_t *start;        /* [count+1] */
    size_t count;
    size_t vocabulary; /* lists of one share their ids */
    bool learnt;       /* belongs to what is trained on: tokens are ranked by how often they are there */
} TextList;

typedef struct TextSet {
    TextList list[TEXT_LISTS];
    size_t count;
    size_t kinds;                /* tokens there are; ids are below */
    int32_t unknown;             /* the id of what no vocabulary knows; NOT_KNOWN: there is none */
    size_t reads, knows;         /* what a model reads of a text, tokens in its vocabulary; 0: no matter */
    const char *text, *measured; /* "reviews", "words" */
    void *owned[TEXT_LISTS];     /* freed with the set */
} TextSet;

void texts_close(TextSet *t);

/* Adds a block for each list: how many of its texts, in percent, have from .. to tokens. */
bool texts_lengths(Buffer *b, const TextSet *t, Error *e);

/* Adds a block for each list: how many of its tokens, in percent, are among the 1, 2, 3 .. most frequent ones of what
 * is trained on. */
bool texts_coverage(Buffer *b, const TextSet *t, Error *e);

#endif
