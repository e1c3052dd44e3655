/* GPT-2's rule that parts a text, written out: see gpt2_part in gpt2.h; and where a text is parted before. */
#include "base/utf8.h"
#include "core/text/gpt2.h"
#include "core/text/unicode.h"

#include <string.h>

typedef enum Class { END, SPACE, LETTER, NUMBER, OTHER } Class;

/* What the character at the beginning of a text is, and its length in bytes. */
static Class class_of(const char *text, size_t size, size_t *length)
{
    uint32_t code;
    *length = utf8_decode(&code, text, size);
    if (!size)
        return END;
    if (!*length) {
        *length = 1;
        return OTHER;
    }
    if (unicode_is_space(code))
        return SPACE;
    UnicodeKind kind = unicode_kind(code);
    return unicode_is_letter(kind) ? LETTER : unicode_is_number(kind) ? NUMBER : OTHER;
}

/* 's and its kind; 0: the text begins with none. */
static size_t contraction(const char *text, size_t size)
{
    static const char *const endings[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t length = strlen(endings[i]);
        if (length <= size && !memcmp(text, endings[i], length))
            return length;
    }
    return 0;
}

/* White space up to the text's end; or up to its last character, which belongs to what follows; or that alone. */
static size_t spaces(const char *text, size_t size)
{
    size_t at = 0, last = 0, length;
    while (class_of(text + at, size - at, &length) == SPACE) {
        last = at;
        at += length;
    }
    return at == size || !last ? at : last;
}

size_t gpt2_part(const char *text, size_t size)
{
    size_t length = contraction(text, size), at;
    if (length)
        return length;
    at = size && text[0] == ' ';
    Class class = class_of(text + at, size - at, &length);
    if (class == SPACE || class == END)
        return spaces(text, size);
    for (Class next = class; next == class; next = class_of(text + at, size - at, &length))
        at += length;
    return at;
}

size_t gpt2_document(const char *text, size_t size)
{
    const size_t length = strlen(GPT2_SEPARATOR);
    for (const char *at = text, *end = text + size; size && (at = memchr(at, '<', (size_t)(end - at))); at++)
        if ((size_t)(end - at) >= length && !memcmp(at, GPT2_SEPARATOR, length))
            return (size_t)(at - text);
    return size;
}
