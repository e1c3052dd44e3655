/* encdec translate: the translations of lines, in their order: of standard input or of a file. How they look:
 * core/search/answer.h. encdec parse: their trees, in the same formats. encdec score: log p of translations that are
 * given, each of them its own prefix. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/ranks.h"
#include "base/units.h"
#include "core/run/json.h"
#include "core/search/answer.h"
#include "encdec/ensemble.h"
#include "encdec/translating.h"
#include "encdec/tree_drawing.h"
#include "encdec/tree_evaluator.h"
#include "encdec/treebank.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK_BYTES = 1 << 24 }; /* of text at once, about */

typedef struct Translate {
    EncDec *c;
    Translating t;
    Ensemble ensemble;
    bool scores;    /* given translations */
    bool parses;    /* and what is printed are trees */
    Lines lines;    /* those that are translated together, */
    Lines given;    /* and what their translations begin with, or are, from */
    FILE *beside;   /* this file; NULL: there is none */
    size_t number;  /* of the first of them, from 0 */
    double log_p;   /* of all that was scored */
    Answer *answer; /* [nbest] of one line */
    Buffer *text;   /* [nbest][2] its subwords and its text */
    Buffer out;
    double seconds; /* without waiting for what is to be read */
    Tree tree;
    TreeRepairs repairs; /* of the likeliest trees */
    Buffer tokens;
    bool drawn;
} Translate;

/* --- answers --- */

static AnswerText text_of(const Buffer *b) { return (AnswerText){b->text, b->size}; }

/* Of trees that are indented, an empty line parts one from the next. */
static bool fill_tree(Translate *t, size_t i, const Hypothesis *h, Line sentence, Buffer *text, Error *e)
{
    const EncdecOptions *v = t->c->options;
    if (!tree_of_hypothesis(&t->tree, &t->t, h, (TreeLeaves)v->leaves, sentence, &t->tokens, i ? NULL : &t->repairs, e))
        return false;
    if (v->pretty) {
        tree_write_indented(&t->tree, text);
        buffer_add(text, "\n", 1);
    } else
        tree_write(&t->tree, text);
    if (i || t->drawn || !v->shared.out || !t->tree.count)
        return true;
    t->drawn = true;
    return tree_draw(&t->c->app, &t->tree, e);
}

static bool fill_answer(Translate *t, size_t i, const Hypothesis *h, Line source, Error *e)
{
    const Subwords *p = &t->c->subwords;
    Buffer *subwords = &t->text[2 * i], *text = &t->text[2 * i + 1];
    subwords->size = text->size = 0;
    if (t->c->options->format == ANSWER_FAIRSEQ)
        for (size_t k = 0; k < h->length; k++) {
            buffer_add(subwords, " ", k > 0);
            subwords_name(p, TARGET, h->tokens[k], subwords);
        }
    if (!t->parses)
        translating_text(&t->t, h, text);
    else if (!fill_tree(t, i, h, source, text, e))
        return false;
    t->answer[i] = (Answer){text_of(subwords), text_of(text), h};
    return !(subwords->failed || text->failed) || fail(e, "out of memory for a translation");
}

/* "[{"text": .., "score": .., "log_p": ..}, ..]" */
static bool print_json(const Translate *t, size_t number, Line source, size_t count, Error *e)
{
    Buffer b = {0};
    json_add_member(&b, "number", (double)number);
    json_add_key(&b, "source");
    json_add_bytes(&b, source.text, source.size);
    json_open(&b, "translations", '[');
    for (size_t i = 0; i < count; i++) {
        const Answer *a = &t->answer[i];
        json_open(&b, NULL, '{');
        json_add_key(&b, "text");
        json_add_bytes(&b, a->text.text ? a->text.text : "", a->text.size);
        json_add_member(&b, "score", a->hypothesis->score);
        json_add_member(&b, "log_p", a->hypothesis->log_p);
        buffer_print(&b, "}");
    }
    buffer_print(&b, "]");
    return json_print_members(&b, e);
}

static bool score_line(Translate *t, size_t i, Error *e)
{
    const Hypothesis *h = translating_of(&t->t, i)->hypothesis;
    Buffer b = {0};
    t->log_p += h->log_p;
    if (!t->c->options->shared.json) {
        buffer_print(&t->out, "%.6f\n", h->log_p);
        return true;
    }
    json_add_member(&b, "number", (double)(t->number + i));
    json_add_member(&b, "log_p", h->log_p);
    json_add_member(&b, "tokens", (double)(h->length + 1));
    return json_print_members(&b, e);
}

static bool answer_line(Translate *t, size_t i, Error *e)
{
    const EncdecOptions *v = t->c->options;
    const Translation *answer = translating_of(&t->t, i);
    const Line source = lines_at(&t->lines, i);
    const size_t count = answer ? answer->count : 0;
    for (size_t n = 0; n < count; n++)
        if (!fill_answer(t, n, &answer->hypothesis[n], source, e))
            return false;
    if (v->shared.json)
        return print_json(t, t->number + i, source, count, e);
    answer_add(&t->out, (AnswerFormat)v->format, v->scores, t->number + i, (AnswerText){source.text, source.size},
               t->answer, count);
    return true;
}

static bool print_answers(Translate *t, Error *e)
{
    t->out.size = 0;
    for (size_t i = 0; i < t->lines.count; i++)
        if (!(t->scores ? score_line(t, i, e) : answer_line(t, i, e)))
            return false;
    if (t->out.failed)
        return fail(e, "out of memory for %zu translations; a smaller --chunk needs less", t->lines.count);
    if (t->out.size)
        fwrite(t->out.text, 1, t->out.size, stdout);
    return (fflush(stdout) == 0 && !ferror(stdout)) || fail(e, "standard output could not be written");
}

/* --- lines --- */

static const char *name_beside(const Translate *t)
{
    const EncdecOptions *v = t->c->options;
    return t->scores ? v->translations : v->prefixes;
}

/* What belongs to the lines; after the last of them, `last`, nothing may be left. */
static bool read_beside(Translate *t, bool last, Error *e)
{
    if (!t->beside)
        return true;
    if (ranks_own() == 0 && !lines_beside(&t->given, t->beside, name_beside(t), t->lines.count, e))
        return false;
    if (ranks_own() == 0 && !t->number)
        lines_skip_mark(&t->given);
    if (ranks_own() == 0 && last && getc(t->beside) != EOF)
        return fail(e, "%s has more lines than there are sentences", name_beside(t));
    return lines_share(&t->given, &last, e);
}

static bool translate_chunk(Translate *t, bool last, Error *e)
{
    double start = clock_seconds();
    bool fine = read_beside(t, last, e) &&
                (!t->parses || treebank_sentences(&t->lines, t->c->options->split_words, e)) &&
                translating_prefixed(&t->t, &t->lines, t->beside ? &t->given : NULL, t->scores, e) &&
                print_answers(t, e);
    t->seconds += clock_seconds() - start;
    t->number += t->lines.count;
    return fine;
}

/* Process 0 reads. On a terminal each line is answered when it is there. */
static bool read_chunk(Translate *t, FILE *file, bool *over, Error *e)
{
    const size_t most = isatty(fileno(file)) ? 1 : t->c->options->chunk;
    lines_clear(&t->lines);
    if (ranks_own() > 0)
        return true;
    if (!lines_read(&t->lines, file, most, CHUNK_BYTES, e))
        return false;
    if (!t->number)
        lines_skip_mark(&t->lines);
    *over = feof(file);
    return true;
}

static bool translate_file(void *self, FILE *file, Error *e)
{
    Translate *t = self;
    bool fine = true, over = false;
    while (fine && !over) {
        fine = read_chunk(t, file, &over, e) && !ferror(file) && lines_share(&t->lines, &over, e) &&
               ((!t->lines.count && !over) || translate_chunk(t, over, e));
        if (ferror(file))
            return true; /* the caller says so */
    }
    return fine;
}

static bool translate_beside(void *self, FILE *beside, Error *e)
{
    Translate *t = self;
    t->beside = beside;
    return app_input(t->c->options->input, translate_file, t, e);
}

static bool translate_all(Translate *t, Error *e)
{
    return name_beside(t) ? app_input(name_beside(t), translate_beside, t, e)
                          : app_input(t->c->options->input, translate_file, t, e);
}

static void print_notes(const Translate *t)
{
    const Translating *all = &t->t;
    const double seconds = t->seconds > 0 ? t->seconds : 1;
    if (all->cut)
        fprintf(stderr,
                "encdec: %zu line%s longer than the %zu tokens that the model reads, and cut there; the first is line "
                "%zu\n",
                all->cut, all->cut == 1 ? " is" : "s are", all->options.longest, all->first_cut);
    if (t->parses && t->repairs.repaired && !t->c->options->shared.quiet) {
        Buffer b = {0};
        tree_repairs_print(&b, &t->repairs);
        if (!b.failed)
            fprintf(stderr, "encdec: %s", b.text);
        buffer_free(&b);
    }
    if (t->scores && !t->c->options->shared.quiet)
        fprintf(stderr, "%.4f nats/token, perplexity %.3f per token\n", -t->log_p / fmax(all->written, 1),
                exp(-t->log_p / fmax(all->written, 1)));
    if (!t->c->options->shared.quiet)
        fprintf(stderr, "%s sentence%s in %s: %.1f sentences/s, %.0f + %.0f tokens/s\n", count_text(all->seen).text,
                all->seen == 1 ? "" : "s", duration_text(t->seconds).text, (double)all->seen / seconds,
                all->read / seconds, all->written / seconds);
}

/* --- opening --- */

/* What only sampling or diverse search reads. */
static bool given_for(const EncDec *c, Error *e)
{
    static const char *const sampling[] = {"temperature", "top-k", "top-p", NULL};
    const EncdecOptions *v = c->options;
    const Options *o = c->app.command_line;
    const char *given = options_first_given(o, sampling);
    if (given && !v->sample)
        return fail(e, "--%s belongs to --sample, which is missing", given);
    return v->beam_groups > 1 || !options_given(o, "diversity") ||
           fail(e, "--diversity belongs to --beam-groups, which is missing");
}

static bool suits(EncDec *c, Error *e)
{
    const EncdecOptions *v = c->options;
    if (!given_for(c, e))
        return app_misused(&c->app);
    if (v->sample && v->beam_groups > 1)
        return fail(e, "--sample draws, and --beam-groups searches: give one of them") || app_misused(&c->app);
    if (v->beam_rule == BEAM_FULL && (v->sample || v->beam_groups > 1))
        return fail(e, "--beam-rule full is not for --%s", v->sample ? "sample" : "beam-groups") ||
               app_misused(&c->app);
    if (!v->sample && v->nbest > v->beam)
        return fail(e, "--nbest %zu is more than --beam %zu, the most there can be", v->nbest, v->beam) ||
               app_misused(&c->app);
    if (v->trees && v->well_formed && v->no_repeat)
        return fail(e, "--no-repeat is not for trees, whose brackets repeat") || app_misused(&c->app);
    return v->sample || v->beam % v->beam_groups == 0 ||
           (fail(e, "--beam %zu cannot be divided into --beam-groups %zu of the same size", v->beam, v->beam_groups),
            app_misused(&c->app));
}

/* How translations are searched for, or drawn; or what is given is scored. */
static TranslatingOptions how(const Translate *t, const TrainerOptions *trainer)
{
    const EncdecOptions *v = t->c->options;
    TranslatingOptions o = translating_options(v, &t->c->model, t->scores ? 1 : v->nbest, trainer);
    o.other = t->ensemble.other;
    o.other_count = t->ensemble.count;
    o.next.prefixes = t->scores || v->prefixes;
    o.prefix_file = t->scores ? NULL : v->prefixes;
    if (t->scores) {
        o.beam = 1;
        o.groups = o.next.no_repeat = 0;
        o.full = false;
    } else if (v->sample) {
        o.beam = v->nbest;
        o.next.drawn = true;
        o.next.seed = (uint32_t)v->shared.seed;
        o.next.how = (SamplerOptions){v->temperature, v->top_k, v->top_p};
    }
    return o;
}

static bool open_all(Translate *t, Weights *w, Error *e)
{
    EncDec *c = t->c;
    const EncdecOptions *v = c->options;
    TrainerOptions trainer;
    if (t->scores && !v->translations)
        return fail(e, "--translations FILE is missing: the translations to score") || app_misused(&c->app);
    if (!app_names("ensemble", v->ensemble, e))
        return app_misused(&c->app);
    if (!encdec_open_run(c, e) || (!t->scores && !suits(c, e)))
        return false;
    if (t->parses && !v->trees)
        return fail(e, "%s translates: its targets are not trees; train a parser with --trees", c->app.run->path);
    if (!t->parses && (v->pretty || v->shared.out))
        return fail(e, "--%s is for trees: encdec parse", v->pretty ? "pretty" : "out") || app_misused(&c->app);
    if (v->pretty && v->format != ANSWER_PLAIN)
        return fail(e, "--pretty writes several lines: leave out --format") || app_misused(&c->app);
    app_own_workers(&c->app);
    if (!encdec_task(c, e) || !app_trainer_options(&c->app, &trainer, false, e) ||
        !app_open_weights(&c->app, trainer.k, w, e) || !ensemble_open(&t->ensemble, c, v->ensemble, trainer.k, e))
        return false;
    t->answer = memory_get(v->nbest, sizeof *t->answer);
    t->text = memory_get(2 * v->nbest, sizeof *t->text);
    if (!t->answer || !t->text)
        return memory_error(e, "answers", v->nbest, sizeof *t->answer);
    const TranslatingOptions o = how(t, &trainer);
    return translating_open(&t->t, &c->model, &c->subwords, w, &o, e);
}

static bool translate(Translate *t, Error *e)
{
    Weights w = {0};
    bool fine = open_all(t, &w, e) && translate_all(t, e);
    if (fine)
        print_notes(t);
    translating_close(&t->t);
    ensemble_close(&t->ensemble);
    weights_close(&w);
    tree_free(&t->tree);
    buffer_free(&t->tokens);
    lines_close(&t->lines);
    lines_close(&t->given);
    for (size_t i = 0; t->text && i < 2 * t->c->options->nbest; i++)
        buffer_free(&t->text[i]);
    memory_free(t->text);
    memory_free(t->answer);
    buffer_free(&t->out);
    return fine;
}

bool encdec_translate(App *a, Error *e)
{
    Translate t = {.c = (EncDec *)a};
    return translate(&t, e);
}

bool encdec_parse(App *a, Error *e)
{
    Translate t = {.c = (EncDec *)a, .parses = true};
    return translate(&t, e);
}

bool encdec_score(App *a, Error *e)
{
    Translate t = {.c = (EncDec *)a, .scores = true};
    return translate(&t, e);
}
