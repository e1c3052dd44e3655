/* encdec bleu HYPOTHESES REFERENCES...: how near translations are to those of people, over raw text as sacreBLEU's 13a
 * counts it, and beside it over tokens as the texts stand. With --paired A B REFERENCES: whether two systems differ. */
#include "encdec/encdec.h"

#include "base/memory.h"
#include "core/run/json.h"
#include "core/text/archive.h"
#include "encdec/bleu_evaluator.h"

#include <stdio.h>

enum { MOST_TEXTS = 16 };

/* The texts that the command line names. */
typedef struct Compared {
    const EncDec *c;
    const char *const *names;
    size_t count;
    char *bytes[MOST_TEXTS];
    BleuText text[MOST_TEXTS];
} Compared;

static bool suits(const Compared *t, Error *e)
{
    if (t->c->options->paired ? t->count == 3 : t->count >= 2 && t->count <= MOST_TEXTS)
        return true;
    return fail(e, t->c->options->paired
                       ? "bleu --paired needs A B REFERENCES: two files of translations and one of references"
                       : "bleu needs HYPOTHESES and 1 to 15 files of REFERENCES");
}

static bool read_texts(Compared *t, Error *e)
{
    for (size_t i = 0; i < t->count; i++) {
        if (!text_read(t->names[i], &t->bytes[i], &t->text[i].size, e))
            return false;
        t->text[i].text = t->bytes[i];
        if (!text_in_utf8(t->names[i], t->bytes[i], t->text[i].size, e))
            return false;
    }
    return true;
}

static void note_tokens(const Compared *t)
{
    for (size_t i = t->c->options->paired ? 2 : 1; !t->c->options->shared.quiet && i < t->count; i++)
        evaluator_note_tokens(t->names[i], t->text[i]);
}

/* The counts of hypothesis text `which`, line by line; to be freed with memory_free. */
static bool count_lines(const Compared *t, Bleu *b, size_t which, BleuCounts **counts, size_t *lines, Error *e)
{
    const size_t first = t->c->options->paired ? 2 : 1;
    const char *names[MOST_TEXTS] = {t->names[which]};
    for (size_t i = first; i < t->count; i++)
        names[i - first + 1] = t->names[i];
    return bleu_count_lines(b, t->text[which], t->text + first, t->count - first, names, counts, lines, e);
}

static bool score_of(const Compared *t, BleuTokens tokens, BleuScore *score, Buffer *signature, size_t *lines, Error *e)
{
    Bleu b = bleu_open(tokens, t->c->options->lowercase);
    BleuCounts *counts = NULL;
    bool fine = count_lines(t, &b, 0, &counts, lines, e);
    if (fine) {
        BleuCounts sum = bleu_sum(counts, *lines);
        *score = bleu_score(&sum);
        bleu_signature(signature, &b, t->count - 1);
    }
    memory_free(counts);
    bleu_close(&b);
    return fine;
}

static bool print_scores(const Compared *t, Buffer *out, Error *e)
{
    BleuScore raw, tokenised;
    Buffer signature = {0}, other = {0};
    size_t lines;
    bool fine = score_of(t, BLEU_13A, &raw, &signature, &lines, e) &&
                score_of(t, BLEU_AS_THEY_ARE, &tokenised, &other, &lines, e);
    if (fine && t->c->options->shared.json) {
        buffer_print(out, "{");
        json_add_member(out, "sentences", (double)lines);
        json_add_member(out, "bleu", raw.score);
        json_add_text(out, "signature", signature.text);
        json_add_member(out, "tokenised_bleu", tokenised.score);
        json_add_text(out, "tokenised_signature", other.text);
        buffer_print(out, "}");
    } else if (fine) {
        bleu_print(out, &raw);
        buffer_print(out, "\n  %s, %zu lines\ntokenized ", signature.text, lines);
        bleu_print(out, &tokenised);
        buffer_print(out, "\n  %s: of the texts as they are\n", other.text);
    }
    fine = fine && (!(signature.failed || other.failed) || memory_error(e, "a signature", 100, 1));
    buffer_free(&signature);
    buffer_free(&other);
    return fine;
}

static void print_system(Buffer *out, const char *name, const BleuInterval *i)
{
    buffer_print(out, "%-24s BLEU %.2f, over samples %.2f +- %.2f\n", name, i->score, i->mean, i->spread);
}

/* sacreBLEU's p, which is small where there is no difference at all: no sample has a larger one. */
static const char *verdict(const BleuPaired *paired)
{
    if (paired->first.score == paired->second.score)
        return "there is no difference";
    return paired->p < 0.05 ? "they differ" : "the difference may be chance";
}

static bool print_paired(const Compared *t, Buffer *out, Error *e)
{
    Bleu b = bleu_open(BLEU_13A, t->c->options->lowercase);
    BleuCounts *first = NULL, *second = NULL;
    BleuPaired paired;
    size_t lines;
    bool fine = count_lines(t, &b, 0, &first, &lines, e) && count_lines(t, &b, 1, &second, &lines, e) &&
                bleu_paired(first, second, lines, BLEU_SAMPLES, BLEU_SEED, &paired, e);
    if (fine && t->c->options->shared.json) {
        buffer_print(out, "{");
        json_add_member(out, "sentences", (double)lines);
        json_add_member(out, "first", paired.first.score);
        json_add_member(out, "second", paired.second.score);
        json_add_member(out, "p", paired.p);
        buffer_print(out, "}");
    } else if (fine) {
        print_system(out, t->names[0], &paired.first);
        print_system(out, t->names[1], &paired.second);
        buffer_print(out, "p = %.4f (paired bootstrap, %d samples of %zu lines): %s\n", paired.p, BLEU_SAMPLES, lines,
                     verdict(&paired));
    }
    memory_free(first);
    memory_free(second);
    bleu_close(&b);
    return fine;
}

bool encdec_bleu(App *a, Error *e)
{
    EncDec *c = (EncDec *)a;
    const Options *o = c->app.command_line;
    Compared t = {.c = c, .names = (const char *const *)o->arguments, .count = o->argument_count};
    Buffer out = {0};
    if (!suits(&t, e))
        return app_misused(&c->app);
    bool fine = read_texts(&t, e);
    if (fine)
        note_tokens(&t);
    fine = fine && (c->options->paired ? print_paired(&t, &out, e) : print_scores(&t, &out, e));
    fine = fine && (!out.failed || memory_error(e, "a result", out.size, 1));
    if (fine)
        printf("%s%s", out.text, c->options->shared.json ? "\n" : "");
    for (size_t i = 0; i < t.count; i++)
        memory_free(t.bytes[i]);
    buffer_free(&out);
    return fine;
}
