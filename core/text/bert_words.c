/* See bert_words.h. Each character of the text becomes none, one or a few, which are split into words. */
#include "core/text/bert_words.h"

#include "base/utf8.h"

#include <string.h>

static bool is_left_out(uint32_t code, UnicodeKind kind)
{
    return kind == UNICODE_CONTROL || kind == UNICODE_FORMAT || kind == UNICODE_PRIVATE || code == 0xFFFD;
}

static bool is_mark(uint32_t code)
{
    if (code < 0x80)
        return code > ' ' && code < 0x7F && !(code >= '0' && code <= '9') && !(code >= 'A' && code <= 'Z') &&
               !(code >= 'a' && code <= 'z');
    return unicode_kind(code) == UNICODE_PUNCTUATION;
}

static void add_bare(BertWords *w, uint32_t code)
{
    size_t count = unicode_bare(w->ahead + w->count, code);
    for (size_t i = 0; i < count; i++, w->count++)
        w->ahead[w->count] = unicode_lower(w->ahead[w->count]);
}

/* Reads one character of the text into `ahead`. */
static void read_character(BertWords *w)
{
    uint32_t code = 0xFFFD;
    size_t length = utf8_decode(&code, w->text + w->at, w->size - w->at);
    UnicodeKind kind = unicode_kind(code);
    bool ideograph = unicode_is_ideograph(code);
    w->at += length ? length : 1;
    w->count = w->taken = 0;
    if (ideograph || kind == UNICODE_SPACE || code == '\t' || code == '\n' || code == '\r')
        w->ahead[w->count++] = ' ';
    else if (is_left_out(code, kind))
        return;
    if (w->count && !ideograph)
        return;
    if (w->lower)
        add_bare(w, code);
    else
        w->ahead[w->count++] = code;
    if (ideograph)
        w->ahead[w->count++] = ' ';
}

/* The mark whose name the text goes on with; NULL: it is none. */
static const char *mark_ahead(const BertWords *w)
{
    for (const char *const *mark = w->marks; mark && *mark; mark++) {
        const size_t length = strlen(*mark);
        if (w->size - w->at >= length && !memcmp(w->text + w->at, *mark, length))
            return *mark;
    }
    return NULL;
}

/* The next character that is left of the text, or of what is before a mark; false: there is none. */
static bool peek(BertWords *w, uint32_t *code)
{
    while (w->taken == w->count) {
        if (w->at >= w->size || mark_ahead(w))
            return false;
        read_character(w);
    }
    *code = w->ahead[w->taken];
    return true;
}

static void take(BertWords *w, uint32_t code)
{
    if (w->characters++ < BERT_WORD_MOST)
        w->length += utf8_encode(w->word + w->length, code);
    w->taken++;
}

bool bert_words_next(BertWords *w)
{
    uint32_t code;
    w->length = w->characters = 0;
    bool more = peek(w, &code);
    while (more && unicode_is_space(code)) {
        w->taken++;
        more = peek(w, &code);
    }
    const char *mark = more || w->at >= w->size ? NULL : mark_ahead(w);
    if (mark) {
        w->length = w->characters = strlen(mark);
        memcpy(w->word, mark, w->length);
        w->at += w->length;
    } else if (more && is_mark(code))
        take(w, code);
    else
        while (more && !unicode_is_space(code) && !is_mark(code)) {
            take(w, code);
            more = peek(w, &code);
        }
    w->word[w->length] = 0;
    return w->length > 0;
}
