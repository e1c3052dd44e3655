/* See sources.h. */
#define _XOPEN_SOURCE 700
#include "tests/classifier/sources.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sources_open(void)
{
    char cache[700];
    const char *folder = test_folder();
    ck_assert_int_eq(chdir(folder), 0);
    snprintf(cache, sizeof cache, "%s/cache", folder);
    setenv("XDG_CACHE_HOME", cache, 1);
}

void source_write(const char *path, const char *bytes, size_t size)
{
    char folder[600];
    Error e;
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash) {
        *slash = 0;
        ck_done(folder_make(folder, &e), e);
    }
    ck_done(file_write(path, bytes, size, &e), e);
}

void source_print(const char *path, const char *format, ...)
{
    char text[4096];
    va_list list;
    va_start(list, format);
    int size = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    ck_assert_int_lt(size, sizeof text);
    source_write(path, text, (size_t)size);
}

bool source_shell(const char *format, ...)
{
    char line[2000];
    va_list list;
    va_start(list, format);
    int size = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    ck_assert_int_lt(size, sizeof line);
    return system(line) == 0;
}

Reviews source_open(const ReviewsOptions *o)
{
    Reviews r;
    Error e;
    ck_done(reviews_open(&r, o, &e), e);
    return r;
}

void source_refused(const ReviewsOptions *o, const char *words)
{
    Reviews r;
    Error e;
    size_t before = memory_in_use();
    ck_assert_msg(!reviews_open(&r, o, &e), "%s was taken", o->path);
    ck_assert_msg(strstr(e.text, words) && !strchr(e.text, '\n'), "'%s' does not say '%s'", e.text, words);
    ck_assert_uint_eq(memory_in_use(), before);
}

const char *text_of(const Reviews *r, Split part, size_t i)
{
    static char text[2000];
    Buffer b = {0};
    const Texts *t = reviews_part(r, part);
    for (size_t k = t->start[i]; k < t->start[i + 1]; k++)
        buffer_print(&b, "%s ", vocabulary_word(&r->tokens.words, t->ids[k]));
    snprintf(text, sizeof text, "%s", b.text);
    buffer_free(&b);
    return text;
}
