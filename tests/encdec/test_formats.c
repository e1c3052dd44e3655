/* How encdec translate prints: the same translations in each format. */
#include "base/memory.h"
#include "core/run/json.h"
#include "tests/encdec/translating.h"

#include <stdio.h>
#include <stdlib.h>

#define LN2 0.69314718055994530942

/* The same translations in all formats: numbers as nbest prints them. */
START_TEST(formats_say_the_same)
{
    const char *run = learnt(), *const text = "the dog sleeps .\n\n the  old woman sees a tree .\r\n";
    const char *const sources[] = {"the dog sleeps .", "", " the  old woman sees a tree ."};
    Buffer plain = {0}, scored = {0}, fairseq = {0};
    Said s = translated_text(run, text, "--nbest 3 --format nbest");
    Said f = translated_text(run, text, "--nbest 3 --format fairseq");
    char *at = f.out, *list = s.out;
    for (size_t i = 0; i < 3; i++) {
        char wanted[200];
        snprintf(wanted, sizeof wanted, "S-%zu\t%s", i, sources[i]);
        ck_assert_str_eq(take_line(&at), wanted);
        if (i == 1) {
            buffer_print(&plain, "\n");
            buffer_print(&scored, "0.000000\t\n");
            ck_assert_str_eq(take_line(&list), "1 |||  ||| F0= 0.000000 ||| 0.000000");
            ck_assert_str_eq(take_line(&at), "H-1\t0.000000\t");
            ck_assert_str_eq(take_line(&at), "D-1\t0.000000\t");
            ck_assert_str_eq(take_line(&at), "P-1\t0.0000");
        }
        for (size_t n = 0; i != 1 && n < 3; n++) {
            char *line = take_line(&list), *said = strstr(line, " ||| ");
            ck_assert_ptr_nonnull(said);
            char *end = strstr(said += 5, " ||| F0= ");
            ck_assert_ptr_nonnull(end);
            double log_p = strtod(end + 9, NULL), score = strtod(strrchr(line, ' ') + 1, NULL), found, sum = 0;
            int used = 0;
            *end = 0;
            ck_assert_uint_eq(strtoul(line, NULL, 10), i);
            buffer_print(&plain, "%s\n", said);
            buffer_print(&scored, "%.6f\t%s\n", score, said);
            for (size_t letter = 0; letter < 2; letter++) {
                char *row = take_line(&at);
                ck_assert(row[0] == "HD"[letter] && sscanf(row + 1, "-%*u\t%lf\t%n", &found, &used) == 1);
                ck_assert_str_eq(row + 1 + used, said); /* words are subwords */
                ck_assert_double_eq_tol(found, score / LN2, 2e-6);
            }
            char *each = strchr(take_line(&at), '\t');
            size_t subwords = 0;
            for (char *next;; each = next, subwords++) {
                double value = strtod(each, &next);
                if (next == each)
                    break;
                sum += value;
            }
            ck_assert_double_eq_tol(sum, log_p / LN2, 5e-5 * (double)subwords + 1e-5);
        }
    }
    ck_assert(!*at && !*list);
    said_free(&f);
    f = translated_text(run, text, "--nbest 3");
    ck_assert_str_eq(f.out, plain.text);
    said_free(&f);
    f = translated_text(run, text, "--nbest 3 --scores");
    ck_assert_str_eq(f.out, scored.text);
    said_free(&f);
    said_free(&s);
    buffer_free(&plain);
    buffer_free(&scored);
    buffer_free(&fairseq);
}

START_TEST(json_has_an_object_a_line)
{
    const char *run = learnt();
    Said s = translated_text(run, "the dog sleeps .\n\n\xff\"\n", "--nbest 2 --json"),
         list = translated_text(run, "the dog sleeps .\n", "--nbest 2 --scores");
    char *at = s.out, *row = list.out;
    for (size_t i = 0; i < 3; i++) {
        Json *j;
        Error e;
        char *line = take_line(&at);
        ck_done(json_read(&j, line, strlen(line), "a line", &e), e);
        const Json *all = json_get(j, "translations");
        ck_assert(json_real(j, "number") == (double)i && all && all->count == (i == 1 ? 0 : 2));
        ck_assert_str_eq(json_get_text(j, "source"), i == 0 ? "the dog sleeps ." : i == 1 ? "" : "\xef\xbf\xbd\"");
        for (size_t n = 0; i == 0 && n < 2; n++) {
            char wanted[200];
            snprintf(wanted, sizeof wanted, "%.6f\t%s", json_real(&all->items[n], "score"),
                     json_get_text(&all->items[n], "text"));
            ck_assert_str_eq(take_line(&row), wanted);
        }
        json_free(j);
    }
    said_free(&s);
    said_free(&list);
}

START_TEST(fairseq_has_subwords_beside_words)
{
    const char *run = trained("--steps 60 --warmup 30 --type bpe --merges 100");
    Said s = translated_text(run, "the dog sleeps .", "--format fairseq --beam 1");
    char *at = s.out;
    take_line(&at);
    char *subwords = strrchr(take_line(&at), '\t') + 1, *words = strrchr(take_line(&at), '\t') + 1;
    ck_assert_msg(strstr(subwords, "@@ ") && !strstr(words, "@@ "), "%s: %s", subwords, words);
    for (; *subwords; subwords++, words++) { /* the same, but for the marks */
        if (!strncmp(subwords, "@@ ", 3))
            subwords += 3;
        if (!strcmp(subwords, "@@") && !*words) /* it may end within a word */
            break;
        ck_assert_int_eq(*subwords, *words);
    }
    said_free(&s);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(formats_say_the_same), TEST(json_has_an_object_a_line),
                                 TEST(fairseq_has_subwords_beside_words)};
    command_program("encdec");
    test_folders_in_memory();
    return suite_run("encdec/formats", tests, sizeof tests / sizeof *tests, argc, argv);
}
