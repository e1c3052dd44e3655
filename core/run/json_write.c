/* JSON written: keys with their commas, strings that are always valid UTF-8, numbers that read back the same. */
#include "core/run/json.h"

#include "base/units.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void json_add_key(Buffer *b, const char *key)
{
    size_t last = b->size;
    while (last && strchr(" \t\r\n", b->text[last - 1]))
        last--;
    if (last && !strchr("{[", b->text[last - 1]))
        buffer_add(b, ", ", 2);
    if (!key)
        return;
    json_add_string(b, key);
    buffer_add(b, ": ", 2);
}

void json_open(Buffer *b, const char *key, char bracket)
{
    json_add_key(b, key);
    buffer_add(b, &bracket, 1);
}

void json_add_string(Buffer *b, const char *text) { json_add_bytes(b, text, strlen(text)); }

void json_add_bytes(Buffer *b, const char *bytes, size_t size)
{
    static const char names[] = "\"\\bfnrt", values[] = "\"\\\b\f\n\r\t";
    buffer_add(b, "\"", 1);
    for (size_t i = 0; i < size;) {
        size_t length = utf8_length(bytes + i, size - i);
        unsigned char c = (unsigned char)bytes[i];
        const char *found = c ? strchr(values, c) : NULL;
        if (!length)
            buffer_add(b, "\xEF\xBF\xBD", 3); /* U+FFFD */
        else if (found)
            buffer_print(b, "\\%c", names[found - values]);
        else if (c < 0x20 || c == 0x7F)
            buffer_print(b, "\\u%04x", c);
        else
            buffer_add(b, bytes + i, length);
        i += length ? length : 1;
    }
    buffer_add(b, "\"", 1);
}

void json_add_number(Buffer *b, double x)
{
    if (!isfinite(x)) {
        buffer_add(b, "null", 4);
        return;
    }
    if (fabs(x) < 1e15 && floor(x) == x) /* 100, not 1e+02 */
        buffer_print(b, "%.0f", x);
    else
        buffer_print(b, "%s", real_text(x).text);
}

void json_add_member(Buffer *b, const char *key, double x)
{
    json_add_key(b, key);
    json_add_number(b, x);
}

void json_add_text(Buffer *b, const char *key, const char *text)
{
    json_add_key(b, key);
    json_add_string(b, text);
}

bool json_print_members(Buffer *members, Error *e)
{
    bool done = !members->failed || fail(e, "out of memory for the result as JSON");
    if (done)
        printf("{%s}\n", members->text ? members->text : "");
    buffer_free(members);
    return done;
}
