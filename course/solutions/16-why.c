/* Lesson 16: one way to do the exercises. */
#include "course/16-why/exercise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many keys vector t sees in a window */
static size_t keys_seen(size_t t, size_t window) { return t + 1 < window ? t + 1 : window; }

size_t multiply_adds(LayerKind kind, size_t n, size_t d, size_t width)
{
    size_t map = d * d, pairs = 0;
    switch (kind) {
    case ATTENTION: width = n; /* fall through */
    case LOCAL_ATTENTION:
        for (size_t t = 0; t < n; t++)
            pairs += keys_seen(t, width);
        return 4 * n * map + 2 * pairs * d;
    case RECURRENCE: return n * map + (n - 1) * map;
    case CONVOLUTION: return width * n * map;
    default: return width * n * d + n * map;
    }
}

/* y [out] += w [out,d] x [d] */
static void add_map(float *y, const float *w, const float *x, size_t d, size_t out)
{
    for (size_t o = 0; o < out; o++)
        for (size_t j = 0; j < d; j++)
            y[o] += w[o * d + j] * x[j];
}

void convolution(float *y, const float *x, const float *w, const float *bias, size_t n, size_t d, size_t out,
                 size_t taps, size_t step)
{
    for (size_t t = 0; t < n; t++) {
        for (size_t o = 0; o < out; o++)
            y[t * out + o] = bias ? bias[o] : 0;
        for (size_t tap = 0; tap < taps && tap * step <= t; tap++)
            add_map(y + t * out, w + tap * out * d, x + (t - tap * step) * d, d, out);
    }
}

void separable(float *y, const float *x, const float *depth, const float *point, size_t n, size_t d, size_t out,
               size_t taps)
{
    float *mixed = malloc(d * sizeof *mixed);
    for (size_t t = 0; mixed && t < n; t++) {
        memset(mixed, 0, d * sizeof *mixed);
        for (size_t tap = 0; tap < taps && tap <= t; tap++)
            for (size_t j = 0; j < d; j++)
                mixed[j] += depth[tap * d + j] * x[(t - tap) * d + j];
        memset(y + t * out, 0, out * sizeof *y);
        add_map(y + t * out, point, mixed, d, out);
    }
    free(mixed);
}

void recurrence(float *y, const float *x, const float *wx, const float *wh, const float *bias, size_t n, size_t d)
{
    for (size_t t = 0; t < n; t++) {
        memcpy(y + t * d, bias, d * sizeof *y);
        add_map(y + t * d, wx, x + t * d, d, d);
        if (t)
            add_map(y + t * d, wh, y + (t - 1) * d, d, d);
        for (size_t j = 0; j < d; j++)
            y[t * d + j] = tanhf(y[t * d + j]);
    }
}

/* y [d] of one query over n > 0 keys; w [n] is for work */
static void attend(float *y, float *w, const float *q, const float *k, const float *v, size_t n, size_t d)
{
    float largest = -INFINITY, sum = 0;
    for (size_t j = 0; j < n; j++) {
        w[j] = 0;
        for (size_t i = 0; i < d; i++)
            w[j] += q[i] * k[j * d + i] / sqrtf((float)d);
        largest = fmaxf(largest, w[j]);
    }
    for (size_t j = 0; j < n; j++)
        sum += w[j] = expf(w[j] - largest);
    memset(y, 0, d * sizeof *y);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < d; i++)
            y[i] += w[j] / sum * v[j * d + i];
}

void local_attention(float *y, const float *q, const float *k, const float *v, size_t window, size_t n, size_t d)
{
    float *w = malloc((window < n ? window : n) * sizeof *w);
    for (size_t t = 0; w && t < n; t++) {
        size_t keys = keys_seen(t, window), first = t + 1 - keys;
        attend(y + t * d, w, q + t * d, k + first * d, v + first * d, keys, d);
    }
    free(w);
}

/* One layer more: i has heard of j if it sees somebody who had. Whether anything is new. */
static bool spread(bool *after, const bool *heard, const bool *sees, size_t n)
{
    memcpy(after, heard, n * n * sizeof *after);
    for (size_t i = 0; i < n; i++)
        for (size_t by = 0; by < n; by++)
            for (size_t j = 0; sees[i * n + by] && j < n; j++)
                after[i * n + j] |= heard[by * n + j];
    return memcmp(after, heard, n * n * sizeof *after) != 0;
}

size_t layers_needed(const bool *sees, size_t n)
{
    bool *heard = calloc(n * n, sizeof *heard), *after = calloc(n * n, sizeof *after);
    size_t layers = 0;
    for (size_t i = 0; heard && i < n; i++)
        heard[i * n + i] = true;
    while (heard && after && spread(after, heard, sees, n)) {
        memcpy(heard, after, n * n * sizeof *heard);
        layers++;
    }
    free(heard);
    free(after);
    return layers;
}
