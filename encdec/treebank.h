/* A treebank: phrase structure trees of sentences, in the bracketed files of the Penn Treebank (.mrg), from a folder, an
 * archive or one file.
 *
 * Where there are files of section 23 (wsj_23NN.mrg), the parts are the usual ones: sections 2 to 21 to train on, 22 to
 * validate with, 23 to test with. Otherwise files are in the order of their names: the first eight of ten, the ninth, the
 * last; of one file, its trees likewise. */
#ifndef ENCDEC_TREEBANK_H
#define ENCDEC_TREEBANK_H

#include "core/program/split.h"
#include "core/text/tree.h"
#include "encdec/lines.h"

typedef struct TreebankPart {
    Tree **tree;
    size_t count;
} TreebankPart;

typedef struct Treebank {
    Tree **tree; /* [count] of all parts, one after the other, and then of none */
    size_t count, capacity;
    TreebankPart part[SPLITS];
} Treebank;

/* To be closed even if it fails. */
bool treebank_open(Treebank *b, const char *path, const TreeCleaning *how, Error *e);
void treebank_close(Treebank *b);

/* Makes a sentence of what a parser is given: words as a treebank has them (core/text/treebank_words.h). Where they are
 * not to be split, brackets alone are: -LRB- and -RRB-. Adds it to `out`. */
void treebank_sentence(Line line, bool split, Buffer *out);

/* The same with all lines. */
bool treebank_sentences(Lines *lines, bool split, Error *e);

#endif
