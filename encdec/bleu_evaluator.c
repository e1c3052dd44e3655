/* See bleu_evaluator.h. */
#include "encdec/bleu_evaluator.h"

#include "base/memory.h"
#include "core/run/json.h"

#include <math.h>
#include <stdio.h>

enum { EACH_COLUMNS = 3 + 2 * BLEU_ORDERS };
static const char *const each_names[EACH_COLUMNS] = {"text",      "hypothesis", "reference", "correct 1",
                                                     "correct 2", "correct 3",  "correct 4", "total 1",
                                                     "total 2",   "total 3",    "total 4"};

static const char *const rules[] = {
    [MOSES_ENGLISH] = "moses-en", [MOSES_GERMAN] = "moses-de", [MOSES_FRENCH] = "moses-fr"};

BleuEvaluator evaluator_open(Translating *t, const char *language, size_t cells)
{
    Error none;
    BleuEvaluator j = {.t = t, .cells = cells};
    j.moses = moses_language(&j.rules.language, language, &none);
    for (size_t i = 0; i < cells; i++) {
        j.bleu[i] = bleu_open(i < BLEU_TOKENS ? BLEU_13A : BLEU_AS_THEY_ARE,
                              i == BLEU_RAW_LOWER || i == BLEU_TOKENS_LOWER);
        j.bleu[i].made_by = j.moses ? rules[j.rules.language] : NULL;
    }
    return j;
}

void evaluator_close(BleuEvaluator *j)
{
    for (size_t i = 0; i < j->cells; i++)
        bleu_close(&j->bleu[i]);
    each_free(&j->each);
    buffer_free(&j->text);
    for (size_t s = 0; s < SIDES_USED; s++)
        buffer_free(&j->tokens[s]);
}

static BleuText text_of(const Buffer *b) { return (BleuText){b->text ? b->text : "", b->size}; }

/* Makes tokens of a text in its buffer; without rules they are the text. */
static bool make_tokens(BleuEvaluator *j, size_t side, BleuText *text, Error *e)
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

static bool keep_counts(BleuEvaluator *j, const BleuCounts *c, Line reference, Error *e)
{
    double row[EACH_COLUMNS] = {text_number(reference.text, reference.size), (double)c->hypothesis,
                                (double)c->reference};
    for (size_t i = 0; i < BLEU_ORDERS; i++) {
        row[3 + i] = (double)c->correct[i];
        row[3 + BLEU_ORDERS + i] = (double)c->total[i];
    }
    j->each.names = each_names;
    j->each.columns = EACH_COLUMNS;
    return each_add(&j->each, row, e);
}

bool evaluator_line(BleuEvaluator *j, const Buffer *text, Line reference_, Error *e)
{
    BleuText hypothesis = text_of(text), reference = {reference_.text, reference_.size};
    for (size_t i = 0; i < j->cells; i++) {
        BleuCounts counts;
        if (i == BLEU_TOKENS && (!make_tokens(j, SOURCE, &hypothesis, e) || !make_tokens(j, TARGET, &reference, e)))
            return false;
        if (!bleu_count(&j->bleu[i], hypothesis, &reference, 1, &counts, e))
            return false;
        bleu_add(&j->counts[i], &counts);
        if (j->keep && i == BLEU_RAW && !keep_counts(j, &counts, reference_, e))
            return false;
    }
    j->lines++;
    return true;
}

bool evaluator_lines(BleuEvaluator *j, const Lines side[SIDES_USED], Error *e)
{
    if (!translating_run(j->t, &side[SOURCE], e))
        return false;
    for (size_t i = 0; i < side[SOURCE].count; i++) {
        const Translation *found = translating_of(j->t, i);
        j->text.size = 0;
        if (found)
            translating_text(j->t, &found->hypothesis[0], &j->text);
        if (j->text.failed)
            return fail(e, "out of memory for a translation");
        if (!evaluator_line(j, &j->text, lines_at(&side[TARGET], i), e))
            return false;
    }
    return true;
}

static BleuCounts counts_of(const Each *t, size_t line)
{
    const double *row = t->value + line * EACH_COLUMNS;
    BleuCounts c = {.hypothesis = (uint64_t)row[1], .reference = (uint64_t)row[2]};
    for (size_t i = 0; i < BLEU_ORDERS; i++) {
        c.correct[i] = (uint64_t)row[3 + i];
        c.total[i] = (uint64_t)row[3 + BLEU_ORDERS + i];
    }
    return c;
}

bool evaluator_compare(Versus *v, const BleuEvaluator *j, const App *a, Error *e)
{
    const size_t lines = j->each.count;
    BleuPaired paired;
    Each other;
    if (!each_of_run(&other, &j->each, a, a->options->against, e))
        return false;
    BleuCounts *counts = memory_get(2 * lines, sizeof *counts);
    for (size_t i = 0; counts && i < 2 * lines; i++)
        counts[i] = counts_of(i < lines ? &j->each : &other, i % lines);
    bool fine = counts ? bleu_paired(counts, counts + lines, lines, BLEU_SAMPLES, BLEU_SEED, &paired, e)
                       : memory_error(e, "counts of lines", 2 * lines, sizeof *counts);
    if (fine) {
        const double own = paired.first.score, his = paired.second.score, difference = own - his;
        *v = (Versus){a->options->against,
                      "BLEU",
                      own,
                      his,
                      difference,
                      paired.low,
                      paired.high,
                      fabs(difference) > 0 ? paired.p : NAN,
                      {0}};
        snprintf(v->test, sizeof v->test, "paired bootstrap, %d samples of %zu lines", BLEU_SAMPLES, lines);
    }
    each_free(&other);
    memory_free(counts);
    return fine;
}

BleuScore evaluator_score(const BleuEvaluator *j, BleuCell cell) { return bleu_score(&j->counts[cell]); }

bool evaluator_print(const BleuEvaluator *j, const char *how, Error *e)
{
    const BleuScore raw = evaluator_score(j, BLEU_RAW);
    const char *made_by = j->bleu[BLEU_TOKENS].made_by;
    Buffer b = {0};
    bleu_print(&b, &raw);
    buffer_print(&b, "\n  ");
    bleu_signature(&b, &j->bleu[BLEU_RAW], 1);
    buffer_print(&b, ", %zu lines; %s\n", j->lines, how);
    buffer_print(&b, "counted in other ways: lowercased %.2f; tokenized %.2f, lowercased %.2f (%s)\n",
                 evaluator_score(j, BLEU_RAW_LOWER).score, evaluator_score(j, BLEU_TOKENS).score,
                 evaluator_score(j, BLEU_TOKENS_LOWER).score, made_by ? made_by : "words between spaces");
    return app_print(&b, e);
}

void evaluator_add(const BleuEvaluator *j, Buffer *b)
{
    Buffer raw = {0}, tokens = {0};
    bleu_signature(&raw, &j->bleu[BLEU_RAW], 1);
    bleu_signature(&tokens, &j->bleu[BLEU_TOKENS], 1);
    json_add_member(b, "lines", (double)j->lines);
    json_add_member(b, "bleu", evaluator_score(j, BLEU_RAW).score);
    json_add_text(b, "signature", raw.failed ? "" : raw.text);
    json_add_member(b, "lower_bleu", evaluator_score(j, BLEU_RAW_LOWER).score);
    json_add_member(b, "tokenised_bleu", evaluator_score(j, BLEU_TOKENS).score);
    json_add_text(b, "tokenised_signature", tokens.failed ? "" : tokens.text);
    json_add_member(b, "lower_tokenised_bleu", evaluator_score(j, BLEU_TOKENS_LOWER).score);
    b->failed = b->failed || raw.failed || tokens.failed;
    buffer_free(&raw);
    buffer_free(&tokens);
}

void evaluator_note_tokens(const char *name, BleuText references)
{
    if (bleu_tokenised_lines(references) >= BLEU_TOKENISED)
        fprintf(stderr, "encdec: %s looks tokenized (lines end in \" .\"): BLEU of raw text needs raw references\n",
                name);
}
