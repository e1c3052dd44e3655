/* Lesson 8: one way to do the exercises. */
#include "course/08-positions/exercise.h"

#include <math.h>

/* How far the pair of columns that holds column j turns from one position to the next */
static double turn_of(size_t j, size_t d) { return pow(10000, -(double)(j / 2 * 2) / (double)d); }

void fill_sinusoids(float *positions, size_t n, size_t d)
{
    for (size_t p = 0; p < n; p++)
        for (size_t j = 0; j < d; j++) {
            double angle = (double)p * turn_of(j, d);
            positions[p * d + j] = (float)(j % 2 ? cos(angle) : sin(angle));
        }
}

void shift_matrix(float *m, double r, size_t d)
{
    for (size_t i = 0; i < d * d; i++)
        m[i] = 0;
    for (size_t j = 0; j + 1 < d; j += 2) {
        double angle = r * turn_of(j, d);
        m[j * d + j] = m[(j + 1) * d + j + 1] = (float)cos(angle);
        m[j * d + j + 1] = (float)sin(angle);
        m[(j + 1) * d + j] = (float)-sin(angle);
    }
}

void mine_embed_forward(Stream *s, void *y_, const int32_t *ids, const int32_t *position, const void *table_,
                        const void *positions_, double scale, Dropout drop, const StepState *state, size_t n, size_t d)
{
    (void)s;
    float *y = y_;
    const float *table = table_, *positions = positions_;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) {
            float sum = 0;
            if (position[i] >= 0) {
                sum = (float)scale * table[(size_t)ids[i] * d + j];
                sum += positions ? positions[(size_t)position[i] * d + j] : 0;
            }
            y[i * d + j] = sum * (float)dropout_factor(drop, state, i, 0, j);
        }
}

/* Where the largest number of column j is among vectors first .. end-1; end > first */
static size_t largest_of(const float *x, size_t first, size_t end, size_t j, size_t d)
{
    size_t at = first;
    for (size_t i = first + 1; i < end && !isnan(x[at * d + j]); i++)
        at = x[i * d + j] > x[at * d + j] || isnan(x[i * d + j]) ? i : at;
    return at;
}

static float mean_of(const float *x, size_t first, size_t end, size_t j, size_t d)
{
    float sum = 0;
    for (size_t i = first; i < end; i++)
        sum += x[i * d + j];
    return sum / (float)(end - first);
}

void mine_pool_forward(Stream *s, void *y_, int32_t *which, const void *x_, Pooling how, const int32_t *start, size_t b,
                       size_t d)
{
    (void)s;
    float *y = y_;
    const float *x = x_;
    for (size_t r = 0; r < b; r++)
        for (size_t j = 0; j < d; j++) {
            size_t first = (size_t)start[r], end = (size_t)start[r + 1], at = first;
            bool empty = first == end;
            if (how == POOLING_MAX && !empty)
                at = largest_of(x, first, end, j, d);
            if (how == POOLING_MAX)
                which[r * d + j] = empty ? -1 : (int32_t)at;
            y[r * d + j] = empty ? 0 : how == POOLING_MEAN ? mean_of(x, first, end, j, d) : x[at * d + j];
        }
}
