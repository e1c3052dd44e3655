/* See lower.h. */
#include "core/text/lower.h"

#include "base/utf8.h"
#include "core/text/unicode.h"

enum { CAPITAL_I_DOT = 0x130, DOT = 0x307, CAPITAL_SIGMA = 0x3A3, FINAL_SIGMA = 0x3C2 };

static bool is_cased(uint32_t code)
{
    UnicodeKind kind = unicode_kind(code);
    return kind == UNICODE_CAPITAL || kind == UNICODE_SMALL;
}

/* What may stand inside a word, or beside it, without being part of it: accents, apostrophes, dots. */
static bool is_passed_over(uint32_t code)
{
    switch (code) {
    case '\'':
    case '.':
    case ':':
    case '^':
    case '`':
    case 0xA8:
    case 0xAF:
    case 0xB4:
    case 0xB7:
    case 0xB8:
    case 0x387:
    case 0x2018:
    case 0x2019:
    case 0x2024:
    case 0x2027: return true;
    default: return unicode_kind(code) == UNICODE_ACCENT || unicode_kind(code) == UNICODE_FORMAT;
    }
}

/* Whether the characters from an offset on are letters, seen in either direction. */
static bool letter_before(const char *text, size_t at)
{
    while (at) {
        uint32_t code;
        size_t start = at - 1;
        while (start && at - start < 4 && !utf8_decode(&code, text + start, at - start))
            start--;
        if (utf8_decode(&code, text + start, at - start) != at - start)
            return false;
        if (!is_passed_over(code))
            return is_cased(code);
        at = start;
    }
    return false;
}

static bool letter_behind(const char *text, size_t size)
{
    uint32_t code;
    for (size_t length; size; text += length, size -= length) {
        length = utf8_decode(&code, text, size);
        if (!length)
            return false;
        if (!is_passed_over(code))
            return is_cased(code);
    }
    return false;
}

void lower_add(Buffer *out, const char *text, size_t size)
{
    for (size_t at = 0, length; at < size; at += length) {
        uint32_t code;
        char bytes[4];
        length = utf8_decode(&code, text + at, size - at);
        if (!length) {
            length = 1;
            buffer_add(out, text + at, length);
            continue;
        }
        uint32_t small = unicode_lower(code);
        if (code == CAPITAL_SIGMA && letter_before(text, at) && !letter_behind(text + at + length, size - at - length))
            small = FINAL_SIGMA;
        buffer_add(out, bytes, utf8_encode(bytes, small));
        if (code == CAPITAL_I_DOT)
            buffer_add(out, bytes, utf8_encode(bytes, DOT));
    }
}
