/* Labelled texts as ids of tokens, and their parts.
 *
 * A source is one of
 *   - the Large Movie Review Dataset as it is published, packed (.tar.gz, .tar.xz, .zip ...) or as a folder; of it,
 *     train/{pos,neg} and test/{pos,neg} are read, not unsup;
 *   - a folder (or an archive) for each class, with or without train/ and test/ above them; unsup is no class;
 *   - a table (.csv, .tsv) with a column of texts and one of labels, or train.csv and test.csv in a folder or archive;
 *     such names, and those of train/ and test/, may be in capitals and, where there are both parts, may end in -train,
 *     _train or .train instead; of a part there may be several tables, train-1.csv or train-00000-of-00002.csv;
 *   - none: the built-in reviews of builtin.h.
 * Classes are sorted by the bytes of their names, so neg is class 0 and pos is class 1. Texts are in the order of their
 * names (in a table: of its lines), whatever packs them: the same texts give the same ids and the same checksum.
 *
 * Held out for validation is a fifth of the training part, of each class a fifth, drawn by the seed: of IMDb 5,000 of
 * 25,000. Under `final` nothing is held out. A source that has a validation part of its own is refused. The vocabulary
 * is that of what is trained on, and of nothing else.
 *
 * Pretraining needs no labels. Texts without one, train/unsup and those of a second source, are trained on, too, and so
 * may be a folder of any files, or a file in which empty lines part texts, or where there are none each line is one.
 * Where nothing has a label, a twentieth is held out. A longer text than a network reads is several there. */
#ifndef CLASSIFIER_DATA_H
#define CLASSIFIER_DATA_H

#include "classifier/cache.h"
#include "classifier/tokens.h"
#include "core/program/split.h"

typedef struct ReviewsOptions {
    const char *path;                       /* NULL: the built-in reviews */
    const char *text_column, *label_column; /* of a table; NULL: "text" and "label" */
    TokensOptions vocabulary;               /* to be made of what is trained on */
    size_t length;                          /* a longer text is cut after this many tokens; 0: never */
    uint32_t seed;                          /* which texts are held out */
    bool final;                             /* none are */
    size_t examples;                        /* texts to train on, of each class alike, drawn by the seed; 0: all */
    bool pretrain;                          /* texts without labels, too, and all of a longer text, in several parts */
    const char *unlabelled;                 /* further texts for that; NULL: none */
    bool no_cache;                          /* neither read nor write one; see cache.h */
    const Tokens *tokens;       /* a run's, instead of those that are made here; they must outlive the call only */
    const char *const *classes; /* a run's classes, where it is scored on other texts; NULL: those found */
    size_t class_count;
} ReviewsOptions;

/* Text i of a part is ids[start[i]] .. ids[start[i+1]-1], at least one: an empty text is one unknown token. */
typedef struct Texts {
    size_t count;
    const int32_t *ids;
    const size_t *start;   /* [count+1] */
    const int32_t *labels; /* [count] -1: none */
    const size_t *source;  /* [count] which text of the corpus it is */
    size_t cut;            /* texts that were longer than `length` */
} Texts;

typedef struct Reviews {
    size_t class_count;
    char *const *classes; /* [class_count] names */
    Tokens tokens;
    char sha256[65]; /* of the texts and their labels; the same however they are packed */
    CacheUse cached; /* whether a cache was of use */

    Corpus corpus; /* all texts, whole, by numbers of all words: what the baselines read */
    Texts parts[SPLITS];
    int32_t *ids, *labels; /* what `parts` point to */
    size_t *start, *source;
} Reviews;

bool reviews_open(Reviews *r, const ReviewsOptions *o, Error *e);
void reviews_close(Reviews *r);

static inline const Texts *reviews_part(const Reviews *r, Split part) { return &r->parts[part]; }

/* False, and what to do, when a part has no texts. */
bool reviews_suits(const Reviews *r, Split part, Error *e);

/* How many texts of a part have each label: counts [class_count]. */
void reviews_balance(const Reviews *r, Split part, size_t *counts);

/* One text that a user typed: at most `length` ids (0: any number), to be freed with memory_free, at least one; *cut
 * is how many tokens had to go. */
bool text_to_ids(const Tokens *t, const char *text, size_t size, size_t length, int32_t **ids, size_t *count,
                 size_t *cut, Error *e);

/* Marks a fifth of the texts, of each class a fifth (rounded), drawn by the seed. */
bool hold_out(const int32_t *labels, size_t count, size_t classes, uint32_t seed, bool *held_out, Error *e);

#endif
