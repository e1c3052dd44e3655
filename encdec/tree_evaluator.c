/* See tree_evaluator.h. */
#include "encdec/tree_evaluator.h"

#include "base/memory.h"
#include "base/philox.h"
#include "base/units.h"
#include "core/run/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 1000, SEED = 12345, COLUMNS = 6 };
static const char *const columns[COLUMNS] = {"text", "gold", "found", "matched", "words", "tags"};

void tree_evaluator_close(TreeEvaluator *v)
{
    each_free(&v->each);
    tree_free(&v->gold);
    tree_free(&v->found);
    buffer_free(&v->text);
}

/* ---- counting */

bool tree_of_hypothesis(Tree *t, const Translating *from, const Hypothesis *h, TreeLeaves leaves, Line sentence,
                        Buffer *text, TreeRepairs *r, Error *e)
{
    text->size = 0;
    if (h)
        translating_text(from, h, text);
    return !text->failed ? tree_of_tokens(t, text->text, text->size, leaves, sentence.text, sentence.size, r, e)
                         : memory_error(e, "a tree", text->size, 1);
}

static bool keep_counts(TreeEvaluator *v, const BracketScore *s, Line gold, Error *e)
{
    const double row[COLUMNS] = {text_number(gold.text, gold.size),
                                 (double)s->gold,
                                 (double)s->found,
                                 (double)s->matched,
                                 (double)s->words,
                                 (double)s->tags};
    v->each.names = columns;
    v->each.columns = COLUMNS;
    return each_add(&v->each, row, e);
}

static void add_score(BracketScore *to, const BracketScore *s)
{
    to->sentences += s->sentences, to->errors += s->errors, to->skipped += s->skipped;
    to->gold += s->gold, to->found += s->found, to->matched += s->matched;
    to->complete += s->complete, to->words += s->words, to->tags += s->tags;
}

static bool count_line(TreeEvaluator *v, size_t i, Line sentence, Line gold, Error *e)
{
    const Translation *found = translating_of(v->t, i);
    const Hypothesis *best = found && found->count ? found->hypothesis : NULL;
    BracketScore one = {0};
    if (!tree_of_hypothesis(&v->found, v->t, best, v->leaves, sentence, &v->text, &v->repairs, e) ||
        !tree_of_tokens(&v->gold, gold.text, gold.size, v->leaves, sentence.text, sentence.size, NULL, e) ||
        !brackets_add(&one, &v->gold, &v->found, e))
        return false;
    add_score(&v->score, &one);
    return !v->keep || keep_counts(v, &one, gold, e);
}

bool tree_evaluator_lines(TreeEvaluator *v, const Lines side[SIDES_USED], Error *e)
{
    if (!translating_run(v->t, &side[SOURCE], e))
        return false;
    for (size_t i = 0; i < side[SOURCE].count; i++)
        if (!count_line(v, i, lines_at(&side[SOURCE], i), lines_at(&side[TARGET], i), e))
            return false;
    return true;
}

/* ---- saying it */

void bracket_score_print(Buffer *b, const BracketScore *s)
{
    buffer_print(b, "F1 %6.2f  precision %6.2f  recall %6.2f  exact %6.2f  tags %6.2f", brackets_f1(s),
                 brackets_precision(s), brackets_recall(s), brackets_complete(s), brackets_tags(s));
    if (s->errors || s->skipped)
        buffer_print(b, "  (%zu of %zu sentences do not count: other words are punctuation)", s->errors + s->skipped,
                     s->sentences);
    buffer_print(b, "\n");
}

void bracket_score_add(Buffer *json, const BracketScore *s)
{
    json_add_member(json, "f1", brackets_f1(s));
    json_add_member(json, "precision", brackets_precision(s));
    json_add_member(json, "recall", brackets_recall(s));
    json_add_member(json, "exact", brackets_complete(s));
    json_add_member(json, "tags", brackets_tags(s));
    json_add_member(json, "counted", (double)(s->sentences - s->errors - s->skipped));
}

void tree_repairs_print(Buffer *b, const TreeRepairs *r)
{
    const struct {
        size_t count;
        const char *what;
    } parts[] = {{r->missing, "words missing"},
                 {r->over, "words too many"},
                 {r->shut, "brackets not shut"},
                 {r->ignored, "brackets that shut nothing"},
                 {r->empty, "constituents without a word"},
                 {r->opened, "words outside of all brackets"}};
    const char *before = ": ";
    buffer_print(b, "%zu of %zu trees were ill-formed and repaired", r->repaired, r->trees);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].count) {
            buffer_print(b, "%s%zu %s", before, parts[i].count, parts[i].what);
            before = ", ";
        }
    buffer_print(b, "\n");
}

bool tree_evaluator_print(const TreeEvaluator *v, const char *how, Error *e)
{
    Buffer b = {0};
    bracket_score_print(&b, &v->score);
    buffer_print(&b, "  %zu sentences; %s\n  ", v->score.sentences, how);
    tree_repairs_print(&b, &v->repairs);
    return app_print(&b, e);
}

void tree_evaluator_add(const TreeEvaluator *v, Buffer *json)
{
    bracket_score_add(json, &v->score);
    json_add_member(json, "repaired", (double)v->repairs.repaired);
}

/* ---- two runs */

static double f1(const Each *t, const uint32_t *line, size_t lines)
{
    double gold = 0, found = 0, matched = 0;
    for (size_t i = 0; i < lines; i++) {
        const double *row = t->value + (line ? line[i] : i) * COLUMNS;
        gold += row[1], found += row[2], matched += row[3];
    }
    return gold + found > 0 ? 200 * matched / (gold + found) : 0;
}

/* Lines are drawn with replacement, the same ones of both runs. p: how often the difference turns to the other side,
 * twice; with one added to both counts, as of BLEU (core/text/bleu_paired.c): so many samples cannot show that it never
 * does. */
static void bootstrap(Versus *o, const Each *own, const Each *other, uint32_t *line, double *difference)
{
    const size_t lines = own->count;
    size_t turned = 0;
    for (size_t s = 0; s < SAMPLES; s++) {
        for (size_t i = 0; i < lines; i++)
            line[i] = (uint32_t)philox_below(lines, SEED, (uint32_t)s, i, 0);
        difference[s] = f1(own, line, lines) - f1(other, line, lines);
        turned += difference[s] * o->difference <= 0;
    }
    qsort(difference, SAMPLES, sizeof *difference, ascending);
    o->low = difference[SAMPLES / 40];
    o->high = difference[SAMPLES - 1 - SAMPLES / 40];
    o->p = fabs(o->difference) > 0 ? fmin(1, 2 * (double)(turned + 1) / (SAMPLES + 1)) : NAN;
}

bool tree_evaluator_compare(Versus *o, const TreeEvaluator *v, const App *a, Error *e)
{
    const size_t lines = v->each.count;
    Each other;
    if (!each_of_run(&other, &v->each, a, a->options->against, e))
        return false;
    uint32_t *line = memory_get(lines, sizeof *line);
    double *difference = memory_get(SAMPLES, sizeof *difference);
    const bool fine = (line && difference) || memory_error(e, "samples of lines", lines, sizeof *line);
    if (fine) {
        *o = (Versus){.run = a->options->against,
                      .figure = "F1",
                      .own = f1(&v->each, NULL, lines),
                      .other = f1(&other, NULL, lines)};
        o->difference = o->own - o->other;
        snprintf(o->test, sizeof o->test, "paired bootstrap, %d samples of %zu sentences", SAMPLES, lines);
        bootstrap(o, &v->each, &other, line, difference);
    }
    memory_free(line);
    memory_free(difference);
    each_free(&other);
    return fine;
}
