/* Labelled texts as they come from their source: each a list of numbers of words, whole, with the list of all words. No
 * option of a network bears on it, so that it can be kept (cache.h) and serve all of them. */
#ifndef CLASSIFIER_CORPUS_H
#define CLASSIFIER_CORPUS_H

#include "core/text/vocabulary.h"

typedef struct Corpus {
    size_t class_count;
    char **classes;   /* [class_count] sorted by their bytes */
    Vocabulary words; /* numbered in the order in which they are met */
    size_t count;     /* texts: those to train on, then those to test with */
    size_t training;  /* how many of them are to train on */
    int32_t *labels;  /* [count] */
    size_t *start;    /* [count+1] */
    int32_t *ids;     /* [start[count]] */
    char sha256[65];  /* of texts, labels and parts */
} Corpus;

/* Where a corpus came from: its source, or a cache of it, and why not. */
typedef enum CacheUse { CACHE_NOT_USED, CACHE_READ, CACHE_WRITTEN, CACHE_REPLACED, CACHE_NOT_WRITTEN } CacheUse;

/* What a source needs to be told. classes NULL: those of the training part. */
typedef struct CorpusOptions {
    const char *path, *text_column, *label_column;
    const char *const *classes;
    size_t class_count;
} CorpusOptions;

bool corpus_read(Corpus *c, const CorpusOptions *o, Error *e);
void corpus_close(Corpus *c);

#endif
