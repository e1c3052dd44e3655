/* Tokens as the Moses toolkit makes them: marks stand apart from words, with a space on each side, and a space is all
 * that parts two tokens. The other way, tokens become a text that reads as one.
 *
 *     He said: "It's 5,000 in the U.S."   ->   He said : " It 's 5,000 in the U.S. "
 *
 * Results are those of sacremoses 0.2.0 for texts in English, German and French; moses.c says where they are not. What
 * is not UTF-8 is U+FFFD, a mark. A text is a line: ends of lines are spaces. */
#ifndef CORE_TEXT_MOSES_H
#define CORE_TEXT_MOSES_H

#include "base/buffer.h"
#include "base/error.h"

typedef enum MosesLanguage { MOSES_ENGLISH, MOSES_GERMAN, MOSES_FRENCH } MosesLanguage;

/* en, de or fr. */
bool moses_language(MosesLanguage *language, const char *name, Error *e);

typedef struct Moses {
    MosesLanguage language;
    bool escape;  /* & | < > ' " [ ] are written as entities: &amp; &#124; &lt; &gt; &apos; &quot; &#91; &#93; */
    bool hyphens; /* a hyphen between two letters or digits is a token: @-@ */
} Moses;

/* Adds the tokens of a text to `out`, with a space between two. */
bool moses_tokenise(Moses how, const char *text, size_t size, Buffer *out, Error *e);

/* Adds the text that tokens, separated by white space, are of; with `escape`, entities become marks before. A token @-@ is
 * a hyphen always. */
bool moses_detokenise(Moses how, const char *tokens, size_t size, Buffer *out, Error *e);

#endif
