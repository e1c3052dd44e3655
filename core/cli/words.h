/* Words for messages: foreign text made short and safe to print, and the nearest of the names there are. */
#ifndef CORE_CLI_WORDS_H
#define CORE_CLI_WORDS_H

#include <stddef.h>

typedef struct Quoted {
    char text[64];
} Quoted;

/* The text, up to `length` bytes of it, as one line: control bytes become '?', a long one ends in "...". */
Quoted quoted(const char *text, size_t length);

/* Collects the best of the names it is shown: start with {.word = "dpeth"}; `name` stays NULL if none is near. */
typedef struct Nearest {
    const char *word;
    const char *name;
    size_t distance;
} Nearest;

void nearest_try(Nearest *nearest, const char *name);

#endif
