/* encdec bleu as a user sees it; that its figures are sacreBLEU's, tests/text/test_bleu.c says. */
#include "base/memory.h"
#include "tests/command.h"

#include <stdio.h>
#include <string.h>

static char place[600];

/* Lines that differ from each other: a hundred and ten of them, ended as asked. */
static void write_lines(const char *name, const char *word, const char *end)
{
    Buffer b = {0};
    for (int i = 0; i < 110; i++)
        buffer_print(&b, "The %s sees %d trees , and then it sleeps%s\n", i % 3 ? "dog" : word, i, end);
    write_in(place, name, b.text, b.size);
    buffer_free(&b);
}

static void setup(void)
{
    snprintf(place, sizeof place, "%s", test_folder());
    write_lines("ref", "dog", ".");
    write_lines("same", "dog", ".");
    write_lines("near", "cat", ".");
    write_lines("far", "cat", " whenever it likes.");
    write_lines("tokens", "dog", " .");
}

START_TEST(a_text_is_like_itself_and_less_like_others)
{
    double score[3];
    static const char *const texts[] = {"same", "near", "far"};
    setup();
    for (size_t i = 0; i < 3; i++) {
        Json *j = must_json("bleu %s/%s %s/ref --json", place, texts[i], place);
        score[i] = json_real(j, "bleu");
        ck_assert(json_real(j, "sentences") == 110 && json_real(j, "tokenised_bleu") > 0);
        json_free(j);
    }
    ck_assert_double_eq_tol(score[0], 100, 1e-9);
    ck_assert(score[1] < 95 && score[1] > 50 && score[2] < score[1]);
}

START_TEST(case_and_references_are_counted_as_asked)
{
    setup();
    write_in(place, "upper", "THE DOG SEES A TREE.\n", 21);
    write_in(place, "lower", "the dog sees a tree.\n", 21);
    write_in(place, "other", "nothing of that sort\n", 21);
    Said s = must("bleu %s/upper %s/lower", place, place);
    ck_assert_msg(!strncmp(s.out, "BLEU = ", 7) && strstr(s.out, "case:mixed") && !strstr(s.out, "100.00"), "%s",
                  s.out);
    said_free(&s);
    s = must("bleu %s/upper %s/other %s/lower --lowercase", place, place, place);
    ck_assert_msg(strstr(s.out, "BLEU = 100.00") && strstr(s.out, "nrefs:2|case:lc"), "%s", s.out);
    said_free(&s);
}

START_TEST(utf_16_is_refused)
{
    setup();
    write_in(place, "wide", "\xFF\xFE\n", 3);
    refused(1, "wide is in UTF-16: convert it to UTF-8", "bleu %s/wide %s/ref", place, place);
    refused(1, "wide is in UTF-16", "subwords --type bytes --file %s/wide", place);
    write_in(place, "small", "abc\n", 4);
    Said s = must("subwords --type bytes --file %s/small", place); /* from its first byte on */
    ck_assert_str_eq(s.out, "0x61 0x62 0x63\n");
    said_free(&s);
}

START_TEST(two_systems_differ_or_may_not)
{
    setup();
    Json *j = must_json("bleu --paired %s/same %s/far %s/ref --json", place, place, place);
    ck_assert(json_real(j, "p") < 0.01 && json_real(j, "first") > json_real(j, "second"));
    json_free(j);
    Said s = must("bleu --paired %s/near %s/near %s/ref", place, place, place);
    ck_assert_msg(strstr(s.out, "there is no difference"), "%s", s.out);
    said_free(&s);
    write_in(place, "a", "a b c d e f\nq r s t u v\n", 24);
    write_in(place, "b", "a b c d e x\nz r s t u v\n", 24);
    write_in(place, "c", "z b c d e f\nq r s t u y\n", 24);
    s = must("bleu --paired %s/b %s/c %s/a", place, place, place);
    ck_assert_msg(strstr(s.out, "no difference") || strstr(s.out, "may be chance"), "%s", s.out);
    said_free(&s);
}

START_TEST(references_in_tokens_are_warned_of)
{
    setup();
    Said s = must("bleu %s/same %s/tokens", place, place);
    ck_assert_msg(strstr(s.err, "looks tokenized"), "%s", s.err);
    said_free(&s);
    s = must("bleu %s/same %s/tokens -q", place, place);
    ck_assert_str_eq(s.err, "");
    said_free(&s);
}

START_TEST(what_cannot_be_compared_is_refused)
{
    setup();
    write_in(place, "short", "one line\n", 9);
    refused(2, "bleu needs HYPOTHESES", "bleu %s/same", place);
    refused(2, "bleu needs HYPOTHESES", "bleu");
    refused(2, "bleu --paired needs A B REFERENCES", "bleu --paired %s/same %s/ref", place, place);
    refused(1, "has 1 line and its reference", "bleu %s/short %s/ref", place, place);
    refused(2, "data", "bleu --data x %s/same %s/ref", place, place);
    refused(1, "cannot open", "bleu %s/nothing %s/ref", place, place);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(a_text_is_like_itself_and_less_like_others),
                                 TEST(case_and_references_are_counted_as_asked),
                                 TEST(utf_16_is_refused),
                                 TEST(two_systems_differ_or_may_not),
                                 TEST(references_in_tokens_are_warned_of),
                                 TEST(what_cannot_be_compared_is_refused)};
    command_program("encdec");
    test_folders_in_memory();
    return suite_run("encdec/bleu", tests, sizeof tests / sizeof *tests, argc, argv);
}
