/* What a run shows of its model while it learns, of sentences that it does not learn from: how some were translated and
 * how it translates them, and BLEU of some hundred. */
#include "encdec/bleu_evaluator.h"
#include "encdec/encdec.h"
#include "encdec/tree_evaluator.h"

#include "kernels/cost/cost.h"

#include <math.h>

enum { SHOWN = 6, LONGEST_SHOWN = 60, MAX_EXTRA = 20, JUDGED_TOKENS = 512 };

static void close_lines(Lines side[SIDES_USED])
{
    for (size_t s = 0; s < SIDES_USED; s++)
        lines_close(&side[s]);
}

/* --- what it says --- */

static void add_line(Buffer *b, const char *name, Line line)
{
    buffer_print(b, "%-13s", name);
    buffer_add(b, line.text, line.size);
    buffer_add(b, "\n", 1);
}

static void add_pair(Buffer *b, const Translating *t, const Lines side[SIDES_USED], size_t i)
{
    const Translation *found = translating_of(t, i);
    Buffer said = {0};
    if (found)
        translating_text(t, &found->hypothesis[0], &said);
    add_line(b, "source", lines_at(&side[SOURCE], i));
    add_line(b, "reference", lines_at(&side[TARGET], i));
    add_line(b, "translation", (Line){said.text, said.size});
    buffer_add(b, "\n", 1);
    b->failed = b->failed || said.failed;
    buffer_free(&said);
}

bool encdec_show_sample(App *a, Trainer *trainer, uint64_t step, Error *e)
{
    const EncDec *c = (const EncDec *)a;
    Lines side[SIDES_USED] = {{0}, {0}};
    Translating t = {0};
    Buffer text = {0};
    const TranslatingOptions o = {.beam = 4,
                                  .best = 1,
                                  .alpha = 0.6,
                                  .well_formed = c->options->trees,
                                  .leaves = (TreeLeaves)c->options->leaves,
                                  .max_extra = c->options->trees ? PARSER_MAX_EXTRA : MAX_EXTRA,
                                  .max_tokens = 1, /* a sentence at a time: it takes least memory */
                                  .longest = LONGEST_SHOWN + c->bitext.subwords->registers,
                                  .workers = 1,
                                  .team = 1};
    bool fine = bitext_spread(&c->bitext, SHOWN, side, e) &&
                translating_open(&t, &c->model, c->bitext.subwords, &trainer->weights, &o, e) &&
                translating_run(&t, &side[SOURCE], e);
    for (size_t i = 0; fine && i < side[SOURCE].count; i++)
        add_pair(&text, &t, side, i);
    fine = fine && (!text.failed || fail(e, "out of memory for a sample")) &&
           run_sample_write(a->run, step, text.text, text.size, e);
    translating_close(&t);
    close_lines(side);
    buffer_free(&text);
    return fine;
}

/* --- how good it is --- */

/* Greedily: it takes a quarter of the time of a beam, and the figure grows as that of a beam does. */
static TranslatingOptions evaluated_how(const EncDec *c, size_t workers, Pool *pool)
{
    return (TranslatingOptions){.beam = 1,
                                .best = 1,
                                .well_formed = c->options->trees,
                                .leaves = (TreeLeaves)c->options->leaves,
                                .max_extra = c->options->trees ? PARSER_MAX_EXTRA : MAX_EXTRA,
                                .max_tokens = JUDGED_TOKENS,
                                .longest = c->app.task.longest[SOURCE] - 1,
                                .workers = workers,
                                .team = 1,
                                .pool = pool,
                                .together = true};
}

bool encdec_evaluate_sample(App *a, Trainer *trainer, double *figure, Error *e)
{
    const EncDec *c = (const EncDec *)a;
    const TranslatingOptions o = evaluated_how(c, trainer->options.workers, trainer->pool);
    Lines side[SIDES_USED] = {{0}, {0}};
    Translating t = {0};
    *figure = NAN;
    if (!c->options->bleu_sentences)
        return true;
    BleuEvaluator evaluator = evaluator_open(&t, c->options->target, 1);
    TreeEvaluator trees = {.t = &t, .leaves = (TreeLeaves)c->options->leaves};
    bool fine = bitext_spread(&c->bitext, c->options->bleu_sentences, side, e) &&
                translating_open(&t, &c->model, c->bitext.subwords, &trainer->weights, &o, e) &&
                (c->options->trees ? tree_evaluator_lines(&trees, side, e) : evaluator_lines(&evaluator, side, e));
    if (fine)
        *figure = c->options->trees ? brackets_f1(&trees.score) : evaluator_score(&evaluator, BLEU_RAW).score;
    evaluator_close(&evaluator);
    tree_evaluator_close(&trees);
    translating_close(&t);
    close_lines(side);
    return fine;
}

bool encdec_sample_bytes(const EncDec *c, size_t *bytes, Error *e)
{
    const Kernels *k = cost_kernels((NumberType)c->options->shared.precision);
    Weights weights = {.k = k, .parameters = &c->model.parameters};
    const TranslatingOptions o = evaluated_how(c, 1, NULL);
    weights.reals = weights.numbers = &weights; /* a walk reads none: any address will do that is not NULL */
    *bytes = 0;
    return !c->options->bleu_sentences || translating_bytes(bytes, &c->model, &weights, &o, e);
}
