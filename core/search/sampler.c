/* See sampler.h. */
#include "core/search/sampler.h"

#include "base/memory.h"

#include <math.h>

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

static bool is_likelier(SamplerChoice a, SamplerChoice b)
{
    return a.share > b.share || (!(a.share < b.share) && a.id < b.id);
}

/* A heap: each is likelier than those at 2 i + 1 and 2 i + 2. */
static void sift(SamplerChoice *heap, size_t count, size_t at)
{
    const SamplerChoice one = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && is_likelier(heap[child + 1], heap[child]);
        if (!is_likelier(heap[child], one))
            break;
        heap[at] = heap[child];
        heap[child] = one;
    }
}

/* Moves the likeliest of a heap to the end of it, and returns its share. */
static double take(SamplerChoice *heap, size_t *count)
{
    const SamplerChoice likeliest = heap[0];
    heap[0] = heap[--*count];
    heap[*count] = likeliest;
    sift(heap, *count, 0);
    return likeliest.share;
}

/* Drops all but the likeliest top_k tokens, and of those all but the likeliest that make up top_p. */
static void keep_likeliest(Sampler *s, size_t top_k, double top_p)
{
    const size_t least = top_k && top_k < s->count ? s->count - top_k : 0;
    size_t left = s->count, first = s->count; /* of those that are kept */
    double sum = 0, kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        s->choices[i] = (SamplerChoice){s->shares[i], (int32_t)i};
        sum += least ? 0 : s->shares[i];
    }
    for (size_t i = s->count / 2; i-- > 0;)
        sift(s->choices, s->count, i);
    while (least && left > least)
        sum += take(s->choices, &left);
    do {
        if (first == left)
            take(s->choices, &left);
        kept += s->choices[--first].share;
    } while (first > least && kept < top_p * sum);
    for (size_t i = 0; i < first; i++)
        s->shares[s->choices[i].id] = 0;
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
