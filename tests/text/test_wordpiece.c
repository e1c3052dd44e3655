/* WordPiece: equal to Hugging Face's tokenizers on awkward lines (tests/fixtures/wordpiece.py), what its file may hold,
 * and subwords learned from a few words by hand. */
#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "core/text/bert_words.h"
#include "core/text/wordpiece.h"
#include "tests/cases.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>

#define VOCABULARY "tests/fixtures/wordpiece-vocab.txt"

static WordPiece opened(bool lower)
{
    WordPiece w;
    Error e;
    ck_done(wordpiece_read(&w, VOCABULARY, lower, &e), e);
    return w;
}

/* A vocabulary of these lines. */
static const char *written(const char *lines, size_t size)
{
    static char path[700];
    Error e;
    snprintf(path, sizeof path, "%s/vocab.txt", test_folder());
    ck_done(file_write(path, lines, size, &e), e);
    return path;
}

START_TEST(ids_are_those_of_tokenizers)
{
    Cases cases = cases_open("wordpiece");
    WordPiece w = opened(!_i);
    for (size_t i = 0; i < cases.list->count; i++) {
        const Json *one = &cases.list->items[i], *text = case_value(one, 0);
        Buffer ids = {0};
        Error e;
        ck_done(wordpiece_encode(&w, text->text, text->size, &ids, &e), e);
        case_expect_ids(one, _i ? 2 : 1, &ids);
        buffer_free(&ids);
    }
    wordpiece_close(&w);
    cases_close(&cases);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* The text that the subwords of a text say. */
static const char *subwords(const WordPiece *w, const char *text, size_t size)
{
    static char all[2000];
    Buffer ids = {0};
    Error e;
    ck_done(wordpiece_encode(w, text, size, &ids, &e), e);
    all[0] = 0;
    for (size_t i = 0; i < ids.size / sizeof(int32_t); i++) {
        int32_t id;
        memcpy(&id, ids.text + i * sizeof id, sizeof id);
        ck_assert(id >= 0 && (size_t)id < w->subwords.count);
        const char *subword = vocabulary_word(&w->subwords, id);
        ck_assert_uint_lt(strlen(all) + strlen(subword) + 1, sizeof all);
        strcat(strcat(all, i ? " " : ""), subword);
    }
    buffer_free(&ids);
    return all;
}

START_TEST(bytes_that_are_no_characters_are_left_out)
{
    WordPiece w = opened(true);
    static const struct {
        const char *text, *subwords;
    } some[] = {
        {"the\xFF the", "the the"},          {"\x80th\xC3", "th"},       {"t\xED\xA0\x80h", "th"}, {"\xF0\x9F\x98", ""},
        {"the\xEF\xBF\xBDthe", "the ##the"}, {"the\r\nthe\n", "the the"}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        ck_assert_str_eq(subwords(&w, some[i].text, strlen(some[i].text)), some[i].subwords);
    ck_assert_str_eq(subwords(&w, "t\0h\0 e", 6), "th e");
    wordpiece_close(&w);
}

START_TEST(the_longest_subword_is_taken_even_if_the_rest_then_fails)
{
    static const char lines[] = "[UNK]\na\nab\n##b\n##c\n##bc\n";
    Error e;
    WordPiece w;
    ck_done(wordpiece_read(&w, written(lines, strlen(lines)), true, &e), e);
    ck_assert_str_eq(subwords(&w, "abc ab acb abd b a", 18), "ab ##c ab a ##c ##b [UNK] [UNK] a");
    wordpiece_close(&w);
}

START_TEST(a_word_may_have_100_characters_of_any_size)
{
    static const char lines[] = "[UNK]\n\xF0\x9F\x98\x80\n##\xF0\x9F\x98\x80\n";
    char text[4 * 101];
    Buffer ids = {0};
    WordPiece w;
    Error e;
    ck_done(wordpiece_read(&w, written(lines, strlen(lines)), true, &e), e);
    for (size_t i = 0; i < 101; i++)
        memcpy(text + 4 * i, "\xF0\x9F\x98\x80", 4);
    ck_done(wordpiece_encode(&w, text, 4 * 100, &ids, &e), e);
    ck_assert_uint_eq(ids.size, 100 * sizeof(int32_t));
    ids.size = 0;
    ck_done(wordpiece_encode(&w, text, 4 * 101, &ids, &e), e);
    ck_assert_uint_eq(ids.size, sizeof(int32_t));
    buffer_free(&ids);
    wordpiece_close(&w);
}

START_TEST(a_huge_word_costs_what_a_short_one_does)
{
    enum { SIZE = 4 << 20 };
    char *text = memory_get(SIZE, 1);
    WordPiece w = opened(true);
    ck_assert_ptr_nonnull(text);
    memset(text, 'x', SIZE);
    ck_assert_str_eq(subwords(&w, text, SIZE), "[UNK]");
    memory_free(text);
    wordpiece_close(&w);
}

START_TEST(ids_become_words_again)
{
    WordPiece w = opened(true);
    Buffer ids = {0}, text = {0};
    Error e;
    ck_done(wordpiece_encode(&w, "The house, xxxthe \xC3\x9F!", 22, &ids, &e), e);
    int32_t list[20];
    memcpy(list, ids.text, ids.size);
    ck_done(wordpiece_decode(&w, list, ids.size / sizeof *list, &text, &e), e);
    ck_assert_str_eq(text.text, "the house , xxxthe \xC3\x9F !");
    list[0] = (int32_t)w.subwords.count;
    ck_assert(!wordpiece_decode(&w, list, 1, &text, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "is out of range"));
    list[0] = -1;
    ck_assert(!wordpiece_decode(&w, list, 1, &text, &e));
    buffer_free(&ids);
    buffer_free(&text);
    wordpiece_close(&w);
}

START_TEST(what_is_no_vocabulary_is_refused)
{
    static const struct {
        const char *text;
        size_t size;
        const char *words;
    } faults[] = {{"", 0, "has no line [UNK]"},
                  {"a\nb\n", 4, "has no line [UNK]"},
                  {"[UNK]\n\na\n", 9, "line 2: a subword is missing"},
                  {"[UNK]\n\r\n", 8, "line 2"},
                  {"[UNK]\na\0b\n", 10, "line 2"},
                  {"[UNK]\na\nb\na\n", 12, "line 4: 'a' appears twice, first in line 2"},
                  {"a\n[unk]\n", 8, "has no line [UNK]"}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        WordPiece w;
        Error e;
        const char *path = written(faults[i].text, faults[i].size);
        ck_assert_msg(!wordpiece_read(&w, path, true, &e), "'%s' was taken", faults[i].text);
        ck_assert_msg(strstr(e.text, faults[i].words) && strstr(e.text, path), "'%s'", e.text);
        ck_assert_uint_eq(memory_in_use(), 0);
    }
}

START_TEST(lines_may_end_as_in_windows_and_the_last_not_at_all)
{
    WordPiece w;
    Error e;
    ck_done(wordpiece_read(&w, written("a\r\r\n[UNK]\r\n##b", 14), true, &e), e);
    ck_assert(w.subwords.count == 3 && w.unknown == 1 && w.longest == 5);
    ck_assert_str_eq(subwords(&w, "ab", 2), "a ##b");
    wordpiece_close(&w);
}

/* --- learning --- */

static Vocabulary counted(const char *text)
{
    Vocabulary words;
    Error e;
    ck_done(vocabulary_open(&words, &e), e);
    ck_done(wordpiece_count(&words, text, strlen(text), true, &e), e);
    return words;
}

static void expect_learned(const char *text, size_t size, const char *const *expected, size_t count)
{
    Vocabulary words = counted(text);
    WordPiece w;
    Error e;
    ck_done(wordpiece_learn(&w, &words, size, true, &e), e);
    ck_assert_uint_eq(w.subwords.count, 5 + count);
    ck_assert_int_eq(w.unknown, vocabulary_search(&w.subwords, "[UNK]", 5));
    for (size_t i = 0; i < count; i++)
        ck_assert_str_eq(vocabulary_word(&w.subwords, (int32_t)i + 5), expected[i]);
    wordpiece_close(&w);
    vocabulary_close(&words);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(the_pair_met_most_often_is_joined_first)
{
    /* b-c 5 times, a-b 3: bc first; then a-bc 3 and x-bc 2; then nothing is left to join */
    static const char *const subwords[] = {"a", "b", "c", "x", "##b", "##c", "##bc", "abc", "xbc"};
    expect_learned("abc abc abc xbc xbc", 14, subwords, 9);
    expect_learned("abc abc abc xbc xbc", 1000, subwords, 9);
    expect_learned("abc abc abc xbc xbc", 12, subwords, 7);
}

START_TEST(of_pairs_met_equally_often_the_lower_ids_are_joined)
{
    static const char *const subwords[] = {"a", "b", "c", "d", "##b", "##d", "ab", "cd"};
    expect_learned("cd ab", 20, subwords, 8);
}

START_TEST(runs_of_one_letter_are_joined_from_the_left)
{
    /* aaaaa: a ##a ##a ##a ##a -> a ##aa ##aa -> a ##aaaa -> aaaaa */
    static const char *const subwords[] = {"a", "##a", "##aa", "aaa", "aaaaa"};
    expect_learned("aaaaa", 50, subwords, 5);
}

/* Such a word has each of its pairs many times. */
START_TEST(a_long_run_of_one_letter_is_learned_in_little_memory)
{
    char word[BERT_WORD_MOST + 1] = "";
    memset(word, 'a', BERT_WORD_MOST);
    Vocabulary words = counted(word);
    WordPiece w;
    Error e;
    const size_t before = memory_in_use();
    memory_peak_reset();
    ck_done(wordpiece_learn(&w, &words, 100, true, &e), e);
    ck_assert_str_eq(vocabulary_word(&w.subwords, (int32_t)w.subwords.count - 1), word);
    ck_assert_uint_lt(memory_peak() - before, 4 << 20);
    wordpiece_close(&w);
    vocabulary_close(&words);
}

START_TEST(a_vocabulary_smaller_than_its_characters_is_refused)
{
    Vocabulary words = counted("abc");
    WordPiece w;
    Error e;
    ck_assert(!wordpiece_learn(&w, &words, 9, true, &e));
    ck_assert_msg(strstr(e.text, "of 9 subwords is too small: special tokens and characters alone are 10"), "%s",
                  e.text);
    vocabulary_close(&words);
    ck_assert_uint_eq(memory_in_use(), 0);
}

enum { SPELLED = 80 };

/* Of all pairs of neighbours in words such as "a ##b ##c", the one to be joined: "a ##b"; empty: there is none. */
static void find_pair(char chosen[SPELLED], const Vocabulary *v, char words[][SPELLED], size_t count)
{
    Vocabulary pairs = {0};
    int32_t best[3] = {0};
    Error e;
    chosen[0] = 0;
    for (size_t i = 0; i < count; i++)
        for (const char *at = words[i], *middle; (middle = strchr(at, ' ')); at = middle + 1) {
            size_t size = (size_t)(middle - at) + 1 + strcspn(middle + 1, " ");
            ck_done(vocabulary_add(&pairs, at, size, 1, NULL, &e), e);
        }
    for (size_t i = 0; i < pairs.count; i++) {
        const char *pair = vocabulary_word(&pairs, (int32_t)i), *middle = strchr(pair, ' ');
        int32_t is[3] = {-(int32_t)pairs.counts[i], vocabulary_search(v, pair, (size_t)(middle - pair)),
                         vocabulary_search(v, middle + 1, strlen(middle + 1))};
        size_t k = 0;
        while (k < 2 && is[k] == best[k])
            k++;
        if (is[k] < best[k]) {
            memcpy(best, is, sizeof best);
            strcpy(chosen, pair);
        }
    }
    vocabulary_close(&pairs);
}

/* "a ##b" becomes "ab" wherever it stands as two subwords, from the left. */
static void join_pair(char *word, const char *pair)
{
    size_t size = strlen(pair), left = strcspn(pair, " ");
    for (char *at = word, *space; *at; at = space + 1) {
        space = at + strcspn(at, " ");
        if (!strncmp(at, pair, size) && (at[size] == ' ' || !at[size])) {
            memmove(at + left, at + left + 3, strlen(at + left + 3) + 1);
            space = at + strcspn(at, " ");
        }
        if (!*space)
            return;
    }
}

/* The plain definition: all pairs are counted again before each joining. */
static void learn_plainly(Vocabulary *v, char words[][SPELLED], size_t count, size_t size)
{
    char pair[SPELLED], subword[SPELLED];
    Error e;
    for (find_pair(pair, v, words, count); *pair && v->count < size; find_pair(pair, v, words, count)) {
        strcpy(subword, pair);
        join_pair(subword, pair);
        ck_done(vocabulary_add(v, subword, strlen(subword), 0, NULL, &e), e);
        for (size_t i = 0; i < count; i++)
            join_pair(words[i], pair);
    }
}

/* Words of few letters, so that pairs overlap, come and go, and tie. */
START_TEST(what_is_learned_is_what_counting_anew_would_learn)
{
    enum { WORDS = 40, LONGEST = 9 };
    char words[WORDS][SPELLED], text[WORDS * (LONGEST + 1) + 1] = "";
    uint32_t seed = 10 + (uint32_t)_i, letters = 1 + (uint32_t)_i % 4;
    for (uint64_t i = 0; i < WORDS; i++) {
        size_t size = 1 + (size_t)philox_below(LONGEST, seed, 0, i, 1);
        words[i][0] = 0;
        for (size_t k = 0; k < size; k++) {
            char letter[2] = {(char)('a' + philox_below(letters, seed, 1, i * LONGEST + k, 1))};
            strcat(strcat(words[i], k ? " ##" : ""), letter);
            strcat(text, letter);
        }
        strcat(text, " ");
    }
    Vocabulary counts = counted(text);
    WordPiece w, begun;
    Error e;
    ck_done(wordpiece_learn(&w, &counts, 60, true, &e), e);
    ck_done(wordpiece_learn(&begun, &counts, 5 + 2 * letters, true, &e), e); /* specials and characters */
    learn_plainly(&begun.subwords, words, WORDS, 60);
    ck_assert_uint_eq(w.subwords.count, begun.subwords.count);
    for (size_t i = 0; i < w.subwords.count; i++)
        ck_assert_str_eq(vocabulary_word(&w.subwords, (int32_t)i), vocabulary_word(&begun.subwords, (int32_t)i));
    wordpiece_close(&begun);
    wordpiece_close(&w);
    vocabulary_close(&counts);
}

START_TEST(words_that_no_text_has_are_left_out)
{
    static const char *const subwords[] = {"a", "b", "##b", "ab"};
    char longer[BERT_WORD_MOST + 2] = "";
    Vocabulary words = counted("ab");
    WordPiece w;
    Error e;
    memset(longer, 'c', sizeof longer - 1);
    ck_done(vocabulary_add(&words, longer, strlen(longer), 9, NULL, &e), e);
    ck_done(vocabulary_add(&words, "dd\xFF", 3, 9, NULL, &e), e);
    ck_done(vocabulary_add(&words, "ee", 2, 0, NULL, &e), e); /* never met */
    ck_done(wordpiece_learn(&w, &words, 100, true, &e), e);
    ck_assert_uint_eq(w.subwords.count, 5 + 4);
    for (int32_t i = 0; i < 4; i++)
        ck_assert_str_eq(vocabulary_word(&w.subwords, i + 5), subwords[i]);
    wordpiece_close(&w);
    vocabulary_close(&words);
}

START_TEST(what_was_learned_parts_its_own_words_wholly)
{
    static const char text[] = "Ein H\xC3\xA4uschen, ein Haus; zwei H\xC3\xA4user: \xE4\xB8\xAD\xE6\x96\x87 100%";
    char path[700];
    Vocabulary words = counted(text);
    WordPiece w, again;
    Error e;
    ck_done(wordpiece_learn(&w, &words, 45, true, &e), e);
    snprintf(path, sizeof path, "%s/learned.txt", test_folder());
    ck_done(wordpiece_write(&w, path, &e) && wordpiece_read(&again, path, true, &e), e);
    ck_assert_uint_eq(again.longest, w.longest);
    ck_assert((again.subwords.size == w.subwords.size &&
               !memcmp(again.subwords.letters, w.subwords.letters, again.subwords.size)));
    const char *said = subwords(&again, text, strlen(text));
    ck_assert_msg(!strstr(said, "[UNK]") && strstr(said, "haus"), "%s", said);
    wordpiece_close(&again);
    wordpiece_close(&w);
    vocabulary_close(&words);
    ck_assert_uint_eq(memory_in_use(), 0);
}

typedef struct All {
    const char *text, *path;
} All;

static bool pass_through(const WordPiece *w, const char *text, Error *e)
{
    Buffer ids = {0}, said = {0};
    bool done = wordpiece_encode(w, text, strlen(text), &ids, e);
    done = done && wordpiece_decode(w, (const int32_t *)(const void *)ids.text, ids.size / sizeof(int32_t), &said, e);
    buffer_free(&ids);
    buffer_free(&said);
    return done;
}

static bool learn_and_read(void *argument, Error *e)
{
    const All *a = argument;
    Vocabulary words;
    WordPiece w, again;
    if (!vocabulary_open(&words, e))
        return false;
    bool learned = wordpiece_count(&words, a->text, strlen(a->text), true, e) &&
                   wordpiece_learn(&w, &words, 300, true, e);
    bool read = learned && wordpiece_write(&w, a->path, e) && wordpiece_read(&again, a->path, true, e);
    bool passed = read && pass_through(&again, a->text, e);
    if (learned)
        wordpiece_close(&w);
    if (read)
        wordpiece_close(&again);
    vocabulary_close(&words);
    return passed;
}

START_TEST(each_failed_allocation_is_an_error)
{
    enum { WORDS = 700, LETTERS = 7 }; /* enough that all that grows does */
    char path[700], text[WORDS * (LETTERS + 1) + 1];
    for (uint64_t i = 0; i < sizeof text - 1; i++)
        text[i] = i % (LETTERS + 1) == LETTERS ? ' ' : (char)('a' + philox_below(26, 3, 0, i, 1));
    text[sizeof text - 1] = 0;
    snprintf(path, sizeof path, "%s/learned.txt", test_folder());
    All all = {text, path};
    fail_each_allocation(learn_and_read, &all);
}

static const Test tests[] = {TEST_LOOP(ids_are_those_of_tokenizers, 2),
                             TEST(bytes_that_are_no_characters_are_left_out),
                             TEST(the_longest_subword_is_taken_even_if_the_rest_then_fails),
                             TEST(a_word_may_have_100_characters_of_any_size),
                             TEST(a_huge_word_costs_what_a_short_one_does),
                             TEST(ids_become_words_again),
                             TEST(what_is_no_vocabulary_is_refused),
                             TEST(lines_may_end_as_in_windows_and_the_last_not_at_all),
                             TEST(the_pair_met_most_often_is_joined_first),
                             TEST(of_pairs_met_equally_often_the_lower_ids_are_joined),
                             TEST(runs_of_one_letter_are_joined_from_the_left),
                             TEST(a_long_run_of_one_letter_is_learned_in_little_memory),
                             TEST(a_vocabulary_smaller_than_its_characters_is_refused),
                             TEST_LOOP(what_is_learned_is_what_counting_anew_would_learn, 20),
                             TEST(words_that_no_text_has_are_left_out),
                             TEST(what_was_learned_parts_its_own_words_wholly),
                             TEST(each_failed_allocation_is_an_error)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("text/wordpiece", tests, sizeof tests / sizeof *tests, argc, argv);
}
