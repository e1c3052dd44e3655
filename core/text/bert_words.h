/* A text's words as BERT's BasicTokenizer splits it, for WordPiece:
 *
 *     "Héllo, 東京!"   ->   hello  ,  東  京  !
 *
 *   - Control characters (Cc, Cf, Co), U+FFFD and bytes that are no UTF-8 are left out; tab, line feed and carriage
 *     return part words, and so do spaces of all kinds. What Unicode has not assigned yet is kept.
 *   - With `lower`, accents come off (unicode_bare), then letters become lower case. Without, words stay as they are.
 *   - A mark of punctuation is a word, and so are the symbols of ASCII ($ + < = > ^ ` | ~). So is each ideograph.
 *
 * That is what Hugging Face's tokenizers do, but for U+2B820 to U+2B91F, which are ideographs to BERT and not to them,
 * and for characters that are newer than its Unicode or ours.
 *
 * Names of marks, such as [MASK], are words of their own where a caller lists them, before all else.
 *
 * A word longer than BERT_WORD_MOST characters is counted whole and kept up to there: no vocabulary has it. */
#ifndef CORE_TEXT_BERT_WORDS_H
#define CORE_TEXT_BERT_WORDS_H

#include "core/text/unicode.h"

enum { BERT_WORD_MOST = 100 };

typedef struct BertWords {
    const char *text;
    size_t size, at;
    bool lower;
    const char *const *marks;         /* names that are kept whole; the list ends with a NULL; NULL: none */
    uint32_t ahead[UNICODE_BARE + 2]; /* what the character before `at` became; of it, `taken` of `count` are taken */
    size_t count, taken;
    char word[4 * BERT_WORD_MOST + 1]; /* the one that was found, closed by a zero byte */
    size_t length, characters;         /* bytes that are kept, and how many characters it has */
} BertWords;

static inline BertWords bert_words_of(const char *text, size_t size, bool lower)
{
    return (BertWords){.text = text, .size = size, .lower = lower};
}

/* Goes to the next word; false: there is none. */
bool bert_words_next(BertWords *w);

#endif
