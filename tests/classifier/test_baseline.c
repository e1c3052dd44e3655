/* The built-in reviews, and what counting words makes of these and of others. */
#include "base/buffer.h"
#include "base/memory.h"
#include "base/philox.h"
#include "classifier/baseline.h"
#include "classifier/builtin.h"
#include "classifier/regression.h"
#include "core/text/words.h"
#include "tests/classifier/sources.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

START_TEST(builtin_reviews_are_always_the_same_and_balanced)
{
    ReviewsOptions o = {.seed = 5};
    for (int again = 0; again < 2; again++) {
        Reviews r = source_open(&o);
        size_t counts[2], sizes[] = {2000, 500, 500};
        for (int p = 0; p < SPLITS; p++) {
            reviews_balance(&r, (Split)p, counts);
            ck_assert(counts[0] == sizes[p] / 2 && counts[1] == sizes[p] / 2);
        }
        ck_assert_str_eq(r.classes[1], "pos");
        ck_assert_str_eq(r.sha256, "78632f659f74e93df2f832d908f30ebbcc41e0627fed271e29068e7f0f27f787");
        reviews_close(&r);
        o.seed = 6; /* what is held out changes, the texts do not */
    }
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* What a reader makes of a review: the words of praise in it that are meant, less those that are not; where nobody says
 * so, or it is not so, a word means its opposite, up to the end of the sentence; what was expected is no matter. */
static int read_review(const char *text, size_t size)
{
    static const char praise[] = " good great moving clever lovely funny superb warm brilliant tender fresh gripping ";
    static const char blame[] = " bad dull clumsy stupid weak tedious poor shallow pointless silly stale boring ";
    int said = 0, sign = 1;
    bool expected = false;
    for (Words w = words_of(text, size); words_next(&w);) {
        char word[80];
        snprintf(word, sizeof word, " %s ", w.word);
        if (strstr(" nobody not ", word))
            sign = -1;
        if (strstr(" . ", word))
            sign = 1;
        if (strstr(" expected it ", word))
            expected = w.word[0] == 'e';
        if (!expected || strstr(" . ", word)) {
            expected = false;
            said += sign * ((strstr(praise, word) != NULL) - (strstr(blame, word) != NULL));
        }
    }
    return said;
}

START_TEST(a_reader_of_builtin_reviews_knows_all_and_a_counter_does_not)
{
    for (size_t i = 0; i < BUILTIN_TRAINING + BUILTIN_TEST; i++) {
        Buffer b = {0};
        builtin_review(&b, i);
        int said = read_review(b.text, b.size);
        ck_assert_msg(said && (said > 0) == (i % 2 == 1), "%d: %s", said, b.text);
        buffer_free(&b);
    }
    Reviews r = source_open(&(ReviewsOptions){.seed = 1});
    for (Split part = SPLIT_VALID; part <= SPLIT_TEST; part++) {
        BaselineResult b;
        Error e;
        ck_done(baseline_score(&r, part, &b, &e), e);
        ck_assert_msg(b.bayes > 0.55 && b.bayes < 0.78, "%g", b.bayes);
        ck_assert_msg(b.regression > 0.55 && b.regression < 0.78, "%g", b.regression);
        ck_assert(b.scored == 500 && b.learnt == 2000 && b.chosen_on == 500);
    }
    reviews_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Texts of random words, whose rows are what counting them by hand gives. */
START_TEST(features_are_the_words_and_pairs_of_a_text_once_each)
{
    sources_open();
    source_print("t.csv", "text,label\na b a b,x\nb c,y\na c d,x\n,y\n");
    Reviews r = source_open(&(ReviewsOptions){.path = "t.csv", .final = true});
    Features f;
    FeatureRows learnt, seen;
    Error e;
    const size_t first[] = {0, 1}, rest[] = {2, 3};
    ck_done(features_open(&f, &e), e);
    ck_done(feature_rows_make(&learnt, &f, &r.corpus, first, 2, true, &e), e);
    ck_assert_uint_eq(f.count, 6); /* a, b, ab, ba; c, bc */
    ck_assert(learnt.start[1] == 4 && learnt.start[2] == 7);
    const uint32_t ids[] = {0, 1, 2, 3, 1, 4, 5};
    ck_assert_mem_eq(learnt.features, ids, sizeof ids);
    ck_done(feature_rows_make(&seen, &f, &r.corpus, rest, 2, false, &e), e);
    ck_assert_uint_eq(f.count, 6);
    ck_assert(seen.start[1] == 2 && seen.start[2] == 2 && seen.features[0] == 0 && seen.features[1] == 4);
    ck_assert(seen.labels[0] == 0 && seen.labels[1] == 1);
    feature_rows_close(&learnt);
    feature_rows_close(&seen);
    features_close(&f);
    reviews_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* The gradient of what is minimised is w - C sum_i y_i x_i / (1 + exp(y_i w.x_i)). With |w|^2 / 2 in it, a value is
 * above the least one by half the square of its gradient at most. */
START_TEST(regression_finds_the_optimum)
{
    enum { TEXTS = 200, FEATURES = 30 };
    size_t start[TEXTS + 1] = {0};
    uint32_t features[TEXTS * FEATURES];
    int32_t labels[TEXTS];
    Weight weights[FEATURES + 1];
    Error e;
    for (size_t i = 0; i < TEXTS; i++) {
        start[i + 1] = start[i];
        for (uint32_t f = 0; f < FEATURES; f++)
            if (philox_below(4, 1, 2, i * FEATURES + f, 3) == 0)
                features[start[i + 1]++] = f;
        labels[i] = (int32_t)philox_below(3, 1, 3, i, 3);
    }
    FeatureRows rows = {.count = TEXTS, .start = start, .features = features, .labels = labels};
    for (double c = 0.001; c < 2; c *= 10) {
        double wanted[FEATURES + 1] = {0}, value = 0, above = 0;
        for (size_t f = 0; f <= FEATURES; f++)
            weights[f].of_feature = f == FEATURES ? 1 : (float)(0.2 * (double)f - 3);
        ck_done(regression_learn(weights, FEATURES, &rows, 2, c, &e), e);
        for (size_t i = 0; i < TEXTS; i++) {
            double y = labels[i] == 2 ? 1 : -1;
            double margin = y * regression_score(weights, FEATURES, &rows, i), pull = c * y / (1 + exp(margin));
            value += c * log1p(exp(-margin));
            for (size_t k = start[i]; k < start[i + 1]; k++)
                wanted[features[k]] += pull * (double)weights[features[k]].of_feature;
            wanted[FEATURES] += pull;
        }
        for (size_t f = 0; f <= FEATURES; f++) {
            double w = (double)weights[f].w;
            above += (w - wanted[f]) * (w - wanted[f]) / 2;
            value += w * w / 2;
        }
        ck_assert_msg(above < 0.01 * value, "C %g: %g of %g", c, above, value);
    }
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* A table where each class has words of its own, and 20 texts in 100 have another's. */
static void make_classes(int classes)
{
    Buffer b = {0};
    sources_open();
    for (int part = 0; part < 2; part++) {
        buffer_print(&b, "text,label\n");
        for (int i = 0; i < 400; i++) {
            int class = i % classes, shown = i / classes % 5 ? class : (class + 1) % classes;
            buffer_print(&b, "it is %s word%d,%d\n", i % 3 ? "a" : "the", shown * 10 + i * 7 % 3, class);
        }
        source_write(part ? "set/test.csv" : "set/train.csv", b.text, b.size);
        buffer_free(&b);
    }
}

START_TEST(both_reach_what_can_be_reached_with_two_classes_and_with_five)
{
    for (int classes = 2; classes <= 5; classes += 3) {
        make_classes(classes);
        BaselineResult b;
        Error e;
        Reviews r = source_open(&(ReviewsOptions){.path = "set", .final = true});
        ck_done(baseline_score(&r, SPLIT_TEST, &b, &e), e);
        ck_assert_double_eq_tol(b.bayes, 0.8, 0.02);
        ck_assert_double_eq_tol(b.regression, 0.8, 0.02);
        ck_assert(b.learnt == 400 && b.scored == 400 && b.chosen_on == 80 && !b.chosen_on_scored);
        reviews_close(&r);
        r = source_open(&(ReviewsOptions){.path = "set"});
        ck_done(baseline_score(&r, SPLIT_VALID, &b, &e), e);
        ck_assert(b.learnt == 320 && b.scored == 80 && b.chosen_on == 80 && b.chosen_on_scored);
        reviews_close(&r);
    }
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Where all texts are the same, the more frequent class is the better guess. */
START_TEST(where_words_say_nothing_the_more_frequent_class_wins)
{
    Buffer b = {0};
    BaselineResult result;
    Error e;
    sources_open();
    buffer_print(&b, "text,label\n");
    for (int i = 0; i < 200; i++)
        buffer_print(&b, "the same words,%d\n", i % 4 == 0);
    source_write("set/train.csv", b.text, b.size);
    source_write("set/test.csv", b.text, b.size);
    buffer_free(&b);
    Reviews r = source_open(&(ReviewsOptions){.path = "set", .final = true});
    ck_done(baseline_score(&r, SPLIT_TEST, &result, &e), e);
    ck_assert_double_eq(result.bayes, 0.75);
    ck_assert_double_eq(result.regression, 0.75);
    reviews_close(&r);
}

START_TEST(a_part_without_texts_is_refused)
{
    BaselineResult b;
    Error e;
    sources_open();
    source_print("t.csv", "text,label\na,x\nb,y\n");
    Reviews r = source_open(&(ReviewsOptions){.path = "t.csv"});
    ck_assert(!baseline_score(&r, SPLIT_TEST, &b, &e) && strstr(e.text, "test part has no texts"));
    ck_assert(!baseline_score(&r, SPLIT_VALID, &b, &e) && strstr(e.text, "valid part has no texts"));
    ck_assert(!baseline_score(&r, SPLIT_TRAIN, &b, &e) && strstr(e.text, "too few"));
    reviews_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static bool score_it(void *argument, Error *e)
{
    BaselineResult b;
    return baseline_score(argument, SPLIT_TEST, &b, e);
}

START_TEST(each_failed_allocation_is_an_error)
{
    sources_open();
    make_classes(3);
    Reviews r = source_open(&(ReviewsOptions){.path = "set", .final = true});
    fail_each_allocation(score_it, &r);
    reviews_close(&r);
}

static const Test tests[] = {TEST(builtin_reviews_are_always_the_same_and_balanced),
                             TEST(a_reader_of_builtin_reviews_knows_all_and_a_counter_does_not),
                             TEST(features_are_the_words_and_pairs_of_a_text_once_each),
                             TEST(regression_finds_the_optimum),
                             TEST(both_reach_what_can_be_reached_with_two_classes_and_with_five),
                             TEST(where_words_say_nothing_the_more_frequent_class_wins),
                             TEST(a_part_without_texts_is_refused),
                             TEST(each_failed_allocation_is_an_error)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("classifier/baseline", tests, sizeof tests / sizeof *tests, argc, argv);
}
