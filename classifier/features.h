/* Which words and which pairs of neighbouring words a text has: what counting classifiers look at. */
#ifndef CLASSIFIER_FEATURES_H
#define CLASSIFIER_FEATURES_H

#include "classifier/corpus.h"

/* A word or a pair, where the hash table has it. */
typedef struct Feature {
    uint64_t key; /* numbers of two words, the first in the high half, or of one word; 0: a free place */
    uint32_t id;
    uint32_t seen; /* in which text it was met last: each counts once in a text */
} Feature;

typedef struct Features {
    size_t count; /* numbered from 0 as they are met */
    Feature *slots;
    size_t slot_count; /* a power of two */
    uint32_t texts;
} Features;

bool features_open(Features *f, Error *e);
void features_close(Features *f);

/* Texts as lists of features: those of text i are features[start[i]] .. features[start[i+1]-1]. */
typedef struct FeatureRows {
    size_t count, *start;
    uint32_t *features;
    int32_t *labels; /* [count] */
    size_t capacity;
} FeatureRows;

/* Rows of these texts of a corpus. learn: new features are numbered; otherwise they are left out. */
bool feature_rows_make(FeatureRows *rows, Features *f, const Corpus *c, const size_t *texts, size_t count, bool learn,
                       Error *e);
void feature_rows_close(FeatureRows *rows);

#endif
