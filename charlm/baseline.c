/* charlm baseline: bits per byte by counting n-grams, under the protocol of eval: learned from the training part alone,
 * every byte of the split scored but its first. A network that learned the same text is to be better than this. */
#include "charlm/charlm.h"
#include "charlm/ngram.h"

#include "base/clock.h"
#include "core/cli/progress.h"
#include "core/run/json.h"

#include <stdio.h>

enum { REPORT_EVERY = 1 << 16 }; /* bytes */

static void report(Progress *p, size_t at, size_t size, double began)
{
    double seconds = clock_seconds() - began, speed = (double)at / (seconds > 0 ? seconds : 1);
    progress_between(p, &(Report){.step = at,
                                  .total = size,
                                  .norm = -1,
                                  .rate = -1,
                                  .tokens_per_second = speed,
                                  .seconds_left = speed > 0 ? (double)(size - at) / speed : -1});
}

static void learn(Ngram *g, Part text, bool quiet)
{
    Progress p = progress_open(stderr, quiet);
    double began = clock_seconds();
    for (size_t i = 0; i < text.size; i++) {
        ngram_learn(g, text.bytes, i, ngram_rate(i, text.size), NULL);
        if (i % REPORT_EVERY == REPORT_EVERY - 1)
            report(&p, i + 1, text.size, began);
    }
    progress_close(&p);
}

/* The mean over bytes 1 .. size-1. Byte 0 is not scored, but an adapting model counts it. */
static NgramBits score(Ngram *g, Part part, bool adapt)
{
    double rate = ngram_rate(1, 1), scored = (double)part.size - 1;
    NgramBits bits = {{0}, {0}};
    if (adapt)
        ngram_learn(g, part.bytes, 0, 0, NULL);
    for (size_t i = 1; i < part.size; i++) {
        if (adapt)
            ngram_learn(g, part.bytes, i, rate, &bits);
        else
            ngram_score(g, part.bytes, i, &bits);
    }
    for (size_t n = 0; n < ORDERS; n++) {
        bits.alone[n] /= scored;
        bits.mixed[n] /= scored;
    }
    return bits;
}

static bool print_json(const Charlm *c, const NgramBits *bits, size_t learnt, size_t scored, Error *e)
{
    Buffer b = {0};
    json_add_key(&b, "split");
    json_add_string(&b, split_name((Split)c->options->split));
    buffer_print(&b, ", \"bytes\": %zu, \"learnt_bytes\": %zu, \"adapt\": %s, \"bits_per_byte\": ", scored, learnt,
                 c->options->adapt ? "true" : "false");
    json_add_number(&b, bits->mixed[ORDERS - 1]);
    buffer_print(&b, ", \"orders\": [");
    for (size_t n = 0; n < ORDERS; n++) {
        buffer_print(&b, "%s{\"order\": %zu, \"alone\": ", n ? ", " : "", n);
        json_add_number(&b, bits->alone[n]);
        buffer_print(&b, ", \"mixed\": ");
        json_add_number(&b, bits->mixed[n]);
        buffer_print(&b, "}");
    }
    buffer_print(&b, "]");
    return json_print_members(&b, e);
}

static void print_table(const Charlm *c, const NgramBits *bits, size_t learnt, size_t scored)
{
    Split split = (Split)c->options->split;
    printf("%.4f bits/byte (%s, %zu bytes scored, orders 0 to %d mixed, %zu bytes of training text counted%s%s)\n",
           bits->mixed[ORDERS - 1], split_name(split), scored, ORDERS - 1, learnt,
           split == SPLIT_TRAIN || split == SPLIT_ALL ? ", which include those scored here" : "",
           c->options->adapt ? ", and each byte after it was scored" : "");
    printf("order     alone  with lower orders\n");
    for (size_t n = 0; n < ORDERS; n++)
        printf("%5zu  %8.4f  %16.4f\n", n, bits->alone[n], bits->mixed[n]);
}

bool charlm_baseline(App *a, Error *e)
{
    Charlm *c = (Charlm *)a;
    Ngram g;
    Part part;
    if (!text_open(&c->text, c->options->shared.data, e) ||
        !part_to_score(&part, &c->text, &c->tokenizer, c->options, e))
        return false;
    Part training = text_bytes(&c->text, SPLIT_TRAIN);
    if (!ngram_open(&g, training.size + (c->options->adapt ? part.size : 0), e))
        return false;
    learn(&g, training, c->options->shared.quiet);
    NgramBits bits = score(&g, part, c->options->adapt);
    bool fine = true;
    if (c->options->shared.json)
        fine = print_json(c, &bits, training.size, part.size - 1, e);
    else
        print_table(c, &bits, training.size, part.size - 1);
    ngram_close(&g);
    return fine;
}
