/* See encoders.h. */
#include "tests/classifier/encoders.h"

#include "tests/command.h"

#include <stdio.h>

const char *folder_of(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, ENCODERS "%s", name);
    return path;
}

const char *imported(const char *name)
{
    const char *run = fresh_path("run");
    works("import %s --out %s -q", folder_of(name), run);
    return run;
}
