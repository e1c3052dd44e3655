/* Memory, buffers and errors: what everything else stands on. */
#include "base/bf16.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "tests/suite.h"

#include <math.h>
#include <string.h>

START_TEST(blocks_are_zeroed_aligned_and_counted)
{
    const size_t sizes[] = {0, 1, 63, 64, 65, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 7, 5000001};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t before = memory_in_use();
        unsigned char *block = memory_get(sizes[i], 1);
        ck_assert_ptr_nonnull(block);
        ck_assert_uint_eq((uintptr_t)block % 64, 0);
        ck_assert_uint_eq(memory_in_use(), before + sizes[i]);
        size_t zeros = 0; /* one assert for all: each costs a system call */
        for (size_t k = 0; k < sizes[i]; k++)
            zeros += block[k] == 0;
        ck_assert_uint_eq(zeros, sizes[i]);
        memset(block, 1, sizes[i]);
        memory_free(block);
        ck_assert_uint_eq(memory_in_use(), before);
    }
    memory_free(NULL);
}

START_TEST(sizes_that_overflow_are_refused)
{
    ck_assert_ptr_null(memory_get(SIZE_MAX, 1));
    ck_assert_ptr_null(memory_get(SIZE_MAX / 2 + 2, 2));
    ck_assert_ptr_null(memory_get((size_t)1 << 33, (size_t)1 << 33));
    ck_assert_ptr_null(memory_get(PTRDIFF_MAX, 1));
    void *block = memory_get(4, 4);
    ck_assert_ptr_null(memory_resize(block, SIZE_MAX / 4 + 2, 4));
    ck_assert_uint_eq(memory_in_use(), 16);
    memory_free(block);
}

START_TEST(resizing_keeps_old_bytes_and_adds_zeros)
{
    char *block = memory_resize(NULL, 3, 1);
    memcpy(block, "abc", 3);
    block = memory_resize(block, 2000000, 1);
    ck_assert_mem_eq(block, "abc\0\0", 5);
    ck_assert_int_eq(block[1999999], 0);
    block = memory_resize(block, 2, 1);
    ck_assert_mem_eq(block, "ab", 2);
    ck_assert_uint_eq(memory_in_use(), 2);
    memory_free(block);
}

START_TEST(a_list_grows_by_doubling_and_stays_as_it_was_where_it_cannot)
{
    Error e;
    int32_t *list = NULL;
    size_t capacity = 0, requests = (size_t)memory_requests();
    for (int32_t i = 0; i < 1000; i++) {
        ck_assert(memory_grow(&list, &capacity, (size_t)i + 1, sizeof *list, "numbers", &e));
        list[i] = i;
    }
    ck_assert_uint_le(memory_requests() - requests, 7); /* 16, 32 ... 1024 */
    for (int32_t i = 0; i < 1000; i++)
        ck_assert_int_eq(list[i], i);
    for (size_t i = 1000; i < capacity; i++)
        ck_assert_int_eq(list[i], 0);
    const size_t before = capacity;
    const int32_t *same = list;
    memory_fail_at(1);
    ck_assert(!memory_grow(&list, &capacity, capacity + 1, sizeof *list, "numbers", &e));
    ck_assert_str_eq(e.text, "out of memory: 8.0 KiB for numbers");
    ck_assert(list == same && capacity == before);
    ck_assert(!memory_grow(&list, &capacity, SIZE_MAX / 2, sizeof *list, "numbers", &e));
    ck_assert(memory_grow(&list, &capacity, 5000, sizeof *list, "numbers", &e)); /* more than twice as many */
    ck_assert_uint_ge(capacity, 5000);
    memory_free(list);
}

START_TEST(peak_is_the_most_since_its_reset)
{
    void *a = memory_get(1000, 1);
    memory_free(a);
    ck_assert_uint_ge(memory_peak(), 1000);
    memory_peak_reset();
    a = memory_get(10, 1);
    void *b = memory_get(20, 1);
    memory_free(a);
    ck_assert_uint_eq(memory_peak(), 30);
    memory_free(b);
}

static int asked;
static void ask(void) { asked++; }

START_TEST(who_watches_sees_each_request)
{
    memory_watch(ask);
    void *a = memory_get(1, 1);
    memory_fail_at(1);
    ck_assert_ptr_null(memory_resize(a, 2, 1));
    memory_watch(NULL);
    memory_free(memory_get(1, 1));
    ck_assert_int_eq(asked, 2);
    memory_free(a);
}

START_TEST(the_chosen_request_fails_and_only_it)
{
    memory_fail_at(2);
    void *a = memory_get(1, 1), *b = memory_get(1, 1), *c = memory_get(1, 1);
    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_null(b);
    ck_assert_ptr_nonnull(c);
    memory_fail_at(1);
    ck_assert_ptr_null(memory_resize(a, 5, 1));
    memory_fail_at(1);
    memory_fail_at(0);
    b = memory_get(1, 1);
    ck_assert_ptr_nonnull(b);
    memory_free(a), memory_free(b), memory_free(c);
}

START_TEST(memory_errors_say_how_much)
{
    Error e;
    ck_assert(!memory_error(&e, "the parameters", 3, (size_t)1 << 29));
    ck_assert_str_eq(e.text, "out of memory: 1.5 GiB for the parameters");
    memory_error(&e, "x", 100, 1);
    ck_assert_str_eq(e.text, "out of memory: 100 bytes for x");
    memory_error(&e, "x", SIZE_MAX, SIZE_MAX);
    ck_assert_ptr_nonnull(strstr(e.text, "YiB"));
}

/* A device says why it has none; it is told once, and not of what fails later. */
START_TEST(memory_errors_say_what_a_device_said)
{
    Error e, why;
    fail(&why, "the card is full; a larger card");
    memory_refused(&why);
    ck_assert(!memory_error(&e, "a batch", 3, (size_t)1 << 10));
    ck_assert_str_eq(e.text, "no memory: 3.0 KiB for a batch: the card is full; a larger card");
    ck_assert(!memory_error(&e, "x", 100, 1));
    ck_assert_str_eq(e.text, "out of memory: 100 bytes for x");
    memory_refused(&why);
    ck_assert_ptr_null(memory_get(SIZE_MAX, 2));
    ck_assert(!memory_error(&e, "x", 100, 1));
    ck_assert_str_eq(e.text, "out of memory: 100 bytes for x");
}

START_TEST(an_error_is_one_line_and_may_quote_itself)
{
    Error e;
    char longest[2000];
    ck_assert(!fail(&e, "%s: no '%s'", "a\nb", "c\x1b[31m"));
    ck_assert_str_eq(e.text, "a?b: no 'c?[31m'");
    ck_assert(!fail(&e, "file x: %s", e.text));
    ck_assert_str_eq(e.text, "file x: a?b: no 'c?[31m'");
    ck_assert(!fail(NULL, "nobody listens"));
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    fail(&e, "%s", longest);
    ck_assert_uint_eq(strlen(e.text), sizeof e.text - 1);
    ck_assert_str_eq(e.text + sizeof e.text - 5, "x...");
}

START_TEST(a_buffer_grows_and_stays_closed)
{
    Buffer b = {0};
    int closed = 0;
    for (int i = 0; i < 10000; i++) {
        buffer_print(&b, "%d,", i);
        closed += b.text[b.size] == 0;
    }
    ck_assert_int_eq(closed, 10000);
    buffer_add(&b, "\0z", 2);
    ck_assert_uint_eq(b.size, 48890 + 2);
    ck_assert_mem_eq(b.text, "0,1,2,3,", 8);
    ck_assert_mem_eq(b.text + b.size - 7, "9999,\0z", 8);
    buffer_free(&b);
    ck_assert_uint_eq(memory_in_use(), 0);
    buffer_add(&b, "", 0);
    ck_assert_str_eq(b.text, "");
    buffer_free(&b);
}

static bool fill(void *argument, Error *e)
{
    (void)argument;
    Buffer b = {0};
    for (int i = 0; i < 300; i++) {
        buffer_print(&b, "%d", i);
        buffer_add(&b, "xyz", 3);
    }
    bool done = !b.failed || memory_error(e, "the text", b.size, 1);
    buffer_free(&b);
    return done;
}

START_TEST(a_buffer_remembers_a_failed_allocation) { fail_each_allocation(fill, NULL); }

static float bits(uint32_t x)
{
    float y;
    memcpy(&y, &x, sizeof y);
    return y;
}

START_TEST(bf16_rounds_to_nearest_ties_to_even)
{
    ck_assert_uint_eq(bf16_from_float(bits(0x3f800000)).bits, 0x3f80); /* 1 */
    ck_assert_uint_eq(bf16_from_float(bits(0x3f807fff)).bits, 0x3f80);
    ck_assert_uint_eq(bf16_from_float(bits(0x3f808000)).bits, 0x3f80); /* tie: the even one below */
    ck_assert_uint_eq(bf16_from_float(bits(0x3f808001)).bits, 0x3f81);
    ck_assert_uint_eq(bf16_from_float(bits(0x3f818000)).bits, 0x3f82); /* tie: the even one above */
    ck_assert_uint_eq(bf16_from_float(bits(0xbf818000)).bits, 0xbf82);
    ck_assert_uint_eq(bf16_from_float(bits(0x7f7fffff)).bits, 0x7f80); /* the largest float: infinity */
    ck_assert_uint_eq(bf16_from_float(bits(0x00008000)).bits, 0);      /* denormal tie */
    ck_assert_uint_eq(bf16_from_float(bits(0x80000000)).bits, 0x8000); /* minus zero */
    ck_assert(isinf(bf16_to_float(bf16_from_float(-INFINITY))));
}

START_TEST(bf16_nan_stays_nan_and_all_values_survive)
{
    ck_assert(isnan(bf16_to_float(bf16_from_float(bits(0x7f800001)))));
    ck_assert(isnan(bf16_to_float(bf16_from_float(bits(0xffffffff)))));
    int changed = 0;
    for (uint32_t i = 0; i < 65536; i++) {
        float x = bf16_to_float((Bf16){(uint16_t)i});
        changed += !isnan(x) && bf16_from_float(x).bits != i;
    }
    ck_assert_int_eq(changed, 0);
}

static const Test tests[] = {
    TEST(blocks_are_zeroed_aligned_and_counted),   TEST(sizes_that_overflow_are_refused),
    TEST(resizing_keeps_old_bytes_and_adds_zeros), TEST(a_list_grows_by_doubling_and_stays_as_it_was_where_it_cannot),
    TEST(peak_is_the_most_since_its_reset),        TEST(who_watches_sees_each_request),
    TEST(the_chosen_request_fails_and_only_it),    TEST(memory_errors_say_how_much),
    TEST(memory_errors_say_what_a_device_said),    TEST(an_error_is_one_line_and_may_quote_itself),
    TEST(a_buffer_grows_and_stays_closed),         TEST(a_buffer_remembers_a_failed_allocation),
    TEST(bf16_rounds_to_nearest_ties_to_even),     TEST(bf16_nan_stays_nan_and_all_values_survive),
};

int main(int argc, char **argv) { return suite_run("base/memory", tests, sizeof tests / sizeof *tests, argc, argv); }
