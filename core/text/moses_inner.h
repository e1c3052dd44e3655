/* What tokenising and detokenising share. */
#ifndef CORE_TEXT_MOSES_INNER_H
#define CORE_TEXT_MOSES_INNER_H

#include "core/text/moses.h"
#include "core/text/unicode.h"

/* Letters, and what belongs to words as they do: Roman numerals, letters in circles, vowels that are marks. Ideographs,
 * Hangul, and what is beyond U+FFFF are none: each such character is a token. */
bool moses_is_alpha(uint32_t code);

/* Whether a word that ends in a dot keeps it, as "Dr." does, for which the word is "Dr"; *before_digits: only where a
 * number follows, as in "No. 5". */
bool moses_keeps_dot(MosesLanguage language, const char *word, size_t size, bool *before_digits);

#endif
