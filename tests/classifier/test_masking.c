/* Which words are masked, and by what: the shares that are announced, marks that stay, whole words, the same again for the
 * same seed, step and row; and parts of texts that belong together or not. */
#include "classifier/masking.h"

#include "tests/classifier/sources.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 1000, LENGTH = 102, ROWS = 400, MOST = 64 };

/* A vocabulary of words; ids FIRST to FIRST + WORDS - 1. */
static Tokens many_words(void)
{
    Error e;
    Tokens t;
    Vocabulary words;
    ck_done(vocabulary_open(&words, &e), e);
    for (int i = 0; i < WORDS; i++) {
        char word[16];
        ck_done(vocabulary_add(&words, word, (size_t)snprintf(word, sizeof word, "w%d", i), 1, NULL, &e), e);
    }
    ck_done(tokens_learn(&t, &(TokensOptions){.kind = TOKEN_WORDS, .marks = true}, &words, &e), e);
    vocabulary_close(&words);
    ck_assert_uint_eq(tokens_count(&t), WORDS + 4);
    ck_assert(t.unknown == 0 && t.first == 1 && t.separator == 2 && t.mask == 3 && t.first_word == 4);
    return t;
}

/* Subwords: play ##ing ##s, and the words a and b. */
static Tokens few_subwords(void)
{
    static const char file[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nplay\n##ing\n##s\na\nb\n.\n!\n";
    Error e;
    Tokens t;
    sources_open();
    source_write("vocab.txt", file, sizeof file - 1);
    ck_done(tokens_read(&t, TOKEN_WORDPIECE, ".", &e), e);
    ck_assert(t.unknown == 1 && t.first == 2 && t.separator == 3 && t.mask == 4 && t.first_word == 5);
    return t;
}

/* A row that was masked. */
typedef struct Masked {
    int32_t ids[LENGTH], places[MOST], were[MOST];
    size_t count;
} Masked;

static Masked masked(const Masking *m, uint32_t step, size_t row, const int32_t *ids, size_t count)
{
    Masked r = {{0}, {0}, {0}, 0};
    int32_t scratch[LENGTH];
    memcpy(r.ids, ids, count * sizeof *ids);
    ck_assert(masking_most(m, count) <= MOST);
    r.count = mask_tokens(m, step, row, r.ids, count, r.places, r.were, scratch);
    ck_assert(r.count <= masking_most(m, count));
    for (size_t i = 0, k = 0; i < count; i++) { /* in order, and all else as it was */
        const bool here = k < r.count && (size_t)r.places[k] == i;
        ck_assert(here ? r.were[k] == ids[i] : r.ids[i] == ids[i]);
        k += here;
    }
    return r;
}

/* [CLS] w0 w1 .. [SEP] */
static void make_row(const Tokens *t, int32_t *ids)
{
    for (int i = 0; i < LENGTH; i++)
        ids[i] = i == 0 ? t->first : i == LENGTH - 1 ? t->separator : t->first_word + i;
}

START_TEST(shares_are_as_announced_and_marks_stay)
{
    Tokens t = many_words();
    const Masking m = {.tokens = &t, .share = 0.15, .seed = 7};
    int32_t ids[LENGTH];
    size_t masks = 0, kept = 0, others = 0, at[LENGTH] = {0};
    double sum = 0;
    make_row(&t, ids);
    for (size_t row = 0; row < ROWS; row++) {
        const Masked r = masked(&m, 1, row, ids, LENGTH);
        ck_assert_uint_eq(r.count, 15);
        for (size_t k = 0; k < r.count; k++) {
            const int32_t now = r.ids[r.places[k]];
            at[r.places[k]]++;
            masks += now == t.mask;
            kept += now == r.were[k];
            others += now != t.mask && now != r.were[k];
            ck_assert(now == t.mask || (now >= t.first_word && now < t.first_word + WORDS));
            sum += now == t.mask || now == r.were[k] ? 0 : now - t.first_word;
        }
    }
    const double all = 15 * ROWS; /* five standard deviations */
    ck_assert_msg(fabs((double)masks / all - 0.8) < 0.026, "%zu masks", masks);
    ck_assert_msg(fabs((double)kept / all - 0.1) < 0.02, "%zu kept", kept);
    ck_assert_msg(fabs((double)others / all - 0.1) < 0.02, "%zu others", others);
    ck_assert_msg(fabs(sum / (double)others / WORDS - 0.5) < 0.06, "words are %g on average", sum / (double)others);
    ck_assert(at[0] == 0 && at[LENGTH - 1] == 0);
    for (size_t i = 1; i + 1 < LENGTH; i++)
        ck_assert_msg(at[i] > 60 - 36 && at[i] < 60 + 36, "place %zu: %zu times", i, at[i]);
    tokens_close(&t);
}

START_TEST(masks_are_a_function_of_seed_step_and_row)
{
    Tokens t = many_words();
    int32_t ids[LENGTH];
    make_row(&t, ids);
    for (uint32_t seed = 1; seed < 3; seed++)
        for (uint32_t step = 1; step < 3; step++)
            for (size_t row = 0; row < 2; row++) {
                const Masking m = {.tokens = &t, .share = 0.15, .seed = seed};
                const Masked a = masked(&m, step, row, ids, LENGTH), again = masked(&m, step, row, ids, LENGTH);
                const Masking other = {.tokens = &t, .share = 0.15, .seed = seed + 9};
                const Masked of[] = {masked(&other, step, row, ids, LENGTH), masked(&m, step + 9, row, ids, LENGTH),
                                     masked(&m, step, row + 9, ids, LENGTH)};
                ck_assert_mem_eq(&a, &again, sizeof a);
                for (size_t i = 0; i < 3; i++)
                    ck_assert(memcmp(a.places, of[i].places, sizeof a.places) != 0);
            }
    tokens_close(&t);
}

START_TEST(a_row_with_a_word_has_one_that_is_masked)
{
    Tokens t = many_words();
    const int32_t rows[][6] = {{t.first, 9, t.separator}, {0, 0, 0}, {5, 6, 7, 8, 9, 10}, {9}, {t.first, t.separator}};
    static const size_t counts[] = {3, 3, 6, 1, 2}, wanted[] = {1, 1, 1, 1, 0};
    for (int whole = 0; whole < 2; whole++)
        for (size_t i = 0; i < 5; i++) {
            const Masking m = {.tokens = &t, .share = 0.15, .whole_words = whole, .seed = 1};
            ck_assert_uint_eq(masked(&m, 1, i, rows[i], counts[i]).count, wanted[i]);
        }
    tokens_close(&t);
}

START_TEST(whole_words_are_masked_whole)
{
    Tokens t = few_subwords();
    const Masking m = {.tokens = &t, .share = 0.3, .whole_words = true, .seed = 3};
    int32_t ids[60];
    size_t three = 0, one = 0;
    for (size_t i = 0; i < 60; i++) /* play ##ing ##s a b, again and again */
        ids[i] = t.first_word + (int32_t)(i % 5);
    for (size_t row = 0; row < 200; row++) {
        const Masked r = masked(&m, 1, row, ids, 60);
        bool here[60] = {false};
        ck_assert(r.count <= 18 && r.count >= 16);
        for (size_t k = 0; k < r.count; k++)
            here[r.places[k]] = true;
        for (size_t i = 0; i < 60; i += 5) {
            ck_assert(here[i] == here[i + 1] && here[i] == here[i + 2]);
            three += here[i];
            one += here[i + 3] + here[i + 4];
        }
    }
    ck_assert_msg(three > 300 && one > 600, "%zu long words, %zu short ones", three, one);

    const int32_t word[] = {t.first, t.first_word, t.first_word + 1, t.first_word + 2, t.separator};
    const Masked r = masked(&(Masking){&t, 0.15, true, 1}, 1, 0, word, 5); /* longer than all that may be masked */
    ck_assert(r.count == 1 && r.places[0] == 1);
    tokens_close(&t);
}

/* --- pairs --- */

START_TEST(half_of_the_pairs_belong_together)
{
    Tokens t = few_subwords();
    const int32_t stop = t.first_word + 5, a = t.first_word + 3, b = t.first_word + 4;
    const int32_t ids[] = {a, a, stop, a, stop, a, b, b, b, stop, b, b, a, b, t.unknown};
    const size_t start[] = {0, 6, 12, 14, 15};
    const Texts texts = {.count = 4, .ids = ids, .start = start};
    const Masking m = {.tokens = &t, .seed = 5};
    size_t others = 0, from[4] = {0};
    for (size_t row = 0; row < ROWS; row++) {
        const Pair p = pair_of(&m, &texts, 0, 1, row, 100), again = pair_of(&m, &texts, 0, 1, row, 100);
        ck_assert(p.a == again.a && p.b == again.b && p.a_count == again.a_count && p.other == again.other);
        ck_assert(p.a == ids && (p.a_count == 3 || p.a_count == 5) && ids[p.a_count - 1] == stop);
        size_t text = 0;
        while (p.b >= ids + start[text + 1])
            text++;
        ck_assert(p.other == (text != 0) && p.b + p.b_count == ids + start[text + 1]);
        ck_assert(text ? p.b_count > 0 : p.b == ids + p.a_count);
        others += (size_t)p.other;
        from[text]++;
    }
    ck_assert_msg(others > ROWS / 2 - 50 && others < ROWS / 2 + 50, "%zu of other texts", others);
    ck_assert(from[1] > 30 && from[2] > 30 && from[3] > 30);
    for (size_t row = 0; row < 50; row++) { /* of a single word only another text can be the second part */
        const Pair p = pair_of(&m, &texts, 3, 1, row, 100), cut = pair_of(&m, &texts, 1, 1, row, 4);
        ck_assert(p.a_count == 1 && p.other == 1);
        ck_assert(cut.a_count + cut.b_count <= 4 && cut.a_count > 0);
    }
    const Texts alone = {.count = 1, .ids = ids + 14, .start = start};
    const size_t one[] = {0, 1};
    const Pair p = pair_of(&m, &(Texts){.count = 1, .ids = alone.ids, .start = one}, 0, 1, 0, 9);
    ck_assert(p.other == -1 && p.a_count == 1 && p.b_count == 0);
    tokens_close(&t);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(shares_are_as_announced_and_marks_stay),
                                 TEST(masks_are_a_function_of_seed_step_and_row),
                                 TEST(a_row_with_a_word_has_one_that_is_masked), TEST(whole_words_are_masked_whole),
                                 TEST(half_of_the_pairs_belong_together)};
    test_folders_in_memory();
    return suite_run("classifier/masking", tests, sizeof tests / sizeof *tests, argc, argv);
}
