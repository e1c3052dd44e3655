/* BLEU of what a model makes of lines whose translations are known. In all ways that papers do it: over raw text by
 * 13a, the figure to compare, and over tokens; both with case and without. Tokens are Moses', of both sides, where the
 * language has rules (en, de, fr); otherwise what stands between spaces. */
#ifndef ENCDEC_JUDGE_H
#define ENCDEC_JUDGE_H

#include "core/program/same_texts.h"
#include "core/text/bleu.h"
#include "core/text/moses.h"
#include "encdec/source.h"
#include "encdec/translating.h"

typedef enum BleuCell { BLEU_RAW, BLEU_RAW_LOWER, BLEU_TOKENS, BLEU_TOKENS_LOWER, BLEU_CELLS } BleuCell;

typedef struct BleuEvaluator {
    Translating *t;
    size_t cells; /* the first this many are counted */
    bool moses;   /* whether there are rules for the language */
    Moses rules;
    Bleu bleu[BLEU_CELLS];
    BleuCounts counts[BLEU_CELLS]; /* of all lines so far */
    size_t lines;
    bool keep; /* the counts of each line, raw */
    Each each;
    Buffer text, tokens[SIDES_USED];
} BleuEvaluator;

/* language: translated into. t: for evaluator_lines. */
BleuEvaluator evaluator_open(Translating *t, const char *language, size_t cells);
void evaluator_close(BleuEvaluator *j);

/* Translates the source of lines, all together, and counts what comes against their target. */
bool evaluator_lines(BleuEvaluator *j, const Lines side[SIDES_USED], Error *e);

/* Counts one line, however it was translated; `text` and the reference are tokenised on the way. */
bool evaluator_line(BleuEvaluator *j, const Buffer *text, Line reference, Error *e);

BleuScore evaluator_score(const BleuEvaluator *j, BleuCell cell);

/* All cells, for people and as members of a JSON object; how: what the lines were translated by. */
bool evaluator_print(const BleuEvaluator *j, const char *how, Error *e);
void evaluator_add(const BleuEvaluator *j, Buffer *json);

/* The paired bootstrap of bleu.h, against what another run makes of the same lines; both have kept their counts. */
bool evaluator_compare(Versus *v, const BleuEvaluator *j, const App *a, Error *e);

/* Tells on standard error of references that look as if somebody had made tokens of them: BLEU of such is higher, and
 * compares with no other. */
void evaluator_note_tokens(const char *name, BleuText references);

#endif
