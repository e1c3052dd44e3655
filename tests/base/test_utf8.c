/* UTF-8: every sequence of bytes that is a character, and what is cut from a text that was cut through one. */
#include "base/utf8.h"
#include "tests/suite.h"

#include <string.h>

enum { END = 0x110000 };

START_TEST(each_code_point_is_read_as_long_as_it_was_written)
{
    char text[8] = {0};
    uint32_t wrong = 0;
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        size_t size = utf8_encode(text, code);
        bool surrogate = code >= 0xD800 && code <= 0xDFFF;
        uint32_t read = END;
        wrong += utf8_length(text, size) != (surrogate ? 0 : size);
        wrong += utf8_decode(&read, text, size) != (surrogate ? 0 : size) || read != (surrogate ? END : code);
    }
    ck_assert_uint_eq(wrong, 0);
}

START_TEST(what_no_code_point_gives_is_no_character)
{
    static const char *const texts[] = {"\x80",         "\xC1\xBF",         "\xE0\x9F\xBF",     "\xF0\x8F\xBF\xBF",
                                        "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC3\x28"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_uint_eq(utf8_length(texts[i], strlen(texts[i])), 0);
}

/* The plain definition: these bytes are no character, and some bytes after them make them one. */
static bool begins(const unsigned char *bytes, size_t size)
{
    char text[4];
    memcpy(text, bytes, size);
    if (size == 0 || size > 3 || utf8_length(text, size))
        return false;
    for (unsigned a = 0x80; a < 0xC0; a++)
        for (unsigned b = 0x80; b < 0xC0; b += 0x3F) {
            char all[6] = {0};
            memcpy(all, text, size);
            all[size] = (char)a;
            all[size + 1] = all[size + 2] = (char)b;
            if (utf8_length(all, sizeof all) > size)
                return true;
        }
    return false;
}

/* All that three bytes can be, from a choice that has each boundary of the definition on both sides. */
START_TEST(a_tail_is_the_beginning_of_a_character)
{
    static const unsigned char choice[] = {'a',  0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xDF,
                                           0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5};
    enum { N = sizeof choice };
    size_t wrong = 0;
    for (size_t i = 0; i < N * N * N; i++) {
        const unsigned char bytes[] = {'x', choice[i / N / N], choice[i / N % N], choice[i % N]};
        size_t wanted = 0;
        for (size_t n = 1; n <= 3 && !wanted; n++)
            wanted = begins(bytes + 4 - n, n) ? n : 0;
        wrong += utf8_tail((const char *)bytes, 4) != wanted;
    }
    ck_assert_uint_eq(wrong, 0);
}

START_TEST(a_text_cut_anywhere_is_whole_without_head_and_tail)
{
    static const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";
    for (size_t from = 0; from < sizeof text; from++)
        for (size_t to = from; to < sizeof text; to++) {
            size_t head = utf8_head(text + from, to - from), tail = utf8_tail(text + from, to - from), at = from + head;
            ck_assert_uint_le(head + tail, to - from);
            while (at < to - tail) {
                ck_assert_uint_gt(utf8_length(text + at, to - tail - at), 0);
                at += utf8_length(text + at, to - tail - at);
            }
            ck_assert_uint_eq(at, to - tail);
        }
    ck_assert_uint_eq(utf8_head("\x80\x80\x80\x80\x80", 5), 3); /* no character has more */
    ck_assert_uint_eq(utf8_head("\x80\x80", 1), 1);
    ck_assert_uint_eq(utf8_head("", 0) + utf8_tail("", 0), 0);
}

/* What a terminal obeys: it is said, and names in files may hold it. */
START_TEST(control_characters_are_found_and_hidden)
{
    static const struct {
        const char *text, *hidden;
        size_t first;
    } cases[] = {{"a\tb\n", "a?b?", 1},
                 {"\x1B[31m", "?[31m", 0},
                 {"a\x7F", "a?", 1},
                 {"a\xC2\x9B"
                  "2J",
                  "a??2J", 1},
                 {"a\x9B"
                  "2J\x85",
                  "a?2J?", 1},
                 {"\xC2\xA0\xC3\x9B", "\xC2\xA0\xC3\x9B", 4},
                 {"\xE2\x80\xA8", "\xE2\x80\xA8", 3},
                 {"caf\xE9", "caf\xE9", 4},
                 {"\xE2\x80", "\xE2?", 1},
                 {"", "", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[16];
        strcpy(text, cases[i].text);
        ck_assert_uint_eq(utf8_control(text, strlen(text)), cases[i].first);
        utf8_hide_controls(text, strlen(text));
        ck_assert_str_eq(text, cases[i].hidden);
    }
    char whole[] = "a\0b";
    utf8_hide_controls(whole, 3);
    ck_assert_str_eq(whole, "a?b");
}

static const Test tests[] = {
    TEST(each_code_point_is_read_as_long_as_it_was_written), TEST(what_no_code_point_gives_is_no_character),
    TEST(a_tail_is_the_beginning_of_a_character), TEST(a_text_cut_anywhere_is_whole_without_head_and_tail),
    TEST(control_characters_are_found_and_hidden)};

int main(int argc, char **argv) { return suite_run("base/utf8", tests, sizeof tests / sizeof *tests, argc, argv); }
