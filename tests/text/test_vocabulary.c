/* Words and their numbers: counted, cut to the most frequent, written and read. */
#include "base/file.h"
#include "base/memory.h"
#include "core/text/vocabulary.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>

static Vocabulary empty(void)
{
    Vocabulary v;
    Error e;
    ck_done(vocabulary_open(&v, &e), e);
    return v;
}

static int32_t add(Vocabulary *v, const char *word, uint64_t times)
{
    int32_t id = -1;
    Error e;
    ck_done(vocabulary_add(v, word, strlen(word), times, &id, &e), e);
    return id;
}

static void expect_words(const Vocabulary *v, const char *const *words, size_t count)
{
    ck_assert_uint_eq(v->count, count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_str_eq(vocabulary_word(v, (int32_t)i), words[i]);
        ck_assert_int_eq(vocabulary_find(v, words[i], strlen(words[i])), (int)i);
    }
}

START_TEST(words_are_numbered_as_they_come_and_counted)
{
    static const char *const words[] = {"<unk>", "good", "goo", "bad"};
    Vocabulary v = empty();
    ck_assert_int_eq(add(&v, "good", 1), 1);
    ck_assert_int_eq(add(&v, "goo", 2), 2);
    ck_assert_int_eq(add(&v, "good", 3), 1);
    ck_assert_int_eq(add(&v, "bad", 0), 3);
    expect_words(&v, words, 4);
    ck_assert(v.counts[1] == 4 && v.counts[2] == 2 && v.counts[3] == 0);
    ck_assert_int_eq(vocabulary_find(&v, "go", 2), UNKNOWN);
    ck_assert_int_eq(vocabulary_find(&v, "goods", 5), UNKNOWN);
    ck_assert_int_eq(vocabulary_find(&v, "goods", 4), 1);
    vocabulary_close(&v);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_list_of_words_needs_no_unknown_one)
{
    Vocabulary v = {0};
    ck_assert_int_eq(vocabulary_search(&v, "good", 4), -1);
    ck_assert_int_eq(add(&v, "good", 1), 0);
    ck_assert_int_eq(add(&v, "bad", 1), 1);
    ck_assert_int_eq(vocabulary_search(&v, "good", 4), 0);
    ck_assert_int_eq(vocabulary_search(&v, "bad", 3), 1);
    ck_assert_int_eq(vocabulary_search(&v, "<unk>", 5), -1);
    vocabulary_close(&v);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(many_words_are_all_found)
{
    enum { MANY = 100000 };
    char word[20];
    Vocabulary v = empty();
    for (int i = 1; i <= MANY; i++) {
        snprintf(word, sizeof word, "w%d", i * 7);
        ck_assert_int_eq(add(&v, word, 1), i);
    }
    for (int i = 1; i <= MANY; i++) {
        snprintf(word, sizeof word, "w%d", i * 7);
        ck_assert_int_eq(vocabulary_find(&v, word, strlen(word)), i);
        snprintf(word, sizeof word, "w%d", i * 7 + 1);
        ck_assert_int_eq(vocabulary_find(&v, word, strlen(word)), UNKNOWN);
    }
    vocabulary_close(&v);
}

START_TEST(the_most_frequent_stay_and_ties_go_by_spelling)
{
    static const char *const ranked[] = {"<unk>", "often", "a", "aa", "b", "\xC3\xA9", "rare"};
    int32_t ids[8];
    Error e;
    Vocabulary v = empty(), cut;
    add(&v, "rare", 1);
    add(&v, "\xC3\xA9", 5);
    add(&v, "b", 5);
    add(&v, "never", 0);
    add(&v, "aa", 5);
    add(&v, "often", 9);
    add(&v, "a", 5);
    ck_done(vocabulary_cut(&cut, &v, 100, ids, &e), e);
    expect_words(&cut, ranked, 7);
    const int32_t expected[] = {0, 6, 5, 4, UNKNOWN, 3, 1, 2};
    ck_assert_mem_eq(ids, expected, sizeof ids);
    ck_assert_uint_eq(cut.counts[UNKNOWN], 0);
    vocabulary_close(&cut);
    ck_done(vocabulary_cut(&cut, &v, 4, ids, &e), e);
    expect_words(&cut, ranked, 4);
    ck_assert_uint_eq(cut.counts[UNKNOWN], 11); /* b, e and rare */
    ck_assert(ids[2] == UNKNOWN && ids[3] == UNKNOWN && ids[5] == 3);
    vocabulary_close(&cut);
    ck_done(vocabulary_cut(&cut, &v, 1, NULL, &e), e);
    expect_words(&cut, ranked, 1);
    vocabulary_close(&cut);
    vocabulary_close(&v);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(it_is_written_as_a_text_and_read_back)
{
    char path[700], *text;
    size_t size;
    Error e;
    Vocabulary v = empty(), again;
    snprintf(path, sizeof path, "%s/words.tsv", test_folder());
    add(&v, "good", 12);
    add(&v, "na\xC3\xAFve", 3);
    v.counts[UNKNOWN] = 7;
    ck_done(vocabulary_write(&v, path, &e), e);
    ck_done(file_read(path, &text, &size, &e), e);
    ck_assert_str_eq(text, "<unk>\t7\ngood\t12\nna\xC3\xAFve\t3\n");
    ck_done(vocabulary_read(&again, path, &e), e);
    static const char *const words[] = {"<unk>", "good", "na\xC3\xAFve"};
    expect_words(&again, words, 3);
    ck_assert(again.counts[0] == 7 && again.counts[1] == 12 && again.counts[2] == 3);
    ck_assert(again.size == v.size && !memcmp(again.letters, v.letters, again.size));
    add(&again, "more", 1);
    ck_assert(!(again.size == v.size && !memcmp(again.letters, v.letters, again.size)));
    memory_free(text);
    vocabulary_close(&again);
    vocabulary_close(&v);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(what_is_no_vocabulary_is_refused)
{
    static const struct {
        const char *text, *words;
    } faults[] = {
        {"", "is empty"},
        {"<unk>\t1\ngood\t12", "line 2: the line has no end"},
        {"good\t12\n", "the first word of a vocabulary is <unk>, not 'good'"},
        {"<unk>\t1\ngood 12\n", "line 2: expected a word, a tab and its count"},
        {"<unk>\t1\n\t12\n", "line 2"},
        {"<unk>\t1\ngood\t\n", "line 2"},
        {"<unk>\t1\ngood\t1x\n", "line 2"},
        {"<unk>\t1\ngood\t-1\n", "line 2"},
        {"<unk>\t1\ngood\t99999999999999999999\n", "line 2"},
        {"<unk>\t1\na\t1\nb\t1\na\t1\n", "line 4: 'a' appears twice"},
        {"<unk>\t1\na\t1\n<unk>\t1\n", "line 3: '<unk>' appears twice"},
    };
    char path[700];
    snprintf(path, sizeof path, "%s/words.tsv", test_folder());
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        Vocabulary v;
        Error e;
        ck_done(file_write(path, faults[i].text, strlen(faults[i].text), &e), e);
        ck_assert_msg(!vocabulary_read(&v, path, &e), "'%s' was taken", faults[i].text);
        ck_assert_msg(strstr(e.text, faults[i].words) && strstr(e.text, path), "'%s'", e.text);
        ck_assert_uint_eq(memory_in_use(), 0);
    }
}

static bool make_and_read(void *argument, Error *e)
{
    Vocabulary v, cut, again;
    if (!vocabulary_open(&v, e))
        return false;
    char word[20];
    bool done = true;
    for (int i = 0; done && i < 600; i++) {
        snprintf(word, sizeof word, "word%d", i);
        done = vocabulary_add(&v, word, strlen(word), 1, NULL, e);
    }
    bool made = done && vocabulary_cut(&cut, &v, 550, NULL, e);
    bool read = made && vocabulary_write(&cut, argument, e) && vocabulary_read(&again, argument, e);
    if (read)
        vocabulary_close(&again);
    if (made)
        vocabulary_close(&cut);
    vocabulary_close(&v);
    return read;
}

START_TEST(each_failed_allocation_is_an_error)
{
    char path[700];
    snprintf(path, sizeof path, "%s/words.tsv", test_folder());
    fail_each_allocation(make_and_read, path);
}

static const Test tests[] = {TEST(words_are_numbered_as_they_come_and_counted),
                             TEST(a_list_of_words_needs_no_unknown_one),
                             TEST(many_words_are_all_found),
                             TEST(the_most_frequent_stay_and_ties_go_by_spelling),
                             TEST(it_is_written_as_a_text_and_read_back),
                             TEST(what_is_no_vocabulary_is_refused),
                             TEST(each_failed_allocation_is_an_error)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("text/vocabulary", tests, sizeof tests / sizeof *tests, argc, argv);
}
