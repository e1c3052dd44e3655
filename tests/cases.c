/* See cases.h. */
#include "tests/cases.h"

#include "base/file.h"
#include "base/memory.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>

Cases cases_open(const char *name)
{
    char path[300], *text;
    size_t size;
    Cases c;
    Error e;
    snprintf(path, sizeof path, "tests/fixtures/%s.json", name);
    ck_done(file_read(path, &text, &size, &e) && json_read(&c.list, text, size, path, &e), e);
    memory_free(text);
    ck_assert(c.list->kind == JSON_ARRAY && c.list->count > 0);
    return c;
}

void cases_close(Cases *c) { json_free(c->list); }

const Json *case_value(const Json *one, size_t at)
{
    ck_assert(one->kind == JSON_ARRAY && at < one->count);
    return &one->items[at];
}

void case_expect_text(const Json *one, size_t at, const Buffer *found)
{
    const Json *wanted = case_value(one, at);
    ck_assert(wanted->kind == JSON_STRING && !found->failed);
    ck_assert_msg(found->size == wanted->size && (!found->size || !memcmp(found->text, wanted->text, found->size)),
                  "'%s' gives\n'%s', not\n'%s'", case_value(one, 0)->text, found->text ? found->text : "",
                  wanted->text);
}

void case_expect_ids(const Json *one, size_t at, const Buffer *found)
{
    const Json *wanted = case_value(one, at);
    ck_assert(wanted->kind == JSON_ARRAY && !found->failed);
    ck_assert_msg(found->size == wanted->count * sizeof(int32_t), "'%s' gives %zu ids, not %zu",
                  case_value(one, 0)->text, found->size / sizeof(int32_t), wanted->count);
    for (size_t i = 0; i < wanted->count; i++) {
        int64_t id = -1;
        int32_t is;
        memcpy(&is, found->text + i * sizeof is, sizeof is);
        ck_assert(json_integer(&wanted->items[i], &id));
        ck_assert_msg(is == id, "'%s', id %zu is %d, not %d", case_value(one, 0)->text, i, (int)is, (int)id);
    }
}
