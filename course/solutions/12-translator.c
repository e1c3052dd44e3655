/* Lesson 12: one way to do the exercises. */
#include "course/12-translator/exercise.h"

#include <math.h>
#include <stdlib.h>

void teacher_forcing(int32_t *read, int32_t *position, const int32_t *say, const int32_t *start, size_t rows,
                     int32_t begin)
{
    for (size_t r = 0; r < rows; r++)
        for (int32_t i = start[r]; i < start[r + 1]; i++) {
            read[i] = i == start[r] ? begin : say[i - 1];
            position[i] = i - start[r];
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
        for (size_t j = 0; j < d && position[i] >= 0; j++) {
            float g = dy[i * d + j] * (float)dropout_factor(drop, state, i, 0, j);
            dtable[(size_t)slots[i] * d + j] += (float)scale * g;
            if (dpositions)
                dpositions[(size_t)position[i] * d + j] += g;
        }
}

/* (x + bias) . y; bias may be NULL */
static float dot(const float *x, const float *bias, const float *y, size_t n)
{
    float sum = 0;
    for (size_t c = 0; c < n; c++)
        sum += (x[c] + (bias ? bias[c] : 0)) * y[c];
    return sum;
}

static const float *at(Strided x, size_t i, size_t h, size_t size)
{
    return (const float *)x.data + i * x.stride + h * size;
}

static const float *bias_at(const void *bias, size_t h, size_t size)
{
    return bias ? (const float *)bias + h * size : NULL;
}

/* What query i of a row, which is q, thinks of the row's key j, which is k. */
static float score(const Attend *how, Keys keys, const float *q, const float *k, size_t h, size_t i, size_t j)
{
    size_t dk = how->key_size, entry = how->distances ? distance_entry(how, keys, i, j) : 0;
    float sum = dot(q, bias_at(how->content_bias, h, dk), k, dk);
    if (how->relative.data)
        sum += dot(q, bias_at(how->position_bias, h, dk), at(how->relative, entry, h, dk), dk);
    sum *= (float)how->scale;
    return how->distance_bias ? sum + ((const float *)how->distance_bias)[entry * how->heads + h] : sum;
}

/* weights [S] of query i, which is q, zeros where it sees nothing; returns its lse */
static float weigh(float *weights, const Attend *how, Keys keys, const float *q, Strided k, size_t h, size_t i)
{
    float largest = -INFINITY, sum = 0;
    for (size_t j = 0; j < how->longest_key; j++)
        weights[j] = 0;
    for (size_t j = keys_next(how, keys, i, 0); j < keys.length; j = keys_next(how, keys, i, j + 1)) {
        weights[j] = score(how, keys, q, at(k, keys.start + j, h, how->key_size), h, i, j);
        largest = fmaxf(largest, weights[j]);
    }
    for (size_t j = keys_next(how, keys, i, 0); j < keys.length; j = keys_next(how, keys, i, j + 1))
        sum += weights[j] = expf(weights[j] - largest);
    for (size_t j = keys_next(how, keys, i, 0); j < keys.length; j = keys_next(how, keys, i, j + 1))
        weights[j] /= sum;
    return largest + logf(sum);
}

/* All heads of query i of row b; scratch [S] */
static void one_query(float *y, float *lse, float *scratch, Strided q, Strided k, Strided v, const Attend *how,
                      const StepState *state, size_t b, size_t i)
{
    size_t n = (size_t)how->query_start[b] + i, dv = how->value_size;
    Keys keys = keys_of_row(how, b);
    for (size_t h = 0; h < how->heads; h++) {
        float *out = y + (n * how->heads + h) * dv, *weights = scratch;
        if (how->weights)
            weights = (float *)how->weights + ((b * how->heads + h) * how->longest_query + i) * how->longest_key;
        lse[n * how->heads + h] = weigh(weights, how, keys, at(q, n, h, how->key_size), k, h, i);
        for (size_t j = keys_next(how, keys, i, 0); j < keys.length; j = keys_next(how, keys, i, j + 1)) {
            float weight = weights[j] * (float)dropout_factor(how->dropout, state, n, h, j);
            for (size_t c = 0; c < dv; c++)
                out[c] += weight * at(v, keys.start + j, h, dv)[c];
        }
    }
}

void mine_attention_forward(Stream *s, void *y_, void *lse_, Strided q, Strided k, Strided v, const Attend *how,
                            const StepState *state)
{
    (void)s;
    float *y = y_, *lse = lse_, *weights = how->weights;
    float *scratch = malloc((how->longest_key + 1) * sizeof *scratch);
    for (size_t i = 0; i < how->queries * how->heads * how->value_size; i++)
        y[i] = 0;
    for (size_t i = 0; i < how->queries * how->heads; i++)
        lse[i] = 0;
    for (size_t i = 0; weights && i < how->rows * how->heads * how->longest_query * how->longest_key; i++)
        weights[i] = 0;
    for (size_t b = 0; scratch && b < how->rows; b++)
        for (size_t i = 0; i < (size_t)(how->query_start[b + 1] - how->query_start[b]); i++)
            one_query(y, lse, scratch, q, k, v, how, state, b, i);
    free(scratch);
}
