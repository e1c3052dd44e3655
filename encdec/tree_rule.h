/* Which tokens may continue a tree that is being written (core/text/tree_tokens.h), so that in the end it is well-formed and
 * has the words of its sentence: as many, and marks tagged as marks.
 *
 *     ")X"     shuts only the bracket that was opened last, an "(X" with a word inside; the first one after the last word
 *     a word   only as long as the sentence has more, and inside of a bracket
 *     "(X"     the same, and as long as there is room to shut it
 *     </s>     only after the first bracket was shut
 *
 * Where a sentence is longer than what can be written, nothing is forbidden. */
#ifndef ENCDEC_TREE_RULE_H
#define ENCDEC_TREE_RULE_H

#include "core/search/next.h"
#include "encdec/subwords.h"

typedef struct TreeRule {
    TreeLeaves leaves;
    size_t count;   /* tokens */
    uint8_t *kind;  /* [count] see tree_rule.c */
    int32_t *shuts; /* [count] of a token that shuts: the one that opens; -1: there is none, or it is no such token */
    bool *marks;    /* [count] whether it is the tag of a mark */
} TreeRule;

/* Of a sentence: what it asks of the words of its tree. */
typedef struct TreeWords {
    size_t count;
    const uint8_t *kind; /* [count] see tree_words_kinds */
} TreeWords;

bool tree_rule_open(TreeRule *r, const Subwords *p, TreeLeaves leaves, Error *e);
void tree_rule_close(TreeRule *r);

/* For core/search/next.h: the rule is a TreeRule, what a row is about TreeWords. Where nothing could come, all may. */
void tree_rule_forbid(const void *rule, const NextRow *row, double *log_p);

/* Adds a byte for each word of a sentence: whether it can only be a mark, only a word, or either. */
void tree_words_kinds(Line sentence, Buffer *kinds);

#endif
