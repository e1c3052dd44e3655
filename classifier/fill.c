/* What a pretrained run says of texts: how well it predicts masked tokens of its data (eval), and which tokens it would
 * put where a text has [MASK] (predict). */
#include "classifier/classifier.h"

#include "base/memory.h"
#include "core/run/json.h"
#include "core/session/session.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- eval --- */

static bool eval_suits(const Classifier *c, Error *e)
{
    const ClassifierOptions *v = c->options;
    const char *option = v->shared.each          ? "each"
                         : v->shared.against     ? "against"
                         : v->mistakes           ? "mistakes"
                         : v->ensemble           ? "ensemble"
                         : v->shared.dump_logits ? "dump-logits"
                                                 : NULL;
    return !option ||
           fail(e, "--%s is about classes of texts, but this run is pretrained: it predicts masked words", option);
}

bool masked_eval(Classifier *c, Error *e)
{
    Trainer trainer = {0};
    MeanLoss score;
    if (!eval_suits(c, e))
        return app_misused(&c->app);
    bool fine = app_open_trainer(&c->app, &trainer, e) && trainer_score(&trainer, &score, e);
    trainer_close(&trainer);
    if (!fine)
        return false;
    const double accuracy = score.hits / score.targets;
    const bool pairs = c->model.next.weight != NULL;
    if (c->options->shared.json) {
        Buffer b = {0};
        dataset_protocol(&c->app, &b);
        json_add_member(&b, "masked", score.targets);
        json_add_member(&b, "loss", score.part[0]);
        json_add_member(&b, "perplexity", exp(score.part[0]));
        json_add_member(&b, "accuracy", accuracy);
        if (pairs)
            json_add_member(&b, "next_loss", score.part[1]);
        return json_print_members(&b, e);
    }
    printf("accuracy %.2f %% of %.0f masked tokens, loss %.4f nats, perplexity %.2f (%s)\n", 100 * accuracy,
           score.targets, score.part[0], exp(score.part[0]), c->app.protocol);
    if (pairs)
        printf("next sentences: loss %.4f nats (%.4f: by chance)\n", score.part[1], log(2));
    return true;
}

/* --- predict --- */

/* The ids of a text that BERT reads, where the name of a mark is one, and how many of them are [MASK]. */
static bool read_bert(const Classifier *c, const char *text, size_t size, Buffer *ids, size_t *masks, Error *e)
{
    int32_t *own = NULL;
    size_t count, cut;
    if (!text_to_ids(c->reading, text, size, 0, &own, &count, &cut, e))
        return false;
    for (size_t i = 0; i < count; i++)
        *masks += own[i] == c->reading->mask;
    buffer_add(ids, own, count * sizeof *own);
    memory_free(own);
    return !ids->failed || memory_error(e, "a text", ids->size, 1);
}

/* The same of any text in which [MASK] stands for a token. */
static bool read_masks(const Classifier *c, const char *text, size_t size, Buffer *ids, size_t *masks, Error *e)
{
    static const char mask[] = "[MASK]";
    const char *end = text + size;
    *masks = 0;
    if (token_words(c->reading->kind) != WORDS_PLAIN)
        return read_bert(c, text, size, ids, masks, e);
    for (const char *at = text;; at += sizeof mask - 1) {
        const char *next = at;
        while (next < end && ((size_t)(end - next) < sizeof mask - 1 || memcmp(next, mask, sizeof mask - 1) != 0))
            next++;
        int32_t *own = NULL;
        size_t count, cut;
        for (const char *k = at; k < next; k++) /* a space is no word */
            if (*k != ' ') {
                if (!text_to_ids(c->reading, at, (size_t)(next - at), 0, &own, &count, &cut, e))
                    return false;
                buffer_add(ids, own, count * sizeof *own);
                memory_free(own);
                break;
            }
        if (next == end)
            return !ids->failed || memory_error(e, "a text", ids->size, 1);
        buffer_add(ids, &c->reading->mask, sizeof c->reading->mask);
        ++*masks;
        at = next;
    }
}

static Tensor *masks_network(void *self, Tape *t, const Rows *rows)
{
    const Classifier *c = self;
    return model_tokens(t, &c->model, model_masked(t, &c->model, rows));
}

/* A text as one row, whose masks are what is to be predicted; returns how many of them are read. */
static size_t fill(const Classifier *c, Batch *b, const int32_t *ids, size_t count)
{
    const size_t room = c->model.context - classifier_marks(c), lead = c->model.next.weight != NULL;
    batch_clear(b);
    const size_t at = classifier_add_text(c, b, ids, count < room ? count : room);
    classifier_add_segments(c, b, SIZE_MAX);
    Side *masked = &b->side[MASKED];
    size_t found = 0;
    for (size_t i = at; i < b->side[TEXT].positions; i++)
        if (b->side[TEXT].ids[i] == c->reading->mask)
            masked->ids[lead + found++] = (int32_t)(i - at);
    batch_row(b, MASKED, lead + found);
    masked->among = TEXT + 1;
    if (lead) {
        masked->ids[0] = (int32_t)c->model.registers.count;
        b->side[NEXT].targets[batch_row(b, NEXT, 1)] = -1;
    }
    for (size_t i = 0; i < lead + found; i++)
        masked->targets[i] = -1;
    ngrams_add(&c->model.ngrams, b);
    return found;
}

/* The likeliest tokens of a mask, the likeliest first, each taken out once it is found. */
static void add_guesses(const Classifier *c, double *shares, Buffer *out)
{
    const bool json = c->options->shared.json;
    const size_t tokens = tokens_count(c->reading);
    for (size_t k = 0; k < c->options->guesses && k < tokens; k++) {
        size_t best = 0;
        for (size_t i = 1; i < tokens; i++)
            best = shares[i] > shares[best] ? i : best;
        const char *name = token_name(c->reading, (int32_t)best);
        if (json)
            json_add_member(out, name, shares[best]);
        else
            buffer_print(out, "%s %s %.4f", k ? "," : "", name, shares[best]);
        shares[best] = -1;
    }
}

static bool say_guesses(const Classifier *c, const char *text, size_t size, const float *logits, size_t count, Error *e)
{
    const size_t tokens = tokens_count(c->reading);
    const bool json = c->options->shared.json;
    double *shares = memory_get(tokens, sizeof *shares);
    Buffer b = {0};
    if (!shares)
        return memory_error(e, "shares of tokens", tokens, sizeof *shares);
    if (json) {
        json_add_key(&b, "text");
        json_add_bytes(&b, text, size);
        json_open(&b, "masks", '[');
    } else {
        buffer_add(&b, text, size);
        buffer_print(&b, "\n");
    }
    for (size_t i = 0; i < count; i++) {
        classifier_shares(shares, logits + i * tokens, tokens);
        buffer_print(&b, json ? i ? ", {" : "{" : "%9zu ", i + 1);
        add_guesses(c, shares, &b);
        buffer_print(&b, json ? "}" : "\n");
    }
    memory_free(shares);
    if (json) {
        buffer_print(&b, "]");
        return json_print_members(&b, e);
    }
    bool fine = !b.failed || memory_error(e, "guesses", b.size, 1);
    if (fine)
        fputs(b.text, stdout);
    buffer_free(&b);
    return fine;
}

bool masked_predict(Classifier *c, Trainer *trainer, const char *text, size_t size, size_t number, Error *e)
{
    Buffer ids = {0};
    Batch b = {0};
    size_t masks, found = 0, tokens = tokens_count(c->reading), lead = c->model.next.weight != NULL;
    BatchSize one = plan_size(&c->app.task, 1, true);
    float *logits = NULL;
    one.positions[MASKED] = one.positions[TEXT] + lead;
    bool fine = read_masks(c, text, size, &ids, &masks, e) &&
                (masks || fail(e, "text %zu has no [MASK], which stands for the word to predict", number)) &&
                batch_open(&b, &one, e);
    if (fine) {
        found = fill(c, &b, (const int32_t *)(const void *)ids.text, ids.size / sizeof(int32_t));
        const size_t most = c->app.task.longest[MASKED];
        fine = found == masks && lead + found <= most
                   ? (logits = memory_get(found * tokens, sizeof *logits)) || memory_error(e, "logits", found, tokens)
                   : fail(e, "text %zu has %zu [MASK]; the model reads %zu tokens and predicts %zu of them", number,
                          masks, c->model.context - classifier_marks(c), most - lead);
    }
    if (fine) {
        Worker *w = &trainer->worker[0];
        const Tensor *y = session_run(w, &b, masks_network, c);
        fine = session_floats(w, y, lead * tokens, found * tokens, logits, e);
        session_end(w);
        fine = trainer->options.k->finish(w->stream, e) && fine && say_guesses(c, text, size, logits, found, e);
    }
    batch_close(&b);
    buffer_free(&ids);
    memory_free(logits);
    return fine;
}
