/* See bleu.h: n-grams counted, and what is made of the counts. */
#include "core/text/bleu.h"

#include "base/memory.h"
#include "core/text/bleu_inner.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char counting[] = "n-grams of a line";

/* An n-gram of a sentence, shorter ones with -1 after them; how often it occurs, and how often in a reference. */
typedef struct BleuGram {
    int32_t token[BLEU_ORDERS];
    size_t order;
    uint64_t count, most;
} BleuGram;

Bleu bleu_open(BleuTokens tokens, bool lower) { return (Bleu){.tokens = tokens, .lower = lower}; }

void bleu_close(Bleu *b)
{
    vocabulary_close(&b->words);
    buffer_free(&b->line);
    buffer_free(&b->work);
    memory_free(b->line_tokens);
    memory_free(b->grams);
    memory_free(b->others);
    *b = (Bleu){0};
}

/* --- counting --- */

/* Makes b->line_tokens of a text. */
static bool tokens_of(Bleu *b, BleuText text, size_t *count, Error *e)
{
    BleuText token;
    *count = 0;
    if (!bleu_prepare(b, text, e))
        return false;
    for (size_t at = 0; bleu_next_token(b, &at, &token); ++*count) {
        if (!memory_grow(&b->line_tokens, &b->line_capacity, *count + 1, sizeof *b->line_tokens, counting, e) ||
            !vocabulary_add(&b->words, token.text, token.size, 1, &b->line_tokens[*count], e))
            return false;
    }
    return true;
}

static int by_tokens(const void *a, const void *b) { return memcmp(a, b, sizeof((BleuGram *)0)->token); }

/* The different n-grams of all orders, sorted. */
static bool grams_of(BleuGram **grams, size_t *capacity, const int32_t *tokens, size_t count, size_t *different,
                     Error *e)
{
    if (!memory_grow(grams, capacity, BLEU_ORDERS * count + 1, sizeof **grams, counting, e))
        return false;
    BleuGram *all = *grams;
    size_t found = 0, n = 0;
    for (size_t order = 1; order <= BLEU_ORDERS; order++)
        for (size_t i = 0; i + order <= count; i++) {
            all[found] = (BleuGram){.order = order, .count = 1};
            memset(all[found].token, -1, sizeof all->token);
            memcpy(all[found++].token, tokens + i, order * sizeof *tokens);
        }
    qsort(all, found, sizeof *all, by_tokens);
    for (size_t i = 0; i < found; i++)
        if (n && !by_tokens(&all[i], &all[n - 1]))
            all[n - 1].count++;
        else
            all[n++] = all[i];
    *different = n;
    return true;
}

/* grams[i].most: how often it occurs in a reference, if that is more. */
static void match(BleuGram *grams, size_t count, const BleuGram *others, size_t n)
{
    for (size_t i = 0, k = 0; i < count && k < n;) {
        int order = by_tokens(&grams[i], &others[k]);
        if (!order && others[k].count > grams[i].most)
            grams[i].most = others[k].count;
        i += order <= 0;
        k += order >= 0;
    }
}

/* Whether a reference's length is nearer to the hypothesis's than the best so far; of two as near, the shorter one. */
static bool is_nearer(size_t length, uint64_t best, size_t hypothesis)
{
    uint64_t off = length > hypothesis ? length - hypothesis : hypothesis - length;
    uint64_t best_off = best > hypothesis ? best - hypothesis : hypothesis - best;
    return off < best_off || (off == best_off && length < best);
}

bool bleu_count(Bleu *b, BleuText hypothesis, const BleuText *references, size_t count, BleuCounts *counts, Error *e)
{
    size_t tokens, grams, length, others;
    *counts = (BleuCounts){0};
    if (!tokens_of(b, hypothesis, &tokens, e) ||
        !grams_of(&b->grams, &b->grams_capacity, b->line_tokens, tokens, &grams, e))
        return false;
    counts->hypothesis = tokens;
    for (size_t i = 0; i < count; i++) {
        if (!tokens_of(b, references[i], &length, e) ||
            !grams_of(&b->others, &b->others_capacity, b->line_tokens, length, &others, e))
            return false;
        match(b->grams, grams, b->others, others);
        if (!i || is_nearer(length, counts->reference, tokens))
            counts->reference = length;
    }
    for (size_t i = 0; i < grams; i++) {
        const BleuGram *g = &b->grams[i];
        counts->total[g->order - 1] += g->count;
        counts->correct[g->order - 1] += g->most < g->count ? g->most : g->count;
    }
    return true;
}

/* --- lines --- */

static size_t count_lines(BleuText t)
{
    size_t lines = t.size && t.text[t.size - 1] != '\n';
    for (size_t i = 0; i < t.size; i++)
        lines += t.text[i] == '\n';
    return lines;
}

/* The first line of a text, which then begins after it. */
static BleuText take_line(BleuText *t)
{
    const char *newline = t->size ? memchr(t->text, '\n', t->size) : NULL;
    BleuText line = {t->text, newline ? (size_t)(newline - t->text) : t->size};
    size_t taken = line.size + (newline != NULL);
    t->text += taken;
    t->size -= taken;
    return line;
}

static bool check_lines(BleuText hypotheses, const BleuText *references, size_t count, const char *const *names,
                        size_t *lines, Error *e)
{
    *lines = count_lines(hypotheses);
    if (!count)
        return fail(e, "%s has no reference to compare with", names[0]);
    if (!*lines)
        return fail(e, "%s is empty: nothing can be scored", names[0]);
    for (size_t i = 0; i < count; i++) {
        size_t other = count_lines(references[i]);
        if (other != *lines)
            return fail(e, "%s has %zu line%s and its reference %s has %zu: the numbers must be equal", names[0],
                        *lines, *lines == 1 ? "" : "s", names[i + 1], other);
    }
    return true;
}

bool bleu_count_lines(Bleu *b, BleuText hypotheses, const BleuText *references, size_t count, const char *const *names,
                      BleuCounts **counts, size_t *lines, Error *e)
{
    if (!check_lines(hypotheses, references, count, names, lines, e))
        return false;
    *counts = memory_get(*lines, sizeof **counts);
    BleuText *line = memory_get(count, sizeof *line), *rest = memory_get(count, sizeof *rest);
    bool done = (*counts && line && rest) || memory_error(e, counting, *lines, sizeof **counts);
    if (done)
        memcpy(rest, references, count * sizeof *rest);
    for (size_t i = 0; done && i < *lines; i++) {
        BleuText hypothesis = take_line(&hypotheses);
        for (size_t k = 0; k < count; k++)
            line[k] = take_line(&rest[k]);
        done = bleu_count(b, hypothesis, line, count, &(*counts)[i], e);
    }
    memory_free(line);
    memory_free(rest);
    if (!done) {
        memory_free(*counts);
        *counts = NULL;
    }
    return done;
}

/* --- the score --- */

void bleu_add(BleuCounts *sum, const BleuCounts *counts)
{
    sum->hypothesis += counts->hypothesis;
    sum->reference += counts->reference;
    for (size_t n = 0; n < BLEU_ORDERS; n++) {
        sum->correct[n] += counts->correct[n];
        sum->total[n] += counts->total[n];
    }
}

BleuCounts bleu_sum(const BleuCounts *counts, size_t lines)
{
    BleuCounts sum = {0};
    for (size_t i = 0; i < lines; i++)
        bleu_add(&sum, &counts[i]);
    return sum;
}

/* An order of which the hypotheses have none at all ends the list: it and those after it stay 0, and so does BLEU. */
static void find_precisions(BleuScore *s)
{
    double halved = 1;
    for (size_t n = 0; n < BLEU_ORDERS && s->counts.total[n]; n++) {
        double total = (double)s->counts.total[n];
        if (!s->counts.correct[n])
            halved *= 2;
        s->precision[n] = s->counts.correct[n] ? 100. * (double)s->counts.correct[n] / total : 100. / (halved * total);
    }
}

BleuScore bleu_score(const BleuCounts *counts)
{
    BleuScore s = {.brevity = 1, .counts = *counts};
    double hypothesis = (double)counts->hypothesis, reference = (double)counts->reference, logs = 0;
    if (counts->hypothesis < counts->reference)
        s.brevity = counts->hypothesis ? exp(1 - reference / hypothesis) : 0;
    s.ratio = counts->reference ? hypothesis / reference : 0;
    if (!counts->correct[0]) /* then no longer n-gram matches either */
        return s;
    find_precisions(&s);
    for (size_t n = 0; n < BLEU_ORDERS; n++) {
        if (s.precision[n] == 0)
            return s;
        logs += log(s.precision[n]);
    }
    s.score = s.brevity * exp(logs / BLEU_ORDERS);
    return s;
}

void bleu_print(Buffer *out, const BleuScore *s)
{
    buffer_print(out, "BLEU = %.2f %.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %" PRIu64, s->score,
                 s->precision[0], s->precision[1], s->precision[2], s->precision[3], s->brevity, s->ratio,
                 s->counts.hypothesis);
    buffer_print(out, " ref_len = %" PRIu64 ")", s->counts.reference);
}

void bleu_signature(Buffer *out, const Bleu *b, size_t references)
{
    const char *tokens = b->tokens == BLEU_13A ? "13a" : b->made_by ? b->made_by : "none";
    buffer_print(out, "nrefs:%zu|case:%s|eff:no|tok:%s|smooth:exp|impl:attend", references, b->lower ? "lc" : "mixed",
                 tokens);
}
