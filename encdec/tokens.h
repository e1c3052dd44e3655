/* How a text is parted into words, before subwords are made of these, and how words become a text again. */
#ifndef ENCDEC_TOKENS_H
#define ENCDEC_TOKENS_H

#include "core/text/moses.h"
#include "encdec/source.h"

typedef enum TokensRule {
    TOKENS_SPACES, /* at white space; a text is its words with a space between two */
    TOKENS_MOSES   /* marks are words of their own (core/text/moses.h), as each side's language has it */
} TokensRule;

typedef struct Tokens {
    TokensRule rule;
    MosesLanguage language[SIDES_USED];
    const char *punctuation
        [SIDES_USED]; /* of pieces: languages whose punctuation is normalized first (core/text/punctuation.h);
                                          * NULL: none is */
} Tokens;

/* language: the names of both sides, which Moses has to know. */
bool tokens_open(Tokens *t, TokensRule rule, const char *const language[SIDES_USED], Error *e);

/* A line in which white space is all that parts two words: itself, or what `room` holds afterwards. */
bool tokens_of_line(const Tokens *t, size_t side, Line line, Buffer *capacity, Line *words, Error *e);

/* Adds the text that words with spaces between them are. */
void tokens_join(const Tokens *t, size_t side, Line words, Buffer *text);

#endif
