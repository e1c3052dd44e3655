/* A probabilistic context-free grammar, read off a treebank (Charniak 1996; Johnson 1998), and its likeliest tree of a
 * sentence: the line that a parser is to beat.
 *
 *     constituents   are annotated with what they are in: the NP of an S is NP^S
 *     rules          A -> B1 ... Bk become A -> B1 X2, X2 -> B2 X3, ...: X remembers A and the one sibling before, so that
 *                    rules that the treebank does not have are possible (Markov order 1)
 *     P(rule)        how often among the rules of A
 *     P(word | tag)  is proportional to P(tag | word) / P(tag), and
 *                    P(tag | word) = (c(tag, word) + k P(tag | class)) / (c(word) + k)
 *                    where the class of a word is its shape and ending, and P(tag | class) is of words met once
 *
 * Parsing is CKY: best[i,j,A] = max over k and rules A -> B C of P(rule) best[i,k,B] best[k,j,C], and then chains of rules
 * A -> B. What is far less likely than the best of its words, P(A) best[i,j,A], is dropped: most of it before it is
 * made, because no rule can make it likely enough. */
#ifndef ENCDEC_GRAMMAR_H
#define ENCDEC_GRAMMAR_H

#include "core/text/tree.h"
#include "core/text/vocabulary.h"

enum { GRAMMAR_LONGEST = 250 }; /* words; the time is their number to the third power */

typedef struct Rule {
    int32_t parent, child; /* child: the right one, or the one below the parent in a chain */
    float p;               /* log */
    float most; /* of two children: p and, of the parent or what a chain makes of it, the largest log P(A) on top */
} Rule;

/* Rules by their left child, those of the largest `most` first; or by the end of a chain. */
typedef struct Rules {
    size_t *start; /* [symbols + 1] */
    Rule *rule;
    size_t count;
} Rules;

typedef struct Grammar {
    Vocabulary symbols; /* of constituents, of parts of rules, and tags */
    Vocabulary words, classes;
    Rules binary, chains;
    Rules of_word, of_class; /* parent: the tag; p: log P(tag | word) / P(tag) */
    float *root;             /* [symbols] log P(A) at the top */
    float *prior;            /* [symbols] log P(A) */
    float most;              /* the largest of all rules of two */
} Grammar;

/* To be closed even if it fails. */
bool grammar_learn(Grammar *g, Tree *const *trees, size_t count, Error *e);
void grammar_close(Grammar *g);

/* The tags that a word may have, as rules' parents; first: it begins a sentence. */
typedef struct TagList {
    const Rule *tag;
    size_t count;
} TagList;
TagList grammar_tags(const Grammar *g, const char *word, bool first);

/* The likeliest of these. */
const char *grammar_tag(const Grammar *g, const char *word, bool first);

/* The likeliest tree of a sentence; a tree without nodes where the grammar has none, or the sentence is too long. */
bool grammar_parse(const Grammar *g, const char *const *words, size_t count, Tree *out, Error *e);

#endif
