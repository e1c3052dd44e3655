/* Lesson 6: one way to do the exercises. */
#include "course/06-masks/exercise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void mine_pad(Stream *s, void *y_, Strided x, const int32_t *start, const int32_t *row, size_t b, size_t t, size_t d)
{
    (void)s;
    float *y = y_;
    for (size_t r = 0; r < b; r++) {
        size_t which = row ? (size_t)row[r] : r, first = (size_t)start[which], end = (size_t)start[which + 1];
        for (size_t i = 0; i < t; i++)
            for (size_t j = 0; j < d; j++)
                y[(r * t + i) * d + j] = first + i < end ? ((const float *)x.data)[(first + i) * x.stride + j] : 0;
    }
}

void mine_unpad(Stream *s, Strided y, bool add, const void *x_, const int32_t *start, const int32_t *row, size_t b,
                size_t n, size_t t, size_t d)
{
    (void)s;
    const float *x = x_;
    float *to = y.data;
    for (size_t i = 0; i < n && !add; i++)
        for (size_t j = 0; j < d; j++)
            to[i * y.stride + j] = 0;
    for (size_t r = 0; r < b; r++) {
        size_t which = row ? (size_t)row[r] : r, first = (size_t)start[which], end = (size_t)start[which + 1];
        for (size_t i = 0; i < t && first + i < end; i++)
            for (size_t j = 0; j < d; j++)
                to[(first + i) * y.stride + j] += x[(r * t + i) * d + j];
    }
}

static bool is_listed(const Attend *how, size_t p, size_t j)
{
    const int32_t *list = how->block_start + p / how->block;
    for (int32_t at = list[0]; at < list[1]; at++)
        if ((size_t)how->block_index[at] == j / how->block)
            return true;
    return false;
}

bool sees(const Attend *how, size_t b, size_t i, size_t j)
{
    size_t row = how->key_row ? (size_t)how->key_row[b] : b;
    size_t length = (size_t)(how->key_start[row + 1] - how->key_start[row]);
    if (how->key_length && (size_t)how->key_length[row] < length)
        length = (size_t)how->key_length[row];
    size_t p = i + (how->query_offset ? (size_t)how->query_offset[b] : 0);

    if (i >= (size_t)(how->query_start[b + 1] - how->query_start[b]) || j >= length)
        return false;
    if (how->causal && j > p)
        return false;
    if (how->window && j + how->window <= p)
        return false;
    return !how->block || is_listed(how, p, j);
}

void mine_mask(Stream *s, void *scores_, const Attend *how)
{
    (void)s;
    float *score = scores_;
    for (size_t b = 0; b < how->rows; b++)
        for (size_t h = 0; h < how->heads; h++)
            for (size_t i = 0; i < how->longest_query; i++)
                for (size_t j = 0; j < how->longest_key; j++, score++)
                    if (!sees(how, b, i, j))
                        *score = -INFINITY;
}

/* y [d] of the query q [d] over keys and values x [n,d], n > 0 */
static void average(float *y, const float *q, const float *x, size_t n, size_t d)
{
    float largest = -INFINITY, sum = 0, *w = malloc(n * sizeof *w);
    for (size_t j = 0; w && j < n; j++) {
        w[j] = 0;
        for (size_t l = 0; l < d; l++)
            w[j] += q[l] * x[j * d + l] / sqrtf((float)d);
        largest = fmaxf(largest, w[j]);
    }
    for (size_t j = 0; w && j < n; j++)
        sum += w[j] = expf(w[j] - largest);
    for (size_t j = 0; w && j < n; j++)
        for (size_t l = 0; l < d; l++)
            y[l] += w[j] / sum * x[j * d + l];
    free(w);
}

void packed_attention(float *y, const float *x, const int32_t *start, bool causal, size_t b, size_t n, size_t d)
{
    for (size_t i = 0; i < n * d; i++)
        y[i] = 0;
    for (size_t r = 0; r < b; r++) {
        size_t first = (size_t)start[r], end = (size_t)start[r + 1];
        for (size_t i = first; i < end; i++)
            average(y + i * d, x + i * d, x + first * d, (causal ? i + 1 : end) - first, d);
    }
}
