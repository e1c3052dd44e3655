/* Random encoder-decoders that translate, and the same search without a cache: what tests of core/search/translate.h
 * share. */
#ifndef TESTS_NN_TRANSLATE_FIXTURE_H
#define TESTS_NN_TRANSLATE_FIXTURE_H

#include "core/search/translate.h"
#include "tests/nn/encdec.h"
#include "tests/slow.h"

enum { KINDS = 6, WORDS = 23, CONTEXT = 24, LONGEST = 13, SENTENCES = 12, EXTRA = 6 };

/* Kinds of networks: post-norm and pre-norm, tied and not, fused and composed attention. */
EncDecOptions random_kind(int i);

typedef struct TranslateFixture {
    EncDec m;
    Batch batch; /* for the fixture alone */
    TrainerFixture t;
    TranslateNetwork n;
    int32_t ids[SENTENCES][LONGEST];
    Sentence sentence[SENTENCES];
} TranslateFixture;

Tensor *translate_fixture_memory(const void *model, Tape *t, const Rows *source);
Tensor *translate_fixture_logits(const void *model, Tape *t, const Rows *target, const AttentionContext *context);

void translate_fixture_open(TranslateFixture *s, const EncDecOptions *o, const Kernels *k, uint32_t seed);
void translate_fixture_close(TranslateFixture *s);

/* Batches of at most 5 sentences, by one worker. */
TranslateOptions search_options(size_t beam, size_t best);
void translate_all(TranslateFixture *s, const TranslateOptions *o, Translation *to);

/* f64, and then all that compute in f32. */
const Kernels *search_backend(size_t i);
double search_rounding(const Kernels *k);

/* log p of the next token: the last position of the whole row. */
void next_slowly(void *self, size_t i, const int32_t *prefix, size_t n, double *log_p);

void check_translation(const Translation *found, const Sequence *wanted, size_t count, double rounding,
                       const char *what);

/* Two of the same question: scores up to rounding; another translation only where another of them is as good. Returns
 * how often that is. */
size_t compare_translations(const Translation *a, const Translation *b, double rounding);

#endif
