/* See spaces.h. */
#include "core/text/spaces.h"

#include "base/utf8.h"
#include "core/text/unicode.h"

#include <stdbool.h>
#include <string.h>

static bool begins(const char *text, size_t size, const char *with, size_t length)
{
    return size >= length && !memcmp(text, with, length);
}

size_t space_length(const char *text, size_t size)
{
    uint32_t code;
    size_t length = utf8_decode(&code, text, size);
    return length && unicode_is_python_space(code) ? length : 0;
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
    if (!size || ((unsigned char)text[0] >= ' ' && (unsigned char)text[0] < 0x80))
        return 0;
    if (begins(text, size, "\r\n", 2))
        return 2;
    size_t length = space_length(text, size);
    switch (length) {
    case 1: return text[0] != '\t' && text[0] != 0x1F;
    case 2: return text[1] == '\x85' ? 2 : 0;
    case 3: return begins(text, size, "\xE2\x80\xA8", 3) || begins(text, size, "\xE2\x80\xA9", 3) ? 3 : 0;
    default: return 0;
    }
}
