/* One line about what went wrong. */
#include "base/error.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool fail(Error *e, const char *format, ...)
{
    if (!e)
        return false;
    char text[sizeof e->text]; /* not straight into e: an argument may be e->text itself */
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0)
        text[0] = 0;
    if (length >= (int)sizeof text)
        memcpy(text + sizeof text - 4, "...", 4);
    utf8_hide_controls(text, strlen(text)); /* a name found in a file may hold anything */
    memcpy(e->text, text, sizeof text);
    return false;
}
