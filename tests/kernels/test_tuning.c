/* What is measured about a machine, as text and in memory. */
#include "kernels/cpu/tuning.h"

#include "base/memory.h"
#include "kernels/cpu/level.h"
#include "tests/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static Buffer stored, asked;
static int gets, puts_;

static bool get(const char *key, Buffer *text)
{
    gets++;
    buffer_print(&asked, "%s", key);
    buffer_add(text, stored.text ? stored.text : "", stored.size);
    return stored.text != NULL;
}

static void put(const char *key, const char *text)
{
    puts_++;
    ck_assert_str_eq(key, asked.text);
    buffer_free(&stored);
    buffer_print(&stored, "%s", text);
}

static const TuningStore store = {get, put};

static void expect_text(const char *want)
{
    Buffer text = {0};
    tuning_text(&tuning_now, &text);
    ck_assert_str_eq(text.text, want);
    buffer_free(&text);
}

#define OTHER                                                                                                          \
    "f32-short=onednn f32-long=own f32-held=own bf16-short=onednn bf16-long=own bf16-held=own bf16-by=widening "       \
    "chunk=96 panels=77 alone=5"

START_TEST(a_text_says_all_that_a_tuning_holds)
{
    Tuning t = tuning_default;
    Buffer text = {0};
    ck_assert(tuning_parse(&t, OTHER, NULL));
    ck_assert(t.widening && t.chunk == 96 && t.panels == 77 << 10 && t.alone == 5000);
    for (size_t p = 0; p < PRODUCTS; p++)
        ck_assert(t.onednn[0][p] == (p == PRODUCT_SHORT) && t.onednn[1][p] == (p == PRODUCT_SHORT));
    tuning_text(&t, &text);
    ck_assert_str_eq(text.text, OTHER);
    ck_assert_uint_eq(tuning_named(text.text), TUNING_KINDS);
    ck_assert(tuning_parse(&t, " default, panels=5,", NULL));
    ck_assert(!t.widening && t.chunk == tuning_default.chunk && t.panels == 5 << 10);
    buffer_free(&text);
}

START_TEST(a_text_that_says_something_else_is_refused_with_its_word_and_changes_nothing)
{
    static const char *const wrong[] = {"x",
                                        "chunk",
                                        "chunk=",
                                        "chunk=0",
                                        "chunk=511",
                                        "chunk=-2",
                                        "chunk=99999999999999999999999",
                                        "chunk=512x",
                                        "panels=0",
                                        "f32-short",
                                        "f32-short=ours",
                                        "f64-short=own",
                                        "bf16-by=",
                                        "bf16-by=dot",
                                        "=own",
                                        "panels=1e3",
                                        "alone=-1",
                                        "f32-long=own;"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Tuning t = tuning_default;
        Error e;
        char text[200];
        snprintf(text, sizeof text, "bf16-by=widening %s", wrong[i]);
        ck_assert_msg(!tuning_parse(&t, text, &e), "%s", wrong[i]);
        snprintf(text, sizeof text, "'%s'", wrong[i]);
        ck_assert_msg(strstr(e.text, text), "%s", e.text);
        ck_assert(!t.widening);
    }
    char longest[500] = "chunk=";
    memset(longest + 6, '1', 400);
    Tuning t = tuning_default;
    ck_assert(!tuning_parse(&t, longest, NULL));
    ck_assert_uint_eq(tuning_named("chunk=2 chunk=4 panels=1"), 2);
}

/* Nothing is decided yet, and the store holds this text (NULL: none). */
static void begin(const char *pinned, const char *text)
{
    buffer_free(&stored);
    buffer_free(&asked);
    gets = puts_ = 0;
    if (text)
        buffer_print(&stored, "%s", text);
    if (pinned)
        setenv("ATTEND_TUNING", pinned, 1);
    else
        unsetenv("ATTEND_TUNING");
    tuning_store(&store);
}

START_TEST(what_is_pinned_is_neither_measured_nor_asked_for)
{
    begin(OTHER, NULL);
    ck_assert(!tuning_is_ready() && tuning_ready(NULL) && tuning_is_ready());
    expect_text(OTHER);
    setenv("ATTEND_TUNING", "default", 1);
    ck_assert(tuning_ready(NULL));
    expect_text(OTHER);
    ck_assert_int_eq(gets + puts_, 0);
    ck_assert(tuning_adopt("chunk=128", NULL));
    ck_assert_uint_eq(tuning_now.chunk, 128);
}

START_TEST(what_is_stored_is_not_measured_again)
{
    begin(NULL, OTHER);
    ck_assert(tuning_ready(NULL));
    expect_text(OTHER);
    ck_assert_int_eq(gets, 1);
    ck_assert_int_eq(puts_, 0);
    ck_assert(strstr(asked.text, cpu_level(NULL)->name));
}

START_TEST(some_words_pin_some_choices_and_the_rest_comes_from_the_store)
{
    begin("chunk=512 f32-long=onednn", OTHER);
    ck_assert(tuning_ready(NULL));
    ck_assert(tuning_now.chunk == 512 && tuning_now.onednn[0][PRODUCT_LONG] && tuning_now.widening);
    ck_assert_uint_eq(tuning_now.panels, 77 << 10);
}

/* Nothing, half of it, another word: each is measured and stored, in less than 100 ms of this thread. */
START_TEST(what_is_not_stored_whole_is_measured_quickly_and_stored)
{
    static const char *const there[] = {NULL, "", "f32-short=own chunk=512", "rubbish", OTHER " chunk=0"};
    begin(NULL, there[_i]);
    struct timespec from, to;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    ck_assert(tuning_ready(NULL));
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    const double took = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    ck_assert_int_eq(puts_, 1);
    ck_assert_uint_eq(tuning_named(stored.text), TUNING_KINDS);
    expect_text(stored.text);
    if (!SANITIZED && !test_is_fast())
        ck_assert_msg(took < 0.1, "it took %g s", took);
}

START_TEST(what_there_is_no_memory_to_measure_is_chosen_all_the_same)
{
    for (uint64_t n = 1; n <= 24; n++) {
        begin(NULL, NULL);
        tuning_store(NULL);
        memory_fail_at(n);
        ck_assert(tuning_ready(NULL));
        memory_fail_at(0);
        ck_assert(tuning_now.chunk && tuning_now.panels);
        ck_assert(tuning_now.widening || cpu_widening(cpu_level(NULL)));
    }
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Widening is the table of a level that has no such instruction. */
START_TEST(bf16_by_widening_is_computed_as_a_level_without_dots_does_it)
{
    const CpuLevel *level = cpu_level(NULL), *wide = cpu_widening(level);
    ck_assert(tuning_adopt("default bf16-by=widening", NULL));
    ck_assert_ptr_eq(cpu_kernels(NUMBER_BF16), wide ? wide->bf16 : level->bf16);
    ck_assert_ptr_eq(cpu_kernels(NUMBER_F32), level->f32);
    ck_assert(tuning_adopt("default", NULL));
    ck_assert_ptr_eq(cpu_kernels(NUMBER_BF16), level->bf16);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST(a_text_says_all_that_a_tuning_holds),
        TEST(a_text_that_says_something_else_is_refused_with_its_word_and_changes_nothing),
        TEST(what_is_pinned_is_neither_measured_nor_asked_for),
        TEST(what_is_stored_is_not_measured_again),
        TEST(some_words_pin_some_choices_and_the_rest_comes_from_the_store),
        TEST_LOOP(what_is_not_stored_whole_is_measured_quickly_and_stored, 5),
        TEST(what_there_is_no_memory_to_measure_is_chosen_all_the_same),
        TEST(bf16_by_widening_is_computed_as_a_level_without_dots_does_it),
    };
    return suite_run("kernels/tuning", tests, sizeof tests / sizeof *tests, argc, argv);
}
