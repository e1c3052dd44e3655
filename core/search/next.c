/* See next.h. */
#include "core/search/next.h"

#include "base/memory.h"
#include "base/philox.h"
#include "core/tensor/sites.h"

#include <math.h>
#include <string.h>

static const double LEAST = 1e-280;

bool next_open(Next *n, const NextOptions *o, size_t words, int32_t end, Error *e)
{
    *n = (Next){.options = *o, .words = words, .end = end, .log_p = memory_get(3 * words, sizeof *n->log_p)};
    if (!n->log_p)
        return memory_error(e, "log p of tokens", words, sizeof *n->log_p);
    n->p = n->log_p + words, n->share = n->p + words;
    return !o->drawn || sampler_open(&n->sampler, words, e);
}

void next_close(Next *n)
{
    memory_free(n->log_p);
    sampler_close(&n->sampler);
    *n = (Next){0};
}

/* ---- of several networks */

/* log(exp(a) + exp(b)) */
static double log_add(double a, double b)
{
    const double more = a > b ? a : b, less = a > b ? b : a;
    return more > (double)-INFINITY ? more + log1p(exp(less - more)) : a + b;
}

/* Adds probabilities. Logarithms, which take five times as long, are added only where a double might not hold one. */
void next_add(Next *n, const double *logits, size_t i, size_t networks)
{
    double most = (double)-INFINITY, sum = 0;
    for (size_t j = 0; j < n->words; j++)
        most = logits[j] > most ? logits[j] : most;
    for (size_t j = 0; j < n->words; j++)
        sum += n->share[j] = exp(logits[j] - most); /* NaN where one is: then nothing is likely */
    const double log_sum = most + log(sum), to_mean = 1 / (sum * (double)networks);
    for (size_t j = 0; j < n->words; j++) {
        const double log_p = logits[j] - log_sum;
        n->p[j] = (i ? n->p[j] : 0) + n->share[j] * to_mean;
        if (!i)
            n->log_p[j] = log_p;
        else if (n->p[j] < LEAST)
            n->log_p[j] = log_add(n->log_p[j], log_p);
    }
    for (size_t j = 0; networks > 1 && i + 1 == networks && j < n->words; j++)
        n->log_p[j] = n->p[j] < LEAST ? n->log_p[j] - log((double)networks) : log(n->p[j]);
}

/* ---- what is allowed */

static void force(Next *n, int32_t token)
{
    for (size_t j = 0; j < n->words; j++)
        if ((int32_t)j != token)
            n->log_p[j] = (double)-INFINITY;
}

/* Each place where the last size - 1 tokens were before says which one may not follow them again. */
static void forbid_repetition(Next *n, const NextRow *row, size_t size)
{
    const int32_t *tail = row->tokens + row->count - (size - 1);
    for (size_t i = 0; i + size <= row->count; i++)
        if (!memcmp(row->tokens + i, tail, (size - 1) * sizeof *tail))
            n->log_p[row->tokens[i + size - 1]] = (double)-INFINITY;
}

/* ---- the choice */

/* The likeliest `count`; of equal ones the smaller token comes first. */
static void take_likeliest(const Next *n, size_t count, int32_t *which, double *values)
{
    size_t found = 0;
    for (size_t j = 0; j < n->words; j++) {
        const double value = n->log_p[j];
        if (!(value > (double)-INFINITY) || (found == count && !(value > values[count - 1])))
            continue;
        size_t at = found < count ? found++ : count - 1;
        for (; at > 0 && value > values[at - 1]; at--) {
            which[at] = which[at - 1];
            values[at] = values[at - 1];
        }
        which[at] = (int32_t)j;
        values[at] = value;
    }
    for (; found < count; found++) {
        which[found] = -1;
        values[found] = (double)-INFINITY;
    }
}

/* The first step draws for all slots, later ones for their own. */
static void draw(Next *n, const NextRow *row, size_t count, int32_t *which, double *values)
{
    take_likeliest(n, count, which, values);
    if (which[0] < 0)
        return; /* there is nothing to draw from */
    for (size_t m = 0; m < (row->count ? 1 : count); m++) {
        const double point = philox_uniform(n->options.seed, row->sentence, row->count,
                                            SITE_SAMPLER + (uint32_t)m + row->slot);
        which[m] = sampler_draw(&n->sampler, &n->options.how, n->log_p, point);
        values[m] = n->log_p[which[m]];
    }
}

void next_choose(Next *n, const NextRow *row, size_t count, int32_t *which, double *values)
{
    const size_t size = n->options.no_repeat;
    if (row->count < row->prefix_count) {
        force(n, row->prefix[row->count]);
    } else if (n->options.rule.forbid)
        n->options.rule.forbid(n->options.rule.rule, row, n->log_p);
    if (row->count >= row->prefix_count && size && row->count >= size)
        forbid_repetition(n, row, size);
    if (n->options.drawn)
        draw(n, row, count, which, values);
    else
        take_likeliest(n, count, which, values);
}
