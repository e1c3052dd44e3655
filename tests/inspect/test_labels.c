/* Tokens as an axis shows them: nothing of them is lost, nothing is in the way. */
#include "core/inspect/labels.h"

#include "tests/suite.h"

#include <string.h>

static void shown(const char *text, size_t size, const char *as, bool separates)
{
    Error e;
    Labels t = {0};
    ck_done(labels_add(&t, "before", 6, false, &e) && labels_add(&t, text, size, false, &e), e);
    ck_assert_uint_eq(t.count, 2);
    ck_assert_str_eq(label_shown(&t, 1), as);
    ck_assert_str_eq(label_shown(&t, 0), "before");
    ck_assert_msg(t.list[1].separator == separates, "%s", as);
    ck_assert(t.list[1].raw_size == size && !memcmp(t.raw.text + t.list[1].raw, text, size));
    labels_close(&t);
}

#define SHOWN(text, as, separates) shown(text, sizeof(text) - 1, as, separates)

START_TEST(what_nobody_sees_is_seen)
{
    SHOWN(" ", "␣", true);
    SHOWN("\n", "↵", true);
    SHOWN("\t", "⇥", true);
    SHOWN("\r\n", "x0D↵", true);
    SHOWN("\0", "x00", true);
    SHOWN("\x7f", "x7F", true);
    SHOWN("", "∅", true);
    SHOWN("\u00a0", "⍽", true);
    SHOWN("\u200b", "U+200B", true);
    SHOWN("\u3000", "U+3000", true);
    SHOWN("\ufeff", "U+FEFF", false);
    SHOWN("\u0301", "◌\u0301", false);
    SHOWN("e\u0301", "e\u0301", false);
}

START_TEST(what_is_seen_stays)
{
    SHOWN("#", "#", true);
    SHOWN("\"", "\"", true);
    SHOWN("a_b^{c}", "a_b^{c}", false);
    SHOWN("don't", "don't", false);
    SHOWN("中国", "中国", false);
    SHOWN("。", "。", true);
    SHOWN("...", "...", true);
    SHOWN("\U0001f600", "\U0001f600", false);
    SHOWN("a b", "a␣b", false);
}

START_TEST(bytes_that_are_no_text_are_shown_by_value)
{
    SHOWN("\xff", "xFF", false);
    SHOWN("a\xc3", "axC3", false);
    SHOWN("\xed\xa0\x80", "xEDxA0x80", false); /* half of a pair */
}

START_TEST(bytes_of_a_character_are_numbered)
{
    static const char text[] = "a中\xe4\n。";
    static const char *const as[] = {"a", "中₁", "中₂", "中₃", "xE4", "↵", "。₁", "。₂", "。₃"};
    static const bool separates[] = {false, false, false, false, false, true, true, true, true};
    Error e;
    Labels t = {0};
    ck_done(labels_add_bytes(&t, text, sizeof text - 1, &e), e);
    ck_assert_uint_eq(t.count, sizeof text - 1);
    for (size_t i = 0; i < t.count; i++) {
        ck_assert_str_eq(label_shown(&t, i), as[i]);
        ck_assert_msg(t.list[i].separator == separates[i], "%s", as[i]);
        ck_assert(t.list[i].raw_size == 1 && t.raw.text[t.list[i].raw] == text[i]);
    }
    labels_close(&t);
}

START_TEST(the_end_of_a_sentence_separates_when_marked)
{
    Error e;
    Labels t = {0};
    ck_done(labels_add(&t, "</s>", 4, true, &e) && labels_add(&t, "</s>", 4, false, &e), e);
    ck_assert(t.list[0].separator && !t.list[1].separator);
    labels_close(&t);
}

static bool many(void *nothing, Error *e)
{
    Labels t = {0};
    bool fine = true;
    (void)nothing;
    for (size_t i = 0; fine && i < 200; i++)
        fine = labels_add(&t, "word", 4, false, e);
    fine = fine && labels_add_bytes(&t, "中", 3, e);
    labels_close(&t);
    return fine;
}

START_TEST(memory_that_runs_out_is_said) { fail_each_allocation(many, NULL); }

static const Test tests[] = {TEST(what_nobody_sees_is_seen),
                             TEST(what_is_seen_stays),
                             TEST(bytes_that_are_no_text_are_shown_by_value),
                             TEST(bytes_of_a_character_are_numbered),
                             TEST(the_end_of_a_sentence_separates_when_marked),
                             TEST(memory_that_runs_out_is_said)};

int main(int argc, char **argv) { return suite_run("inspect/labels", tests, sizeof tests / sizeof *tests, argc, argv); }
