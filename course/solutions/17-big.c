/* Lesson 17: one way to do the exercises. */
#include "course/17-big/exercise.h"

#include <math.h>
#include <string.h>

/* Half a step is added, and what is below is cut off; where it is in the middle, only if the last bit is 1. It may
 * carry into the exponent, and that is right. */
uint16_t to_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (isnan(x))
        return (uint16_t)(bits >> 16 | 0x40u); /* a bit that is not cut off */
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

float from_bf16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &wide, sizeof x);
    return x;
}

size_t state_bytes(size_t parameters, size_t workers, bool bf16)
{
    return parameters * (4 + 2 * 4 + 4 * workers + (bf16 ? 2 : 0));
}

void mine_accumulate(Stream *s, void *to_, const void *from_, size_t n)
{
    float *to = to_;
    const float *from = from_;
    (void)s;
    for (size_t i = 0; i < n; i++)
        to[i] += from[i];
}

/* Each mean counts as many times as it has rows. */
float accumulated(float *gradient, float *own, size_t size, Mean mean, const void *context, const size_t *cut,
                  size_t micros)
{
    float loss = 0;
    memset(gradient, 0, size * sizeof *gradient);
    for (size_t m = 0; m < micros; m++) {
        if (cut[m] == cut[m + 1])
            continue;
        float share = (float)(cut[m + 1] - cut[m]) / (float)cut[micros];
        loss += share * mean(own, context, cut[m], cut[m + 1]);
        for (size_t i = 0; i < size; i++)
            gradient[i] += share * own[i];
    }
    return loss;
}

void tree_sum(float *const *g, size_t workers, size_t n)
{
    for (size_t gap = 1; gap < workers; gap *= 2)
        for (size_t w = 0; w + gap < workers; w += 2 * gap)
            mine_accumulate(NULL, g[w], g[w + gap], n);
}

/* The inside of a segment: what its layers read, the first one of which is kept already. Returns what comes out. */
static float *run_segment(const Chain *c, size_t segment, float *kept, float *inside)
{
    size_t first = segment * c->every, end = first + c->every < c->layers ? first + c->every : c->layers;
    memcpy(inside, kept, c->n * sizeof *kept);
    for (size_t l = first; l + 1 < end; l++)
        c->forward(c->context, l, inside + (l + 1 - first) * c->n, inside + (l - first) * c->n);
    return inside + (end - 1 - first) * c->n;
}

void recomputed(float *dx, const float *dy, const float *x0, float *room, const Chain *c)
{
    size_t segments = chain_segments(c);
    float *inside = room + segments * c->n;
    memcpy(dx, dy, c->n * sizeof *dx);
    memcpy(room, x0, c->n * sizeof *room);
    for (size_t s = 0; s + 1 < segments; s++) {
        float *last = run_segment(c, s, room + s * c->n, inside);
        c->forward(c->context, (s + 1) * c->every - 1, room + (s + 1) * c->n, last);
    }
    for (size_t s = segments; s > 0; s--) {
        size_t first = (s - 1) * c->every, end = first + c->every < c->layers ? first + c->every : c->layers;
        run_segment(c, s - 1, room + (s - 1) * c->n, inside);
        for (size_t l = end; l > first; l--)
            c->backward(c->context, l - 1, dx, inside + (l - 1 - first) * c->n);
    }
}
