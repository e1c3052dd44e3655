/* See each.h. */
#include "tests/each.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

EachLines each_lines(const char *run, const char *words, const char *heading)
{
    Said s = must("eval --run %s --each -q %s", run, words);
    EachLines t = {.columns = 1};
    size_t lines = 0;
    ck_assert_msg(!strncmp(s.out, heading, strlen(heading)) && s.out[strlen(heading)] == '\n', "%.200s", s.out);
    for (const char *at = heading; *at; at++)
        t.columns += *at == '\t' ? 1 : 0;
    for (const char *at = s.out; *at; at++)
        lines += *at == '\n' ? 1 : 0;
    t.count = lines - 1;
    t.value = memory_get(t.count * t.columns, sizeof *t.value);
    char *at = strchr(s.out, '\n');
    for (size_t i = 0; i < t.count * t.columns; i++)
        t.value[i] = strtod(at, &at);
    ck_assert_str_eq(at, "\n");
    said_free(&s);
    return t;
}

void each_lines_free(EachLines *t) { memory_free(t->value); }

Json *compared(const char *run, const char *other, const char *words)
{
    Json *j = must_json("eval --run %s --against %s --json -q %s", run, other, words);
    ck_assert_str_eq(json_get_text(json_get(j, "against"), "run"), other);
    return j;
}

double compared_as(const Json *j, const char *key) { return json_real(json_get(j, "against"), key); }
