/* Lesson 2: one way to do the exercises. */
#include "course/02-movies/exercise.h"

#include <stdlib.h>

float dot_product(const float *u, const float *m, size_t d)
{
    float sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += u[j] * m[j];
    return sum;
}

void mine_gather_forward(Stream *s, void *y_, const void *x_, const int32_t *index, size_t n, size_t d)
{
    (void)s;
    float *y = y_;
    const float *x = x_;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            y[i * d + j] = index[i] < 0 ? 0 : x[(size_t)index[i] * d + j];
}

void score_gradient(float *du, float *dm, const float *u, const float *m, float value, float lambda, size_t d)
{
    float e = dot_product(u, m, d) - value;
    for (size_t j = 0; j < d; j++) {
        du[j] = e * m[j] + lambda * u[j];
        dm[j] = e * u[j] + lambda * m[j];
    }
}

void mine_gather_backward(Stream *s, void *dx_, bool add, const void *dy_, const int32_t *index, size_t n, size_t m,
                          size_t d)
{
    (void)s;
    float *dx = dx_;
    const float *dy = dy_;
    for (size_t i = 0; !add && i < m * d; i++)
        dx[i] = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; index[i] >= 0 && j < d; j++)
            dx[(size_t)index[i] * d + j] += dy[i * d + j];
}

/* Both gradients are of the same u and m, so both are there before either moves. */
void factorise(float *u, float *m, const Score *scores, size_t n, size_t d, size_t epochs, float rate, float lambda)
{
    float *du = malloc(d * sizeof *du), *dm = malloc(d * sizeof *dm);
    for (size_t e = 0; du && dm && e < epochs; e++)
        for (size_t i = 0; i < n; i++) {
            float *one = u + scores[i].viewer * d, *other = m + scores[i].film * d;
            score_gradient(du, dm, one, other, scores[i].value, lambda, d);
            for (size_t j = 0; j < d; j++) {
                one[j] -= rate * du[j];
                other[j] -= rate * dm[j];
            }
        }
    free(du);
    free(dm);
}
