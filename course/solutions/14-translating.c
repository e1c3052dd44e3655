/* Lesson 14: one way to do the exercises. */
#include "course/14-translating/exercise.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void mine_cache_lengths(Stream *s, int32_t *valid, const int32_t *length, const int32_t *start, size_t b)
{
    (void)s;
    for (size_t r = 0; r < b; r++)
        valid[r] = length[r] + start[r + 1] - start[r];
}

void mine_cache_append(Stream *s, void *cache_, const int32_t *length, size_t capacity, Strided x, const int32_t *start,
                       size_t b, size_t d)
{
    (void)s;
    float *cache = cache_;
    for (size_t r = 0; r < b; r++)
        for (size_t i = (size_t)start[r], to = (size_t)length[r]; i < (size_t)start[r + 1]; i++, to++)
            memcpy(cache + (r * capacity + to) * d, (const float *)x.data + i * x.stride, d * sizeof *cache);
}

/* A logit as it counts */
static float counts(float z) { return isnan(z) ? -INFINITY : z > FLT_MAX ? FLT_MAX : z; }

/* The likeliest class that comes after class `last` (-1: after none); -1: there is none. */
static int32_t next_class(const float *z, size_t v, int32_t last)
{
    int32_t best = -1;
    for (size_t j = 0; j < v; j++) {
        float value = counts(z[j]), before = last < 0 ? INFINITY : counts(z[last]);
        bool later = value < before || (value == before && (int32_t)j > last);
        if (later && value > (best < 0 ? -INFINITY : counts(z[best])))
            best = (int32_t)j;
    }
    return best;
}

void mine_choices(Stream *s, int32_t *which, void *values_, void *one_, const void *logits_, int32_t wanted, size_t n,
                  size_t v, size_t k)
{
    (void)s;
    float *values = values_, *one = one_;
    const float *z = logits_;
    for (size_t i = 0; i < n; i++, z += v, which += k, values += k) {
        int32_t class = next_class(z, v, -1);
        float largest = class < 0 ? 0 : counts(z[class]), sum = 0;
        for (size_t j = 0; j < v; j++)
            sum += expf(counts(z[j]) - largest);
        for (size_t m = 0; m < k; m++) {
            which[m] = class;
            values[m] = class < 0 ? -INFINITY : (counts(z[class]) - largest) - logf(sum);
            class = class < 0 ? -1 : next_class(z, v, class);
        }
        one[i] = counts(z[wanted]) == -INFINITY ? -INFINITY : (counts(z[wanted]) - largest) - logf(sum);
    }
}

double hypothesis_score(double log_p, size_t n, double alpha) { return log_p / pow((5 + (double)n) / 6, alpha); }

size_t beam_step(size_t *parent, int32_t *token, double *sum, const double *log_p, const double *log_next, size_t live,
                 size_t v, size_t beam)
{
    size_t count = 0;
    for (size_t t = 0; t < v; t++) /* in the order that decides where two are equal */
        for (size_t p = 0; p < live; p++) {
            double now = log_p[p] + log_next[p * v + t];
            size_t at = count;
            while (at > 0 && now > sum[at - 1])
                at--;
            if (at == beam)
                continue;
            count += count < beam;
            for (size_t i = count - 1; i > at; i--)
                parent[i] = parent[i - 1], token[i] = token[i - 1], sum[i] = sum[i - 1];
            parent[at] = p, token[at] = (int32_t)t, sum[at] = now;
        }
    return count;
}

/* How often the n-gram is in a text */
static size_t times_in(const int32_t *gram, const int32_t *text, size_t size, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i + n <= size; i++)
        count += memcmp(gram, text + i, n * sizeof *gram) == 0;
    return count;
}

/* An n-gram counts where it stands for the k-th time and is k times in the reference. */
size_t matches(const int32_t *found, size_t size, const int32_t *reference, size_t reference_size, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i + n <= size; i++)
        count += times_in(found + i, found, i + n, n) <= times_in(found + i, reference, reference_size, n);
    return count;
}

double bleu(const size_t correct[4], const size_t total[4], size_t found, size_t reference)
{
    double sum = 0;
    for (size_t n = 0; n < 4; n++) {
        if (!correct[n])
            return 0;
        sum += log((double)correct[n] / (double)total[n]) / 4;
    }
    double brevity = found < reference ? exp(1 - (double)reference / (double)found) : 1;
    return 100 * brevity * exp(sum);
}

void average_checkpoints(float *mean, const float *const *checkpoint, size_t count, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t c = 0; c < count; c++)
            sum += (double)checkpoint[c][i];
        mean[i] = (float)(sum / (double)count);
    }
}
