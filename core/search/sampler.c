/* See sampler.h. */
#include "core/search/sampler.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

typedef struct SamplerChoice {
    double share; /* up to a factor that all have in common */
    int32_t id;
} SamplerChoice;

bool sampler_open(Sampler *s, size_t count, Error *e)
{
    *s = (Sampler){.count = count,
                   .shares = memory_get(count, sizeof *s->shares),
                   .choices = memory_get(count, sizeof *s->choices)};
    if (s->shares && s->choices)
        return true;
    sampler_close(s);
    return memory_error(e, "tokens to draw from", count, sizeof *s->choices);
}

void sampler_close(Sampler *s)
{
    memory_free(s->shares);
    memory_free(s->choices);
    *s = (Sampler){0};
}

static int by_share(const void *a, const void *b)
{
    const SamplerChoice *x = a, *y = b;
    return x->share > y->share ? -1 : x->share < y->share ? 1 : x->id - y->id;
}

/* Drops all but the likeliest top_k tokens, and of those all but the likeliest that make up top_p. */
static void keep_likeliest(Sampler *s, size_t top_k, double top_p)
{
    double sum = 0, kept = 0;
    size_t count = top_k && top_k < s->count ? top_k : s->count, n = 0;
    for (size_t i = 0; i < s->count; i++)
        s->choices[i] = (SamplerChoice){s->shares[i], (int32_t)i};
    qsort(s->choices, s->count, sizeof *s->choices, by_share);
    for (size_t i = 0; i < count; i++)
        sum += s->choices[i].share;
    while (n < count && (n == 0 || kept < top_p * sum))
        kept += s->choices[n++].share;
    for (; n < s->count; n++)
        s->shares[s->choices[n].id] = 0;
}

int32_t sampler_draw(Sampler *s, const SamplerOptions *o, const double *logits, double point)
{
    double sum = 0;
    size_t best = 0;
    for (size_t j = 1; j < s->count; j++)
        best = logits[j] > logits[best] ? j : best;
    if (o->temperature == 0)
        return (int32_t)best;
    for (size_t j = 0; j < s->count; j++)
        s->shares[j] = exp((logits[j] - logits[best]) / o->temperature);
    if ((o->top_k && o->top_k < s->count) || o->top_p < 1)
        keep_likeliest(s, o->top_k, o->top_p);
    for (size_t j = 0; j < s->count; j++)
        sum += s->shares[j];
    point *= sum;
    for (size_t j = 0; j < s->count; point -= s->shares[j++])
        if (point < s->shares[j])
            return (int32_t)j;
    return (int32_t)best; /* rounding left the point after all shares */
}
