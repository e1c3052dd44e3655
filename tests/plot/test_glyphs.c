/* Characters that no font has are written by their number, whatever fontconfig says. */
#include "core/plot/glyphs.h"

#include "base/memory.h"
#include "tests/suite.h"

#include <stdlib.h>
#include <string.h>

static void expect(const char *ranges, const char *text, const char *shown)
{
    Glyphs g;
    Buffer b = {0};
    Error e;
    ck_done(glyphs_read(&g, ranges, &e), e);
    bool replaced = glyphs_replace(&g, &b, text, strlen(text));
    ck_assert_str_eq(b.text, shown);
    ck_assert(replaced == (strcmp(text, shown) != 0));
    buffer_free(&b);
    glyphs_close(&g);
}

START_TEST(what_is_missing_is_written_by_its_number)
{
    expect("20-7e\n2423 6ce8-6ce9\n", "a\t\u2423\u6ce8\u6ce9\u6cea\n", "a\t\u2423\u6ce8\u6ce9U+6CEA\n");
    expect("20-7e", "\U0001f600\u2400", "U+1F600U+2400");
    expect("1f600", "\U0001f600", "\U0001f600");
    expect("", "abc \u00fc\n", "abc \u00fc\n"); /* what each font has */
    expect("", "\xff\xe6", "\xff\xe6");         /* not this file's to mend */
}

START_TEST(nonsense_is_read_without_harm)
{
    expect("- -- xyz 110000 10ffff-ffffffffffffffffffff 2500-24ff 2423-", "\u2423", "U+2423");
    expect("9999999999999999999999-2", "\u2423", "U+2423");
}

static bool suit(void *argument, Error *e)
{
    Buffer b = {0};
    bool replaced, fine = glyphs_suit(&b, "\u2423 \U000e0001", 8, &replaced, e);
    (void)argument;
    buffer_free(&b);
    return fine;
}

START_TEST(each_failed_allocation_is_an_error) { fail_each_allocation(suit, NULL); }

START_TEST(without_fontconfig_a_text_stays_as_it_is)
{
    Buffer b = {0};
    Error e;
    bool replaced = true;
    char *path = memory_string(getenv("PATH"));
    setenv("PATH", "/nowhere", 1);
    ck_done(glyphs_suit(&b, "\u2423\U000e0001", 7, &replaced, &e), e);
    setenv("PATH", path, 1);
    memory_free(path);
    ck_assert(!replaced && !b.size);
}

static const Test tests[] = {TEST(what_is_missing_is_written_by_its_number), TEST(nonsense_is_read_without_harm),
                             TEST(each_failed_allocation_is_an_error), TEST(without_fontconfig_a_text_stays_as_it_is)};

int main(int argc, char **argv) { return suite_run("plot/glyphs", tests, sizeof tests / sizeof *tests, argc, argv); }
