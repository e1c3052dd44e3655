/* See unicode.h. Tables are sorted, and searched by halves; what a text is mostly made of, ASCII, is answered first. */
#include "core/text/unicode.h"

#include "core/text/unicode_tables.h"

enum { EVEN_CAPITAL = UNICODE_PRIVATE + 1, ODD_CAPITAL }; /* capitals and small letters take turns */

#define ROW_OF(table, width, code) row_of(table, sizeof(table) / sizeof *(table) / (width), width, code)

/* The last of `count` rows, `width` numbers each, whose first number is at most `code`; the first where none is. */
static const uint32_t *row_of(const uint32_t *rows, size_t count, size_t width, uint32_t code)
{
    size_t from = 0, to = count;
    while (from < to) {
        size_t middle = (from + to) / 2;
        if (rows[middle * width] <= code)
            from = middle + 1;
        else
            to = middle;
    }
    return rows + (from ? from - 1 : 0) * width;
}

UnicodeKind unicode_kind(uint32_t code)
{
    if (code > 0x10FFFF)
        return UNICODE_UNASSIGNED;
    unsigned kind = *ROW_OF(categories, 1, code << 5 | 31) & 31;
    if (kind == EVEN_CAPITAL || kind == ODD_CAPITAL)
        return (code & 1) == (kind == ODD_CAPITAL) ? UNICODE_CAPITAL : UNICODE_SMALL;
    return (UnicodeKind)kind;
}

bool unicode_is_space(uint32_t code)
{
    if (code < 0x80)
        return code == ' ' || (code >= '\t' && code <= '\r');
    return code == 0x85 || unicode_kind(code) == UNICODE_SPACE;
}

bool unicode_is_python_space(uint32_t code) { return unicode_is_space(code) || (code >= 0x1C && code <= 0x1F); }

bool unicode_is_ideograph(uint32_t code)
{
    return (code >= 0x4E00 && code <= 0x9FFF) || (code >= 0x3400 && code <= 0x4DBF) ||
           (code >= 0x20000 && code <= 0x2A6DF) || (code >= 0x2A700 && code <= 0x2CEAF) ||
           (code >= 0xF900 && code <= 0xFAFF) || (code >= 0x2F800 && code <= 0x2FA1F);
}

uint32_t unicode_lower(uint32_t code)
{
    if (code < 0x80)
        return code >= 'A' && code <= 'Z' ? code + ('a' - 'A') : code;
    const uint32_t *run = ROW_OF(lowers, 4, code), first = run[0], last = run[1], step = run[2], distance = run[3];
    return code < first || code > last || (code - first) % step ? code : code + distance;
}

/* A syllable of Hangul is a number of leading, vowel and trailing letter. */
static size_t hangul(uint32_t *bare, uint32_t syllable)
{
    enum { LEAD = 0x1100, VOWEL = 0x1161, TRAIL = 0x11A7, VOWELS = 21, TRAILS = 28 };
    uint32_t trail = syllable % TRAILS;
    bare[0] = LEAD + syllable / TRAILS / VOWELS;
    bare[1] = VOWEL + syllable / TRAILS % VOWELS;
    bare[2] = TRAIL + trail;
    return trail ? 3 : 2;
}

size_t unicode_bare(uint32_t *bare, uint32_t code)
{
    bare[0] = code;
    if (code < 0xC0)
        return 1;
    if (code >= 0xAC00 && code <= 0xD7A3)
        return hangul(bare, code - 0xAC00);
    const uint32_t *one = ROW_OF(bares, 2, code), *more = ROW_OF(parts, 4, code);
    if (one[0] == code) {
        bare[0] = one[1];
        return 1;
    }
    if (more[0] == code) {
        for (size_t i = 0; i < UNICODE_BARE; i++)
            bare[i] = more[i + 1];
        return bare[2] ? 3 : 2;
    }
    return unicode_kind(code) != UNICODE_ACCENT;
}
