/* core/search/translate.h: translations of random encoder-decoders against a search that computes every prefix again,
 * without a cache; whatever the batch and the workers; and against n-best lists that Python made (fixtures/beam.py). */
#include "base/memory.h"
#include "base/philox.h"
#include "core/search/translate.h"
#include "tests/nn/translate_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Wide beams in double precision for all kinds; others for a few. */
START_TEST(translations_are_those_of_a_search_without_caches)
{
    static const size_t beams[] = {1, 3, 7};
    EncDecOptions kinds = random_kind(_i);
    for (size_t t = 0; search_backend(t); t++) {
        TranslateFixture s;
        translate_fixture_open(&s, &kinds, search_backend(t), 40 + (uint32_t)_i);
        Language l = {&s, kinds.target, next_slowly};
        for (size_t n = 0; n < 3; n++) {
            TranslateOptions o = search_options(beams[n], (beams[n] + 1) / 2);
            Translation found[SENTENCES];
            translate_all(&s, &o, found);
            for (size_t i = 0; i < SENTENCES; i += search_backend(t)->type == NUMBER_F64 && !test_is_fast() ? 1 : 5) {
                char what[96];
                Sequence wanted[SLOW_BEAM];
                snprintf(what, sizeof what, "%s %s, beam %zu, sentence %zu", search_backend(t)->backend,
                         number_type_name(search_backend(t)->type), beams[n], i);
                size_t count = slow_search(&l, i, &o.beam, s.sentence[i].most, wanted);
                check_translation(&found[i], wanted, count, search_rounding(search_backend(t)), what);
                if (beams[n] == 1) {
                    wanted[0] = slow_greedy(&l, i, &o.beam, s.sentence[i].most);
                    check_translation(&found[i], wanted, 1, search_rounding(search_backend(t)), what);
                }
            }
            translations_close(found, SENTENCES);
        }
        translate_fixture_close(&s);
    }
}

/* ---- Python's lists */

enum { CASES = 7 };

typedef struct Case {
    Reference f, network;
    char key[16];
    double *list[6]; /* as fields names them */
} Case;

enum { COUNT, LENGTH, TOKENS, EACH, LOG_P, SCORE };
static const char *const fields[] = {"count", "length", "tokens", "each", "log_p", "score"};

static double number_of(const Case *c, const char *name)
{
    char key[32];
    snprintf(key, sizeof key, "%s.%s", c->key, name);
    return reference_number(&c->f, key);
}

static void case_open(Case *c, size_t number)
{
    char key[32];
    size_t count;
    *c = (Case){.f = reference_open("beam", 1)};
    snprintf(c->key, sizeof c->key, "case%zu", number);
    for (size_t i = 0; i < 6; i++) {
        snprintf(key, sizeof key, "%s.%s", c->key, fields[i]);
        c->list[i] = reference_reals(&c->f, key, &count);
    }
    snprintf(key, sizeof key, "%s.network", c->key);
    c->network = reference_open(reference_text(&c->f, key), 2);
}

static void case_close(Case *c)
{
    for (size_t i = 0; i < 6; i++)
        memory_free(c->list[i]);
    reference_close(&c->f);
    reference_close(&c->network);
}

/* The hypotheses of one sentence, after `at` numbers of each list. */
static void check_listed(const Case *c, size_t s, const Translation *found, size_t at[6], const Kernels *k)
{
    const double rounding = k->type == NUMBER_F64 ? 1e-9 : 1e-4;
    ck_assert_uint_eq(found->count, (size_t)c->list[COUNT][s]);
    for (size_t i = 0; i < found->count; i++) {
        const Hypothesis *h = &found->hypothesis[i];
        ck_assert_msg(fabs(h->score - c->list[SCORE][at[SCORE]++]) <= rounding, "%s, %s: sentence %zu, best %zu: %.12g",
                      c->key, k->backend, s, i, h->score);
        ck_assert_double_eq_tol(h->log_p, c->list[LOG_P][at[LOG_P]++], 10 * rounding);
        ck_assert_uint_eq(h->length, (size_t)c->list[LENGTH][at[LENGTH]++]);
        for (size_t n = 0; n < h->length; n++)
            ck_assert_int_eq(h->tokens[n], (int)c->list[TOKENS][at[TOKENS]++]);
        for (size_t n = 0; n <= h->length; n++)
            ck_assert_double_eq_tol(h->log_each[n], c->list[EACH][at[EACH]++], rounding);
    }
}

static void translate_case(const Case *c, const Kernels *k)
{
    EncDecOptions o = encdec_options(&c->network);
    const bool post = o.block.norm == NORM_POST;
    const Side *side = &c->f.batch[post ? 0 : 1].side[0];
    o.context = post ? 64 : o.context; /* sinusoids go as far as one likes */
    TranslateFixture s = {0};
    Error e;
    size_t at[6] = {0};
    Translation found[SENTENCES];
    Translator *t;
    TranslateOptions how = {.beam = {.beam = (size_t)number_of(c, "beam"),
                                     .best = (size_t)number_of(c, "best"),
                                     .alpha = number_of(c, "alpha"),
                                     .end = (int32_t)number_of(c, "end")},
                            .longest = 12,
                            .most = 12 + (size_t)number_of(c, "extra"),
                            .sentences = 3,
                            .positions = 50,
                            .workers = 2};
    ck_done(encdec_open(&s.m, &o, &e), e);
    Network n = encdec_network(&s.m);
    trainer_fixture_open(&s.t, k, &n, c->network.batch, 1, &(Training){0});
    reference_weights(&c->network, &s.t);
    s.n = (TranslateNetwork){
        &s.m, &s.m.decoder, (int32_t)number_of(c, "begin"), NULL, translate_fixture_memory, translate_fixture_logits,
        false};
    for (size_t i = 0; i < side->rows; i++) {
        size_t length = (size_t)(side->start[i + 1] - side->start[i]);
        s.sentence[i] = (Sentence){
            .ids = side->ids + side->start[i], .length = length, .most = length + (size_t)number_of(c, "extra")};
    }
    ck_done(translator_open(&t, &s.n, &s.t.trainer.weights, &how, &e), e);
    ck_done(translator_run(t, s.sentence, side->rows, found, &e), e);
    for (size_t i = 0; i < side->rows; i++)
        check_listed(c, i, &found[i], at, k);
    translations_close(found, side->rows);
    translator_close(t);
    trainer_fixture_close(&s.t);
    encdec_close(&s.m);
}

START_TEST(lists_of_the_best_are_those_of_python)
{
    Case c;
    case_open(&c, (size_t)_i);
    ck_assert_uint_eq((size_t)reference_number(&c.f, "cases"), CASES);
    for (size_t t = 0; search_backend(t); t++)
        translate_case(&c, search_backend(t));
    case_close(&c);
}

/* ---- batches */

START_TEST(a_translation_does_not_depend_on_its_batch)
{
    static const size_t sentences[] = {1, 2, 3, SENTENCES, 64, 70},
                        positions[] = {1, 40, 100, 1000, 100000, 75}; /* the last: fewer than two for each */
    size_t others = 0;
    for (size_t t = 0; search_backend(t); t++) {
        EncDecOptions o = random_kind(_i);
        TranslateFixture s;
        Translation first[SENTENCES], found[SENTENCES];
        translate_fixture_open(&s, &o, search_backend(t), 50 + (uint32_t)_i);
        TranslateOptions how = search_options(4, 4);
        translate_all(&s, &how, first);
        for (size_t i = 0; i < 6; i++) {
            how.sentences = sentences[i], how.positions = positions[i], how.workers = 1 + i % 2;
            translate_all(&s, &how, found);
            others += compare_translations(found, first, search_rounding(search_backend(t)));
            translations_close(found, SENTENCES);
        }
        translations_close(first, SENTENCES);
        translate_fixture_close(&s);
    }
    ck_assert_uint_eq(others, 0);
}

static const Kernels *backend_or_bf16(size_t i)
{
    size_t count = 0;
    while (search_backend(count))
        count++;
    return i < count ? search_backend(i) : backend_of(NUMBER_BF16, i - count);
}

START_TEST(workers_and_runs_give_the_same_bits)
{
    EncDecOptions o = random_kind(_i);
    for (size_t t = 0; backend_or_bf16(t); t++) {
        TranslateFixture s;
        Error e;
        Translator *translator;
        Translation first[SENTENCES], found[SENTENCES];
        translate_fixture_open(&s, &o, backend_or_bf16(t), 60);
        TranslateOptions how = search_options(4, 2);
        how.sentences = 2;
        translate_all(&s, &how, first);
        how.workers = 3;
        ck_done(translator_open(&translator, &s.n, &s.t.trainer.weights, &how, &e), e);
        for (size_t run = 0; run < 3; run++) { /* what the caches hold of earlier runs is never seen */
            ck_done(translator_run(translator, s.sentence, SENTENCES, found, &e), e);
            ck_assert_uint_eq(compare_translations(found, first, 0), 0);
            translations_close(found, SENTENCES);
        }
        ck_done(translator_run(translator, NULL, 0, found, &e), e);
        translator_close(translator);
        translations_close(first, SENTENCES);
        translate_fixture_close(&s);
    }
}

/* A network that broke has no translations, and nothing else happens. */
START_TEST(weights_that_are_no_numbers_give_no_translation)
{
    for (size_t t = 0; search_backend(t); t++) {
        EncDecOptions o = random_kind(0);
        TranslateFixture s;
        Translation found[SENTENCES];
        translate_fixture_open(&s, &o, search_backend(t), 3);
        for (size_t j = 0; j < 12; j++)
            trainer_fixture_nudge(&s.t, s.m.source.table, 7 * 12 + j, NAN);
        for (size_t i = 0; i < SENTENCES; i++) { /* every second source has the word that broke */
            for (size_t j = 0; j < s.sentence[i].length; j++)
                s.ids[i][j] = s.ids[i][j] == 7 ? 8 : s.ids[i][j];
            if (i % 2 && s.sentence[i].length)
                s.ids[i][0] = 7;
        }
        TranslateOptions how = search_options(3, 3);
        translate_all(&s, &how, found); /* the table is tied: logits of word 7 are NaN everywhere */
        for (size_t i = 0; i < SENTENCES; i++) {
            bool broken = i % 2 && s.sentence[i].length;
            ck_assert_uint_eq(found[i].count, broken ? 0 : found[i].count);
            ck_assert(broken || found[i].count > 0);
            for (size_t n = 0; n < found[i].count; n++)
                for (size_t j = 0; j < found[i].hypothesis[n].length; j++)
                    ck_assert_int_ne(found[i].hypothesis[n].tokens[j], 7);
        }
        translations_close(found, SENTENCES);
        translate_fixture_close(&s);
    }
}

static bool run_once(void *argument, Error *e)
{
    TranslateFixture *s = argument;
    TranslateOptions o = search_options(2, 2);
    Translator *t = NULL;
    Translation found[SENTENCES];
    bool fine = translator_open(&t, &s->n, &s->t.trainer.weights, &o, e) &&
                translator_run(t, s->sentence, SENTENCES, found, e);
    if (fine)
        translations_close(found, SENTENCES);
    translator_close(t);
    return fine;
}

START_TEST(each_allocation_may_fail)
{
    for (size_t t = 0; search_backend(t); t++) {
        EncDecOptions o = random_kind(0);
        TranslateFixture s;
        translate_fixture_open(&s, &o, search_backend(t), 4);
        fail_each_allocation(run_once, &s);
        translate_fixture_close(&s);
    }
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(translations_are_those_of_a_search_without_caches, KINDS),
        TEST_LOOP(lists_of_the_best_are_those_of_python, CASES),
        TEST_LOOP(a_translation_does_not_depend_on_its_batch, KINDS),
        TEST_LOOP(workers_and_runs_give_the_same_bits, KINDS),
        TEST(weights_that_are_no_numbers_give_no_translation),
        TEST(each_allocation_may_fail),
    };
    return suite_run("nn/translate", tests, sizeof tests / sizeof *tests, argc, argv);
}
