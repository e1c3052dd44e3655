/* Phrase structure trees: "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))". A node is a constituent, with other nodes in it,
 * or a leaf: a word and its tag.
 *
 * Nodes stand in preorder: node i has itself and all that is inside of it at i .. end - 1. Nothing here recurses, so a tree
 * may be as deep as memory allows. */
#ifndef CORE_TEXT_TREE_H
#define CORE_TEXT_TREE_H

#include "base/buffer.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct TreeNode {
    size_t label, word; /* where they begin in the tree's text; word 0: a constituent */
    size_t end;         /* the node after all that is inside */
    size_t first, last; /* its words are first .. last - 1 */
} TreeNode;

typedef struct Tree {
    TreeNode *node;
    size_t count, capacity;
    size_t words;
    Buffer text;   /* each label and word with a zero byte after it; the first byte is zero */
    size_t inside; /* while it is made: one more than the constituent that is open; 0: none is */
} Tree;

static inline const char *tree_label(const Tree *t, size_t node) { return t->text.text + t->node[node].label; }
static inline const char *tree_word(const Tree *t, size_t node) { return t->text.text + t->node[node].word; }
static inline bool tree_is_leaf(const Tree *t, size_t node) { return t->node[node].word != 0; }

/* Reads the tree that begins at text[*at], after white space, and moves *at past it; at the text's end `count` is 0.
 * What a tree held before is gone. */
bool tree_read(Tree *t, const char *text, size_t size, size_t *at, Error *e);

/* Makes a tree, node by node: tree_clear, then constituents that are opened and shut, and leaves in them. One that is shut
 * empty is taken away. */
void tree_clear(Tree *t);
bool tree_open(Tree *t, const char *label, size_t size, Error *e);
bool tree_leaf(Tree *t, const char *label, size_t label_size, const char *word, size_t word_size, Error *e);
void tree_shut(Tree *t);

/* On one line, without a line end; or indented, a constituent a line. */
void tree_write(const Tree *t, Buffer *out);
void tree_write_indented(const Tree *t, Buffer *out);

void tree_free(Tree *t);

/* What a treebank marks and a parser is not asked for. */
typedef struct TreeCleaning {
    bool keep_outer; /* the pair of brackets around all, or a TOP, ROOT or S1 in its place */
    bool
        keep_functions; /* NP-SBJ-1, NP=2: what is after the first - or = of a label, unless it begins with - (-LRB-) */
    bool keep_traces;   /* leaves of tag -NONE-, and constituents in which there is nothing else */
} TreeCleaning;

/* `to` has no node where nothing is left. An outer pair around several constituents stays, as
 * TOP. */
bool tree_clean(Tree *to, const Tree *from, const TreeCleaning *how, Error *e);

#endif
