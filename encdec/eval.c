/* encdec eval: how well it foretells the target of a part of the data, each piece with all before it: in nats, as the
 * perplexity of a piece, and as that of a word with its sentence's end counted as one, which does not depend on what
 * words are cut into. All without label smoothing. */
#include "encdec/encdec.h"

#include "core/program/dump.h"
#include "core/run/json.h"

#include <math.h>
#include <stdio.h>

static bool print_result(const EncDec *c, const MeanLoss *score, Error *e)
{
    const SentencePairs *p = &c->bitext.parts[c->scored];
    double nats = score->loss, of_word = nats * score->targets / (double)p->words;
    if (c->v->shared.json) {
        Buffer b = {0};
        buffer_print(&b, "{");
        c->app.kind->protocol(&c->app, &b);
        json_add_member(&b, "loss", nats);
        json_add_member(&b, "perplexity", exp(nats));
        json_add_member(&b, "word_perplexity", exp(of_word));
        return json_print(&b, e);
    }
    printf("%.4f nats/piece, perplexity %.3f a piece, %.3f a word (%s)\n", nats, exp(nats), exp(of_word),
           c->app.protocol);
    return true;
}

static Tensor *logits(void *self, Tape *t, const Rows *rows)
{
    const EncDec *c = self;
    return model_pairs(t, &c->model, &rows[SOURCE], &rows[TARGET]);
}

/* What is left out of the figure is said. */
static void note_missing(const EncDec *c)
{
    const SentencePairs *p = &c->bitext.parts[c->scored];
    if (p->too_long)
        fprintf(stderr, "encdec: %zu pairs of %s are longer than %zu pieces, and are not scored\n", p->too_long,
                part_name(c->scored), c->scored == PART_TRAIN ? c->v->longest : c->model.context - 1);
    if (p->empty)
        fprintf(stderr, "encdec: %zu pairs of %s have an empty side%s\n", p->empty, part_name(c->scored),
                c->scored == PART_TRAIN ? ", and are not scored" : "");
}

bool encdec_eval(EncDec *c, Error *e)
{
    Crew crew = {0};
    MeanLoss score;
    if (!encdec_open_run(c, e) || !encdec_open_bitext(c, false, e))
        return false;
    app_own_workers(&c->app);
    c->scored = (Part)c->v->split;
    if (!bitext_suits(&c->bitext, c->scored, e) || !encdec_task(c, e))
        return false;
    if (!c->v->shared.quiet)
        note_missing(c);
    Progress progress = progress_open(stderr, c->v->shared.quiet);
    bool fine = app_open_crew(&c->app, &crew, e);
    crew.progress = &progress;
    fine = fine && crew_score(&crew, &score, e);
    progress_close(&progress);
    fine = fine && print_result(c, &score, e);
    if (fine && c->v->dump_logits)
        fine = dump_task(c->v->dump_logits, &crew, &(DumpTask){logits, TARGET, c->model.logits.out}, e);
    progress_close(&progress);
    crew_close(&crew);
    return fine;
}
