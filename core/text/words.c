/* See words.h. A text is read as characters, whose kind decides: a letter or digit continues a word, a mark is a
 * word, a gap parts words. */
#include "core/text/words.h"

#include "base/utf8.h"
#include "core/text/unicode.h"

#include <stdint.h>
#include <string.h>

typedef enum Kind { END, GAP, LETTER, DIGIT, MARK } Kind;

/* One character, or a tag or an entity that stands for one: as a word has it, and the bytes of text after it. */
typedef struct Character {
    Kind kind;
    size_t size, length;
    char bytes[4];
} Character;

static Character ascii(unsigned char c, size_t size)
{
    Character found = {.kind = MARK, .size = size, .length = 1, .bytes = {(char)c}};
    if (c >= 'a' && c <= 'z')
        found.kind = LETTER;
    else if (c >= 'A' && c <= 'Z') {
        found.kind = LETTER;
        found.bytes[0] = (char)(c + ('a' - 'A'));
    } else if (c >= '0' && c <= '9')
        found.kind = DIGIT;
    else if (c <= ' ' || c == 0x7F)
        found.kind = GAP;
    return found;
}

/* The bytes of a tag at the beginning of a text; 0: it is none. "a <b and c" is none: a tag has an end, and no other
 * one begins before it. */
static size_t tag_length(const char *text, size_t size)
{
    enum { LONGEST = 200 };
    size_t i = 1, end = size < LONGEST ? size : LONGEST;
    if (i < end && text[i] == '/')
        i++;
    if (i >= end || ascii((unsigned char)text[i], 1).kind != LETTER)
        return 0;
    while (i < end && text[i] != '>' && text[i] != '<')
        i++;
    return i < end && text[i] == '>' ? i + 1 : 0;
}

static Character entity(const char *text, size_t size)
{
    static const struct {
        const char *name;
        char stands_for;
    } entities[] = {{"&amp;", '&'},   {"&lt;", '<'},   {"&gt;", '>'},  {"&quot;", '"'},
                    {"&apos;", '\''}, {"&#39;", '\''}, {"&nbsp;", ' '}};
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
        size_t length = strlen(entities[i].name);
        if (size >= length && !memcmp(text, entities[i].name, length))
            return ascii((unsigned char)entities[i].stands_for, length);
    }
    return ascii('&', 1);
}

/* What ASCII has for it; 0: nothing. */
static char plainer(uint32_t c)
{
    switch (c) {
    case 0x2018:
    case 0x2019:
    case 0x201B: return '\'';
    case 0x201C:
    case 0x201D:
    case 0x201E: return '"';
    case 0x2010:
    case 0x2011:
    case 0x2012:
    case 0x2013:
    case 0x2014:
    case 0x2015: return '-';
    case 0x2026: return '.';
    case 0xA0:
    case 0x3000:
    case 0xFEFF: return ' ';
    default: return 0;
    }
}

static Kind kind_of(uint32_t c)
{
    if (c < 0xA0 || (c >= 0x2000 && c <= 0x200F) || (c >= 0x2028 && c <= 0x202F))
        return GAP; /* control characters; spaces of all widths */
    if (c < 0xC0)
        return c == 0xAA || c == 0xB5 || c == 0xBA ? LETTER : MARK;
    if (c == 0xD7 || c == 0xF7 || (c >= 0x2010 && c <= 0x2BFF) || (c >= 0x3001 && c <= 0x303F) ||
        (c >= 0xFF01 && c <= 0xFF0F) || c == 0xFFFD || (c >= 0x1F000 && c <= 0x1FAFF))
        return MARK; /* punctuation, arrows, pictures */
    return LETTER;
}

static Character beyond_ascii(const char *text, size_t size)
{
    uint32_t code = 0xFFFD;
    size_t length = utf8_decode(&code, text, size);
    char plain = plainer(code);
    if (plain)
        return ascii((unsigned char)plain, length);
    Character c = {.kind = kind_of(code), .size = length ? length : 1};
    const bool small = c.kind == LETTER && code != 0x130; /* a capital i with a dot is one more than i */
    c.length = utf8_encode(c.bytes, small ? unicode_lower(code) : code);
    return c;
}

static Character character(const char *text, size_t size)
{
    if (!size)
        return (Character){.kind = END};
    unsigned char first = (unsigned char)text[0];
    if (first >= 0x80)
        return beyond_ascii(text, size);
    if (first == '&')
        return entity(text, size);
    size_t tag = first == '<' ? tag_length(text, size) : 0;
    return tag ? (Character){.kind = GAP, .size = tag} : ascii(first, 1);
}

static Character next(const Words *w) { return character(w->text + w->at, w->size - w->at); }

static void take(Words *w, const Character *c)
{
    memcpy(w->word + w->length, c->bytes, c->length);
    w->length += c->length;
    w->at += c->size;
}

/* Whether a mark that stands between such characters is part of their word. */
static bool joins(const Character *mark, Kind before, Kind after)
{
    if (mark->length != 1)
        return false;
    return mark->bytes[0] == '\'' ? before == LETTER && after == LETTER
                                  : strchr(".,/:", mark->bytes[0]) && before == DIGIT && after == DIGIT;
}

static void letters(Words *w, Character c)
{
    while (w->length + 2 * sizeof c.bytes <= WORD_MOST) {
        take(w, &c);
        Kind before = c.kind;
        c = next(w);
        if (c.kind == MARK) {
            Character after = character(w->text + w->at + c.size, w->size - w->at - c.size);
            if (!joins(&c, before, after.kind) || w->length + 3 * sizeof c.bytes > WORD_MOST)
                return;
            take(w, &c);
            c = after;
        }
        if (c.kind != LETTER && c.kind != DIGIT)
            return;
    }
}

/* A run of one mark: the first three are the word. */
static void marks(Words *w, Character c)
{
    for (size_t run = 0; c.kind == MARK; run++) {
        if (run < 3)
            take(w, &c);
        else
            w->at += c.size;
        Character after = next(w);
        if (after.kind != MARK || after.length != c.length || memcmp(after.bytes, c.bytes, c.length))
            return;
        c = after;
    }
}

bool words_next(Words *w)
{
    Character c = next(w);
    w->length = 0;
    while (c.kind == GAP) {
        w->at += c.size;
        c = next(w);
    }
    if (c.kind == LETTER || c.kind == DIGIT)
        letters(w, c);
    else if (c.kind == MARK)
        marks(w, c);
    w->word[w->length] = 0;
    return w->length > 0;
}
