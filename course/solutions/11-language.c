/* Lesson 11: one way to do the exercises. */
#include "course/11-language/exercise.h"

#include <float.h>
#include <math.h>
#include <string.h>

double bits_per_byte(const float *losses, const int32_t *targets, size_t n)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < n; i++)
        if (targets[i] >= 0) {
            sum += (double)losses[i];
            count++;
        }
    return count > 0 ? sum / count / log(2) : 0;
}

void mine_argmax(Stream *s, int32_t *y, const void *logits, size_t n, size_t v)
{
    (void)s;
    const float *z = logits;
    for (size_t i = 0; i < n; i++, z += v) {
        size_t best = 0;
        for (size_t j = 1; j < v && !isnan(z[best]); j++)
            best = z[j] > z[best] || isnan(z[j]) ? j : best;
        y[i] = (int32_t)best;
    }
}

/* A logit as it counts */
static float counted(float z) { return isnan(z) ? -INFINITY : fminf(z, FLT_MAX); }

/* The likeliest class after class `last` (-1: of all), in the order of logits and then of numbers; -1: none is left */
static int32_t next_likeliest(const float *z, size_t v, int32_t last)
{
    int32_t best = -1;
    float before = last < 0 ? INFINITY : counted(z[last]);
    for (int32_t j = 0; j < (int32_t)v; j++) {
        float here = counted(z[j]);
        bool after = last < 0 || here < before || (here == before && j > last);
        if (after && here > (best < 0 ? -INFINITY : counted(z[best])))
            best = j;
    }
    return best;
}

void mine_choices(Stream *s, int32_t *which, void *values_, void *one_, const void *logits, int32_t wanted, size_t n,
                  size_t v, size_t k)
{
    (void)s;
    const float *z = logits;
    float *values = values_, *one = one_;
    for (size_t i = 0; i < n; i++, z += v, which += k, values += k) {
        int32_t j = next_likeliest(z, v, -1);
        float largest = j < 0 ? 0 : counted(z[j]), sum = 0;
        for (size_t l = 0; l < v; l++)
            sum += expf(counted(z[l]) - largest);
        for (size_t m = 0; m < k; m++) {
            which[m] = j;
            values[m] = j < 0 ? -INFINITY : counted(z[j]) - largest - logf(sum);
            j = j < 0 ? -1 : next_likeliest(z, v, j);
        }
        float z_one = counted(z[wanted]);
        one[i] = z_one == -INFINITY ? -INFINITY : z_one - largest - logf(sum);
    }
}

/* The sum of the likeliest shares: of `most` (0: all), but no more than are needed to make up `enough`; at least one.
 * last: the last of them. */
static double sum_likeliest(const float *shares, size_t v, size_t most, double enough, int32_t *last)
{
    double sum = 0;
    int32_t j = next_likeliest(shares, v, -1);
    for (size_t n = 0; j >= 0 && (n == 0 || ((!most || n < most) && sum < enough)); n++) {
        sum += (double)shares[j];
        *last = j;
        j = next_likeliest(shares, v, j);
    }
    return sum;
}

void keep_likeliest(float *shares, size_t v, size_t top_k, double top_p)
{
    int32_t last = 0;
    double all = sum_likeliest(shares, v, top_k, INFINITY, &last);
    double kept = sum_likeliest(shares, v, top_k, top_p * all, &last);
    const float least = shares[last];
    for (size_t j = 0; j < v; j++) {
        bool stays = shares[j] > least || (shares[j] == least && (int32_t)j <= last);
        shares[j] = stays ? (float)((double)shares[j] / kept) : 0;
    }
}

size_t choose(const float *logits, size_t v, double temperature, double point)
{
    int32_t best;
    mine_argmax(NULL, &best, logits, 1, v);
    if (temperature == 0)
        return (size_t)best;
    double sum = 0, so_far = 0;
    for (size_t j = 0; j < v; j++)
        sum += exp(((double)logits[j] - (double)logits[best]) / temperature);
    for (size_t j = 0; j < v; j++) {
        so_far += exp(((double)logits[j] - (double)logits[best]) / temperature) / sum;
        if (so_far > point)
            return j;
    }
    return (size_t)best; /* rounding left the point after all */
}

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
        for (int32_t i = start[r]; i < start[r + 1]; i++) {
            size_t to = r * capacity + (size_t)(length[r] + i - start[r]);
            memcpy(cache + to * d, (const float *)x.data + (size_t)i * x.stride, d * sizeof *cache);
        }
}
