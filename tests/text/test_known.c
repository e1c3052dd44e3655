/* Words that are remembered with what became of them: found again as they were, and never too many. */
#include "base/memory.h"
#include "core/text/known.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>

START_TEST(a_word_has_the_ids_it_had)
{
    static const int32_t ids[] = {7, 0, 9};
    Known k = {0};
    Error e;
    size_t count = 5;
    ck_assert_ptr_null(known_find(&k, "word", 4, &count));
    ck_done(known_add(&k, "word", 4, ids, 3, &e) && known_add(&k, "wor", 3, NULL, 0, &e) &&
                known_add(&k, "words", 5, ids + 2, 1, &e),
            e);
    const int32_t *found = known_find(&k, "wordy", 4, &count);
    ck_assert(found && count == 3 && !memcmp(found, ids, sizeof ids));
    ck_assert(known_find(&k, "wor", 3, &count) && count == 0);
    found = known_find(&k, "words", 5, &count);
    ck_assert(found && count == 1 && *found == 9);
    ck_assert_ptr_null(known_find(&k, "wordy", 5, &count));
    known_close(&k);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(odd_words_are_not_kept)
{
    char word[KNOWN_LONGEST + 1];
    const int32_t id = 3;
    Known k = {0};
    Error e;
    size_t count;
    memset(word, 'a', sizeof word);
    ck_done(known_add(&k, word, KNOWN_LONGEST + 1, &id, 1, &e) && known_add(&k, "", 0, &id, 1, &e) &&
                known_add(&k, "a\0b", 3, &id, 1, &e),
            e);
    ck_assert_uint_eq(k.words.count, 0);
    ck_done(known_add(&k, word, KNOWN_LONGEST, &id, 1, &e), e);
    ck_assert_ptr_nonnull(known_find(&k, word, KNOWN_LONGEST, &count));
    ck_assert_ptr_null(known_find(&k, word, KNOWN_LONGEST + 1, &count));
    ck_done(known_add(&k, "a", 1, &id, 1, &e), e);
    ck_assert_ptr_null(known_find(&k, "a\0b", 3, &count));
    known_close(&k);
}

/* Short words, of which there may be too many, and long ones, which take up too much: some MiB in all, and what comes
 * last is always known. */
START_TEST(millions_of_words_take_little_memory)
{
    static const char *const forms[] = {"%x", "%048x"};
    const uint32_t words = test_is_fast() ? 300000 : 2000000;
    Known k = {0};
    Error e;
    size_t most = 0;
    for (uint32_t i = 0; i < words; i++) {
        char word[KNOWN_LONGEST];
        const int32_t ids[] = {(int32_t)i, 1};
        size_t count, size = (size_t)snprintf(word, sizeof word, forms[_i], i);
        if (!known_add(&k, word, size, ids, 2, &e))
            ck_abort_msg("%s", e.text);
        const int32_t *found = known_find(&k, word, size, &count);
        if (!found || count != 2 || found[0] != (int32_t)i)
            ck_abort_msg("word %u is not known", i);
        most = k.words.count > most ? k.words.count : most;
    }
    ck_assert(most <= KNOWN_WORDS && most > (_i ? 30000 : 100000) && k.words.count < words);
    ck_assert_uint_lt(memory_in_use(), 24u << 20);
    known_close(&k);
}

static bool remember(void *argument, Error *e)
{
    Known k = {0};
    bool done = true;
    (void)argument;
    for (int i = 0; done && i < 3000; i++) {
        char word[16];
        const int32_t id = i;
        size_t count, size = (size_t)snprintf(word, sizeof word, "w%d", i);
        done = known_add(&k, word, size, &id, 1, e);
        if (done)
            ck_assert(*known_find(&k, word, size, &count) == i);
    }
    known_close(&k);
    return done;
}

START_TEST(without_memory_nothing_is_kept) { fail_each_allocation(remember, NULL); }

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(a_word_has_the_ids_it_had), TEST(odd_words_are_not_kept),
                                 TEST_LOOP(millions_of_words_take_little_memory, 2),
                                 TEST(without_memory_nothing_is_kept)};
    return suite_run("text/known", tests, sizeof tests / sizeof *tests, argc, argv);
}
