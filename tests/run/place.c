/* See place.h. */
#include "tests/run/place.h"

#include "base/file.h"
#include "base/memory.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>

char folder[600];

void place_run(void) { snprintf(folder, sizeof folder, "%s/run", test_folder()); }

char *in(const char *name)
{
    static char paths[4][700];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

void put(const char *name, const char *text)
{
    Error e;
    ck_done(file_write(in(name), text, strlen(text), &e), e);
}

void expect_text(const char *name, const char *text)
{
    Error e;
    char *bytes;
    size_t size;
    ck_done(file_read(in(name), &bytes, &size, &e), e);
    ck_assert_str_eq(bytes, text);
    memory_free(bytes);
}
