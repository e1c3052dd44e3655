/* Where pairs of sentences come from. A source has a training part and may have one to validate and one to test with;
 * of each part, line i of one side belongs to line i of the other. It is one of
 *
 *   - a folder or an archive with {train,valid,val,dev,test*}.LANG in it, packed one by one or not;
 *   - a prefix P: P.LANG alone, packed or not, to train on;
 *   - files by name, one a part and side, instead of or beside any other;
 *   - a table: with a header that names both languages (see core/text/csv.h), or two plain columns between tabs, source
 *     first (a third one is not read); all of it to train on;
 *   - none: the built-in sentences;
 *   - a treebank (treebank.h), where that is said.
 *
 * Where nothing is there to validate with, some of the training part is held out. */
#ifndef ENCDEC_SOURCE_H
#define ENCDEC_SOURCE_H

#include "core/program/split.h"
#include "core/text/tree_tokens.h"
#include "encdec/lines.h"

#include <stdint.h>

enum { SOURCE, TARGET, SIDES_USED };

/* Sentences and their trees (core/text/tree_tokens.h): see source_trees.c. */
typedef struct TreesOptions {
    TreeCleaning cleaning;
    TreeLeaves leaves;
    size_t count;      /* trees of the training part, spread evenly over it; 0: all */
    const char *more;  /* a file, folder or archive of trees to train on besides; NULL: none */
    size_t recombined; /* how many trees to make of each one that is trained on */
} TreesOptions;

typedef struct SourceOptions {
    const char *path;                     /* NULL: no folder, prefix or table */
    const char *file[SPLITS][SIDES_USED]; /* NULL: not by name */
    const char *language[SIDES_USED];
    uint32_t seed; /* which pairs are held out, where that is so */
    bool test;     /* whether the test part is wanted; otherwise it is not read */
    bool treebank; /* the path is one, and */
    TreesOptions trees;
} SourceOptions;

typedef struct Sentences {
    Lines side[SPLITS][SIDES_USED];
    size_t made;     /* the last this many of the training part were made of the others, and show no new word */
    bool held_out;   /* the valid part is from the training part: one pair in 20, but no more than 1000 */
    char sha256[65]; /* of the training part and the valid part; the same however they are packed */
    size_t bytes;    /* of these */
} Sentences;

/* What sentences_read does with the text of a table, which is written into, */
bool sentences_of_table(Sentences *s, const SourceOptions *o, char *text, size_t size, Error *e);

/* and with a treebank. */
bool sentences_of_trees(Sentences *s, const SourceOptions *o, Error *e);
bool sentences_recombine(Sentences *s, const SourceOptions *o, Error *e);

bool sentences_read(Sentences *s, const SourceOptions *o, Error *e);
void sentences_close(Sentences *s);

#endif
