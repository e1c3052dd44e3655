/* Lesson 20: what exercise.c holds. A tree is a list of nodes in preorder: node i has itself and all that is inside of it at
 * i .. end - 1. A line is a list of tokens. */
#ifndef COURSE_20_EXERCISE_H
#define COURSE_20_EXERCISE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Node {
    int label; /* 0 .. 999: of a constituent, or the tag of a word */
    size_t end;
    bool is_word; /* it has nothing inside: end is i + 1 */
} Node;

/* A token is the tag of a word, a bracket that opens, or one that shuts: OPEN + label, SHUT + label. */
enum { OPEN = 1000, SHUT = 2000 };

/* 1. The line of a tree: a constituent is its bracket, what is inside, and the bracket that shuts; a word is its tag.
 * Returns how many tokens were written. */
size_t linearise(int *token, const Node *node, size_t nodes);

/* 2. And back, of a line that is well-formed. Returns how many nodes were written. */
size_t read_tree(Node *node, const int *token, size_t tokens);

/* 3. Makes a well-formed line with `words` > 0 words of any line: one constituent that has all in it, and none without a
 * word. Token by token:
 *
 *     OPEN   opens. The first constituent is the first token; where that is a word, 0 is opened before it.
 *     SHUT   shuts the innermost constituent of its label that is open, and before it those inside of that one; where none is
 *            open it is left out. But the first constituent is shut after all else: a token after its SHUT is in it.
 *     word   is left out where there are `words` already.
 *
 * After the last token all but the first constituent are shut, missing words come as tags 0, and then the first is shut.
 * Last, constituents without a word are left out. Returns how many tokens were written: no more than
 * 2 * tokens + words + 2. */
size_t repair(int *to, const int *token, size_t tokens, size_t words);

typedef struct Bracket {
    int label;
    size_t first, last; /* its words are first .. last - 1 */
} Bracket;

/* 4. How many brackets of `found` are in `gold`, each of which can be matched once. Both may have equal ones. */
size_t matched(const Bracket *found, size_t n, const Bracket *gold, size_t m);

/* 5. The harmonic mean of precision (matched / found) and recall (matched / gold), in percent; 0 where nothing matches. */
double f1(size_t right, size_t found, size_t gold);

#endif
