/* encdec eval: how well it predicts the target of a part of the data, each subword with all before it: in nats, as the
 * perplexity of a token, and as that of a word with its sentence's end counted as one, which does not depend on what
 * words are cut into. All without label smoothing. And how good its translations of the part are: BLEU; or
 * its trees: F1. */
#include "encdec/encdec.h"

#include "base/size.h"
#include "core/cli/progress.h"
#include "core/program/dump.h"
#include "core/run/json.h"
#include "encdec/bleu_evaluator.h"
#include "encdec/tree_evaluator.h"

#include <math.h>
#include <stdio.h>

typedef struct Eval {
    EncDec *c;
    Progress progress;
    Watch watch; /* that shows it */
    MeanLoss loss;
    Translating translating;
    BleuEvaluator evaluator;
    TreeEvaluator trees; /* instead, where the run is a parser */
    Versus versus;       /* another run; its name is NULL: none */
} Eval;

/* --- what it says --- */

static bool print_figures(const Eval *v, Error *e)
{
    const EncdecOptions *o = v->c->options;
    char how[200];
    snprintf(how, sizeof how, "beam %zu, alpha %g, at most %zu %s longer than the source", o->beam, o->alpha,
             o->max_extra, o->trees ? "tokens" : "subwords");
    return o->trees ? tree_evaluator_print(&v->trees, how, e) : evaluator_print(&v->evaluator, how, e);
}

static bool print_result(const Eval *v, Error *e)
{
    const EncDec *c = v->c;
    const SentencePairs *p = &c->bitext.parts[c->app.data.scored];
    double nats = v->loss.loss, of_word = nats * v->loss.targets / (double)p->words;
    if (c->options->shared.json) {
        Buffer b = {0};
        dataset_protocol(&c->app, &b);
        json_add_member(&b, "loss", nats);
        json_add_member(&b, "perplexity", exp(nats));
        json_add_member(&b, "word_perplexity", exp(of_word));
        if (c->options->bleu && c->options->trees)
            tree_evaluator_add(&v->trees, &b);
        else if (c->options->bleu)
            evaluator_add(&v->evaluator, &b);
        if (v->versus.run)
            versus_add(&v->versus, &b);
        return json_print_members(&b, e);
    }
    printf("%.4f nats/token, perplexity %.3f per token, %.3f per word (%s)\n", nats, exp(nats), exp(of_word),
           c->app.protocol);
    if (c->options->bleu && !print_figures(v, e))
        return false;
    if (v->versus.run)
        versus_print(&v->versus);
    return true;
}

/* What is left out of the figure is said. */
static void note_missing(const EncDec *c)
{
    const SentencePairs *p = &c->bitext.parts[c->app.data.scored];
    const bool training = c->app.data.scored == SPLIT_TRAIN;
    if (p->too_long)
        fprintf(stderr, "encdec: %zu pairs of %s are longer than %zu tokens, and are not scored\n", p->too_long,
                split_name(c->app.data.scored),
                smaller(training ? c->options->longest : SIZE_MAX, c->model.context - 1));
    if (p->empty)
        fprintf(stderr, "encdec: %zu pairs of %s have an empty side%s\n", p->empty, split_name(c->app.data.scored),
                training ? ", and are not scored" : "");
}

/* What makes BLEU doubtful. The built-in sentences are made of tokens. */
static void note_doubts(const Eval *v)
{
    const Translating *t = &v->translating;
    const Lines *references = &v->c->bitext.sentences.side[v->c->app.data.scored][TARGET];
    if (t->cut)
        fprintf(stderr,
                "encdec: %zu sources are too long: the model reads only their first %zu subwords; the first such is "
                "line %zu\n",
                t->cut, t->options.longest, t->first_cut);
    if (app_data(&v->c->app) && references->count && !v->c->options->trees)
        evaluator_note_tokens("the target", (BleuText){references->text, references->start[references->count] - 1});
}

/* --- BLEU --- */

/* Lines first .. first + count - 1 of the part. */
static bool evaluate_chunk(Eval *v, size_t first, size_t count, Lines chunk[SIDES_USED], Error *e)
{
    const Lines *part = v->c->bitext.sentences.side[v->c->app.data.scored];
    for (size_t s = 0; s < SIDES_USED; s++) {
        lines_clear(&chunk[s]);
        for (size_t i = first; i < first + count; i++) {
            const Line line = lines_at(&part[s], i);
            if (!lines_add(&chunk[s], line.text, line.size, e))
                return false;
        }
    }
    return v->c->options->trees ? tree_evaluator_lines(&v->trees, chunk, e) : evaluator_lines(&v->evaluator, chunk, e);
}

static bool evaluate_part(Eval *v, Error *e)
{
    const size_t count = v->c->bitext.sentences.side[v->c->app.data.scored][SOURCE].count, most = v->c->options->chunk;
    Lines chunk[SIDES_USED] = {{0}, {0}};
    bool fine = true;
    for (size_t first = 0; fine && first < count; first += most) {
        const size_t lines = count - first < most ? count - first : most;
        fine = evaluate_chunk(v, first, lines, chunk, e);
        progress_between(&v->progress, &(Report){.step = first + lines,
                                                 .total = count,
                                                 .counted = "translated",
                                                 .norm = -1,
                                                 .rate = -1,
                                                 .tokens_per_second = -1,
                                                 .seconds_left = -1});
    }
    for (size_t s = 0; s < SIDES_USED; s++)
        lines_close(&chunk[s]);
    return fine;
}

/* As `translate` does it, before the part is scored: not at the same time, so that each has the machine to itself. */
static bool find_figures(Eval *v, Error *e)
{
    EncDec *c = v->c;
    const EncdecOptions *o = c->options;
    TrainerOptions trainer;
    Weights w = {0};
    if (!app_trainer_options(&c->app, &trainer, false, e) || !app_open_weights(&c->app, trainer.k, &w, e))
        return false;
    const TranslatingOptions how = translating_options(o, &c->model, 1, &trainer);
    v->evaluator = evaluator_open(&v->translating, c->options->target, BLEU_CELLS);
    v->trees = (TreeEvaluator){.t = &v->translating, .leaves = (TreeLeaves)o->leaves};
    v->evaluator.keep = v->trees.keep = o->shared.each || o->shared.against;
    bool fine = translating_open(&v->translating, &c->model, &c->subwords, &w, &how, e) && evaluate_part(v, e);
    progress_close(&v->progress);
    if (fine && !o->shared.quiet)
        note_doubts(v);
    translating_close(&v->translating);
    weights_close(&w);
    return fine;
}

/* --- the command --- */

static Tensor *logits(void *self, Tape *t, const Rows *rows)
{
    const EncDec *c = self;
    return model_pairs(t, &c->model, &rows[SOURCE], &rows[TARGET]);
}

static bool score(Eval *v, Trainer *trainer, Error *e)
{
    EncDec *c = v->c;
    v->watch = progress_watch(&v->progress);
    trainer->watch = &v->watch;
    bool fine = trainer_score(trainer, &v->loss, e);
    progress_close(&v->progress);
    fine = fine && print_result(v, e);
    if (fine && c->options->shared.dump_logits)
        fine = dump_task(c->options->shared.dump_logits, trainer, &(DumpTask){logits, TARGET, c->model.logits.out}, e);
    progress_close(&v->progress);
    return fine;
}

static bool compare(Eval *v, Error *e)
{
    const App *a = &v->c->app;
    return v->c->options->trees ? tree_evaluator_compare(&v->versus, &v->trees, a, e)
                                : evaluator_compare(&v->versus, &v->evaluator, a, e);
}

bool encdec_eval(App *a, Error *e)
{
    EncDec *c = (EncDec *)a;
    Eval v = {.c = c};
    Trainer trainer = {0};
    const SharedOptions *o = a->options;
    if (!c->options->bleu && (o->each || o->against))
        return fail(e, "--%s needs translations: not with --no-bleu", o->each ? "each" : "against") || app_misused(a);
    if (!each_suits(a, e) || !dump_may_open(o->dump_logits, e) || !encdec_open_run(c, e) ||
        !app_open_data(&c->app, false, e))
        return false;
    app_own_workers(&c->app);
    c->app.data.scored = (Split)c->options->split;
    if (!bitext_suits(&c->bitext, c->app.data.scored, e) || !encdec_task(c, e))
        return false;
    if (!o->quiet)
        note_missing(c);
    v.progress = progress_open(stderr, o->quiet);
    bool fine = (!c->options->bleu || find_figures(&v, e)) && (!o->against || compare(&v, e));
    if (fine && o->each)
        fine = each_print(c->options->trees ? &v.trees.each : &v.evaluator.each, e);
    else
        fine = fine && app_open_trainer(&c->app, &trainer, e) && score(&v, &trainer, e);
    progress_close(&v.progress);
    evaluator_close(&v.evaluator);
    tree_evaluator_close(&v.trees);
    trainer_close(&trainer);
    return fine;
}
