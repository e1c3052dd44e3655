/* Punctuation as Moses has it: what sacremoses makes of awkward lines (tests/fixtures/punctuation.py), and bytes that are not UTF-8. */
#include "core/text/punctuation.h"

#include "base/memory.h"
#include "tests/cases.h"
#include "tests/suite.h"

#include <string.h>

START_TEST(awkward_lines_become_those_of_sacremoses)
{
    Cases cases = cases_open("punctuation");
    ck_assert_uint_gt(cases.list->count, 400);
    for (size_t i = 0; i < cases.list->count; i++) {
        const Json *one = &cases.list->items[i], *text = case_value(one, 0);
        Buffer out = {0};
        punctuation_normalize(case_value(one, 1)->text, text->text, text->size, &out);
        ck_assert(!out.failed);
        case_expect_text(one, 2, &out);
        buffer_free(&out);
    }
    cases_close(&cases);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(what_is_not_utf8_stays)
{
    static const char odd[] = " \xC3(\xE2\x80 \xFF)\xC2", made[] = "\xC3 (\xE2\x80 \xFF) \xC2";
    Buffer out = {0};
    punctuation_normalize("en", odd, sizeof odd - 1, &out);
    ck_assert_uint_eq(out.size, sizeof made - 1);
    ck_assert_mem_eq(out.text, made, out.size);
    buffer_free(&out);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(awkward_lines_become_those_of_sacremoses), TEST(what_is_not_utf8_stays)};
    return suite_run("text/punctuation", tests, sizeof tests / sizeof *tests, argc, argv);
}
