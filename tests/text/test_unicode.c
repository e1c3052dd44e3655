/* What characters are: every code point against Python's unicodedata (tests/fixtures/unicode.py), and some by name. */
#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "core/text/unicode.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>

enum { END = 0x110000 };

static void print_kind(Buffer *b, uint32_t code) { buffer_print(b, "%d\n", (int)unicode_kind(code)); }

static void print_lower(Buffer *b, uint32_t code) { buffer_print(b, "%x\n", (unsigned)unicode_lower(code)); }

static void print_space(Buffer *b, uint32_t code) { buffer_print(b, "%d\n", (int)unicode_is_python_space(code)); }

static void print_bare(Buffer *b, uint32_t code)
{
    uint32_t bare[UNICODE_BARE];
    size_t count = unicode_bare(bare, code);
    for (size_t i = 0; i < count; i++)
        buffer_print(b, i ? " %x" : "%x", (unsigned)bare[i]);
    buffer_add(b, "\n", 1);
}

static const struct {
    const char *name;
    void (*print)(Buffer *b, uint32_t code);
} answers[] = {{"kind", print_kind}, {"lower", print_lower}, {"space", print_space}, {"bare", print_bare}};

START_TEST(every_code_point_is_what_python_says)
{
    char *sums, line[100];
    size_t size;
    Buffer b = {0};
    Error e;
    ck_done(file_read("tests/fixtures/unicode.tsv", &sums, &size, &e), e);
    for (uint32_t code = 0; code < END; code++)
        answers[_i].print(&b, code);
    ck_assert(!b.failed);
    snprintf(line, sizeof line, "%s\t%s\n", answers[_i].name, sha256(b.text, b.size).text);
    ck_assert_msg(strstr(sums, line), "%s differs: %s", answers[_i].name, line);
    buffer_free(&b);
    memory_free(sums);
}

START_TEST(characters_are_of_their_kind)
{
    static const struct {
        uint32_t code;
        UnicodeKind kind;
    } some[] = {{'A', UNICODE_CAPITAL},         {'z', UNICODE_SMALL},           {'0', UNICODE_DIGIT},
                {' ', UNICODE_SPACE},           {'\n', UNICODE_CONTROL},        {'$', UNICODE_CURRENCY},
                {'^', UNICODE_SYMBOL},          {'_', UNICODE_PUNCTUATION},     {0xE9, UNICODE_SMALL},
                {0x100, UNICODE_CAPITAL},       {0x101, UNICODE_SMALL},         {0x139, UNICODE_CAPITAL},
                {0x13A, UNICODE_SMALL},         {0x1C5, UNICODE_LETTER},        {0x301, UNICODE_ACCENT},
                {0x903, UNICODE_MARK},          {0xBD, UNICODE_NUMBER},         {0x2160, UNICODE_NUMERAL},
                {0x4E2D, UNICODE_LETTER},       {0x2019, UNICODE_PUNCTUATION},  {0x20AC, UNICODE_CURRENCY},
                {0x1F600, UNICODE_SYMBOL},      {0xAD, UNICODE_FORMAT},         {0xFEFF, UNICODE_FORMAT},
                {0xD800, UNICODE_PRIVATE},      {0xE000, UNICODE_PRIVATE},      {0x378, UNICODE_UNASSIGNED},
                {0x10FFFF, UNICODE_UNASSIGNED}, {0x110000, UNICODE_UNASSIGNED}, {0xFFFFFFFF, UNICODE_UNASSIGNED}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        ck_assert_msg(unicode_kind(some[i].code) == some[i].kind, "U+%04X is %d", (unsigned)some[i].code,
                      (int)unicode_kind(some[i].code));
}

START_TEST(kinds_are_grouped)
{
    for (UnicodeKind kind = UNICODE_UNASSIGNED; kind <= UNICODE_PRIVATE; kind++) {
        ck_assert(unicode_is_letter(kind) ==
                  (kind == UNICODE_CAPITAL || kind == UNICODE_SMALL || kind == UNICODE_LETTER));
        ck_assert(unicode_is_number(kind) ==
                  (kind == UNICODE_DIGIT || kind == UNICODE_NUMERAL || kind == UNICODE_NUMBER));
    }
}

START_TEST(four_separators_are_space_to_python_alone)
{
    size_t differ = 0, spaces = 0;
    for (uint32_t code = 0; code < END; code++) {
        spaces += unicode_is_space(code);
        differ += unicode_is_space(code) != unicode_is_python_space(code);
    }
    ck_assert(spaces == 25 && differ == 4);
    ck_assert(unicode_is_python_space(0x1C) && unicode_is_python_space(0x1F) && !unicode_is_space(0x1F));
    ck_assert(!unicode_is_space(0x200B) && !unicode_is_space(0x180E) && unicode_is_space(0x3000));
}

START_TEST(ideographs_are_those_of_bert)
{
    static const uint32_t edges[] = {0x3400,  0x4DBF,  0x4E00,  0x9FFF,  0xF900,  0xFAFF,
                                     0x20000, 0x2A6DF, 0x2A700, 0x2CEAF, 0x2F800, 0x2FA1F};
    size_t count = 0, between = 0;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i += 2) {
        between += edges[i + 1] - edges[i] + 1;
        ck_assert(unicode_is_ideograph(edges[i]) && unicode_is_ideograph(edges[i + 1]));
    }
    for (uint32_t code = 0; code < END; code++)
        count += unicode_is_ideograph(code);
    ck_assert_uint_eq(count, between);
    ck_assert(!unicode_is_ideograph(0x3042) && !unicode_is_ideograph(0xAC00));
}

START_TEST(a_capital_i_with_a_dot_becomes_i)
{
    ck_assert_uint_eq(unicode_lower(0x130), 'i');
    ck_assert_uint_eq(unicode_lower(0x131), 0x131);
    ck_assert_uint_eq(unicode_lower(0x3A3), 0x3C3); /* at the end of a word, too */
    ck_assert_uint_eq(unicode_lower(0x1E9E), 0xDF);
    ck_assert_uint_eq(unicode_lower(0xFFFFFFFF), 0xFFFFFFFF);
}

START_TEST(accents_come_off)
{
    static const struct {
        uint32_t code;
        size_t count;
        uint32_t bare[UNICODE_BARE];
    } some[] = {{'a', 1, {'a'}},
                {0xE9, 1, {'e'}},
                {0x1EC7, 1, {'e'}}, /* two accents */
                {0x130, 1, {'I'}},
                {0xF8, 1, {0xF8}}, /* a stroke is no accent */
                {0xDF, 1, {0xDF}},
                {0x301, 0, {0}},
                {0x212B, 1, {'A'}},
                {0xF900, 1, {0x8C48}},
                {0xAC00, 2, {0x1100, 0x1161}},
                {0xD7A3, 3, {0x1112, 0x1175, 0x11C2}},
                {0x1D160, 3, {0x1D158, 0x1D165, 0x1D16E}},
                {0xFFFFFFFF, 1, {0xFFFFFFFF}}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        uint32_t bare[UNICODE_BARE];
        ck_assert_uint_eq(unicode_bare(bare, some[i].code), some[i].count);
        ck_assert_mem_eq(bare, some[i].bare, some[i].count * sizeof *bare);
    }
}

static const Test tests[] = {TEST_LOOP(every_code_point_is_what_python_says, sizeof answers / sizeof *answers),
                             TEST(characters_are_of_their_kind),
                             TEST(kinds_are_grouped),
                             TEST(four_separators_are_space_to_python_alone),
                             TEST(ideographs_are_those_of_bert),
                             TEST(a_capital_i_with_a_dot_becomes_i),
                             TEST(accents_come_off)};

int main(int argc, char **argv) { return suite_run("text/unicode", tests, sizeof tests / sizeof *tests, argc, argv); }
