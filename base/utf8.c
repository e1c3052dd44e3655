/* UTF-8: how long a character is, and how a code point is written. */
#include "base/utf8.h"

#include <string.h>

size_t utf8_length(const char *text, size_t size)
{
    const unsigned char *c = (const unsigned char *)text;
    if (!size)
        return 0;
    if (c[0] < 0x80)
        return 1;
    size_t length = c[0] >= 0xF0 ? 4 : c[0] >= 0xE0 ? 3 : 2;
    if (c[0] < 0xC2 || c[0] > 0xF4 || size < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((c[i] & 0xC0) != 0x80)
            return 0;
    unsigned second = c[1];
    if ((c[0] == 0xE0 && second < 0xA0) || (c[0] == 0xED && second > 0x9F) || /* overlong; surrogate */
        (c[0] == 0xF0 && second < 0x90) || (c[0] == 0xF4 && second > 0x8F))   /* overlong; above U+10FFFF */
        return 0;
    return length;
}

size_t utf8_decode(uint32_t *code, const char *text, size_t size)
{
    size_t length = utf8_length(text, size);
    if (length) {
        *code = (unsigned char)text[0] & (length == 1 ? 0x7Fu : 0xFFu >> (length + 1));
        for (size_t i = 1; i < length; i++)
            *code = *code << 6 | ((unsigned char)text[i] & 0x3Fu);
    }
    return length;
}

bool utf8_valid(const char *text, size_t size)
{
    for (size_t at = 0, length; at < size; at += length)
        if (!(length = utf8_length(text + at, size - at)))
            return false;
    return true;
}

size_t utf8_control(const char *text, size_t size)
{
    size_t at = 0;
    while (at < size) {
        uint32_t code = (unsigned char)text[at];
        const size_t length = utf8_decode(&code, text + at, size - at);
        if (code < 0x20 || (code >= 0x7F && code < 0xA0))
            break;
        at += length ? length : 1;
    }
    return at;
}

void utf8_hide_controls(char *text, size_t size)
{
    for (size_t at = 0; (at += utf8_control(text + at, size - at)) < size;)
        memset(text + at, '?', utf8_step(text + at, size - at));
}

size_t utf8_head(const char *text, size_t size)
{
    size_t n = 0;
    while (n < size && n < 3 && ((unsigned char)text[n] & 0xC0) == 0x80)
        n++;
    return n;
}

/* Whether n bytes and such as `with` after them are one character. */
static bool completed(const char *text, size_t n, char with)
{
    char all[] = {with, with, with, with};
    memcpy(all, text, n);
    return utf8_length(all, sizeof all) > n;
}

size_t utf8_tail(const char *text, size_t size)
{
    for (size_t n = 1; n <= 3 && n <= size; n++) /* a second byte may be limited from below or from above */
        if (completed(text + size - n, n, '\x80') || completed(text + size - n, n, '\xBF'))
            return n;
    return 0;
}

size_t utf8_encode(char *out, uint32_t code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)((0xF00u >> length & 0xFFu) | code);
    return length;
}

size_t utf8_mark(const char *text, size_t size) { return size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0; }
