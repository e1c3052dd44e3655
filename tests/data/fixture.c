/* See fixture.h. */
#define _XOPEN_SOURCE 700
#include "tests/data/fixture.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *said;

void fixture_open(void)
{
    static char top[4096]; /* without fork, the next test begins in the folder of the last */
    char line[5000];
    if (!top[0])
        ck_assert_ptr_nonnull(getcwd(top, sizeof top));
    ck_assert_int_eq(chdir(test_folder()), 0);
    snprintf(line, sizeof line,
             "mkdir data && to=$PWD/data && cd '%s/data' && cp fetch check join common.sh sets \"$to\"", top);
    ck_assert_int_eq(system(line), 0);
}

void fixture_write(const char *path, const void *bytes, size_t size)
{
    Error e;
    ck_done(file_write(path, bytes, size, &e), e);
}

void fixture_print(const char *path, const char *format, ...)
{
    char text[4096];
    va_list list;
    va_start(list, format);
    int size = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    ck_assert_int_lt(size, sizeof text);
    fixture_write(path, text, (size_t)size);
}

bool fixture_has(const char *path) { return file_exists(path); }

int fixture_run(const char *format, ...)
{
    char line[5000];
    Error e;
    size_t size;
    va_list list;
    va_start(list, format);
    line[0] = '{';
    line[1] = ' ';
    int used = 2 + vsnprintf(line + 2, sizeof line - 100, format, list);
    va_end(list);
    ck_assert_int_lt(used, sizeof line - 100);
    strcat(line, "\n} >said 2>&1 </dev/null");
    int status = system(line);
    memory_free(said);
    said = NULL;
    ck_done(file_read("said", &said, &size, &e), e);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const char *fixture_said(void) { return said; }

void fixture_tools_without(const char *names)
{
    int status = fixture_run("rm -rf tools && mkdir tools && for d in $(echo \"$PATH\" | tr : ' '); do\n"
                             "  for f in \"$d\"/*; do [ -x \"$f\" ] && echo \"$f\"; done\n"
                             "done | awk -F/ '!seen[$NF]++' | xargs sh -c 'ln -s \"$@\" tools/' sh\n"
                             "cd tools && rm -f %s",
                             names);
    ck_assert_msg(status == 0, "%s", said);
}
