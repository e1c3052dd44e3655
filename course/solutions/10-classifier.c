/* Lesson 10: one way to do the exercises. */
#include "course/10-classifier/exercise.h"

#include <math.h>
#include <stdlib.h>

/* In how many texts of a class each word stands, and the sum of that: for class c; counts [words] */
static float count_class(float *counts, const int32_t *ids, const int32_t *start, const int32_t *labels, int32_t c,
                         size_t texts, size_t words)
{
    float sum = 0;
    for (size_t w = 0; w < words; w++)
        counts[w] = 0;
    for (size_t t = 0; t < texts; t++)
        for (int32_t i = start[t]; labels[t] == c && i < start[t + 1]; i++) {
            bool again = false;
            for (int32_t j = start[t]; j < i; j++)
                again = again || ids[j] == ids[i];
            counts[ids[i]] += again ? 0 : 1;
            sum += again ? 0 : 1;
        }
    return sum;
}

void learn_words(float *ratio, const int32_t *ids, const int32_t *start, const int32_t *labels, size_t texts,
                 size_t words)
{
    float *counts = malloc((words + 1) * sizeof *counts);
    if (!counts)
        return;
    for (int32_t c = 0; c < 2; c++) {
        float sum = count_class(counts, ids, start, labels, c, texts, words);
        for (size_t w = 0; w < words; w++) {
            float share = logf((1 + counts[w]) / ((float)words + sum));
            ratio[w] = c ? share - ratio[w] : share;
        }
    }
    free(counts);
}

void mine_cross_entropy_forward(Stream *s, void *losses_, void *lse_, StepState *state, size_t which,
                                const void *logits, const int32_t *targets, double smoothing, size_t n, size_t v)
{
    (void)s;
    float *losses = losses_, *lse = lse_;
    const float *z = logits;
    for (size_t i = 0; i < n; i++, z += v) {
        losses[i] = lse[i] = 0;
        if (targets[i] < 0)
            continue;
        float largest = z[0], sum = 0, mean = 0;
        for (size_t j = 1; j < v; j++)
            largest = z[j] > largest ? z[j] : largest;
        for (size_t j = 0; j < v; j++) {
            sum += expf(z[j] - largest);
            mean += (z[j] - largest) / (float)v;
        }
        float target = z[targets[i]] - largest; /* all relative to the largest, so that no digits are lost */
        losses[i] = logf(sum) - (1 - (float)smoothing) * target;
        if (smoothing > 0) /* 0 times -infinity is NaN */
            losses[i] -= (float)smoothing * mean;
        lse[i] = logf(sum) + largest;
        state->loss[which].sum += (double)losses[i];
        state->loss[which].nll += (double)(logf(sum) - target);
        state->loss[which].count += 1;
    }
}

static void store_gradient(float *to, bool add, float gradient) { *to = (add ? *to : 0) + gradient; }

void mine_cross_entropy_backward(Stream *s, void *dlogits, bool add, const StepState *state, size_t which,
                                 const void *lse_, const void *logits, const int32_t *targets, double smoothing,
                                 size_t n, size_t v)
{
    (void)s;
    float *dz = dlogits;
    const float *lse = lse_, *z = logits;
    float scale = (float)state->loss[which].scale, spread = (float)smoothing / (float)v;
    for (size_t i = 0; i < n; i++, z += v, dz += v)
        for (size_t j = 0; j < v; j++) {
            float wanted = spread + ((int32_t)j == targets[i] ? 1 - (float)smoothing : 0);
            store_gradient(&dz[j], add, targets[i] < 0 ? 0 : (expf(z[j] - lse[i]) - wanted) * scale);
        }
}

void mine_pool_backward(Stream *s, void *dx_, bool add, const void *dy_, const int32_t *which, Pooling how,
                        const int32_t *start, size_t b, size_t n, size_t d)
{
    (void)s;
    float *dx = dx_;
    const float *dy = dy_;
    for (size_t e = 0; !add && e < n * d; e++)
        dx[e] = 0;
    for (size_t r = 0; r < b; r++)
        for (size_t j = 0; j < d; j++) {
            size_t first = (size_t)start[r], end = (size_t)start[r + 1];
            float gradient = dy[r * d + j];
            for (size_t i = first; how == POOLING_MEAN && i < end; i++)
                dx[i * d + j] += gradient / (float)(end - first);
            if (how == POOLING_FIRST && first < end)
                dx[first * d + j] += gradient;
            if (how == POOLING_MAX && first < end)
                dx[(size_t)which[r * d + j] * d + j] += gradient;
        }
}

void mine_embed_backward(Stream *s, void *dtable_, void *dpositions_, const void *dy_, const int32_t *slots,
                         const int32_t *position, double scale, Dropout drop, const StepState *state, size_t n,
                         size_t d)
{
    (void)s;
    float *dtable = dtable_, *dpositions = dpositions_;
    const float *dy = dy_;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; position[i] >= 0 && j < d; j++) {
            float gradient = dy[i * d + j] * (float)dropout_factor(drop, state, i, 0, j);
            dtable[(size_t)slots[i] * d + j] += (float)scale * gradient;
            if (dpositions)
                dpositions[(size_t)position[i] * d + j] += gradient;
        }
}
