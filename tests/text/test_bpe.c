/* Byte pairs: learning them, and their files, as subword-nmt does and has them. */
#include "base/file.h"
#include "base/memory.h"
#include "tests/text/bpe_files.h"

#include <stdio.h>
#include <string.h>

/* --- as subword-nmt --- */

static const struct {
    const char *text;
    size_t merges, found;
    const char *codes;
} learnings[] = {
    {FIXTURE("text"), 300, 300, NULL},
    {FIXTURE("text"), 700, 696, FIXTURE("codes")}, /* then no pair appears twice */
    {FIXTURE("hard"), 1400, 251, FIXTURE("hard-codes")},
};

static bool learn(Bpe *b, const char *path, size_t merges, uint64_t least, Error *e)
{
    char *text;
    size_t size;
    Vocabulary words = {0};
    if (!file_read(path, &text, &size, e))
        return false;
    bool done = vocabulary_open(&words, e) && bpe_count_words(&words, text, size, NULL, e) &&
                bpe_learn(b, &words, merges, least, e);
    vocabulary_close(&words);
    memory_free(text);
    return done;
}

START_TEST(merges_are_learned_as_subword_nmt_learns_them)
{
    Bpe b;
    Error e;
    ck_done(learn(&b, learnings[_i].text, learnings[_i].merges, BPE_LEAST, &e), e);
    ck_assert_uint_eq(b.count, learnings[_i].found);
    ck_done(bpe_write(&b, place("codes"), &e), e);
    if (learnings[_i].codes)
        expect_same_file(place("codes"), learnings[_i].codes);
    bpe_close(&b);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(subwords_are_counted_and_listed_as_subword_nmt_does)
{
    size_t size;
    char *text = contents(FIXTURE("text"), &size);
    Bpe b = codes(FIXTURE("codes"));
    BpeCoder c = coder(&b);
    Vocabulary again;
    Buffer out = {0};
    Error e;
    ck_done(bpe_apply(&c, text, size, &out, &e), e);
    ck_done(bpe_subwords_write(&c.subwords, place("subwords"), &e), e);
    expect_same_file(place("subwords"), FIXTURE("subwords"));
    ck_done(bpe_subwords_read(&again, FIXTURE("subwords"), &e), e);
    ck_done(bpe_subwords_write(&again, place("again"), &e), e);
    expect_same_file(place("again"), FIXTURE("subwords"));
    vocabulary_close(&again);
    buffer_free(&out);
    bpe_coder_close(&c);
    bpe_close(&b);
    memory_free(text);
}

START_TEST(codes_are_written_as_they_were_read)
{
    static const char *const paths[] = {FIXTURE("codes"), FIXTURE("hard-shuffled")};
    size_t size;
    Bpe b = codes(paths[_i]);
    Error e;
    ck_done(bpe_write(&b, place("codes"), &e), e);
    char *text = contents(paths[_i], &size); /* whose last line may have no end */
    char *written = contents(place("codes"), &(size_t){0});
    ck_assert(!strncmp(written, text, size) && (!written[size] || !strcmp(written + size, "\n")));
    memory_free(text);
    memory_free(written);
    bpe_close(&b);
}

START_TEST(version_0_1_stays_what_it_is)
{
    Error e;
    Bpe b = codes(file_of("l o\nlo w\nlow </w>\ne r</w>\n"));
    ck_assert(b.separate_end);
    ck_done(bpe_write(&b, place("old"), &e), e);
    bpe_close(&b);
    static const char expected[] = "#version: 0.1\nl o\nlo w\nlow </w>\ne r</w>\n";
    expect_file(place("old"), expected, strlen(expected));
}

/* --- learning --- */

static Vocabulary words_of(const char *text)
{
    Vocabulary v;
    Error e;
    ck_done(vocabulary_open(&v, &e), e);
    ck_done(bpe_count_words(&v, text, strlen(text), NULL, &e), e);
    return v;
}

/* The codes that are learned from a text, '|' after each. */
static const char *learned(const char *text, size_t merges, uint64_t least)
{
    static char all[2000];
    Vocabulary words = words_of(text);
    Bpe b;
    Error e;
    ck_done(bpe_learn(&b, &words, merges, least, &e), e);
    all[0] = 0;
    for (size_t i = 0; i < b.count; i++) {
        const Pair *p = &b.pairs.pair[b.order[i]];
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s %s|", vocabulary_word(&b.symbols, p->left),
                 vocabulary_word(&b.symbols, p->right));
    }
    bpe_close(&b);
    vocabulary_close(&words);
    ck_assert_uint_eq(memory_in_use(), 0);
    return all;
}

static const struct {
    const char *text;
    size_t merges, least;
    const char *codes;
} lessons[] = {
    {"low low low lower lower newest newest newest", 4, 2, "w e|l o|we s|wes t</w>|"},
    {"ab ab cd cd", 9, 2, "c d</w>|a b</w>|"}, /* of two as frequent ones, what is after in the order of letters */
    {"ab ac", 9, 1, "a c</w>|a b</w>|"},
    {"ab ac", 9, 0, "a c</w>|a b</w>|"}, /* once is the least */
    {"ab ac ab", 9, 3, ""},
    {"ab ab", 0, 2, ""},
    {"a b c a b c", 9, 2, ""},
    {"", 9, 2, ""},
    {" \r\n \n", 9, 2, ""},
    {"aaaa aaaa", 9, 2, "a a|aa a|aaa a</w>|"},
    {"\xC3\xA9\xC3\xA9 \xC3\xA9\xC3\xA9", 9, 2, "\xC3\xA9 \xC3\xA9</w>|"},
    {"<unk> <unk>", 3, 2, "u n|un k|unk ></w>|"},
};

START_TEST(small_lessons)
{
    ck_assert_str_eq(learned(lessons[_i].text, lessons[_i].merges, lessons[_i].least), lessons[_i].codes);
}

START_TEST(words_that_are_no_utf8_are_not_learned_from)
{
    Vocabulary v;
    Error e;
    size_t left_out = 0;
    static const char text[] = "good b\xFF"
                               "d \xC3 good\0x\n\x80";
    ck_done(vocabulary_open(&v, &e), e);
    ck_done(bpe_count_words(&v, text, sizeof text - 1, &left_out, &e), e);
    ck_assert_uint_eq(left_out, 3);
    ck_assert_uint_eq(v.count, 3);
    ck_assert_str_eq(vocabulary_word(&v, 1), "good");
    ck_assert_uint_eq(v.counts[1], 2);
    ck_assert_str_eq(vocabulary_word(&v, 2), "x");
    vocabulary_close(&v);
}

/* --- files that are none --- */

static const struct {
    const char *text, *error;
} bad_codes[] = {
    {"#version: 0.2\na b\na b c\n", "line 3: a merge is two subwords in UTF-8, separated by one space"},
    {"#version: 0.2\na b\nab\nx y\n", "line 3: a merge is"},
    {"a b\n\nc d\n", "line 2: a merge is"},
    {"a  b\n", "line 1: a merge is"},
    {"a\tb\n", "line 1: a merge is"},
    {"a \xFF\n", "line 1: a merge is"},
    {"#version: 0.2\na b\r\n\r\n", "line 3: a merge is"},
    {"#version: 0.3\na b\n", "line 1: these codes say '#version: 0.3', but only versions 0.1 and 0.2 are known"},
    {"#version: 0.2 byte\na b\n", "line 1: these codes say '#version: 0.2 byte'"},
    {"#version: 0.20\na b\n", "line 1: these codes say"},
    {"#version:\na b\n", "line 1: these codes say"},
    {"", "is empty: codes start with the line '#version: 0.2'"},
    {"\n\n", "is empty"},
    {"the 5\nlow@@ 3\n",
     "is a list of subwords and their counts: codes are merges, 'LEFT RIGHT' on each line, after the "
     "line '#version: 0.2', as vocab and subword-nmt's learn-bpe write them"},
    {"the\nlow@@\n", "line 1: a merge is two subwords in UTF-8, separated by one space; codes start with the line "
                     "'#version: 0.2', as vocab and subword-nmt's learn-bpe write them"},
};

START_TEST(a_bad_line_of_codes_is_named)
{
    Bpe b;
    Error e;
    ck_assert(!bpe_read(&b, file_of(bad_codes[_i].text), &e));
    ck_assert_msg(strstr(e.text, bad_codes[_i].error), "%s", e.text);
    ck_assert_ptr_eq(strchr(e.text, '\n'), NULL);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static const struct {
    const char *text;
    size_t merges;
} good_codes[] = {
    {"#version: 0.2\n", 0},
    {"#version: 0.2", 0},
    {"#version: 0.2.0\r\na b\r\n", 1},
    {"a b", 1},
    {"a b\n\n\n", 1},
    {" a b \n", 1},
    {"1 0\n0 </w>", 2},
    {"#version: 0.2\n1 0\n", 1},
    {"#version: 0.2\na b\na b", 2},
    {"\xC2\xA0 b\nb \t\n", 2},
};

START_TEST(odd_codes_are_read)
{
    Bpe b = codes(file_of(good_codes[_i].text));
    ck_assert_uint_eq(b.count, good_codes[_i].merges);
    bpe_close(&b);
}

START_TEST(a_zero_byte_is_no_code)
{
    Bpe b;
    Error e;
    ck_done(file_write(place("codes"), "a b\na\0 b\n", 9, &e), e);
    ck_assert(!bpe_read(&b, place("codes"), &e));
    ck_assert_ptr_nonnull(strstr(e.text, "line 2"));
}

static const struct {
    const char *text, *error;
} bad_subwords[] = {
    {"low 5\nlow@@\n", "line 2: expected a subword, a space and its count"},
    {"low five\n", "line 1: expected a subword"},
    {"low -5\n", "line 1: expected a subword"},
    {"low 5x\n", "line 1: expected a subword"},
    {"low 5 6\n", "line 1: expected a subword"},
    {"low 99999999999999999999\n", "line 1: expected a subword"},
    {"low 1\nx 2\nlow 3\n", "line 3: 'low' appears twice"},
    {"low\t5\n", "line 1: expected a subword"},
};

START_TEST(a_bad_line_of_subwords_is_named)
{
    Vocabulary v;
    Error e;
    ck_assert(!bpe_subwords_read(&v, file_of(bad_subwords[_i].text), &e));
    ck_assert_msg(strstr(e.text, bad_subwords[_i].error), "%s", e.text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* A byte that is no UTF-8 is a subword, so a file that is written of such a text has it. */
START_TEST(subwords_of_any_bytes_are_read_as_they_were_written)
{
    static const char text[] = "caf\xE9 low";
    Bpe b = {0};
    BpeCoder c;
    Vocabulary again;
    Error e;
    ck_done(bpe_finish(&b, &e) && bpe_coder_open(&c, &b, NULL, 0, &e), e);
    ck_done(bpe_encode(&c, text, strlen(text), &e), e);
    ck_done(bpe_subwords_write(&c.subwords, place("bytes"), &e), e);
    ck_done(bpe_subwords_read(&again, place("bytes"), &e), e);
    ck_assert_int_ne(vocabulary_find(&again, "\xE9", 1), UNKNOWN);
    vocabulary_close(&again);
    bpe_coder_close(&c);
    bpe_close(&b);
}

/* --- no memory --- */

static bool learn_and_write(void *argument, Error *e)
{
    (void)argument;
    Bpe b;
    if (!learn(&b, place("short"), 60, 2, e))
        return false;
    bool done = bpe_write(&b, place("codes"), e);
    bpe_close(&b);
    return done;
}

static bool read_and_apply(void *argument, Error *e)
{
    (void)argument;
    static const char text[] = "low lower <unk> slowest low\xC2\xA0low aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\nlow lower\n";
    Bpe b;
    Vocabulary kept;
    BpeCoder c;
    Buffer out = {0};
    if (!bpe_read(&b, FIXTURE("codes"), e))
        return false;
    bool done = bpe_subwords_read(&kept, FIXTURE("subwords"), e);
    if (done) {
        done = bpe_coder_open(&c, &b, &kept, 5, e);
        if (done) {
            done = bpe_apply(&c, text, strlen(text), &out, e) && bpe_subwords_write(&c.subwords, place("subwords"), e);
            bpe_coder_close(&c);
        }
        vocabulary_close(&kept);
    }
    buffer_free(&out);
    bpe_close(&b);
    return done;
}

START_TEST(no_memory_is_said)
{
    size_t size;
    Error e;
    char *text = contents(FIXTURE("text"), &size);
    ck_done(file_write(place("short"), text, 3000, &e), e);
    memory_free(text);
    fail_each_allocation(learn_and_write, NULL);
    fail_each_allocation(read_and_apply, NULL);
}

#define EACH(test, table) TEST_LOOP(test, sizeof(table) / sizeof *(table))

static const Test tests[] = {EACH(merges_are_learned_as_subword_nmt_learns_them, learnings),
                             TEST(subwords_are_counted_and_listed_as_subword_nmt_does),
                             TEST_LOOP(codes_are_written_as_they_were_read, 2),
                             TEST(version_0_1_stays_what_it_is),
                             EACH(small_lessons, lessons),
                             TEST(words_that_are_no_utf8_are_not_learned_from),
                             EACH(a_bad_line_of_codes_is_named, bad_codes),
                             EACH(odd_codes_are_read, good_codes),
                             TEST(a_zero_byte_is_no_code),
                             EACH(a_bad_line_of_subwords_is_named, bad_subwords),
                             TEST(subwords_of_any_bytes_are_read_as_they_were_written),
                             TEST(no_memory_is_said)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("text/bpe", tests, sizeof tests / sizeof *tests, argc, argv);
}
