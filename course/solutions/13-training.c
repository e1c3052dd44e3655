/* Lesson 13: one way to do the exercises. */
#include "course/13-training/exercise.h"

#include <math.h>
#include <stdlib.h>

/* How often a and b are neighbours, in all words */
static uint64_t times(int32_t a, int32_t b, const int32_t *symbol, const int32_t *start, const uint32_t *count,
                      size_t words)
{
    uint64_t sum = 0;
    for (size_t w = 0; w < words; w++)
        for (int32_t i = start[w]; i + 1 < start[w + 1]; i++)
            if (symbol[i] == a && symbol[i + 1] == b)
                sum += count[w];
    return sum;
}

static bool comes_first(int32_t a, int32_t b, const int32_t pair[2])
{
    return a != pair[0] ? a < pair[0] : b < pair[1];
}

bool most_frequent_pair(int32_t pair[2], const int32_t *symbol, const int32_t *start, const uint32_t *count,
                        size_t words)
{
    bool found = false;
    uint64_t most = 0;
    for (size_t w = 0; w < words; w++)
        for (int32_t i = start[w]; i + 1 < start[w + 1]; i++) {
            int32_t a = symbol[i], b = symbol[i + 1];
            uint64_t now = times(a, b, symbol, start, count, words);
            if (!found || now > most || (now == most && comes_first(a, b, pair)))
                pair[0] = a, pair[1] = b, most = now, found = true;
        }
    return found;
}

size_t merge_pair(int32_t *symbol, size_t n, const int32_t pair[2], int32_t whole)
{
    size_t to = 0;
    for (size_t i = 0; i < n; i++) {
        bool here = i + 1 < n && symbol[i] == pair[0] && symbol[i + 1] == pair[1];
        symbol[to++] = here ? whole : symbol[i];
        i += here;
    }
    return to;
}

size_t cut_batches(size_t *cut, const size_t *length, size_t n, size_t tokens)
{
    size_t batches = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || sum + length[i] > tokens) {
            cut[batches++] = i;
            sum = 0;
        }
        sum += length[i];
    }
    cut[batches] = n;
    return batches;
}

double noam_rate(size_t step, size_t d, size_t warmup)
{
    double now = (double)step;
    return pow((double)d, -0.5) * fmin(pow(now, -0.5), now * pow((double)warmup, -1.5));
}

void mine_squares(Stream *s, double *parts, const void *g_, size_t n)
{
    (void)s;
    const float *g = g_;
    for (size_t i = 0; i < n; i++) {
        if (i % SQUARES_CHUNK == 0)
            parts[i / SQUARES_CHUNK] = 0;
        parts[i / SQUARES_CHUNK] += (double)g[i] * (double)g[i];
    }
}

void mine_clip(Stream *s, StepState *state, const double *parts, size_t count, double max_norm)
{
    (void)s;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += parts[i];
    state->norm = sqrt(sum);
    state->finite = isfinite(state->norm) ? 1 : 0;
    state->clip = max_norm > 0 && state->norm > max_norm ? max_norm / (state->norm + 1e-6) : 1;
}

void mine_adam(Stream *s, void *w_, void *copy_, void *m_, void *v_, const void *g_, const StepState *state, Adam adam,
               const Span *spans, size_t span_count, size_t first, size_t n)
{
    (void)s;
    float *w = w_, *copy = copy_, *m = m_, *v = v_;
    const float *g = g_;
    const float beta1 = (float)adam.beta1, beta2 = (float)adam.beta2, epsilon = (float)adam.epsilon;
    const float rate = (float)(state->learning_rate / state->correction1), correction2 = (float)state->correction2;
    size_t span = 0;
    for (size_t i = first; state->finite && i < first + n; i++) {
        float gradient = g[i] * (float)state->clip, shrink = 0;
        while (span < span_count && spans[span].end <= i)
            span++;
        if (span < span_count && spans[span].begin <= i)
            shrink = (float)(state->learning_rate * spans[span].decay);
        m[i] += (1 - beta1) * (gradient - m[i]);
        v[i] += (1 - beta2) * (gradient * gradient - v[i]);
        w[i] -= shrink * w[i] + rate * m[i] / (sqrtf(v[i] / correction2) + epsilon);
        if (copy)
            copy[i] = w[i];
    }
}

void mine_dropout_weights(Stream *s, void *y_, bool add, const void *x_, const Attend *how, const StepState *state)
{
    (void)s;
    float *y = y_;
    const float *x = x_;
    for (size_t b = 0; b < how->rows; b++)
        for (size_t h = 0; h < how->heads; h++)
            for (size_t i = 0; i < how->longest_query; i++)
                for (size_t j = 0; j < how->longest_key; j++, x++, y++) {
                    size_t position = (size_t)how->query_start[b] + i;
                    *y = (add ? *y : 0) + *x * (float)dropout_factor(how->dropout, state, position, h, j);
                }
}
