/* A text's words, one by one: lower case, marks as words of their own, markup left out.
 *
 *     "I don't know<br />10/10!!!"   ->   i  don't  know  10/10  !!!
 *
 *   - A word is letters and digits. An apostrophe between two letters, and . , / : between two digits, is part of it:
 *     don't, 7.5, 10/10. Longer words than WORD_MOST bytes continue as another word.
 *   - Any other mark is a word; a run of the same mark is one word, of at most three of them: "!!!!!" is "!!!".
 *   - A tag (<br />, </p>) parts words and is none; so do spaces and control characters. The entities &amp; &lt; &gt;
 *     &quot; &apos; &#39; are what they stand for, &nbsp; is a space.
 *   - Letters become lower case (unicode_lower); curly quotes, dashes and the ellipsis ' " - and . of ASCII.
 *     Scripts without spaces are not split into words.
 *   - A byte that is no UTF-8 is U+FFFD, a mark. */
#ifndef CORE_TEXT_WORDS_H
#define CORE_TEXT_WORDS_H

#include <stdbool.h>
#include <stddef.h>

enum { WORD_MOST = 60 };

typedef struct Words {
    const char *text;
    size_t size, at;
    char word[WORD_MOST + 4]; /* the one that was found, closed by a zero byte */
    size_t length;
} Words;

static inline Words words_of(const char *text, size_t size) { return (Words){.text = text, .size = size}; }

/* Goes to the next word; false: there is none. */
bool words_next(Words *w);

#endif
