/* A text that grows by doubling. */
#include "base/buffer.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Room for `size` more bytes and the zero byte. */
static bool reserve(Buffer *b, size_t size)
{
    if (b->failed)
        return false;
    if (size < b->capacity - b->size) /* also false when there is none yet */
        return true;
    size_t wanted = b->size + size;
    if (wanted < size || wanted >= PTRDIFF_MAX) {
        b->failed = true;
        return false;
    }
    b->failed = !memory_grow(&b->text, &b->capacity, wanted + 1, 1, "", NULL);
    return !b->failed;
}

void buffer_add(Buffer *b, const void *bytes, size_t size)
{
    if (!reserve(b, size))
        return;
    if (size)
        memcpy(b->text + b->size, bytes, size);
    b->size += size;
    b->text[b->size] = 0;
}

void buffer_print(Buffer *b, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        b->failed = true;
    else if (reserve(b, (size_t)length)) {
        va_start(arguments, format);
        vsnprintf(b->text + b->size, (size_t)length + 1, format, arguments);
        va_end(arguments);
        b->size += (size_t)length;
    }
}

void buffer_free(Buffer *b)
{
    memory_free(b->text);
    *b = (Buffer){0};
}
