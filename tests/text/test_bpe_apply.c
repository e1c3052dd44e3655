/* Applying byte pairs: what subword-nmt made of a text, a simple algorithm beside ours, and input that no text should
 * have. */
#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "base/thread.h"
#include "tests/text/bpe_files.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *text, *codes, *kept;
    uint64_t threshold;
    const char *applied;
} applications[] = {
    {FIXTURE("text"), FIXTURE("codes"), NULL, 0, FIXTURE("applied")},
    {FIXTURE("text"), FIXTURE("codes"), FIXTURE("subwords"), 8, FIXTURE("kept")},
    {FIXTURE("text"), FIXTURE("codes-0.1"), NULL, 0, FIXTURE("applied-0.1")},
    {FIXTURE("hard"), FIXTURE("hard-shuffled"), NULL, 0, FIXTURE("hard-applied")},
    {FIXTURE("hard"), FIXTURE("hard-shuffled"), FIXTURE("hard-subwords"), 40, FIXTURE("hard-kept")},
};

START_TEST(merges_are_applied_as_subword_nmt_applies_them)
{
    size_t size;
    char *text = contents(applications[_i].text, &size);
    Bpe b = codes(applications[_i].codes);
    Vocabulary kept = {0};
    BpeCoder c;
    Error e;
    if (applications[_i].kept)
        ck_done(bpe_subwords_read(&kept, applications[_i].kept, &e), e);
    ck_done(bpe_coder_open(&c, &b, applications[_i].kept ? &kept : NULL, applications[_i].threshold, &e), e);
    for (int turn = 0; turn < 2; turn++) { /* the second time all words were seen */
        Buffer out = {0};
        ck_done(bpe_apply(&c, text, size, &out, &e), e);
        expect_file(applications[_i].applied, out.text, out.size);
        buffer_free(&out);
    }
    bpe_coder_close(&c);
    vocabulary_close(&kept);
    bpe_close(&b);
    memory_free(text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* --- applying --- */

static const struct {
    const char *line, *subwords;
} lines[] = {
    {"", ""},
    {"   ", ""},
    {"low lower", "low lo@@ w@@ er"},
    {"  low \r\n", "low"},
    {"low\tlow", "lo@@ w@@ \t@@ low"},
    {"low\xC2\xA0low", "lo@@ w@@ \xC2\xA0@@ low"},
    {"x", "x"},
    {"\xC3\xA9", "\xC3\xA9"},
    {"\xC3\xA9x", "\xC3\xA9@@ x"},
    {"l@@o", "l@@ @@@ @@@ o"},
    {"</w>", "<@@ /@@ w@@ >"},
    {"<unk>", "<@@ u@@ n@@ k@@ >"},
    {"lolo", "lo@@ l@@ o"},
    {"l\xFFlow \x80\xC3", "l@@ \xFF@@ low \x80@@ \xC3"},
    {"low\rlow\nlow", "low low low"},
    {"low\vlow\xC2\x85x", "lo@@ w@@ \v lo@@ w@@ \xC2\x85 x"},
};

START_TEST(lines_become_subwords)
{
    Bpe b = merges("l o\nlo w</w>\ne r</w>\n");
    BpeCoder c = coder(&b);
    for (int turn = 0; turn < 2; turn++) /* the second time it was seen */
        ck_assert_str_eq(subwords(&c, lines[_i].line, strlen(lines[_i].line)), lines[_i].subwords);
    bpe_coder_close(&c);
    bpe_close(&b);
}

START_TEST(a_zero_byte_parts_words)
{
    Bpe b = merges("l o\nlo w</w>\n");
    BpeCoder c = coder(&b);
    ck_assert_str_eq(subwords(&c, "low\0low\0\0x", 10), "low low x");
    bpe_coder_close(&c);
    bpe_close(&b);
}

START_TEST(spaces_and_ends_of_lines_stay_at_the_ends_only)
{
    static const char text[] = "  low   x \r\n\n   \nlow\rx\vlow ";
    Bpe b = merges("l o\nlo w</w>\n");
    BpeCoder c = coder(&b);
    Buffer out = {0};
    Error e;
    ck_done(bpe_apply(&c, text, strlen(text), &out, &e), e);
    ck_assert_str_eq(out.text, "  low x \r\n\n   \nlow\rx@@ \vlow ");
    buffer_free(&out);
    bpe_coder_close(&c);
    bpe_close(&b);
}

static const struct {
    const char *subwords, *words;
} joins[] = {
    {"", ""},          {"low lo@@ w@@ er", "low lower"},
    {"a@@", "a"},      {"a@@ ", "a"},
    {"a@@  b", "a b"}, {"x@@@ y", "x@y"},
    {"a@@b", "a@@b"},  {"@@ @@ x", "x"},
    {"@", "@"},        {"@@@@ @@", "@@"},
};

START_TEST(subwords_become_words)
{
    Buffer out = {0};
    bpe_join(joins[_i].subwords, strlen(joins[_i].subwords), &out);
    ck_assert_str_eq(out.size ? out.text : "", joins[_i].words);
    buffer_free(&out);
}

/* Whatever the bytes, subwords joined again are the words. */
START_TEST(any_bytes_come_back)
{
    static const char alphabet[] = "lowerxl ow@\t\xC3\xA9\xC2\xA0\x80\xFF\xE2\x80\xA8\r\n";
    Bpe b = merges("l o\nlo w</w>\nlo w\ne r</w>\n\xC3\xA9 l\n@ @\n");
    BpeCoder c = coder(&b);
    for (uint64_t i = 0; i < 3000; i++) {
        char line[40];
        Buffer joined = {0}, expected = {0};
        BpeWord word;
        size_t size = (size_t)philox_below(sizeof line, 1, 2, i, 3);
        for (size_t k = 0; k < size; k++)
            line[k] = alphabet[philox_below(sizeof alphabet - 1, 1, 3, i * sizeof line + k, 3)];
        for (size_t at = 0; bpe_next_word(line, size, &at, &word);) {
            bool ends = word.size > 1 && !memcmp(word.text + word.size - 2, "@@", 2); /* is lost, as bpe.h says */
            buffer_print(&expected, "%s%.*s%s", expected.size ? " " : "", (int)word.size, word.text, ends ? "." : "");
        }
        buffer_add(&expected, "", 0);
        const char *all = subwords(&c, expected.text, expected.size);
        bpe_join(all, strlen(all), &joined);
        buffer_add(&joined, "", 0);
        ck_assert_str_eq(joined.text, expected.text);
        buffer_free(&joined);
        buffer_free(&expected);
    }
    bpe_coder_close(&c);
    bpe_close(&b);
}

/* The definition, word for word: as long as there are pairs with a merge, the lowest rank, all of it from the left. */
static void simply(const Bpe *b, char symbols[][200], size_t n, char *out)
{
    for (;;) {
        size_t best = PAIR_NONE;
        uint32_t rank = UINT32_MAX;
        for (size_t i = 0; i + 1 < n; i++) {
            Pair p = {vocabulary_search(&b->symbols, symbols[i], strlen(symbols[i])),
                      vocabulary_search(&b->symbols, symbols[i + 1], strlen(symbols[i + 1]))};
            size_t pair = pairs_find(&b->pairs, p);
            if (pair != PAIR_NONE && b->merges[pair].rank < rank) {
                best = pair;
                rank = b->merges[pair].rank;
            }
        }
        if (best == PAIR_NONE)
            break;
        const char *left = vocabulary_word(&b->symbols, b->pairs.pair[best].left);
        const char *right = vocabulary_word(&b->symbols, b->pairs.pair[best].right);
        size_t to = 0;
        for (size_t i = 0; i < n; i++, to++) {
            bool here = i + 1 < n && !strcmp(symbols[i], left) && !strcmp(symbols[i + 1], right);
            memmove(symbols[to], symbols[i], 200);
            if (here)
                strcat(symbols[to], symbols[++i]);
        }
        n = to;
    }
    out[0] = 0;
    for (size_t i = 0; i < n; i++)
        strcat(strcat(out, symbols[i]), i + 1 < n ? "@@ " : "");
    out[strlen(out) - 4] = 0; /* </w> */
}

START_TEST(a_word_is_merged_as_the_definition_says)
{
    static char symbols[60][200], expected[1000];
    Bpe b = codes(FIXTURE("hard-shuffled")); /* where later merges make symbols that earlier ones wait for */
    BpeCoder c = coder(&b);
    for (uint64_t i = 0; i < 2000; i++) {
        char word[61];
        size_t size = 2 + (size_t)philox_below(59, 1, 2, i, 3);
        for (size_t k = 0; k < size; k++) {
            word[k] = "aaabbbbcka"[philox_below(10, 1, 3, i * 64 + k, 3)];
            snprintf(symbols[k], 200, "%c%s", word[k], k + 1 == size ? "</w>" : "");
        }
        simply(&b, symbols, size, expected);
        ck_assert_str_eq(subwords(&c, word, size), expected);
    }
    bpe_coder_close(&c);
    bpe_close(&b);
}

START_TEST(a_very_long_word_takes_no_time)
{
    enum { LONG = 300000 };
    char *word = memory_get(LONG, 1);
    ck_assert_ptr_nonnull(word);
    for (size_t i = 0; i < LONG; i++)
        word[i] = "aab"[philox_below(3, 1, 2, i, 3)];
    Bpe b = codes(FIXTURE("codes"));
    BpeCoder c = coder(&b);
    Vocabulary words;
    Buffer all = {0}, joined = {0};
    Error e;
    ck_done(bpe_apply(&c, word, LONG, &all, &e), e);
    bpe_join(all.text, all.size, &joined);
    ck_assert(joined.size == LONG && !memcmp(joined.text, word, LONG));
    ck_assert_uint_lt(c.count, LONG / 2);
    bpe_coder_close(&c);
    bpe_close(&b);
    ck_done(vocabulary_open(&words, &e), e);
    ck_done(bpe_count_words(&words, word, LONG, NULL, &e) && bpe_count_words(&words, word, LONG, NULL, &e), e);
    ck_done(bpe_learn(&b, &words, 20, 2, &e), e);
    ck_assert_uint_eq(b.count, 20);
    bpe_close(&b);
    vocabulary_close(&words);
    buffer_free(&all);
    buffer_free(&joined);
    memory_free(word);
}

/* More words than are remembered: what was forgotten is found again. */
START_TEST(what_is_forgotten_is_made_anew)
{
    Bpe b = merges("w 1\nw1 2\n3 4</w>\n");
    BpeCoder c = coder(&b);
    char line[80];
    size_t most = 0;
    bool forgot = false, good = true;
    for (int i = 1; i < 250000; i++) {
        int length = snprintf(line, sizeof line, "w12-%040d-34", i);
        Error e;
        ck_done(bpe_encode(&c, line, (size_t)length, &e), e);
        good &= c.count == 44 && !strcmp(bpe_subword(&c, 0), "w12@@") && !strcmp(bpe_subword(&c, 43), "34");
        forgot |= c.known.words.count < most;
        most = c.known.words.count;
    }
    ck_assert(forgot && good);
    ck_assert_uint_lt(memory_in_use(), 40u << 20);
    bpe_coder_close(&c);
    bpe_close(&b);
}

START_TEST(a_list_that_keeps_nothing_is_none)
{
    Bpe b = merges("l o\nlo w</w>\n");
    Vocabulary kept;
    BpeCoder c;
    Error e;
    ck_done(bpe_subwords_read(&kept, file_of("lo@@ 5\nlow 2\nw 9\n"), &e), e);
    static const struct {
        uint64_t threshold;
        const char *subwords;
    } turns[] = {{0, "low"}, {2, "low"}, {3, "lo@@ w"}, {6, "l@@ o@@ w"}, {10, "low"}};
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        ck_done(bpe_coder_open(&c, &b, &kept, turns[i].threshold, &e), e);
        ck_assert_str_eq(subwords(&c, "low", 3), turns[i].subwords);
        bpe_coder_close(&c);
    }
    vocabulary_close(&kept);
    bpe_close(&b);
}

/* Of two ways to a symbol the one whose last line comes first: as subword-nmt, which reads the list backwards. */
START_TEST(a_symbol_with_two_origins_is_split_into_one_of_them)
{
    Bpe b = merges("a b\nab c\nb c\na bc\nab c\n");
    Vocabulary kept;
    BpeCoder c;
    Error e;
    ck_done(bpe_subwords_read(&kept, file_of("ab@@ 5\nc@@ 5\na@@ 5\nbc@@ 5\nx 5\n"), &e), e);
    ck_done(bpe_coder_open(&c, &b, &kept, 1, &e), e);
    ck_assert_str_eq(subwords(&c, "abcx", 4), "a@@ bc@@ x");
    bpe_coder_close(&c);
    vocabulary_close(&kept);
    bpe_close(&b);
}

/* As of a text that speaks of </w>: what is merged looks like the end of a word. */
START_TEST(a_merge_within_the_end_of_a_word_is_not_split)
{
    Bpe b = merges("a</ w>\n");
    Vocabulary kept;
    BpeCoder c;
    Error e;
    ck_done(bpe_subwords_read(&kept, file_of("b@@ 5\n"), &e), e);
    ck_done(bpe_coder_open(&c, &b, &kept, 1, &e), e);
    ck_assert_str_eq(subwords(&c, "ba", 2), "b@@ a");
    bpe_coder_close(&c);
    vocabulary_close(&kept);
    bpe_close(&b);
}

START_TEST(an_old_end_of_word_is_split_off_without_a_subword)
{
    Bpe b = codes(file_of("l o\nlo w\nlow </w>\n"));
    Vocabulary kept;
    BpeCoder c;
    Error e;
    ck_done(bpe_subwords_read(&kept, file_of("l@@ 5\n"), &e), e);
    ck_done(bpe_coder_open(&c, &b, &kept, 1, &e), e);
    ck_assert_str_eq(subwords(&c, "low", 3), "low");
    bpe_coder_close(&c);
    vocabulary_close(&kept);
    bpe_close(&b);
}

/* --- a vocabulary of subwords --- */

START_TEST(subwords_are_counted_to_a_vocabulary)
{
    static const char *const ranked[] = {"<unk>", "lo@@", "low", "w@@", "\t@@", "er"};
    Bpe b = merges("l o\nlo w</w>\ne r</w>\n");
    BpeCoder c = coder(&b);
    Vocabulary v, again;
    Error e;
    subwords(&c, "low lower", 9);
    subwords(&c, "low low\tlow", 11);
    subwords(&c, "low lower lower", 15);
    ck_done(vocabulary_cut(&v, &c.subwords, 100, NULL, &e), e);
    ck_assert_uint_eq(v.count, 6);
    ck_assert_uint_eq(b.count, 3); /* merges are not subwords */
    for (int32_t i = 0; i < 6; i++)
        ck_assert_int_ge(vocabulary_find(&v, ranked[i], strlen(ranked[i])), 0);
    ck_assert_uint_eq(v.counts[vocabulary_find(&v, "low", 3)], 4);
    ck_assert_uint_eq(v.counts[vocabulary_find(&v, "lo@@", 4)], 4);
    ck_assert_uint_eq(v.counts[vocabulary_find(&v, "w@@", 3)], 4);
    ck_done(vocabulary_write(&v, place("words.tsv"), &e), e);
    ck_done(vocabulary_read(&again, place("words.tsv"), &e), e);
    ck_assert(again.size == v.size && !memcmp(again.letters, v.letters, again.size));
    vocabulary_close(&again);
    vocabulary_close(&v);
    bpe_coder_close(&c);
    bpe_close(&b);
}

/* --- threads --- */

typedef struct Share {
    const Bpe *b;
    const char *text;
    size_t size;
    Buffer out[4];
    bool done[4];
} Share;

static void apply_share(void *argument, size_t worker)
{
    Share *s = argument;
    BpeCoder c;
    s->done[worker] = bpe_coder_open(&c, s->b, NULL, 0, NULL);
    for (int turn = 0; s->done[worker] && turn < 3; turn++) {
        s->out[worker].size = 0;
        s->done[worker] = bpe_apply(&c, s->text, s->size, &s->out[worker], NULL);
    }
    bpe_coder_close(&c);
}

START_TEST(several_threads_share_the_merges)
{
    Share s = {0};
    Pool *pool;
    Error e;
    char *text = contents(FIXTURE("text"), &s.size);
    Bpe b = codes(FIXTURE("codes"));
    s.b = &b;
    s.text = text;
    ck_done(pool_open(&pool, 4, false, &e), e);
    pool_run(pool, apply_share, &s);
    pool_close(pool);
    for (size_t i = 0; i < 4; i++) {
        ck_assert(s.done[i]);
        expect_file(FIXTURE("applied"), s.out[i].text, s.out[i].size);
        buffer_free(&s.out[i]);
    }
    bpe_close(&b);
    memory_free(text);
}

#define EACH(test, table) TEST_LOOP(test, sizeof(table) / sizeof *(table))

static const Test tests[] = {EACH(merges_are_applied_as_subword_nmt_applies_them, applications),
                             EACH(lines_become_subwords, lines),
                             TEST(a_zero_byte_parts_words),
                             TEST(spaces_and_ends_of_lines_stay_at_the_ends_only),
                             EACH(subwords_become_words, joins),
                             TEST(any_bytes_come_back),
                             TEST(a_word_is_merged_as_the_definition_says),
                             TEST(a_very_long_word_takes_no_time),
                             TEST(what_is_forgotten_is_made_anew),
                             TEST(a_list_that_keeps_nothing_is_none),
                             TEST(a_symbol_with_two_origins_is_split_into_one_of_them),
                             TEST(a_symbol_with_two_origins_is_split_into_one_of_them),
                             TEST(a_merge_within_the_end_of_a_word_is_not_split),
                             TEST(an_old_end_of_word_is_split_off_without_a_subword),
                             TEST(subwords_are_counted_to_a_vocabulary),
                             TEST(several_threads_share_the_merges)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("text/bpe_apply", tests, sizeof tests / sizeof *tests, argc, argv);
}
