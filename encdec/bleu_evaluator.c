/* See judge.h. */
#include "encdec/bleu_evaluator.h"

#include <stdio.h>

static const char *const rules[] = {
    [MOSES_ENGLISH] = "moses-en", [MOSES_GERMAN] = "moses-de", [MOSES_FRENCH] = "moses-fr"};

Judge judge_open(Translating *t, const char *language, size_t cells)
{
    Error none;
    Judge j = {.t = t, .cells = cells};
    j.moses = moses_language(&j.rules.language, language, &none);
    for (size_t i = 0; i < cells; i++) {
        j.bleu[i] = bleu_open(i < JUDGE_TOKENS ? BLEU_13A : BLEU_AS_THEY_ARE,
                              i == JUDGE_RAW_LOWER || i == JUDGE_TOKENS_LOWER);
        j.bleu[i].made_by = j.moses ? rules[j.rules.language] : NULL;
    }
    return j;
}

void judge_close(Judge *j)
{
    for (size_t i = 0; i < j->cells; i++)
        bleu_close(&j->bleu[i]);
    buffer_free(&j->text);
    for (size_t s = 0; s < SIDES_USED; s++)
        buffer_free(&j->tokens[s]);
}

static BleuText text_of(const Buffer *b) { return (BleuText){b->text ? b->text : "", b->size}; }

/* Makes tokens of a text in its buffer; without rules they are the text. */
static bool make_tokens(Judge *j, size_t side, BleuText *text, Error *e)
{
    Buffer *tokens = &j->tokens[side];
    if (!j->moses)
        return true;
    tokens->size = 0;
    if (!moses_tokenise(j->rules, text->text, text->size, tokens, e))
        return false;
    *text = text_of(tokens);
    return true;
}

/* One line of each side: of the source, its translation. */
static bool count_line(Judge *j, BleuText hypothesis, BleuText reference, Error *e)
{
    for (size_t i = 0; i < j->cells; i++) {
        BleuCounts counts;
        if (i == JUDGE_TOKENS && (!make_tokens(j, SOURCE, &hypothesis, e) || !make_tokens(j, TARGET, &reference, e)))
            return false;
        if (!bleu_count(&j->bleu[i], hypothesis, &reference, 1, &counts, e))
            return false;
        bleu_add(&j->counts[i], &counts);
    }
    j->lines++;
    return true;
}

bool judge_lines(Judge *j, const Lines side[SIDES_USED], Error *e)
{
    if (!translating_run(j->t, &side[SOURCE], e))
        return false;
    for (size_t i = 0; i < side[SOURCE].count; i++) {
        const Translation *found = translating_of(j->t, i);
        const Line reference = lines_at(&side[TARGET], i);
        j->text.size = 0;
        if (found)
            translating_text(j->t, &found->hypothesis[0], &j->text);
        if (j->text.failed)
            return fail(e, "out of memory for a translation");
        if (!count_line(j, text_of(&j->text), (BleuText){reference.text, reference.size}, e))
            return false;
    }
    return true;
}

BleuScore judge_score(const Judge *j, JudgeCell cell) { return bleu_score(&j->counts[cell]); }

void judge_note_tokens(const char *name, BleuText references)
{
    if (bleu_tokenised_lines(references) >= BLEU_TOKENISED)
        fprintf(stderr,
                "encdec: %s looks as if it was made tokens of (lines end in \" .\"): BLEU of raw text wants raw "
                "references\n",
                name);
}
