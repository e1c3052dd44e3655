/* Lesson 15: one way to do the exercises. */
#include "course/15-reading/exercise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void describe(float number[3], const float *w, size_t n)
{
    double before = 0, itself = 0, entropy = 0;
    for (size_t i = 0; i < n; i++) {
        before += i ? (double)w[i * n + i - 1] : 0;
        itself += (double)w[i * n + i];
        for (size_t j = 0; j < n; j++)
            entropy -= w[i * n + j] > 0 ? (double)w[i * n + j] * log2((double)w[i * n + j]) : 0;
    }
    number[0] = n > 1 ? (float)(before / (double)(n - 1)) : 0;
    number[1] = (float)(itself / (double)n);
    number[2] = (float)(entropy / (double)n);
}

/* a [n,n] of one layer's maps [heads,n,n] */
static void flow(float *a, const float *w, size_t heads, size_t n)
{
    for (size_t e = 0; e < n * n; e++) {
        float sum = 0;
        for (size_t h = 0; h < heads; h++)
            sum += w[h * n * n + e];
        a[e] = (sum / (float)heads + (e / n == e % n ? 1.0f : 0.0f)) / 2;
    }
}

void roll_out(float *r, const float *w, size_t layers, size_t heads, size_t n)
{
    float *a = malloc(n * n * sizeof *a), *before = malloc(n * n * sizeof *before);
    flow(r, w, heads, n);
    for (size_t l = 1; a && before && l < layers; l++) {
        flow(a, w + l * heads * n * n, heads, n);
        memcpy(before, r, n * n * sizeof *before);
        memset(r, 0, n * n * sizeof *r);
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < n; k++)
                for (size_t j = 0; j < n; j++)
                    r[i * n + j] += a[i * n + k] * before[k * n + j];
    }
    free(a);
    free(before);
}

void leave_out(float *moved, Score score, const void *model, const int32_t *ids, size_t n)
{
    int32_t *rest = malloc(n * sizeof *rest);
    double whole = score(model, ids, n);
    for (size_t left = 0; rest && left < n; left++) {
        for (size_t i = 0; i + 1 < n; i++)
            rest[i] = ids[i < left ? i : i + 1];
        moved[left] = (float)(whole - score(model, rest, n - 1));
    }
    free(rest);
}

void cut_head(float *out, size_t head, size_t heads, size_t dv, size_t d)
{
    for (size_t i = 0; i < d; i++)
        for (size_t c = 0; c < dv; c++)
            out[i * heads * dv + head * dv + c] = 0;
}

/* The head not yet cut without which the quality is best */
static size_t most_dispensable(bool *cut, Quality quality, const void *model, size_t heads)
{
    size_t best = heads;
    double most = 0;
    for (size_t h = 0; h < heads; h++) {
        if (cut[h])
            continue;
        cut[h] = true;
        double now = quality(model, cut, heads);
        cut[h] = false;
        if (best == heads || now > most)
            most = now, best = h;
    }
    return best;
}

void cutting_order(size_t *order, Quality quality, const void *model, size_t heads)
{
    bool *cut = calloc(heads, sizeof *cut);
    for (size_t n = 0; cut && n < heads; n++) {
        order[n] = most_dispensable(cut, quality, model, heads);
        cut[order[n]] = true;
    }
    free(cut);
}
