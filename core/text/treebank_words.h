/* The words of a sentence as the Penn Treebank has them, after its published rules (MacIntyre 1995).
 *
 *     "They can't," she said (in the U.S.).   ->   `` They ca n't , '' she said -LRB- in the U.S. -RRB- .
 *
 *   - Marks are words. A comma or colon between two digits is none, nor is & or @ between two letters, nor % in 62%-owned;
 *     and of dots only three in a row, and the one that ends the sentence.
 *   - Quotes say whether they open (`` and `) or close ('' and '). Brackets are -LRB- -RRB- -LCB- -RCB-; in a word, / and *
 *     are \/ and \*. Typographic quotes, dashes and dots become those of ASCII.
 *   - 's 'm 'd 'll 're 've n't are words, and cannot, gimme, gonna, gotta, lemme, wanna, 'tis, 'twas are two.
 *
 * A text is one sentence: elsewhere than at its end, a dot belongs to its word. Words that have been split stay as they
 * are, unless the sentence ends in an abbreviation without another dot. */
#ifndef CORE_TEXT_TREEBANK_WORDS_H
#define CORE_TEXT_TREEBANK_WORDS_H

#include "base/buffer.h"

#include <stddef.h>

/* Adds the words of a sentence to `out`, with a space between two. */
void treebank_words(const char *text, size_t size, Buffer *out);

#endif
