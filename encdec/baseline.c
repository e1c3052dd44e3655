/* encdec baseline: BLEU of a translation word by word, each source word by its likeliest translation, in the source's
 * order, under the protocol of eval. The dictionary is learned from the training part alone (dictionary.h). A word that
 * part does not have is left out. A network that learned from the same pairs is to be better than this.
 *
 * With --trees, the data is a treebank, and what is scored are trees: baseline_trees.c. */
#include "encdec/encdec.h"

#include "core/run/json.h"
#include "encdec/baseline_trees.h"
#include "encdec/bleu_evaluator.h"
#include "encdec/dictionary.h"

#include <stdio.h>

typedef struct Baseline {
    EncDec *c;
    Dictionary words;
    BleuEvaluator evaluator;
    Ids line;
    Buffer text;
} Baseline;

/* Words as they stand, all of them; and all lines of what is scored. */
static bool open_pairs(EncDec *c, Error *e)
{
    EncdecOptions *v = c->options;
    c->app.data.scored = (Split)v->split;
    if (!app_data(&c->app) && !options_preset(c->app.command_line, c->app.kind->built_in_preset, e))
        return false;
    v->type = SUBWORDS_WORDS;
    v->size = 0;
    BitextOptions o = {.source = encdec_source_options(c, c->app.data.scored == SPLIT_TEST),
                       .keep_training = c->app.data.scored == SPLIT_TRAIN,
                       .longest = v->longest,
                       .context = SIZE_MAX};
    if (!encdec_subwords_options(&o.subwords, c, e))
        return app_misused(&c->app);
    return bitext_open(&c->bitext, &o, e) && bitext_suits(&c->bitext, SPLIT_TRAIN, e) &&
           bitext_suits(&c->bitext, c->app.data.scored, e);
}

static bool score_pair(Baseline *b, size_t i, Error *e)
{
    const Bitext *all = &b->c->bitext;
    const SentencePairs *p = &all->parts[b->c->app.data.scored];
    const Line reference = lines_at(&all->sentences.side[b->c->app.data.scored][TARGET], p->line[i]);
    b->line.count = b->text.size = 0;
    for (size_t k = p->start[SOURCE][i]; k + 1 < p->start[SOURCE][i + 1]; k++) {
        const int32_t source = p->ids[SOURCE][k];
        const int32_t target = source == UNKNOWN ? UNKNOWN : dictionary_best(&b->words, source);
        if (target != UNKNOWN && !ids_add(&b->line, target, e))
            return false;
    }
    subwords_line(all->subwords, b->line.id, b->line.count, &b->text);
    if (b->text.failed)
        return fail(e, "out of memory for a translation");
    return evaluator_line(&b->evaluator, &b->text, reference, e);
}

static bool print(const Baseline *b, Error *e)
{
    const SentencePairs *learnt = &b->c->bitext.parts[SPLIT_TRAIN];
    char how[100];
    Buffer out = {0};
    if (b->c->options->shared.json) {
        json_add_text(&out, "split", split_name(b->c->app.data.scored));
        json_add_member(&out, "learnt_pairs", (double)learnt->count);
        evaluator_add(&b->evaluator, &out);
        return json_print_members(&out, e);
    }
    snprintf(how, sizeof how, "word by word, with a dictionary learned from %zu training pairs", learnt->count);
    return evaluator_print(&b->evaluator, how, e);
}

bool encdec_baseline(App *a, Error *e)
{
    EncDec *c = (EncDec *)a;
    Baseline b = {.c = c};
    if (c->options->trees && c->options->input && a->options->json)
        return fail(e, "--file has trees printed: leave out --json") || app_misused(a);
    if (c->options->trees)
        return (app_data(a) || fail(e, "--trees needs a treebank: --data DIR, an archive or a file") ||
                app_misused(a)) &&
               baseline_trees(c, e);
    if (c->options->input)
        return fail(e, "--file is for --trees: sentences to parse") || app_misused(a);
    if (!open_pairs(c, e))
        return false;
    const SentencePairs *scored = &c->bitext.parts[c->app.data.scored];
    b.evaluator = evaluator_open(NULL, c->options->target, BLEU_CELLS);
    bool fine = dictionary_learn(&b.words, &c->bitext.parts[SPLIT_TRAIN], c->bitext.subwords->count, e);
    for (size_t i = 0; fine && i < scored->count; i++)
        fine = score_pair(&b, i, e);
    fine = fine && print(&b, e);
    dictionary_close(&b.words);
    evaluator_close(&b.evaluator);
    ids_close(&b.line);
    buffer_free(&b.text);
    return fine;
}
