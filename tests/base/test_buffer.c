/* A text that grows: what was added is there, and a failure is remembered and loses nothing. */
#include "base/buffer.h"
#include "base/memory.h"
#include "tests/suite.h"

#include <stdint.h>
#include <string.h>

START_TEST(what_is_added_in_pieces_is_one_text)
{
    Buffer b = {0};
    for (int i = 0; i < 1000; i++) {
        buffer_print(&b, "%d,", i % 10);
        buffer_add(&b, "ab", (size_t)i % 3); /* also nothing */
    }
    ck_assert(!b.failed && b.size == 1000 * 2 + 333 * 3 && b.text[b.size] == 0);
    ck_assert(!strncmp(b.text, "0,1,a2,ab3,4,a5,ab", 18) && !strcmp(b.text + b.size - 7, "a8,ab9,"));
    buffer_free(&b);
    ck_assert(!b.text && !b.size && !b.capacity);
}

START_TEST(no_memory_is_remembered_and_the_text_stays)
{
    Buffer b = {0};
    buffer_add(&b, "here", 4);
    memory_fail_at(1);
    buffer_print(&b, "%100d", 1);
    memory_fail_at(0);
    ck_assert(b.failed && b.size == 4);
    buffer_add(&b, "more", 4); /* would fit, but a text with a gap is worse than one that ends */
    ck_assert(b.size == 4 && !strcmp(b.text, "here"));
    buffer_free(&b);
    ck_assert(!b.failed);
}

START_TEST(sizes_that_no_memory_has_fail_without_being_asked_for)
{
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 4, PTRDIFF_MAX, PTRDIFF_MAX - 4};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Buffer b = {0};
        buffer_add(&b, "here", 4);
        uint64_t asked = memory_requests();
        buffer_add(&b, "", sizes[i]);
        ck_assert(b.failed && b.size == 4 && memory_requests() == asked);
        buffer_free(&b);
    }
}

static const Test tests[] = {TEST(what_is_added_in_pieces_is_one_text),
                             TEST(no_memory_is_remembered_and_the_text_stays),
                             TEST(sizes_that_no_memory_has_fail_without_being_asked_for)};

int main(int argc, char **argv) { return suite_run("base/buffer", tests, sizeof tests / sizeof *tests, argc, argv); }
