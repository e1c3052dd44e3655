/* core/search/translate.h: translations of random encoder-decoders against a search that computes every prefix again,
 * without a cache; whatever the batch and the workers; and against n-best lists that Python made (fixtures/beam.py). */
#include "base/memory.h"
#include "base/philox.h"
#include "core/search/translate.h"
#include "tests/nn/encdec.h"
#include "tests/slow.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KINDS = 6, WORDS = 23, CONTEXT = 24, LONGEST = 13, SENTENCES = 12, EXTRA = 6, CASES = 7 };

/* Kinds of networks: post-norm and pre-norm, tied and not, fused and composed attention. */
static EncDecOptions kind(int i)
{
    EncDecOptions o = {.block = {.attention = {12, 3, 4, 4, .bias = true}, .ff = 17},
                       .encoder = 2,
                       .decoder = 2,
                       .source = WORDS,
                       .target = WORDS,
                       .context = CONTEXT,
                       .positions = POSITIONS_SINUSOID,
                       .tie = true,
                       .scale = sqrt(12)};
    if (i % 2) {
        o.block.norm = NORM_PRE, o.block.attention.key_size = 5, o.block.attention.value_size = 3;
        o.positions = POSITIONS_LEARNED, o.tie = false, o.scale = 1, o.encoder = 1, o.target = WORDS - 4;
    }
    o.block.attention.composed = i == 2 || i == 3;
    if (i == 4)
        o.block.norm = NORM_RESIDUAL, o.block.norm_kind = NORM_SCALE, o.block.macaron = true,
        o.block.attention.qk_norm = o.block.attention.qk_cosine = true;
    if (i == 5)
        o.block.norm = NORM_DEEP, o.block.norm_kind = NORM_TANH;
    return o;
}

typedef struct ParityFixture {
    EncDec m;
    Batch batch; /* for the fixture alone */
    TrainerFixture t;
    TranslateNetwork n;
    int32_t ids[SENTENCES][LONGEST];
    Sentence sentence[SENTENCES];
} ParityFixture;

static Tensor *memory_of(const void *model, Tape *t, const Rows *source) { return encdec_memory(t, model, source); }

static Tensor *logits_of(const void *model, Tape *t, const Rows *target, const AttentionContext *context)
{
    return encdec_logits(t, model, target, NULL, context);
}

static void parity_open(ParityFixture *s, const EncDecOptions *o, const Kernels *k, uint32_t seed)
{
    static const size_t lengths[SENTENCES] = {5, 1, 13, 0, 3, 3, 7, 13, 2, 9, 3, 4};
    Error e;
    ck_done(encdec_open(&s->m, o, &e), e);
    ck_done(batch_open(&s->batch, &(BatchSize){.sides = 2, .rows = 1, .positions = {1, 1}}, &e), e);
    batch_row(&s->batch, 0, 1);
    batch_row(&s->batch, 1, 1);
    Network n = encdec_network(&s->m);
    trainer_fixture_open(&s->t, k, &n, &s->batch, 1, &(Training){0});
    trainer_fixture_draw(&s->t, seed);
    s->n = (TranslateNetwork){&s->m, &s->m.decoder, 1, memory_of, logits_of};
    for (uint32_t i = 0; i < SENTENCES; i++) {
        for (size_t j = 0; j < lengths[i]; j++)
            s->ids[i][j] = (int32_t)philox_below(o->source, seed, i, j, 3);
        s->sentence[i] = (Sentence){s->ids[i], lengths[i], i == 10 ? 0 : lengths[i] + EXTRA};
    }
}

static void parity_close(ParityFixture *s)
{
    trainer_fixture_close(&s->t);
    batch_close(&s->batch);
    encdec_close(&s->m);
}

static TranslateOptions options(size_t beam, size_t best)
{
    return (TranslateOptions){.beam = {beam, best, 0.6, 2},
                              .longest = LONGEST,
                              .most = LONGEST + EXTRA,
                              .sentences = 5,
                              .positions = 60,
                              .workers = 1};
}

static void translate(ParityFixture *s, const TranslateOptions *o, Translation *to)
{
    Error e;
    Translator *t;
    ck_done(translator_open(&t, &s->n, &s->t.trainer.weights, o, &e), e);
    ck_done(translator_run(t, s->sentence, SENTENCES, to, &e), e);
    translator_close(t);
}

static const Kernels *backend(size_t i) { return i ? backend_of(NUMBER_F32, i - 1) : plain_of(NUMBER_F64); }
static double rounding_of(const Kernels *k) { return k->type == NUMBER_F64 ? 1e-11 : 1e-4; }

/* ---- without caches */

/* log p of the next token: the last position of the whole row. */
static void next(void *self, size_t i, const int32_t *prefix, size_t n, double *log_p)
{
    ParityFixture *s = self;
    const Sentence *sentence = &s->sentence[i];
    const size_t words = s->m.options.target;
    Pass p;
    Error e;
    Batch b;
    DeviceRows rows;
    double sum = 0;
    ck_done(batch_open(&b, &(BatchSize){.sides = 2, .rows = 1, .positions = {LONGEST, SLOW_LONGEST}}, &e), e);
    batch_row(&b, 0, sentence->length);
    batch_row(&b, 1, n + 1);
    if (sentence->length)
        memcpy(b.side[0].ids, sentence->ids, sentence->length * sizeof *sentence->ids);
    b.side[1].ids[0] = s->n.begin;
    memcpy(b.side[1].ids + 1, prefix, n * sizeof *prefix);
    pass_open(&p, &s->t);
    ck_done(device_rows_open(&rows, p.k, &b.size, &e), e);
    device_rows_upload(&rows, p.stream, &b, 0, 1);
    AttentionContext context = context_across(&rows.rows[1], &rows.rows[0]);
    double *logits = pass_reals(
        &p, encdec_logits(&p.tape, &s->m, &rows.rows[1], encdec_memory(&p.tape, &s->m, &rows.rows[0]), &context));
    for (size_t j = 0; j < words; j++) {
        log_p[j] = logits[n * words + j];
        sum += exp(log_p[j]);
    }
    for (size_t j = 0; j < words; j++)
        log_p[j] -= log(sum);
    memory_free(logits);
    device_rows_close(&rows);
    tape_close(&p.tape);
    batch_close(&b);
}

static bool same_pieces(const Hypothesis *h, const Sequence *wanted)
{
    return h->length == wanted->length && memcmp(h->pieces, wanted->piece, h->length * sizeof *h->pieces) == 0;
}

static void check(const Translation *found, const Sequence *wanted, size_t count, double rounding, const char *what)
{
    ck_assert_msg(found->count == count, "%s: %zu translations, not %zu", what, found->count, count);
    for (size_t i = 0; i < count; i++) {
        const Hypothesis *h = &found->hypothesis[i];
        double sum = 0;
        for (size_t n = 0; n <= h->length; n++)
            sum += h->log_each[n];
        ck_assert_double_eq_tol(sum, h->log_p, 1e-12);
        ck_assert_msg(fabs(h->score - wanted[i].score) <= rounding, "%s: best %zu has %.12g, not %.12g", what, i,
                      h->score, wanted[i].score);
        ck_assert_msg(same_pieces(h, &wanted[i]), "%s: best %zu is another, as good", what, i);
    }
}

/* Wide beams in double precision for all kinds; others for a few. */
START_TEST(translations_are_those_of_a_search_without_caches)
{
    static const size_t beams[] = {1, 3, 7};
    EncDecOptions kinds = kind(_i);
    for (size_t t = 0; backend(t); t++) {
        ParityFixture s;
        parity_open(&s, &kinds, backend(t), 40 + (uint32_t)_i);
        Language l = {&s, kinds.target, next};
        for (size_t n = 0; n < 3; n++) {
            TranslateOptions o = options(beams[n], (beams[n] + 1) / 2);
            Translation found[SENTENCES];
            translate(&s, &o, found);
            for (size_t i = 0; i < SENTENCES; i += backend(t)->type == NUMBER_F64 && !test_is_fast() ? 1 : 5) {
                char what[96];
                Sequence wanted[SLOW_BEAM];
                snprintf(what, sizeof what, "%s %s, beam %zu, sentence %zu", backend(t)->backend,
                         number_type_name(backend(t)->type), beams[n], i);
                size_t count = slow_search(&l, i, &o.beam, s.sentence[i].most, wanted);
                check(&found[i], wanted, count, rounding_of(backend(t)), what);
                if (beams[n] == 1) {
                    wanted[0] = slow_greedy(&l, i, &o.beam, s.sentence[i].most);
                    check(&found[i], wanted, 1, rounding_of(backend(t)), what);
                }
            }
            translations_close(found, SENTENCES);
        }
        parity_close(&s);
    }
}

/* ---- Python's lists */

typedef struct Case {
    Reference f, network;
    char key[16];
    double *list[6]; /* as fields names them */
} Case;

enum { COUNT, LENGTH, PIECES, EACH, LOG_P, SCORE };
static const char *const fields[] = {"count", "length", "pieces", "each", "log_p", "score"};

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
            ck_assert_int_eq(h->pieces[n], (int)c->list[PIECES][at[PIECES]++]);
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
    ParityFixture s = {0};
    Error e;
    size_t at[6] = {0};
    Translation found[SENTENCES];
    Translator *t;
    TranslateOptions how = {.beam = {(size_t)number_of(c, "beam"), (size_t)number_of(c, "best"), number_of(c, "alpha"),
                                     (int32_t)number_of(c, "end")},
                            .longest = 12,
                            .most = 12 + (size_t)number_of(c, "extra"),
                            .sentences = 3,
                            .positions = 50,
                            .workers = 2};
    ck_done(encdec_open(&s.m, &o, &e), e);
    Network n = encdec_network(&s.m);
    trainer_fixture_open(&s.t, k, &n, c->network.batch, 1, &(Training){0});
    reference_weights(&c->network, &s.t);
    s.n = (TranslateNetwork){&s.m, &s.m.decoder, (int32_t)number_of(c, "begin"), memory_of, logits_of};
    for (size_t i = 0; i < side->rows; i++) {
        size_t length = (size_t)(side->start[i + 1] - side->start[i]);
        s.sentence[i] = (Sentence){side->ids + side->start[i], length, length + (size_t)number_of(c, "extra")};
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
    for (size_t t = 0; backend(t); t++)
        translate_case(&c, backend(t));
    case_close(&c);
}

/* ---- batches */

/* Two of the same question: scores to 1e-4; another translation only where another of them is as good. Returns how
 * often that is. */
static size_t compare(const Translation *a, const Translation *b, double rounding)
{
    size_t others = 0;
    for (size_t i = 0; i < SENTENCES; i++) {
        ck_assert_uint_eq(a[i].count, b[i].count);
        for (size_t n = 0; n < a[i].count; n++) {
            const Hypothesis *x = &a[i].hypothesis[n], *y = &b[i].hypothesis[n];
            ck_assert_double_le(fabs(x->score - y->score), rounding);
            others += x->length != y->length || memcmp(x->pieces, y->pieces, x->length * sizeof *x->pieces) != 0;
        }
    }
    return others;
}

START_TEST(a_translation_does_not_depend_on_its_batch)
{
    static const size_t sentences[] = {1, 2, 3, SENTENCES, 64, 70},
                        positions[] = {1, 40, 100, 1000, 100000, 75}; /* the last: fewer than two for each */
    size_t others = 0;
    for (size_t t = 0; backend(t); t++) {
        EncDecOptions o = kind(_i);
        ParityFixture s;
        Translation first[SENTENCES], found[SENTENCES];
        parity_open(&s, &o, backend(t), 50 + (uint32_t)_i);
        TranslateOptions how = options(4, 4);
        translate(&s, &how, first);
        for (size_t i = 0; i < 6; i++) {
            how.sentences = sentences[i], how.positions = positions[i], how.workers = 1 + i % 2;
            translate(&s, &how, found);
            others += compare(found, first, rounding_of(backend(t)));
            translations_close(found, SENTENCES);
        }
        translations_close(first, SENTENCES);
        parity_close(&s);
    }
    ck_assert_uint_eq(others, 0);
}

static const Kernels *backend_or_bf16(size_t i)
{
    size_t count = 0;
    while (backend(count))
        count++;
    return i < count ? backend(i) : backend_of(NUMBER_BF16, i - count);
}

START_TEST(workers_and_runs_give_the_same_bits)
{
    EncDecOptions o = kind(_i);
    for (size_t t = 0; backend_or_bf16(t); t++) {
        ParityFixture s;
        Error e;
        Translator *translator;
        Translation first[SENTENCES], found[SENTENCES];
        parity_open(&s, &o, backend_or_bf16(t), 60);
        TranslateOptions how = options(4, 2);
        how.sentences = 2;
        translate(&s, &how, first);
        how.workers = 3;
        ck_done(translator_open(&translator, &s.n, &s.t.trainer.weights, &how, &e), e);
        for (size_t run = 0; run < 3; run++) { /* what the caches hold of earlier runs is never seen */
            ck_done(translator_run(translator, s.sentence, SENTENCES, found, &e), e);
            ck_assert_uint_eq(compare(found, first, 0), 0);
            translations_close(found, SENTENCES);
        }
        ck_done(translator_run(translator, NULL, 0, found, &e), e);
        translator_close(translator);
        translations_close(first, SENTENCES);
        parity_close(&s);
    }
}

/* A network that broke has no translations, and nothing else happens. */
START_TEST(weights_that_are_no_numbers_give_no_translation)
{
    for (size_t t = 0; backend(t); t++) {
        EncDecOptions o = kind(0);
        ParityFixture s;
        Translation found[SENTENCES];
        parity_open(&s, &o, backend(t), 3);
        for (size_t j = 0; j < 12; j++)
            trainer_fixture_nudge(&s.t, s.m.source.table, 7 * 12 + j, NAN);
        for (size_t i = 0; i < SENTENCES; i++) { /* every second source has the word that broke */
            for (size_t j = 0; j < s.sentence[i].length; j++)
                s.ids[i][j] = s.ids[i][j] == 7 ? 8 : s.ids[i][j];
            if (i % 2 && s.sentence[i].length)
                s.ids[i][0] = 7;
        }
        TranslateOptions how = options(3, 3);
        translate(&s, &how, found); /* the table is tied: logits of word 7 are NaN everywhere */
        for (size_t i = 0; i < SENTENCES; i++) {
            bool broken = i % 2 && s.sentence[i].length;
            ck_assert_uint_eq(found[i].count, broken ? 0 : found[i].count);
            ck_assert(broken || found[i].count > 0);
            for (size_t n = 0; n < found[i].count; n++)
                for (size_t j = 0; j < found[i].hypothesis[n].length; j++)
                    ck_assert_int_ne(found[i].hypothesis[n].pieces[j], 7);
        }
        translations_close(found, SENTENCES);
        parity_close(&s);
    }
}

static bool run_once(void *argument, Error *e)
{
    ParityFixture *s = argument;
    TranslateOptions o = options(2, 2);
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
    for (size_t t = 0; backend(t); t++) {
        EncDecOptions o = kind(0);
        ParityFixture s;
        parity_open(&s, &o, backend(t), 4);
        fail_each_allocation(run_once, &s);
        parity_close(&s);
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
