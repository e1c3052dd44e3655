/* JSON: what is read, what is refused and where, and that what is written reads back. */
#include "base/memory.h"
#include "base/philox.h"
#include "base/thread.h"
#include "core/run/json.h"
#include "tests/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static Json *read_text(const char *text)
{
    Json *j;
    Error e;
    ck_done(json_read(&j, text, strlen(text), "text", &e), e);
    return j;
}

START_TEST(a_tree_keeps_order_and_values)
{
    Json *j = read_text(" \t\r\n{\"b\": [1E2, -2.5e3, true, false, null], \"a\": {\"x\": \"y\"}, \"\": []}\n");
    ck_assert_int_eq(j->kind, JSON_OBJECT);
    ck_assert_uint_eq(j->count, 3);
    ck_assert_str_eq(j->items[0].key, "b");
    ck_assert_str_eq(j->items[2].key, "");
    const Json *b = json_get(j, "b");
    ck_assert_uint_eq(b->count, 5);
    ck_assert_double_eq(b->items[0].number, 100);
    ck_assert_double_eq(b->items[1].number, -2500);
    ck_assert_str_eq(b->items[1].text, "-2.5e3");
    ck_assert(b->items[2].truth && !b->items[3].truth);
    ck_assert_int_eq(b->items[4].kind, JSON_NULL);
    ck_assert_str_eq(json_get_text(json_get(j, "a"), "x"), "y");
    ck_assert_ptr_null(json_get_text(j, "a"));
    ck_assert_ptr_null(json_get(b, "x"));
    ck_assert_ptr_null(json_get(NULL, "x"));
    json_free(j);
    json_free(NULL);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(escapes_become_utf8)
{
    Json *j = read_text("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e4\\u20AC\\ud83d\\uDE00 \xc3\xa4\"");
    ck_assert_str_eq(j->text, "\"\\/\b\f\n\r\tA\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80 \xc3\xa4");
    json_free(j);
    j = read_text("\"a\\u0000b\"");
    ck_assert_uint_eq(j->size, 3);
    ck_assert_mem_eq(j->text, "a\0b", 4);
    json_free(j);
}

START_TEST(half_a_surrogate_pair_becomes_the_replacement_character)
{
    const char *const texts[] = {"\"\\ud83d\"", "\"\\ude00\"", "\"\\ud83dx\"", "\"\\ud83d\\u0041\"",
                                 "\"\\ud83d\\ud83d\\ude00\""};
    const char *const wanted[] = {"\xef\xbf\xbd", "\xef\xbf\xbd", "\xef\xbf\xbdx", "\xef\xbf\xbd\x41",
                                  "\xef\xbf\xbd\xf0\x9f\x98\x80"};
    for (size_t i = 0; i < 5; i++) {
        Json *j = read_text(texts[i]);
        ck_assert_str_eq(j->text, wanted[i]);
        json_free(j);
    }
}

static const char *const broken[] = {
    "",
    " ",
    "{",
    "[",
    "[1",
    "[1,",
    "[1,]",
    "{\"a\"",
    "{\"a\":",
    "{\"a\":1",
    "{\"a\":1,}",
    "{a:1}",
    "{1:1}",
    "[1 2]",
    "{\"a\" 1}",
    "\"",
    "\"a",
    "\"\\",
    "\"\\\"",
    "\"\\x\"",
    "\"\\u",
    "\"\\u12\"",
    "\"\\u12g4\"",
    "\"\\ud83d\\u12\"",
    "\"a\nb\"",
    "\"\x01\"",
    "\"\xff\"",
    "\"\xc0\x80\"",
    "\"\xed\xa0\x80\"",
    "\"\xc3\"",
    "\"\xf4\x90\x80\x80\"",
    "01",
    "-",
    "+1",
    ".5",
    "1.",
    "1.e5",
    "1e",
    "1e+",
    "0x10",
    "--1",
    "NaN",
    "Infinity",
    "nul",
    "True",
    "truer",
    "1 1",
    "{} x",
    "[]]",
    "{\"a\":1,\"b\":2,\"a\":3}",
    "{\"a\\u0000\":1}",
    "// c\n1",
    "\"\\ud83d\\ud83g\"",
};

START_TEST(what_is_no_json_is_refused_with_its_place)
{
    Json *j;
    Error e;
    /* in a block of its own size, so that a sanitizer sees a byte read too far */
    size_t size = strlen(broken[_i]);
    char *text = memory_get(size, 1);
    memcpy(text, broken[_i], size);
    ck_assert_msg(!json_read(&j, text, size, "file.json", &e), "%s was taken", broken[_i]);
    ck_assert_ptr_null(j);
    ck_assert_ptr_nonnull(strstr(e.text, "file.json"));
    memory_free(text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(errors_name_line_and_byte)
{
    Json *j;
    Error e;
    const char *text = "{\"a\": 1,\n \"b\": tru}";
    ck_assert(!json_read(&j, text, strlen(text), "c.json", &e));
    ck_assert_str_eq(e.text, "c.json, line 2, byte 7: a value was expected");
}

START_TEST(nesting_has_an_end)
{
    char text[200001];
    Json *j;
    Error e;
    memset(text, '[', sizeof text);
    ck_assert(!json_read(&j, text, sizeof text, "deep", &e));
    ck_assert_ptr_nonnull(strstr(e.text, "deep"));
    memset(text + 64, ']', 64);
    ck_done(json_read(&j, text, 128, "deep", &e), e);
    json_free(j);
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    ck_assert(!json_read(&j, text, 130, "deep", &e));
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(whole_numbers_survive_beyond_what_a_double_holds)
{
    const struct {
        const char *text;
        bool whole;
        int64_t value;
    } cases[] = {{"9007199254740993", true, 9007199254740993},
                 {"9223372036854775807", true, INT64_MAX},
                 {"-9223372036854775808", true, INT64_MIN},
                 {"9223372036854775808", false, 0},
                 {"1e3", false, 0},
                 {"1.0", false, 0},
                 {"0", true, 0},
                 {"\"1\"", false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Json *j = read_text(cases[i].text);
        int64_t value = 0;
        ck_assert_int_eq(json_integer(j, &value), cases[i].whole);
        ck_assert_int_eq(value, cases[i].value);
        json_free(j);
    }
    ck_assert(!json_integer(NULL, NULL));
}

START_TEST(numbers_are_written_so_that_they_read_back_the_same)
{
    thread_flush(false); /* or 5e-324 is 0 */
    const double fixed[] = {0,      -0.0, 1, 100, 0.1, 1e15, 1e16, 123456789, 1e300, 5e-324, 1.7976931348623157e308,
                            1 / 3.0};
    const char *const texts[] = {"0", "-0", "1", "100", "0.1", "1e+15", "1e+16", "123456789", "1e+300", "5e-324"};
    for (uint64_t i = 0; i < 5000; i++) {
        double x = fixed[i % 12];
        if (i >= 12)
            x = philox_normal(1, 2, i, 3) * pow(10, (double)(i % 600) - 300);
        Buffer b = {0};
        json_add_number(&b, x);
        if (i < 10)
            ck_assert_str_eq(b.text, texts[i]);
        Json *j = read_text(b.text);
        ck_assert(memcmp(&j->number, &x, sizeof x) == 0);
        json_free(j);
        buffer_free(&b);
    }
    Buffer b = {0};
    json_add_number(&b, NAN);
    json_add_key(&b, NULL);
    json_add_number(&b, -INFINITY);
    ck_assert_str_eq(b.text, "null, null");
    buffer_free(&b);
}

START_TEST(keys_get_their_commas)
{
    Buffer b = {0};
    buffer_print(&b, "{");
    json_add_key(&b, "a");
    buffer_print(&b, "[");
    json_add_key(&b, NULL);
    json_add_number(&b, 1);
    json_add_key(&b, NULL);
    json_add_string(&b, "{");
    buffer_print(&b, "]");
    json_add_key(&b, "b\"");
    json_add_string(&b, "x");
    buffer_print(&b, "}");
    ck_assert_str_eq(b.text, "{\"a\": [1, \"{\"], \"b\\\"\": \"x\"}");
    buffer_free(&b);
}

START_TEST(bytes_that_are_no_utf8_are_replaced)
{
    const struct {
        const char *bytes, *json;
    } cases[] = {{"a\xff"
                  "b",
                  "\"a\xef\xbf\xbd"
                  "b\""},
                 {"\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
                 {"\xe2\x82\xac\xc3", "\"\xe2\x82\xac\xef\xbf\xbd\""},
                 {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
                 {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
                 {"\xf5\x80\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
                 {"\x1f\x7f\"\\\n", "\"\\u001f\\u007f\\\"\\\\\\n\""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Buffer b = {0};
        json_add_string(&b, cases[i].bytes);
        ck_assert_str_eq(b.text, cases[i].json);
        buffer_free(&b);
    }
}

/* Any bytes at all, written as a string, must be read again. */
START_TEST(any_bytes_make_a_valid_string)
{
    for (uint64_t i = 0; i < 3000; i++) {
        char bytes[40];
        size_t size = (size_t)philox_below(sizeof bytes, 1, 0, i, 0);
        for (size_t k = 0; k < size; k++)
            bytes[k] = (char)philox_below(256, 2, (uint32_t)i, k, 0);
        Buffer b = {0};
        Json *j;
        Error e;
        json_add_bytes(&b, bytes, size);
        ck_done(json_read(&j, b.text, b.size, "text", &e), e);
        json_free(j);
        buffer_free(&b);
    }
}

/* A good text with bytes changed is taken or refused, but nothing else happens. */
START_TEST(damaged_text_does_no_harm)
{
    const char good[] =
        "{\"a\": [1, 2.5e-3, {\"b\": \"\\u00e4\\n\\ud83d\\ude00\"}], \"c\": null, \"d\": [true, false]}";
    const char likely[] = "{}[]\",:\\u0e-. \n\xc3\xff";
    for (uint32_t i = 0; i < 100000; i++) {
        size_t size = 1 + (size_t)philox_below(sizeof good - 1, 1, i, 0, 9);
        char *text = memory_get(size, 1);
        memcpy(text, good, size);
        for (uint64_t k = 0; k < 3; k++)
            text[philox_below(size, 2, i, k, 9)] = likely[philox_below(sizeof likely - 1, 3, i, k, 9)];
        Json *j;
        if (json_read(&j, text, size, "text", NULL))
            json_free(j);
        memory_free(text);
    }
    ck_assert_uint_eq(memory_in_use(), 0);
}

static bool read_all(void *argument, Error *e)
{
    Json *j;
    if (!json_read(&j, argument, strlen(argument), "text", e))
        return false;
    json_free(j);
    return true;
}

START_TEST(each_failed_allocation_is_an_error)
{
    char text[] = "{\"a\": [1, \"two\", [], [[3]], 4, 5, 6], \"b\": {\"c\": null, \"d\": true}}";
    fail_each_allocation(read_all, text);
}

static const Test tests[] = {
    TEST(a_tree_keeps_order_and_values),
    TEST(escapes_become_utf8),
    TEST(half_a_surrogate_pair_becomes_the_replacement_character),
    TEST_LOOP(what_is_no_json_is_refused_with_its_place, sizeof broken / sizeof *broken),
    TEST(errors_name_line_and_byte),
    TEST(nesting_has_an_end),
    TEST(whole_numbers_survive_beyond_what_a_double_holds),
    TEST(numbers_are_written_so_that_they_read_back_the_same),
    TEST(keys_get_their_commas),
    TEST(bytes_that_are_no_utf8_are_replaced),
    TEST(any_bytes_make_a_valid_string),
    TEST(damaged_text_does_no_harm),
    TEST(each_failed_allocation_is_an_error),
};

int main(int argc, char **argv) { return suite_run("run/json", tests, sizeof tests / sizeof *tests, argc, argv); }
