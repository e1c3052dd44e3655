/* How well trees agree with those of a treebank: labelled precision, recall and F1 of brackets, as EVALB counts them with
 * its parameter file COLLINS.prm (Sekine, Collins 1997).
 *
 *     words        leaves whose tag is punctuation (, : `` '' .) or -NONE- are left out, in either tree by its own tags
 *     a bracket    label, first and last word of a constituent that has such words, unless it is TOP; the label up to a -
 *                  or =, and PRT is ADVP. A leaf is none
 *     matched      brackets of one tree for which there is one in the other, each used once
 *     tags         of the words left
 *
 * Where the words that are left differ, which also happens when one tree calls a comma a noun, a sentence is an error and
 * does not count; where the parser's tree has none of them, it is skipped. */
#ifndef CORE_TEXT_BRACKETS_H
#define CORE_TEXT_BRACKETS_H

#include "core/text/tree.h"

typedef struct BracketScore {
    size_t sentences, errors, skipped; /* the latter two are among the former */
    size_t gold, found, matched;       /* brackets */
    size_t complete;                   /* sentences whose brackets all match */
    size_t words, tags;                /* of these, with the right tag */
} BracketScore;

/* Adds a sentence. False only without memory. */
bool brackets_add(BracketScore *s, const Tree *gold, const Tree *found, Error *e);

/* In percent; NaN where nothing was counted. */
double brackets_precision(const BracketScore *s);
double brackets_recall(const BracketScore *s);
double brackets_f1(const BracketScore *s);
double brackets_complete(const BracketScore *s);
double brackets_tags(const BracketScore *s);

#endif
