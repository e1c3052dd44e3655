/* BLEU (Papineni, Roukos, Ward, Zhu 2002) of a corpus, equal to sacreBLEU 2.6.0's to the last digit that is printed.
 *
 *     BLEU = 100 * BP * exp((log p1 + log p2 + log p3 + log p4) / 4),  BP = exp(1 - r / c) where c < r, else 1
 *
 * p_n: the n-grams of all hypotheses that are in the reference, each counted at most as often as it is there (of
 * several references, in the one that has it most often), by all n-grams of the hypotheses; c: tokens of the
 * hypotheses; r: of each one's reference that is nearest in length (the shorter of two). Where an order has no match,
 * its precision is 1 / (2^k total), k counting such orders (smoothing "exp"); where nothing matches at all, BLEU is 0.
 *
 * Texts are raw, and 13a makes tokens of them, WMT's own rules: that is the figure to compare. Texts that were
 * tokenised before are counted as they are: "tokenised" BLEU, to compare with papers that say so.
 *
 * A byte that is no UTF-8 is part of a token like any other; a zero byte counts as U+0001. */
#ifndef CORE_TEXT_BLEU_H
#define CORE_TEXT_BLEU_H

#include "base/buffer.h"
#include "core/text/vocabulary.h"

#include <stdint.h>

enum { BLEU_ORDERS = 4 };

typedef enum BleuTokens { BLEU_13A, BLEU_AS_THEY_ARE } BleuTokens;

/* What is counted in one sentence or many: sums of these are counts, too. */
typedef struct BleuCounts {
    uint64_t hypothesis, reference; /* tokens */
    uint64_t correct[BLEU_ORDERS], total[BLEU_ORDERS];
} BleuCounts;

typedef struct BleuScore {
    double score, precision[BLEU_ORDERS]; /* 0 to 100 */
    double brevity, ratio;                /* BP; c / r */
    BleuCounts counts;
} BleuScore;

typedef struct BleuText {
    const char *text; /* [size] */
    size_t size;
} BleuText;

/* How sentences are counted, and room for it; for one thread. */
typedef struct Bleu {
    BleuTokens tokens;
    bool lower;
    const char *made_by; /* what the signature says of tokens that are counted as they are; NULL: "none" */
    Vocabulary words;    /* all tokens that were met, without <unk> */
    Buffer line, work;
    int32_t *line_tokens;
    struct BleuGram *grams, *others; /* all n-grams of a hypothesis, and of a reference, sorted */
    size_t line_capacity, grams_capacity, others_capacity;
} Bleu;

/* Begins without asking for memory. */
Bleu bleu_open(BleuTokens tokens, bool lower);
void bleu_close(Bleu *b);

/* The counts of one sentence, with one reference or more. */
bool bleu_count(Bleu *b, BleuText hypothesis, const BleuText *references, size_t count, BleuCounts *counts, Error *e);

/* The counts of each line of a text, [*lines], to be freed with memory_free. References have as many lines, in the same
 * order. The texts are named in messages: names[0] is the hypotheses'. */
bool bleu_count_lines(Bleu *b, BleuText hypotheses, const BleuText *references, size_t count, const char *const *names,
                      BleuCounts **counts, size_t *lines, Error *e);

void bleu_add(BleuCounts *sum, const BleuCounts *counts);
BleuCounts bleu_sum(const BleuCounts *counts, size_t lines);
BleuScore bleu_score(const BleuCounts *counts);

/* "BLEU = 27.30 58.4/33.1/21.0/13.6 (BP = 1.000 ratio = 1.026 hyp_len = 63081 ref_len = 61480)" */
void bleu_print(Buffer *out, const BleuScore *s);

/* "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|impl:attend": sacreBLEU's, but for the program's name. */
void bleu_signature(Buffer *out, const Bleu *b, size_t references);

/* What 13a makes of a line: tokens with one space between them. Exported for the tests. */
bool bleu_13a(Bleu *b, BleuText line, Buffer *out, Error *e);

/* Lines that end in " .": a text with BLEU_TOKENISED of them looks as if it was made tokens of already. */
enum { BLEU_TOKENISED = 100 };
size_t bleu_tokenised_lines(BleuText text);

/* --- whether a difference means anything: paired bootstrap resampling (Koehn 2004), bleu_paired.c --- */

enum { BLEU_SAMPLES = 1000, BLEU_SEED = 12345 };

typedef struct BleuInterval {
    double score;        /* of all lines */
    double mean, spread; /* of the samples; 95 % of them are in about mean - spread to mean + spread */
} BleuInterval;

typedef struct BleuPaired {
    BleuInterval first, second;
    double low, high; /* 95 % of the samples have a difference, first - second, in between */
    double p;         /* how likely a difference as large as this one is when none is meant */
} BleuPaired;

/* Of the same lines by two systems. A sample is as many lines, drawn with replacement, the same ones of both. */
bool bleu_paired(const BleuCounts *first, const BleuCounts *second, size_t lines, size_t samples, uint32_t seed,
                 BleuPaired *paired, Error *e);

#endif
