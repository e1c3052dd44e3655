/* charlm eval: bits per byte, with the protocol that the figure belongs to: split, bytes scored, context, stride.
 *
 * Every token of the split but its first is scored once; without --tokens, tokens are bytes. Windows of `context` bytes begin `stride` after one another;
 * a byte is scored in the first that holds it, so it has seen between context - stride + 1 and context bytes, or all
 * there are at the beginning. A stride of the context is the cheap protocol and the hard one; with 1 each byte has a
 * full context, for `context` times the work.
 *
 * Overlapping windows share what they can, which is work inside of one: only bytes that are scored need queries,
 * feed-forward, norms and logits in the last block; keys and values, and the blocks below, need the whole window.
 * Nothing can be handed on to the next window. There a byte has another position, so learned and computed positions
 * make another vector of it before the first block; and without positions it has lost the bytes that fell out in front,
 * which change its keys from the second block on. What keeps old keys (a cache that slides, Transformer-XL) is another
 * protocol, with other figures. */
#include "charlm/dynamic.h"

#include "base/memory.h"
#include "core/cli/progress.h"
#include "core/program/dump.h"
#include "core/program/same_texts.h"
#include "core/research/statistics.h"
#include "core/run/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A text has no documents: what two runs are compared on are its stretches. Bytes near each other are foretold well or
 * badly together, stretches of this length hardly are. The last one has the rest, too. */
enum { STRETCH = 1000, EACH_TEXT = 0, EACH_BYTES, EACH_BITS, EACH_COLUMNS };
static const char *const each_names[] = {"text", "bytes", "bits"};

typedef struct Stretches {
    Each each;
    const Tokenizer *tokenizer;
    size_t vocabulary;
    const char *text;          /* that is scored, without what is between documents */
    size_t size, from, scored; /* bytes: all, where the stretch begins, so far */
    double bits;               /* of the stretch */
} Stretches;

/* What is scored of the part; between, after each document but the last. */
static bool scored_text(const Charlm *c, const char *between, Buffer *text, Error *e)
{
    const Part *p = &c->windows.part;
    if (!p->ids)
        buffer_add(text, p->bytes + 1, p->size - 1);
    for (size_t i = 1; p->ids && i < p->size; i++)
        if (tokenizer_length(&c->tokenizer, p->ids[i]))
            tokenizer_bytes(&c->tokenizer, p->ids[i], text);
        else
            buffer_print(text, "%s", between);
    return !text->failed || memory_error(e, "the text that is scored", text->size, 1);
}

/* Words of the scored text, white space between them: what perplexities of a word are of, whatever the tokens. */
static bool scored_words(const Charlm *c, size_t *words, Error *e)
{
    Buffer b = {0};
    const bool fine = scored_text(c, "\n", &b, e);
    *words = 0;
    for (size_t i = 0; fine && i < b.size; i++)
        *words += !strchr(" \t\n\r", b.text[i]) && (!i || strchr(" \t\n\r", b.text[i - 1]));
    buffer_free(&b);
    return fine;
}

static bool print_result(const Charlm *c, const MeanLoss *score, const Versus *versus, Error *e)
{
    const double bits = score->loss * c->app.task.per_nat, tokens = (double)windows_scored(&c->windows);
    size_t words;
    if (!scored_words(c, &words, e))
        return false;
    const double of_token = exp(score->loss), of_word = exp(score->loss * tokens / (double)words);
    if (c->options->shared.json) {
        Buffer b = {0};
        dataset_protocol(&c->app, &b);
        json_add_member(&b, "bits_per_byte", bits);
        json_add_member(&b, "nats_per_token", score->loss);
        json_add_member(&b, "perplexity_of_a_word", of_word);
        if (versus->run)
            versus_add(versus, &b);
        return json_print_members(&b, e);
    }
    printf("%.4f bits/byte (%s)\n", bits, c->app.protocol);
    if (c->windows.part.ids)
        printf("%.4f nats/token; perplexity of a token %.1f, of a word %.1f (%zu words)\n", score->loss, of_token,
               of_word, words);
    if (versus->run)
        versus_print(versus);
    return true;
}

static Tensor *logits(void *self, Tape *t, const Rows *rows)
{
    const Charlm *c = self;
    return model_windows(t, &c->model, rows, rows_scored(rows));
}

/* ---- stretches */

static bool add_stretch(Stretches *s, Error *e)
{
    const size_t bytes = s->scored - s->from;
    const double row[] = {text_number(s->text + s->from, bytes), (double)bytes, s->bits};
    s->bits = 0;
    s->from = s->scored;
    return each_add(&s->each, row, e);
}

/* -log2 of the share of the token that came */
static bool take_token(void *to, const float *logits, int32_t target, Error *e)
{
    Stretches *s = to;
    double largest = (double)logits[0], sum = 0;
    for (size_t i = 1; i < s->vocabulary; i++)
        largest = (double)logits[i] > largest ? (double)logits[i] : largest;
    for (size_t i = 0; i < s->vocabulary; i++)
        sum += exp((double)logits[i] - largest);
    s->bits += (log(sum) - ((double)logits[target] - largest)) / log(2);
    s->scored += tokenizer_length(s->tokenizer, target);
    const bool ends = s->scored == s->size || (s->scored - s->from >= STRETCH && s->size - s->scored >= STRETCH);
    return !ends || add_stretch(s, e);
}

static bool score_stretches(Stretches *s, Trainer *trainer, Error *e)
{
    s->each = (Each){.names = each_names, .columns = EACH_COLUMNS};
    s->from = s->scored = 0;
    return scored_logits(trainer, &(DumpTask){logits, 0, s->vocabulary}, take_token, s, e);
}

/* The paired test of bits per byte. */
static bool compare(Versus *v, const Stretches *s, const App *a, Error *e)
{
    const size_t count = s->each.count;
    Each other;
    double bytes = 0, bits[2] = {0, 0};
    if (!each_of_run(&other, &s->each, a, a->options->against, e))
        return false;
    double *rate = memory_get(2 * count, sizeof *rate);
    for (size_t i = 0; rate && i < 2 * count; i++) {
        const double *row = (i < count ? &s->each : &other)->value + i % count * EACH_COLUMNS;
        rate[i] = row[EACH_BITS] / row[EACH_BYTES];
        bits[i / count] += row[EACH_BITS];
        bytes += i < count ? row[EACH_BYTES] : 0;
    }
    if (rate) {
        const Difference d = difference_paired(rate, rate + count, count);
        *v = (Versus){
            a->options->against, "bits per byte", bits[0] / bytes, bits[1] / bytes, d.mean, d.low, d.high, d.p, {0}};
        snprintf(v->test, sizeof v->test, "the paired test of %zu stretches of %d bytes", count, STRETCH);
    }
    each_free(&other);
    memory_free(rate);
    return rate || memory_error(e, "bits of stretches", 2 * count, sizeof *rate);
}

static bool score(Charlm *c, Trainer *trainer, Stretches *s, Error *e)
{
    const SharedOptions *o = &c->options->shared;
    MeanLoss mean;
    Versus versus = {0};
    if (o->each)
        return score_stretches(s, trainer, e) && each_print(&s->each, e);
    return trainer_score(trainer, &mean, e) &&
           (!o->against || (score_stretches(s, trainer, e) && compare(&versus, s, &c->app, e))) &&
           print_result(c, &mean, &versus, e);
}

/* --dynamic has one result, the mean. */
static bool suits(Charlm *c, Error *e)
{
    const SharedOptions *o = &c->options->shared;
    if (!each_suits(&c->app, e))
        return false;
    const char *other = o->each ? "each" : o->against ? "against" : o->dump_logits ? "dump-logits" : NULL;
    return !(c->options->dynamic > 0) || !other ||
           fail(e, "--%s needs weights that stay the same: not with --dynamic", other) || app_misused(&c->app);
}

static bool open_run(Charlm *c, Error *e)
{
    if (!suits(c, e) || !app_open_run(&c->app, c->options->shared.run, false, e))
        return false;
    if (c->options->dynamic > 0)
        dynamic_prepare(c->options);
    else
        app_own_workers(&c->app);
    return charlm_build(c, e) && app_open_data(&c->app, false, e);
}

static bool score_dynamic(Charlm *c, const Watch *watch, Error *e)
{
    const Versus none = {0};
    const size_t used = strlen(c->app.protocol);
    MeanLoss mean;
    snprintf(c->app.protocol + used, sizeof c->app.protocol - used, ", dynamic %g", c->options->dynamic);
    return dynamic_score(c, watch, &mean, e) && print_result(c, &mean, &none, e);
}

bool charlm_eval(App *a, Error *e)
{
    Charlm *c = (Charlm *)a;
    Trainer trainer = {0};
    Stretches stretches = {.scored = 0};
    Buffer text = {0};
    size_t stride;
    Part part;
    if (!open_run(c, e))
        return false;
    if (!parse_stride(c->options->stride, model_window(&c->model), &stride, e))
        return app_misused(&c->app);
    c->app.data.scored = (Split)c->options->split;
    if (!part_to_score(&part, &c->text, &c->tokenizer, c->options, e) ||
        !dump_may_open(c->options->shared.dump_logits, e))
        return false;
    charlm_task(c, part, stride);
    Progress progress = progress_open(stderr, c->options->shared.quiet);
    const Watch watch = progress_watch(&progress);
    if (c->options->dynamic > 0) {
        const bool done = score_dynamic(c, &watch, e);
        progress_close(&progress);
        return done;
    }
    bool fine = app_open_trainer(&c->app, &trainer, e) && scored_text(c, "", &text, e);
    trainer.watch = &watch;
    stretches = (Stretches){
        .tokenizer = &c->tokenizer, .vocabulary = c->model.vocabulary, .text = text.text, .size = text.size};
    fine = fine && score(c, &trainer, &stretches, e);
    if (fine && c->options->shared.dump_logits)
        fine = dump_task(c->options->shared.dump_logits, &trainer, &(DumpTask){logits, 0, c->model.vocabulary}, e);
    progress_close(&progress);
    trainer_close(&trainer);
    each_free(&stretches.each);
    buffer_free(&text);
    return fine;
}
