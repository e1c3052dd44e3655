/* encdec baseline: what model 1 learns is what its formula says, computed here over a whole table; and the command
 * translates word by word with it. */
#include "base/memory.h"
#include "base/philox.h"
#include "encdec/dictionary.h"
#include "tests/command.h"

#include <stdio.h>
#include <string.h>

enum { PAIRS = 40, IDS = 12, MOST = 7, ROUNDS = DICTIONARY_ROUNDS };

/* Pairs of 0 to 6 words drawn from ids 2 .. 11, some of them twice in a sentence, each side closed by </s>. */
static SentencePairs some_pairs(void)
{
    SentencePairs p = {.count = PAIRS};
    uint64_t drawn = 0;
    for (size_t side = 0; side < SIDES_USED; side++) {
        size_t at = 0;
        p.ids[side] = memory_get((size_t)PAIRS * MOST, sizeof *p.ids[side]);
        p.start[side] = memory_get(PAIRS + 1, sizeof *p.start[side]);
        ck_assert(p.ids[side] && p.start[side]);
        for (size_t i = 0; i < PAIRS; i++) {
            const size_t words = philox_below(MOST, 1, 2, drawn++, 0);
            for (size_t k = 0; k < words; k++)
                p.ids[side][at++] = (int32_t)(FIRST_SUBWORD + philox_below(IDS - FIRST_SUBWORD, 1, 2, drawn++, 0));
            p.ids[side][at++] = END;
            p.start[side][i + 1] = at;
        }
    }
    return p;
}

/* t [IDS,IDS] of source and target, after ROUNDS rounds */
static void by_formula(double t[IDS][IDS], const SentencePairs *p)
{
    for (size_t s = 0; s < IDS; s++)
        for (size_t w = 0; w < IDS; w++)
            t[s][w] = 1;
    for (int round = 0; round < ROUNDS; round++) {
        double count[IDS][IDS] = {{0}}, all[IDS] = {0};
        for (size_t i = 0; i < p->count; i++)
            for (size_t j = p->start[TARGET][i]; j + 1 < p->start[TARGET][i + 1]; j++) {
                const int32_t word = p->ids[TARGET][j];
                double sum = 0;
                for (size_t k = p->start[SOURCE][i]; k < p->start[SOURCE][i + 1]; k++)
                    sum += t[p->ids[SOURCE][k]][word];
                for (size_t k = p->start[SOURCE][i]; k < p->start[SOURCE][i + 1]; k++) {
                    const double share = t[p->ids[SOURCE][k]][word] / sum;
                    count[p->ids[SOURCE][k]][word] += share;
                    all[p->ids[SOURCE][k]] += share;
                }
            }
        for (size_t s = 0; s < IDS; s++)
            for (size_t w = 0; w < IDS; w++)
                t[s][w] = all[s] > 0 ? count[s][w] / all[s] : 0;
    }
}

START_TEST(a_dictionary_is_what_its_formula_says)
{
    SentencePairs p = some_pairs();
    Dictionary d;
    Error e;
    double t[IDS][IDS];
    by_formula(t, &p);
    ck_done(dictionary_learn(&d, &p, IDS, &e), e);
    for (size_t s = 0; s < IDS; s++) {
        double found[IDS] = {0};
        size_t best = UNKNOWN;
        for (size_t i = d.start[s]; i < d.start[s + 1]; i++)
            found[d.target.id[i]] = d.p[i];
        for (size_t w = 0; w < IDS; w++) {
            ck_assert_double_eq_tol(found[w], t[s][w], 1e-12);
            best = t[s][w] > t[s][best] + 1e-9 ? w : best;
        }
        ck_assert_int_eq(dictionary_best(&d, (int32_t)s), (int32_t)best);
    }
    ck_assert_uint_eq(d.start[UNKNOWN + 1], 0); /* no pair has it */
    ck_assert(t[END][FIRST_SUBWORD] > 0);       /* what translates no word */
    dictionary_close(&d);
    for (size_t side = 0; side < SIDES_USED; side++) {
        memory_free(p.ids[side]);
        memory_free(p.start[side]);
    }
}

static const char *folder_of_books(void)
{
    static char folder[600];
    static const char *const files[][2] = {
        {"train.en", "the house\nthe book\na book\n"},
        {"train.de", "das Haus\ndas Buch\nein Buch\n"},
        {"val.en", "the strange book a house\n"},
        {"val.de", "das Buch ein Haus\n"},
        {"test.en", "a book the house\n"},
        {"test.de", "das Buch ein Haus\n"},
    };
    snprintf(folder, sizeof folder, "%s", test_folder());
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        write_in(folder, files[i][0], files[i][1], strlen(files[i][1]));
    return folder;
}

START_TEST(words_are_told_apart_by_the_pairs_they_share)
{
    const char *folder = folder_of_books();
    Said s = must("baseline --data %s", folder);
    ck_assert_msg(strstr(s.out, "BLEU = 100.00 100.0/100.0/100.0/100.0"), "%s", s.out); /* "strange" is left out */
    ck_assert_msg(strstr(s.out, "1 lines; word by word, with a dictionary learned from 3 training pairs"), "%s", s.out);
    said_free(&s);
    Json *j = must_json("baseline --data %s --split test --json", folder);
    ck_assert_str_eq(json_get_text(j, "split"), "test");
    ck_assert_double_eq(json_real(j, "learnt_pairs"), 3);
    ck_assert(json_real(j, "bleu") > 1 && json_real(j, "bleu") < 50); /* every word, in another order */
    json_free(j);
    j = must_json("baseline --data %s --split train --source de --target en --json", folder);
    ck_assert_double_eq(json_real(j, "lines"), 3);
    json_free(j);
}

START_TEST(it_needs_no_data_and_refuses_what_is_missing)
{
    Said s = must("baseline --split test --json");
    Json *j = said_json(&s);
    ck_assert_double_eq(json_real(j, "lines"), 500);
    ck_assert_double_eq(json_real(j, "learnt_pairs"), 8000);
    ck_assert(json_real(j, "bleu") > 10 && json_real(j, "bleu") < 60);
    json_free(j);
    said_free(&s);
    char folder[600];
    snprintf(folder, sizeof folder, "%s", test_folder());
    write_in(folder, "train.en", "a\n", 2), write_in(folder, "train.de", "b\n", 2);
    refused(1, "no test pairs", "baseline --data %s --split test", folder);
    refused(2, "--run", "baseline --run %s", folder);
}

static const Test tests[] = {TEST(a_dictionary_is_what_its_formula_says),
                             TEST(words_are_told_apart_by_the_pairs_they_share),
                             TEST(it_needs_no_data_and_refuses_what_is_missing)};

int main(int argc, char **argv)
{
    command_program("encdec");
    return suite_run("encdec/baseline", tests, sizeof tests / sizeof *tests, argc, argv);
}
