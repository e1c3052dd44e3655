/* See spaces.h. */
#include "core/text/spaces.h"

#include <stdbool.h>
#include <string.h>

static bool begins(const char *text, size_t size, const char *with, size_t length)
{
    return size >= length && !memcmp(text, with, length);
}

size_t space_length(const char *text, size_t size)
{
    if (!size)
        return 0;
    unsigned char c = (unsigned char)text[0];
    if (c < 0x80)
        return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= 0x1F);
    if (begins(text, size, "\xC2\x85", 2) || begins(text, size, "\xC2\xA0", 2))
        return 2;
    if (begins(text, size, "\xE1\x9A\x80", 3) || begins(text, size, "\xE2\x81\x9F", 3) ||
        begins(text, size, "\xE3\x80\x80", 3)) /* U+1680, U+205F, U+3000 */
        return 3;
    if (!begins(text, size, "\xE2\x80", 2) || size < 3)
        return 0;
    unsigned char last = (unsigned char)text[2]; /* U+2000 to U+200A, U+2028, U+2029, U+202F */
    return (last >= 0x80 && last <= 0x8A) || last == 0xA8 || last == 0xA9 || last == 0xAF ? 3 : 0;
}

size_t space_behind(const char *text, size_t size)
{
    for (size_t length = 1; length <= 3 && length <= size; length++)
        if (space_length(text + size - length, length) == length)
            return length;
    return 0;
}

size_t line_end_length(const char *text, size_t size)
{
    if (begins(text, size, "\r\n", 2))
        return 2;
    size_t length = space_length(text, size);
    switch (length) {
    case 1: return text[0] != ' ' && text[0] != '\t' && text[0] != 0x1F;
    case 2: return text[1] == '\x85' ? 2 : 0;
    case 3: return begins(text, size, "\xE2\x80\xA8", 3) || begins(text, size, "\xE2\x80\xA9", 3) ? 3 : 0;
    default: return 0;
    }
}
