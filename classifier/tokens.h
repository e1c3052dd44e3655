/* What a network reads of words: each word one token, or split into the subwords of WordPiece.
 *
 * Words are those of core/text/words.h in either case, so that one corpus serves both: WordPiece splits them further, as
 * BERT does, but has seen no markup, no curly quotes and no more than three of the same mark in a row. The subwords of
 * TOKEN_BERT are those that BERT itself reads: its rules for words are applied to the text as it is.
 *
 * Marks are tokens that no text contains: [CLS] begins a text, [SEP] ends it or a part of it, [MASK] stands for a token
 * that is to be predicted. Subwords always have them; a vocabulary of words only where they are asked for. In a text that
 * BERT reads, the name of a mark is that mark. */
#ifndef CLASSIFIER_TOKENS_H
#define CLASSIFIER_TOKENS_H

#include "base/buffer.h"
#include "classifier/text_words.h"
#include "core/text/wordpiece.h"

typedef enum TokenKind { TOKEN_WORDS, TOKEN_WORDPIECE, TOKEN_BERT, TOKEN_BERT_CASED } TokenKind;

/* How a text becomes the words that such tokens are made of. */
static inline WordRule token_words(TokenKind kind)
{
    return kind == TOKEN_BERT ? WORDS_BERT : kind == TOKEN_BERT_CASED ? WORDS_BERT_CASED : WORDS_PLAIN;
}

typedef struct Tokens {
    TokenKind kind;
    Vocabulary words;   /* of TOKEN_WORDS */
    WordPiece subwords; /* of all others */
    int32_t unknown;
    int32_t first, separator, mask; /* [CLS], [SEP], [MASK]; -1: it is missing */
    int32_t first_word;             /* ids from this one on are words or subwords */
} Tokens;

static inline bool tokens_have_marks(const Tokens *t) { return t->first >= 0 && t->separator >= 0 && t->mask >= 0; }

typedef struct TokensOptions {
    TokenKind kind;
    size_t size;      /* of the vocabulary; 0: all words */
    bool marks;       /* words have marks, too */
    const char *file; /* a vocab.txt that WordPiece reads instead of learning one; NULL: none */
} TokensOptions;

/* All tokens by id, whatever they are. */
static inline const Vocabulary *tokens_list(const Tokens *t)
{
    return t->kind == TOKEN_WORDS ? &t->words : &t->subwords.subwords;
}

static inline size_t tokens_count(const Tokens *t) { return tokens_list(t)->count; }
static inline const char *token_name(const Tokens *t, int32_t id) { return vocabulary_word(tokens_list(t), id); }

/* Whether a token continues the word before it. */
bool token_continues(const Tokens *t, int32_t id);

/* Of counted words. What failed needs no closing. */
bool tokens_learn(Tokens *t, const TokensOptions *o, const Vocabulary *words, Error *e);
void tokens_close(Tokens *t);
bool tokens_copy(Tokens *t, const Tokens *from, Error *e);

/* A run's: vocabulary.tsv or vocab.txt. */
bool tokens_read(Tokens *t, TokenKind kind, const char *folder, Error *e);
bool tokens_write(const Tokens *t, const char *folder, Error *e);

/* Adds the ids of one word, int32_t one after the other, at least one. */
bool tokens_of_word(const Tokens *t, const char *word, size_t size, Buffer *ids, Error *e);

#endif
