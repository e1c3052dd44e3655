/* Parts, vocabularies and ids: what a network gets to see of labelled texts. */
#include "base/buffer.h"
#include "base/memory.h"
#include "tests/classifier/sources.h"

#include <stdio.h>
#include <string.h>

/* A table of three classes: 100 texts of a, 52 of b, 13 of c, each with a word of its own; and ten test texts. */
static void make_set(void)
{
    Buffer b = {0};
    sources_open();
    buffer_print(&b, "text,label\n");
    for (int i = 0; i < 165; i++)
        buffer_print(&b, "common word%d word%d more,%s\n", i, i, i < 100 ? "a" : i < 152 ? "b" : "c");
    source_write("set/train.csv", b.text, b.size);
    buffer_free(&b);
    buffer_print(&b, "text,label\n");
    for (int i = 0; i < 10; i++)
        buffer_print(&b, "common secret%d secret%d,a\n", i, i);
    source_write("set/test.csv", b.text, b.size);
    buffer_free(&b);
}

static ReviewsOptions with_seed(uint32_t seed) { return (ReviewsOptions){.path = "set", .seed = seed}; }

START_TEST(a_fifth_of_each_class_is_held_out)
{
    make_set();
    ReviewsOptions o = with_seed(1);
    Reviews r = source_open(&o);
    size_t counts[3], valid[] = {20, 10, 3}, train[] = {80, 42, 10}, test[] = {10, 0, 0};
    reviews_balance(&r, SPLIT_VALID, counts);
    ck_assert_mem_eq(counts, valid, sizeof counts);
    reviews_balance(&r, SPLIT_TRAIN, counts);
    ck_assert_mem_eq(counts, train, sizeof counts);
    reviews_balance(&r, SPLIT_TEST, counts);
    ck_assert_mem_eq(counts, test, sizeof counts);
    bool seen[175] = {false}; /* each text is in one part, with its own label */
    for (int p = 0; p < SPLITS; p++) {
        const Texts *t = reviews_part(&r, (Split)p);
        for (size_t i = 0; i < t->count; i++) {
            size_t source = t->source[i];
            ck_assert(source < 175 && !seen[source]);
            seen[source] = true;
            ck_assert_int_eq(t->labels[i], source >= 165 || source < 100 ? 0 : source < 152 ? 1 : 2);
            ck_assert_int_eq(p == SPLIT_TEST, source >= 165);
        }
    }
    reviews_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Which texts are held out, as a line of 0 and 1. */
static void held_out_by(uint32_t seed, char *line)
{
    ReviewsOptions o = with_seed(seed);
    Reviews r = source_open(&o);
    memset(line, '0', 165);
    line[165] = 0;
    for (size_t i = 0; i < reviews_part(&r, SPLIT_VALID)->count; i++)
        line[reviews_part(&r, SPLIT_VALID)->source[i]] = '1';
    reviews_close(&r);
}

START_TEST(the_seed_says_which)
{
    char one[166], again[166], two[166];
    make_set();
    held_out_by(1, one);
    held_out_by(1, again);
    held_out_by(2, two);
    ck_assert_str_eq(one, again);
    ck_assert_str_ne(one, two);
    int both = 0;
    for (int i = 0; i < 165; i++)
        both += one[i] == '1' && two[i] == '1';
    ck_assert_int_lt(both, 20); /* of 33: 7 by chance */
    ck_assert_msg(strncmp(one, "11111", 5) != 0, "the first ones of a class");
}

START_TEST(under_final_nothing_is_held_out)
{
    make_set();
    ReviewsOptions o = with_seed(1);
    o.final = true;
    Reviews r = source_open(&o);
    Error e;
    ck_assert_uint_eq(reviews_part(&r, SPLIT_TRAIN)->count, 165);
    ck_assert_uint_eq(reviews_part(&r, SPLIT_TEST)->count, 10);
    ck_assert(!reviews_suits(&r, SPLIT_VALID, &e) && strstr(e.text, "valid part has no texts"));
    reviews_close(&r);
}

START_TEST(the_vocabulary_is_that_of_what_is_trained_on)
{
    make_set();
    for (int final = 0; final < 2; final++) {
        ReviewsOptions o = with_seed(1);
        o.final = final;
        Reviews r = source_open(&o);
        bool trained[165] = {false};
        const Texts *train = reviews_part(&r, SPLIT_TRAIN);
        for (size_t i = 0; i < train->count; i++)
            trained[train->source[i]] = true;
        for (int i = 0; i < 165; i++) {
            char word[20];
            snprintf(word, sizeof word, "word%d", i);
            ck_assert_int_eq(vocabulary_find(&r.tokens.words, word, strlen(word)) != UNKNOWN, trained[i]);
        }
        ck_assert_uint_eq(r.tokens.words.count, train->count + 3);
        ck_assert_str_eq(vocabulary_word(&r.tokens.words, 1), "common");
        ck_assert_uint_eq(r.tokens.words.counts[1], train->count);
        ck_assert_str_eq(text_of(&r, SPLIT_TEST, 4), "common <unk> <unk> ");
        reviews_close(&r);
    }
}

START_TEST(a_smaller_vocabulary_and_a_shorter_length_cut)
{
    make_set();
    ReviewsOptions o = with_seed(1);
    o.final = true;
    o.vocabulary.size = 4;
    o.length = 3;
    Reviews r = source_open(&o);
    ck_assert_uint_eq(r.tokens.words.count, 4); /* of the others, word0 is the first by its bytes */
    ck_assert_str_eq(text_of(&r, SPLIT_TRAIN, 0), "common word0 word0 ");
    ck_assert_str_eq(text_of(&r, SPLIT_TRAIN, 7), "common <unk> <unk> ");
    ck_assert_uint_eq(reviews_part(&r, SPLIT_TRAIN)->cut, 165);
    ck_assert_uint_eq(reviews_part(&r, SPLIT_TEST)->cut, 0);
    ck_assert_uint_eq(r.corpus.start[1], 4); /* the corpus has all */
    reviews_close(&r);
    o.length = 0;
    r = source_open(&o);
    ck_assert_str_eq(text_of(&r, SPLIT_TRAIN, 0), "common word0 word0 more ");
    ck_assert_uint_eq(reviews_part(&r, SPLIT_TRAIN)->cut, 0);
    reviews_close(&r);
}

START_TEST(a_runs_vocabulary_takes_the_place_of_the_texts_own)
{
    static const char *const classes[] = {"c", "x", "a", "b"};
    make_set();
    Vocabulary v;
    Error e;
    ck_done(vocabulary_open(&v, &e), e);
    ck_done(vocabulary_add(&v, "secret7", 7, 3, NULL, &e), e);
    ck_done(vocabulary_add(&v, "more", 4, 1, NULL, &e), e);
    const Tokens tokens = {.words = v};
    ReviewsOptions o = {.path = "set", .final = true, .tokens = &tokens, .classes = classes, .class_count = 4};
    Reviews r = source_open(&o);
    ck_assert(r.tokens.words.size == v.size && !memcmp(r.tokens.words.letters, v.letters, r.tokens.words.size));
    ck_assert_uint_eq(r.tokens.words.counts[1], 3);
    vocabulary_close(&v);
    ck_assert_str_eq(text_of(&r, SPLIT_TEST, 7), "<unk> secret7 secret7 ");
    ck_assert_str_eq(text_of(&r, SPLIT_TRAIN, 7), "<unk> <unk> <unk> more ");
    ck_assert_int_eq(reviews_part(&r, SPLIT_TEST)->labels[7], 2);
    ck_assert_int_eq(reviews_part(&r, SPLIT_TRAIN)->labels[164], 0);
    ck_assert_uint_eq(r.class_count, 4);
    reviews_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_text_that_is_typed_gets_the_same_ids)
{
    Vocabulary v;
    Error e;
    ck_done(vocabulary_open(&v, &e), e);
    ck_done(vocabulary_add(&v, "not", 3, 1, NULL, &e), e);
    ck_done(vocabulary_add(&v, "bad", 3, 1, NULL, &e), e);
    static const struct {
        const char *text;
        size_t length, count, cut;
        int32_t ids[5];
    } texts[] = {{"Not bad at all!", 0, 5, 0, {1, 2, 0, 0, 0}},
                 {"Not bad at all!", 3, 3, 2, {1, 2, 0}},
                 {"Not bad at all!", 5, 5, 0, {1, 2, 0, 0, 0}},
                 {"bad<br />BAD", 9, 2, 0, {2, 2}},
                 {"", 9, 1, 0, {0}},
                 {" <br /> ", 0, 1, 0, {0}},
                 {"\xFF", 1, 1, 0, {0}}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int32_t *ids;
        size_t count, cut;
        const Tokens tokens = {.words = v};
        ck_done(text_to_ids(&tokens, texts[i].text, strlen(texts[i].text), texts[i].length, &ids, &count, &cut, &e), e);
        ck_assert_uint_eq(count, texts[i].count);
        ck_assert_uint_eq(cut, texts[i].cut);
        ck_assert_mem_eq(ids, texts[i].ids, count * sizeof *ids);
        memory_free(ids);
    }
    vocabulary_close(&v);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static const Test tests[] = {TEST(a_fifth_of_each_class_is_held_out),
                             TEST(the_seed_says_which),
                             TEST(under_final_nothing_is_held_out),
                             TEST(the_vocabulary_is_that_of_what_is_trained_on),
                             TEST(a_smaller_vocabulary_and_a_shorter_length_cut),
                             TEST(a_runs_vocabulary_takes_the_place_of_the_texts_own),
                             TEST(a_text_that_is_typed_gets_the_same_ids)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("classifier/data", tests, sizeof tests / sizeof *tests, argc, argv);
}
