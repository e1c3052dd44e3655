/* The words of a text, one by one, by one of two rules: those of core/text/words.h, or BERT's (core/text/bert_words.h), in
 * lower case or as written. BERT's come with the names of its marks, which a text may contain, and in place of a word that is
 * too long with [UNK]. */
#ifndef CLASSIFIER_TEXT_WORDS_H
#define CLASSIFIER_TEXT_WORDS_H

#include "core/text/bert_words.h"
#include "core/text/words.h"

typedef enum WordRule { WORDS_PLAIN, WORDS_BERT, WORDS_BERT_CASED } WordRule;

typedef struct TextWords {
    const char *word; /* the one that was found, closed by a zero byte */
    size_t length;
    WordRule rule;
    Words plain;
    BertWords bert;
} TextWords;

TextWords text_words_of(WordRule rule, const char *text, size_t size);

/* Goes to the next word; false: there is none. */
bool text_words_next(TextWords *w);

/* Whether a word of BERT's is the name of a mark. */
bool text_word_is_mark(const char *word);

#endif
