/* F1 of the trees that a model writes for sentences whose trees are known, as EVALB counts it (core/text/brackets.h). */
#ifndef ENCDEC_TREE_EVALUATOR_H
#define ENCDEC_TREE_EVALUATOR_H

#include "core/program/same_texts.h"
#include "core/text/brackets.h"
#include "core/text/tree_tokens.h"
#include "encdec/translating.h"

typedef struct TreeEvaluator {
    Translating *t;
    TreeLeaves leaves;
    BracketScore score; /* of all lines so far */
    TreeRepairs repairs;
    bool keep; /* the counts of each line */
    Each each;
    Tree gold, found;
    Buffer text;
} TreeEvaluator;

void tree_evaluator_close(TreeEvaluator *v);

/* Parses the source of lines, all together, and counts what comes against their target. */
bool tree_evaluator_lines(TreeEvaluator *v, const Lines side[SIDES_USED], Error *e);

/* For people and as members of a JSON object; how: what the lines were parsed by. */
bool tree_evaluator_print(const TreeEvaluator *v, const char *how, Error *e);
void tree_evaluator_add(const TreeEvaluator *v, Buffer *json);

/* A paired bootstrap of F1, against what another run makes of the same lines; both have kept their counts. */
bool tree_evaluator_compare(Versus *o, const TreeEvaluator *v, const App *a, Error *e);

/* The tree of a sentence that a hypothesis says, in t. */
bool tree_of_hypothesis(Tree *t, const Translating *from, const Hypothesis *h, TreeLeaves leaves, Line sentence,
                        Buffer *text, TreeRepairs *r, Error *e);

/* "F1 .. precision .." and its members in JSON. */
void bracket_score_print(Buffer *b, const BracketScore *s);
void bracket_score_add(Buffer *json, const BracketScore *s);

/* How many trees had to be repaired, and what was wrong with them, in words. */
void tree_repairs_print(Buffer *b, const TreeRepairs *r);

#endif
