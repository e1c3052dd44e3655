/* See translate_fixture.h. */
#include "tests/nn/translate_fixture.h"

#include "base/memory.h"
#include "base/philox.h"

#include <math.h>
#include <string.h>

EncDecOptions random_kind(int i)
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

Tensor *translate_fixture_memory(const void *model, Tape *t, const Rows *source)
{
    return encdec_memory(t, model, source);
}

Tensor *translate_fixture_logits(const void *model, Tape *t, const Rows *target, const AttentionContext *context)
{
    return encdec_logits(t, model, target, NULL, context);
}

void translate_fixture_open(TranslateFixture *s, const EncDecOptions *o, const Kernels *k, uint32_t seed)
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
    s->n = (TranslateNetwork){&s->m, &s->m.decoder, 1, NULL, translate_fixture_memory, translate_fixture_logits, false};
    for (uint32_t i = 0; i < SENTENCES; i++) {
        for (size_t j = 0; j < lengths[i]; j++)
            s->ids[i][j] = (int32_t)philox_below(o->source, seed, i, j, 3);
        s->sentence[i] = (Sentence){
            .ids = s->ids[i], .length = lengths[i], .most = i == 10 ? 0 : lengths[i] + EXTRA, .number = i};
    }
}

void translate_fixture_close(TranslateFixture *s)
{
    trainer_fixture_close(&s->t);
    batch_close(&s->batch);
    encdec_close(&s->m);
}

TranslateOptions search_options(size_t beam, size_t best)
{
    return (TranslateOptions){.beam = {.beam = beam, .best = best, .alpha = 0.6, .end = 2},
                              .longest = LONGEST,
                              .most = LONGEST + EXTRA,
                              .sentences = 5,
                              .positions = 60,
                              .workers = 1};
}

void translate_all(TranslateFixture *s, const TranslateOptions *o, Translation *to)
{
    Error e;
    Translator *t;
    ck_done(translator_open(&t, &s->n, &s->t.trainer.weights, o, &e), e);
    ck_done(translator_run(t, s->sentence, SENTENCES, to, &e), e);
    translator_close(t);
}

const Kernels *search_backend(size_t i) { return i ? backend_of(NUMBER_F32, i - 1) : plain_of(NUMBER_F64); }
double search_rounding(const Kernels *k) { return k->type == NUMBER_F64 ? 1e-11 : 1e-4; }

void next_slowly(void *self, size_t i, const int32_t *prefix, size_t n, double *log_p)
{
    TranslateFixture *s = self;
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

static bool same_tokens(const Hypothesis *h, const Sequence *wanted)
{
    return h->length == wanted->length && memcmp(h->tokens, wanted->tokens, h->length * sizeof *h->tokens) == 0;
}

void check_translation(const Translation *found, const Sequence *wanted, size_t count, double rounding,
                       const char *what)
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
        ck_assert_msg(same_tokens(h, &wanted[i]), "%s: best %zu is another, as good", what, i);
    }
}

size_t compare_translations(const Translation *a, const Translation *b, double rounding)
{
    size_t others = 0;
    for (size_t i = 0; i < SENTENCES; i++) {
        ck_assert_uint_eq(a[i].count, b[i].count);
        for (size_t n = 0; n < a[i].count; n++) {
            const Hypothesis *x = &a[i].hypothesis[n], *y = &b[i].hypothesis[n];
            ck_assert_double_le(fabs(x->score - y->score), rounding);
            others += x->length != y->length || memcmp(x->tokens, y->tokens, x->length * sizeof *x->tokens) != 0;
        }
    }
    return others;
}
