/* Lengths of texts and coverage of vocabularies, counted by hand. */
#include "core/plot/texts.h"

#include "base/memory.h"
#include "tests/suite.h"

#include <string.h>

/* Texts of 1, 3, 0 and 4 tokens: 0 five times, 1 twice, 2 once. */
static const int32_t ids[] = {0, 0, 1, 2, 0, 0, 0, 1};
static const size_t start[] = {0, 1, 4, 4, 8};
/* One of two tokens, of which one is not in what is trained on. */
static const int32_t others[] = {3, 1};
static const size_t other[] = {0, 2};

static TextSet set_of(int32_t unknown)
{
    return (TextSet){.list = {{.name = "train", .ids = ids, .start = start, .count = 4, .learnt = true},
                              {.name = "valid", .ids = others, .start = other, .count = 1}},
                     .count = 2,
                     .kinds = 4,
                     .unknown = unknown,
                     .reads = 3};
}

START_TEST(lengths_are_counted)
{
    TextSet t = set_of(NOT_KNOWN);
    Buffer b = {0};
    Error e;
    ck_done(texts_lengths(&b, &t, &e), e);
    ck_assert_str_eq(b.text, "train\t4\t2.0\t3\t4\t4\t25\n0\t1\t25\n1\t2\t25\n2\t3\t0\n3\t4\t25\n4\t5\t25\n\n\n"
                             "valid\t1\t2.0\t2\t2\t2\t0\n0\t1\t0\n1\t2\t0\n2\t3\t100\n");
    buffer_free(&b);
}

START_TEST(coverage_is_counted_by_rank)
{
    TextSet t = set_of(NOT_KNOWN);
    Buffer b = {0};
    Error e;
    ck_done(texts_coverage(&b, &t, &e), e);
    ck_assert_str_eq(b.text, "train\t8\t3\n1\t62.5\n2\t87.5\n3\t100\n\n\nvalid\t2\t3\n1\t0\n2\t50\n3\t50\n");
    buffer_free(&b);
    t = set_of(0); /* what nobody knows covers nothing */
    ck_done(texts_coverage(&b, &t, &e), e);
    ck_assert_str_eq(b.text, "train\t8\t2\n1\t25\n2\t37.5\n\n\nvalid\t2\t2\n1\t50\n2\t50\n");
    buffer_free(&b);
}

/* 0 and 1 of one vocabulary are no 0 and 1 of another. */
START_TEST(vocabularies_are_counted_apart)
{
    static const int32_t source[] = {0, 1, 1}, target[] = {0, 0, 0, 2};
    static const size_t three[] = {0, 3}, four[] = {0, 4};
    TextSet t = {.list = {{.name = "s", .ids = source, .start = three, .count = 1, .learnt = true},
                          {.name = "t", .ids = target, .start = four, .count = 1, .vocabulary = 1, .learnt = true}},
                 .count = 2,
                 .kinds = 3,
                 .unknown = NOT_KNOWN};
    Buffer b = {0};
    Error e;
    ck_done(texts_coverage(&b, &t, &e), e);
    ck_assert_str_eq(b.text, "s\t3\t2\n1\t66.666667\n2\t100\n\n\nt\t4\t2\n1\t75\n2\t100\n");
    buffer_free(&b);
}

START_TEST(bytes_are_tokens_too)
{
    static const size_t lines[] = {0, 2, 5};
    TextSet t = {
        .list =
            {{.name = "x", .bytes = (const unsigned char *)"a\nb\xff\n", .start = lines, .count = 2, .learnt = true}},
        .count = 1,
        .kinds = 256,
        .unknown = NOT_KNOWN};
    Buffer b = {0};
    Error e;
    ck_done(texts_coverage(&b, &t, &e), e);
    ck_assert_str_eq(b.text, "x\t5\t4\n1\t40\n2\t60\n3\t80\n4\t100\n");
    buffer_free(&b);
}

/* A thousand short texts and one of a million: nothing between them takes a line. */
START_TEST(one_text_that_is_far_longer_takes_one_line)
{
    enum { TEXTS = 1001 };
    static size_t begins[TEXTS + 1];
    for (size_t i = 0; i < TEXTS; i++)
        begins[i + 1] = begins[i] + (i + 1 < TEXTS ? i % 7 : 1000000);
    TextSet t = {.list = {{.name = "x", .start = begins, .count = TEXTS}}, .count = 1, .unknown = NOT_KNOWN};
    Buffer b = {0};
    Error e;
    ck_done(texts_lengths(&b, &t, &e), e);
    ck_assert_msg(strstr(b.text, "\n6\t7\t14.1858\n1000000\t1000001\t0.0999001\n"), "%s", b.text);
    buffer_free(&b);
}

START_TEST(no_texts_are_an_error)
{
    TextSet t = {.list = {{.name = "x", .start = start}}, .count = 1, .kinds = 3, .unknown = NOT_KNOWN};
    Buffer b = {0};
    Error e;
    ck_assert(!texts_lengths(&b, &t, &e) && strstr(e.text, "no texts"));
    ck_assert(!texts_coverage(&b, &t, &e) && strstr(e.text, "no texts"));
    buffer_free(&b);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static bool count_all(void *argument, Error *e)
{
    TextSet t = set_of(0);
    Buffer b = {0};
    (void)argument;
    bool fine = texts_lengths(&b, &t, e) && texts_coverage(&b, &t, e);
    buffer_free(&b);
    return fine;
}

START_TEST(each_failed_allocation_is_an_error) { fail_each_allocation(count_all, NULL); }

static const Test tests[] = {TEST(lengths_are_counted),
                             TEST(coverage_is_counted_by_rank),
                             TEST(vocabularies_are_counted_apart),
                             TEST(bytes_are_tokens_too),
                             TEST(one_text_that_is_far_longer_takes_one_line),
                             TEST(no_texts_are_an_error),
                             TEST(each_failed_allocation_is_an_error)};

int main(int argc, char **argv) { return suite_run("plot/texts", tests, sizeof tests / sizeof *tests, argc, argv); }
