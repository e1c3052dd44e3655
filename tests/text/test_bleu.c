/* BLEU: equal to sacreBLEU on awkward lines and small corpora (tests/fixtures/bleu.py), and what it does with input
 * that no reference tool reads. */
#include "base/memory.h"
#include "base/philox.h"
#include "core/text/bleu.h"
#include "core/text/lower.h"
#include "tests/cases.h"
#include "tests/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static BleuText text_of(const char *text) { return (BleuText){text, strlen(text)}; }
static BleuText json_text(const Json *j) { return (BleuText){j->text, j->size}; }

START_TEST(tokens_are_those_of_13a)
{
    Cases cases = cases_open("bleu-tokens");
    Bleu b = bleu_open(BLEU_13A, _i);
    for (size_t i = 0; i < cases.list->count; i++) {
        const Json *one = &cases.list->items[i];
        Buffer out = {0};
        Error e;
        ck_done(bleu_13a(&b, json_text(case_value(one, 0)), &out, &e), e);
        case_expect_text(one, 1 + (size_t)_i, &out);
        buffer_free(&out);
    }
    bleu_close(&b);
    cases_close(&cases);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* The counts of a corpus that a case has, line by line. */
static BleuCounts counts_of(Bleu *b, const Json *hypotheses, const Json *references)
{
    BleuCounts sum = {0};
    for (size_t i = 0; i < hypotheses->count; i++) {
        BleuText lines[4];
        BleuCounts counts;
        Error e;
        ck_assert_uint_le(references->count, 4);
        for (size_t k = 0; k < references->count; k++)
            lines[k] = json_text(case_value(&references->items[k], i));
        ck_done(bleu_count(b, json_text(&hypotheses->items[i]), lines, references->count, &counts, &e), e);
        bleu_add(&sum, &counts);
    }
    return sum;
}

static void expect_result(const Json *one, const Json *result)
{
    bool as_they_are = !strcmp(case_value(result, 0)->text, "none"), lower = !strcmp(case_value(result, 1)->text, "lc");
    Bleu b = bleu_open(as_they_are ? BLEU_AS_THEY_ARE : BLEU_13A, lower);
    BleuCounts sum = counts_of(&b, case_value(one, 0), case_value(one, 1));
    BleuScore s = bleu_score(&sum);
    Buffer printed = {0}, signature = {0};
    char expected[100];
    bleu_print(&printed, &s);
    ck_assert_str_eq(printed.text, case_value(result, 2)->text);
    double score = case_value(result, 3)->number;
    ck_assert_msg(fabs(s.score - score) <= 1e-12 * score, "%.17g, not %.17g", s.score, score);
    bleu_signature(&signature, &b, case_value(one, 1)->count);
    snprintf(expected, sizeof expected, "%s|impl:attend", case_value(result, 4)->text);
    ck_assert_str_eq(signature.text, expected);
    buffer_free(&printed);
    buffer_free(&signature);
    bleu_close(&b);
}

START_TEST(scores_are_those_of_sacrebleu)
{
    Cases cases = cases_open("bleu");
    for (size_t i = 0; i < cases.list->count; i++) {
        const Json *one = &cases.list->items[i], *results = case_value(one, 2);
        ck_assert_uint_eq(results->count, 4);
        for (size_t k = 0; k < results->count; k++)
            expect_result(one, &results->items[k]);
    }
    cases_close(&cases);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* --- lines --- */

static const char *const names[] = {"out.txt", "ref.a", "ref.b"};

static const struct {
    const char *hypotheses, *references[2];
    const char *counts; /* hypothesis/reference tokens of each line, or what is wrong */
} corpora[] = {
    {"a b\nc\n", {"a\nc d\n", NULL}, "2/1 1/2 "},
    {"a b\nc", {"a\nc d\n", "a b\nc\n"}, "2/2 1/1 "},
    {"a b\r\nc\r\n", {"a\r\nc d\n", NULL}, "2/1 1/2 "},
    {"\n\n", {"a b\n\n", NULL}, "0/2 0/0 "},
    {"a b c", {"a", "a b c d e"}, "3/1 "}, /* of two as near the shorter one */
    {"a\nb\n", {"a\n", NULL}, "out.txt has 2 lines and its reference ref.a has 1: the numbers must be equal"},
    {"a\n", {"a", "a\n\n"}, "out.txt has 1 line and its reference ref.b has 2: the numbers must be equal"},
    {"", {"", NULL}, "out.txt is empty: nothing can be scored"},
    {"a\n", {NULL, NULL}, "out.txt has no reference to compare with"},
};

START_TEST(texts_are_counted_line_by_line)
{
    Bleu b = bleu_open(BLEU_13A, false);
    BleuText references[2];
    BleuCounts *counts;
    size_t count = 0, lines;
    char found[300] = "";
    Error e;
    for (; count < 2 && corpora[_i].references[count]; count++)
        references[count] = text_of(corpora[_i].references[count]);
    if (bleu_count_lines(&b, text_of(corpora[_i].hypotheses), references, count, names, &counts, &lines, &e)) {
        for (size_t i = 0; i < lines; i++)
            snprintf(found + strlen(found), sizeof found - strlen(found), "%d/%d ", (int)counts[i].hypothesis,
                     (int)counts[i].reference);
        memory_free(counts);
        ck_assert_str_eq(found, corpora[_i].counts);
    } else
        ck_assert_str_eq(e.text, corpora[_i].counts);
    bleu_close(&b);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Whatever the bytes: a text is its own best translation, and counts add up. */
START_TEST(any_bytes_are_counted)
{
    static const char alphabet[] = "ab .,-&;\xC3\xA9\x80\xFF\0<\xE2\x80\xA8 5";
    Bleu b = bleu_open(BLEU_13A, true);
    for (uint64_t i = 0; i < 2000; i++) {
        char line[60];
        size_t size = (size_t)philox_below(sizeof line, 1, 2, i, 3);
        BleuText text = {line, size};
        BleuCounts c;
        Error e;
        for (size_t k = 0; k < size; k++)
            line[k] = alphabet[philox_below(sizeof alphabet - 1, 1, 3, i * sizeof line + k, 3)];
        ck_done(bleu_count(&b, text, &text, 1, &c, &e), e);
        bool good = c.hypothesis == c.reference;
        for (size_t n = 0; n < BLEU_ORDERS; n++)
            good &= c.correct[n] == c.total[n] && c.total[n] == (c.hypothesis > n ? c.hypothesis - n : 0);
        ck_assert(good);
        double score = bleu_score(&c).score;
        ck_assert(c.hypothesis < BLEU_ORDERS ? score == 0 : fabs(score - 100) < 1e-9);
    }
    bleu_close(&b);
}

START_TEST(a_very_long_line_takes_no_time)
{
    enum { LONG = 200000 };
    char *line = memory_get(LONG, 1);
    ck_assert_ptr_nonnull(line);
    for (size_t i = 0; i < LONG; i++)
        line[i] = "ab. &-"[philox_below(6, 1, 2, i, 3)];
    Bleu b = bleu_open(BLEU_13A, false);
    BleuText texts[] = {{line, LONG}, {line, LONG / 2}};
    BleuCounts c;
    Error e;
    ck_done(bleu_count(&b, texts[0], texts + 1, 1, &c, &e), e);
    ck_assert_uint_gt(c.hypothesis, c.reference);
    ck_assert(c.correct[0] >= c.reference && c.correct[3] <= c.total[3]);
    bleu_close(&b);
    memory_free(line);
}

START_TEST(an_empty_sum_scores_nothing)
{
    BleuScore s = bleu_score(&(BleuCounts){0});
    Buffer printed = {0};
    bleu_print(&printed, &s);
    ck_assert_str_eq(printed.text, "BLEU = 0.00 0.0/0.0/0.0/0.0 (BP = 1.000 ratio = 0.000 hyp_len = 0 ref_len = 0)");
    buffer_free(&printed);
}

static const struct {
    const char *text;
    size_t lines;
} endings[] = {
    {"", 0},           {"a .\nb.\nc .", 2}, {" .\n", 1},      {".\n", 0},
    {"a . \r\n\n", 1}, {"a\t.\n", 0},       {"a .b\n. .", 1}, {"a .\xC2\xA0\n", 1},
};

START_TEST(tokenised_lines_are_known_by_their_ends)
{
    ck_assert_uint_eq(bleu_tokenised_lines(text_of(endings[_i].text)), endings[_i].lines);
}

/* --- lower case --- */

static const struct {
    const char *text, *lower;
} capitals[] = {
    {"", ""},
    {"ABC xyz", "abc xyz"},
    {"\xC3\x84\xC3\x96\xC3\x9C\xE1\xBA\x9E", "\xC3\xA4\xC3\xB6\xC3\xBC\xC3\x9F"},
    {"\xC4\xB0", "i\xCC\x87"},
    {"\xCE\x9F\xCE\xA3 \xCE\xA3\xCE\x91", "\xCE\xBF\xCF\x82 \xCF\x83\xCE\xB1"}, /* sigma at the end of a word */
    {"\xCE\xA3", "\xCF\x83"},
    {"\xCE\x91\xCE\xA3\xCC\x81 \xCE\x91\xCE\xA3'\xCE\x91 \xCE\x91'\xCE\xA3.",
     "\xCE\xB1\xCF\x82\xCC\x81 \xCE\xB1\xCF\x83'\xCE\xB1 \xCE\xB1'\xCF\x82."},
    {"A\xFF\xC3", "a\xFF\xC3"},
    {"\xFF\xCE\xA3\xFF", "\xFF\xCF\x83\xFF"},
};

START_TEST(capitals_become_small)
{
    Buffer out = {0};
    lower_add(&out, capitals[_i].text, strlen(capitals[_i].text));
    ck_assert_str_eq(out.size ? out.text : "", capitals[_i].lower);
    buffer_free(&out);
}

/* --- pairs of systems --- */

static BleuCounts *system_counts(Bleu *b, const Json *lines, const Json *references)
{
    BleuCounts *counts = memory_get(lines->count, sizeof *counts);
    ck_assert_ptr_nonnull(counts);
    for (size_t i = 0; i < lines->count; i++) {
        BleuText reference = json_text(&references->items[i]);
        Error e;
        ck_done(bleu_count(b, json_text(&lines->items[i]), &reference, 1, &counts[i], &e), e);
    }
    return counts;
}

START_TEST(pairs_are_judged_as_sacrebleu_judges_them)
{
    Cases cases = cases_open("bleu-paired");
    for (size_t i = 0; i < cases.list->count; i++) {
        const Json *one = &cases.list->items[i], *expected = case_value(one, 5);
        int64_t samples = 0, seed = 0;
        Bleu b = bleu_open(BLEU_13A, false);
        BleuCounts *first = system_counts(&b, case_value(one, 0), case_value(one, 2));
        BleuCounts *second = system_counts(&b, case_value(one, 1), case_value(one, 2));
        BleuPaired p;
        Error e;
        ck_assert(json_integer(case_value(one, 3), &samples) && json_integer(case_value(one, 4), &seed));
        ck_done(bleu_paired(first, second, case_value(one, 2)->count, (size_t)samples, (uint32_t)seed, &p, &e), e);
        const double found[] = {p.first.score,   p.first.mean, p.first.spread, p.second.score, p.second.mean,
                                p.second.spread, p.p};
        for (size_t k = 0; k < sizeof found / sizeof *found; k++)
            ck_assert_msg(fabs(found[k] - case_value(expected, k)->number) < 1e-9,
                          "case %zu, value %zu: %.12g, not %.12g", i, k, found[k], case_value(expected, k)->number);
        memory_free(first);
        memory_free(second);
        bleu_close(&b);
    }
    cases_close(&cases);
}

START_TEST(a_system_does_not_differ_from_itself)
{
    Bleu b = bleu_open(BLEU_13A, false);
    BleuCounts counts[3];
    BleuPaired p;
    Error e;
    static const char *const lines[] = {"a b c d e", "f g h i j", "k l m n o"};
    for (size_t i = 0; i < 3; i++) {
        BleuText reference = text_of(i ? lines[i] : "a b c d x");
        ck_done(bleu_count(&b, text_of(lines[i]), &reference, 1, &counts[i], &e), e);
    }
    ck_done(bleu_paired(counts, counts, 3, BLEU_SAMPLES, 1, &p, &e), e);
    ck_assert(p.first.score == p.second.score && p.first.mean == p.second.mean && p.first.spread == p.second.spread);
    ck_assert(p.p == 1);
    ck_assert(!bleu_paired(counts, counts, 0, 1, 1, &p, &e));
    ck_assert(!bleu_paired(counts, counts, 3, 0, 1, &p, &e));
    bleu_close(&b);
}

/* --- no memory --- */

static bool count_all(void *argument, Error *e)
{
    (void)argument;
    static const char line[] = "A &quot;B&quot; c d 1.5 e f g h i j k l m n o p q r s t u v w x y z aa bb cc dd\nx\n";
    Bleu b = bleu_open(BLEU_13A, true);
    BleuText texts[] = {text_of(line), text_of(line), text_of("a b c\nx\n")};
    BleuCounts *counts = NULL;
    BleuPaired p;
    size_t lines;
    bool done = bleu_count_lines(&b, texts[0], texts + 1, 2, names, &counts, &lines, e) &&
                bleu_paired(counts, counts, lines, 10, 1, &p, e);
    memory_free(counts);
    bleu_close(&b);
    return done;
}

START_TEST(no_memory_is_said) { fail_each_allocation(count_all, NULL); }

#define EACH(test, table) TEST_LOOP(test, sizeof(table) / sizeof *(table))

static const Test tests[] = {TEST_LOOP(tokens_are_those_of_13a, 2),
                             TEST(scores_are_those_of_sacrebleu),
                             EACH(texts_are_counted_line_by_line, corpora),
                             TEST(any_bytes_are_counted),
                             TEST(a_very_long_line_takes_no_time),
                             TEST(an_empty_sum_scores_nothing),
                             EACH(tokenised_lines_are_known_by_their_ends, endings),
                             EACH(capitals_become_small, capitals),
                             TEST(pairs_are_judged_as_sacrebleu_judges_them),
                             TEST(a_system_does_not_differ_from_itself),
                             TEST(no_memory_is_said)};

int main(int argc, char **argv) { return suite_run("text/bleu", tests, sizeof tests / sizeof *tests, argc, argv); }
