/* Pictures: what is asked for is checked before gnuplot runs, and what gnuplot refuses is one line. */
#include "core/plot/picture.h"
#include "core/plot/scripts.h"

#include "base/memory.h"
#include "tests/suite.h"

#include <stdlib.h>
#include <string.h>

static const char *text_of(const char *text, size_t size, bool token)
{
    static char copy[256];
    Buffer b = {0};
    buffer_print(&b, "%s", "");
    picture_text(&b, text, size, token);
    ck_assert_uint_lt(b.size, sizeof copy);
    memcpy(copy, b.text, b.size + 1);
    buffer_free(&b);
    return copy;
}

#define TEXT(literal, token) text_of(literal, sizeof(literal) - 1, token)

START_TEST(a_text_stays_in_its_field_and_can_be_seen)
{
    ck_assert_str_eq(TEXT("plain_^{}#@~&\\n", false), "plain_^{}#@~&\\n");
    ck_assert_str_eq(TEXT("a b", false), "a b");
    ck_assert_str_eq(TEXT("a b", true), "a\u2423b");
    ck_assert_str_eq(TEXT("", true), "\u25a1");
    ck_assert_str_eq(TEXT("", false), "");
    ck_assert_str_eq(TEXT("a\tb\nc\"", true), "a\u21e5b\u21b5c\u201d");
    ck_assert_str_eq(TEXT("\0\r\x1f\x7f", false), "x00x0Dx1Fx7F");
    ck_assert_str_eq(TEXT("\u6ce8\u610f \U0001f600", true), "\u6ce8\u610f\u2423\U0001f600");
    ck_assert_str_eq(TEXT("a\xff\xe6\xb3", true), "a\ufffd\ufffd\ufffd"); /* no UTF-8; half a character */
}

static void unsound(Picture p, const char *words)
{
    Error e;
    ck_assert(!picture_sound(&p, &e));
    ck_assert_msg(strstr(e.text, words) && !strchr(e.text, '\n'), "%s", e.text);
}

START_TEST(what_cannot_be_drawn_is_said_before)
{
    static const char *const sizes[] = {"8.5cm", "85mm", "3.5in", "900", "900x540", "16cmx9cm", "100x30", "8.5cmx4in"};
    static const char *const wrong[] = {"",    "cm",   "0cm",     "-3cm", "8.5 cm", "8.5cm x 3cm", "8,5cm",
                                        "1e3", "inf",  "8.5cmx",  "x3cm", "3x4x5",  "8.5km",       "1.2.3cm",
                                        ".",   "0x10", "1000000", "3",    "19mm"};
    Error e;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        ck_assert_msg(picture_sound(&(Picture){.size = sizes[i]}, &e), "%s", e.text);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        unsound((Picture){.size = wrong[i]}, "8.5cm, 16cmx9cm");
    unsound((Picture){.out = "loss.jpg"}, "loss.jpg: expected a name that ends in .png, .svg, .pdf or .txt");
    unsound((Picture){.out = "png"}, "expected a name");
    unsound((Picture){.out = ".png"}, "expected a name");
    unsound((Picture){.out = "a\nb.png"}, "line end");
    unsound((Picture){.terminal = "`ls`"}, "--terminal");
    unsound((Picture){.terminal = ""}, "--terminal");
    ck_assert(picture_sound(&(Picture){.out = "loss.jpg", .terminal = "jpeg"}, &e));
    ck_assert(picture_sound(&(Picture){.terminal = "dumb ansi size 60,20"}, &e));
}

START_TEST(without_gnuplot_there_is_a_line_on_how_to_get_it)
{
    Error e;
    Picture p = {.script = "loss", .data = "some/data.tsv", .out = "x.png"};
    char *path = memory_string(getenv("PATH"));
    setenv("PATH", "/nowhere", 1);
    bool drawn = picture_draw(&p, NULL, &e);
    setenv("PATH", path, 1);
    memory_free(path);
    if (drawn || !strstr(e.text, "make deps")) /* it may be in .deps */
        ck_assert_msg(strstr(e.text, "could not draw") != NULL, "%s", e.text);
    else
        ck_assert_str_eq(e.text, "gnuplot was not found; `make deps` installs it; the data is in some/data.tsv");
}

START_TEST(all_scripts_are_carried_along)
{
    size_t count = 0;
    bool common = false;
    for (const Embedded *one = plot_scripts; one->name; one++, count++) {
        ck_assert_uint_eq(strlen(one->text), one->size);
        common = common || strcmp(one->name, "attend.gp") == 0;
    }
    ck_assert(common && count > 1);
}

/* Elsewhere a comma stands where gnuplot wants a point, and numbers with points are no numbers. */
START_TEST(what_scripts_run_writes_numbers_with_a_point)
{
    static const char *const programs[] = {"awk -", "sort -"}, c[] = "LC_ALL=C ";
    const size_t size = sizeof c - 1;
    for (const Embedded *one = plot_scripts; one->name; one++)
        for (size_t i = 0; i < 2; i++)
            for (const char *at = one->text; (at = strstr(at, programs[i])); at++)
                ck_assert_msg((size_t)(at - one->text) >= size && !strncmp(at - size, c, size), "%s: %.60s", one->name,
                              at);
}

static const Test tests[] = {
    TEST(a_text_stays_in_its_field_and_can_be_seen),        TEST(what_cannot_be_drawn_is_said_before),
    TEST(without_gnuplot_there_is_a_line_on_how_to_get_it), TEST(all_scripts_are_carried_along),
    TEST(what_scripts_run_writes_numbers_with_a_point),
};

int main(int argc, char **argv) { return suite_run("plot/picture", tests, sizeof tests / sizeof *tests, argc, argv); }
