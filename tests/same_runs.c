/* See same_runs.h. */
#include "tests/same_runs.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

enum { LATE = 6 /* columns of the log before those that tell the time */ };

/* The log without its last columns, in place. */
static size_t without_time(char *text, size_t size)
{
    size_t used = 0, column = 0;
    for (size_t i = 0; i < size; i++) {
        column = text[i] == '\n' ? 0 : column + (text[i] == '\t');
        if (column < LATE)
            text[used++] = text[i];
    }
    return used;
}

void expect_same(const char *run, const char *other, const char *name)
{
    size_t first, second;
    char *a = read_in(run, name, &first), *b = read_in(other, name, &second);
    ck_assert_msg(a && b, "%s is missing", name);
    if (!strcmp(name, "log.tsv")) {
        first = without_time(a, first);
        second = without_time(b, second);
    }
    ck_assert_msg(first == second && !memcmp(a, b, first), "%s differs", name);
    memory_free(a);
    memory_free(b);
}

/* The same names; and the same contents, where they are asked for. */
static void expect_same_folder(const char *run, const char *other, const char *name, bool contents)
{
    char **names, **others, *a = path_join(run, name), *b = path_join(other, name);
    size_t count, found;
    Error e;
    ck_done(folder_list(a, &names, &count, &e), e);
    ck_done(folder_list(b, &others, &found, &e), e);
    ck_assert_uint_eq(count, found);
    for (size_t i = 0; i < count; i++) {
        ck_assert_str_eq(names[i], others[i]);
        if (contents)
            expect_same(a, b, names[i]);
    }
    folder_list_free(names, count);
    folder_list_free(others, found);
    memory_free(a);
    memory_free(b);
}

void expect_same_runs(const char *run, const char *other, int steps)
{
    char name[100];
    snprintf(name, sizeof name, "checkpoints/%08d/model.safetensors", steps);
    expect_same(run, other, name);
    snprintf(name, sizeof name, "checkpoints/%08d/state.safetensors", steps);
    expect_same(run, other, name);
    expect_same(run, other, "log.tsv");
    expect_same(run, other, "best");
    expect_same(run, other, "last");
    char *samples = path_join(run, "samples");
    if (folder_exists(samples))
        expect_same_folder(run, other, "samples", true);
    memory_free(samples);
    expect_same_folder(run, other, "checkpoints", false);
    expect_same_folder(run, other, "", false);
}
