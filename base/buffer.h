/* A text that grows. A failed allocation is remembered in `failed`, so that a writer checks once, at the end. */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Buffer {
    char *text;  /* always closed by a zero byte once something was added */
    size_t size; /* without the zero byte */
    size_t capacity;
    bool failed;
} Buffer;

void buffer_add(Buffer *b, const void *bytes, size_t size);
void buffer_print(Buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buffer_free(Buffer *b); /* and ready to be used again */

#endif
