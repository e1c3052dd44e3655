/* A tree as a line of tokens, which a decoder can write (Vinyals et al. 2015), and back:
 *
 *     (S (NP (DT the) (NN dog)) (VP (VBZ barks)))
 *
 *     tags     (S (NP DT NN )NP (VP VBZ )VP )S                            a word is its tag
 *     words    (S (NP (DT the )DT (NN dog )NN )NP (VP (VBZ barks )VBZ )VP )S
 *
 * Brackets that shut say what they shut. A tag that is empty is (). Words come back from the sentence, by their number, so
 * that a tree has those of its sentence whatever was written.
 *
 * Any line becomes a tree that has all words of the sentence and no other; what had to be done is counted:
 *
 *     opened     a word before any bracket, or something after the last: it is put into the first constituent, or an S
 *     shut       constituents were open: at the end, or when one around them was shut
 *     ignored    a bracket shuts what is not open
 *     empty      a constituent without a word is left out
 *     missing    words that were not written: they end the first constituent, with tags that their letters suggest
 *     over       words that the sentence does not have are left out */
#ifndef CORE_TEXT_TREE_TOKENS_H
#define CORE_TEXT_TREE_TOKENS_H

#include "core/text/tree.h"

typedef enum TreeLeaves { LEAVES_TAGS, LEAVES_WORDS } TreeLeaves;

/* Adds the line of a tree, without an end. */
void tree_tokens_write(const Tree *t, TreeLeaves leaves, Buffer *line);

/* Adds the words of a tree, a space between two. */
void tree_words_write(const Tree *t, Buffer *line);

typedef struct TreeRepairs {
    size_t trees, repaired; /* of these */
    size_t opened, shut, ignored, empty, missing, over;
} TreeRepairs;

/* The tree of a sentence [size] that a line [line_size] says. In its words ( and ) are -LRB- and -RRB-. r may be NULL.
 * False only without memory. */
bool tree_of_tokens(Tree *t, const char *line, size_t line_size, TreeLeaves leaves, const char *sentence, size_t size,
                    TreeRepairs *r, Error *e);

/* How many words of its sentence a token ends: 1 where it is a word. */
bool tree_token_is_word(const char *token, TreeLeaves leaves);

#endif
