/* Texts as they come from their source, with their labels: each a list of numbers of words, whole, with the list of all
 * words. No option of a network bears on it, so that it can be kept (cache.h) and serve all of them. */
#ifndef CLASSIFIER_CORPUS_H
#define CLASSIFIER_CORPUS_H

#include "classifier/text_words.h"
#include "core/text/vocabulary.h"

typedef struct Corpus {
    size_t class_count;
    char **classes;    /* [class_count] sorted by their bytes */
    Vocabulary words;  /* numbered in the order in which they are met */
    size_t count;      /* texts: those to train on, those to test with, those without a label */
    size_t training;   /* how many of them are to train on */
    size_t unlabelled; /* how many have no label */
    int32_t *labels;   /* [count] -1: none */
    size_t *start;     /* [count+1] */
    int32_t *ids;      /* [start[count]] */
    size_t capacity;   /* of ids */
    char sha256[65];   /* of texts, labels and parts */
} Corpus;

/* What a source needs to be told. */
typedef struct CorpusOptions {
    const char *path;                       /* see data.h; NULL: the built-in reviews */
    const char *text_column, *label_column; /* of a table; NULL: "text" and "label" */
    const char *const *classes;             /* NULL: those of the training part */
    size_t class_count;
    WordRule rule;    /* what its words are */
    bool unlabelled;  /* texts without a label are wanted, too; then there may be no classes */
    const char *more; /* and further ones from here; NULL: none */
} CorpusOptions;

/* Reads a source whole. */
bool corpus_read(Corpus *c, const CorpusOptions *o, Error *e);
void corpus_close(Corpus *c);

/* A text with its label, as it is found. */
typedef struct Labelled {
    const char *name, *text, *label; /* name: the file it is in; label NULL: it has none */
    size_t line, size, label_size;   /* line: of a table; 0: the text is a file of its own */
    bool test;
} Labelled;

/* Why a name is none of a class: names stand in lines and between tabs. NULL: it is one. */
const char *class_fault(const char *name, size_t size);

/* Makes a corpus of such texts: those to train on, those to test with, those without a label, each in their order.
 * `source` is to be named in messages. */
bool corpus_make(Corpus *c, const char *source, const Labelled *texts, size_t count, const CorpusOptions *o, Error *e);

#endif
