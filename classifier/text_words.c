/* See text_words.h. */
#include "classifier/text_words.h"

#include <string.h>

static const char unknown[] = "[UNK]";
static const char *const marks[] = {"[PAD]", unknown, "[CLS]", "[SEP]", "[MASK]", NULL};

TextWords text_words_of(WordRule rule, const char *text, size_t size)
{
    TextWords w = {.rule = rule};
    if (rule == WORDS_PLAIN) {
        w.plain = words_of(text, size);
    } else {
        w.bert = bert_words_of(text, size, rule == WORDS_BERT);
        w.bert.marks = marks;
    }
    return w;
}

static bool next_of_bert(TextWords *w)
{
    const bool found = bert_words_next(&w->bert), known = w->bert.characters <= BERT_WORD_MOST;
    w->word = known ? w->bert.word : unknown;
    w->length = known ? w->bert.length : strlen(unknown);
    return found;
}

bool text_words_next(TextWords *w)
{
    if (w->rule != WORDS_PLAIN)
        return next_of_bert(w);
    const bool found = words_next(&w->plain);
    w->word = w->plain.word;
    w->length = w->plain.length;
    return found;
}

/* BERT's other words with a bracket are brackets. */
bool text_word_is_mark(const char *word) { return word[0] == '[' && word[1]; }
