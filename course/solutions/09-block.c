/* Lesson 9: one way to do the exercises. */
#include "course/09-block/exercise.h"

#include <math.h>
#include <stdlib.h>

void mine_add_forward(Stream *s, void *y_, const void *x_, const void *f_, Dropout drop, const StepState *state,
                      size_t n, size_t d)
{
    (void)s;
    float *y = y_;
    const float *x = x_, *f = f_;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            y[i * d + j] = (x ? x[i * d + j] : 0) + f[i * d + j] * (float)dropout_factor(drop, state, i, 0, j);
}

static void store_gradient(float *to, bool add, float gradient) { *to = (add ? *to : 0) + gradient; }

void mine_add_backward(Stream *s, void *dx_, bool add_x, void *df_, bool add_f, const void *dy_, Dropout drop,
                       const StepState *state, size_t n, size_t d)
{
    (void)s;
    float *dx = dx_, *df = df_;
    const float *dy = dy_;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) {
            if (dx)
                store_gradient(&dx[i * d + j], add_x, dy[i * d + j]);
            if (df)
                store_gradient(&df[i * d + j], add_f, dy[i * d + j] * (float)dropout_factor(drop, state, i, 0, j));
        }
}

void mine_norm_forward(Stream *s, void *y_, void *mean_, void *rstd_, const void *x_, const void *gain_,
                       const void *bias_, double epsilon, size_t n, size_t d)
{
    (void)s;
    float *y = y_, *mean = mean_, *rstd = rstd_;
    const float *x = x_, *gain = gain_, *bias = bias_;
    for (size_t i = 0; i < n; i++, x += d, y += d) {
        float sum = 0, squared = 0;
        for (size_t j = 0; j < d; j++)
            sum += x[j];
        mean[i] = sum / (float)d;
        for (size_t j = 0; j < d; j++)
            squared += (x[j] - mean[i]) * (x[j] - mean[i]);
        rstd[i] = 1 / sqrtf(squared / (float)d + (float)epsilon);
        for (size_t j = 0; j < d; j++)
            y[j] = (x[j] - mean[i]) * rstd[i] * gain[j] + bias[j];
    }
}

void mine_norm_backward(Stream *s, void *dx_, bool add, void *dgain_, void *dbias_, const void *dy_, const void *mean_,
                        const void *rstd_, const void *x_, const void *gain_, size_t n, size_t d)
{
    (void)s;
    float *dx = dx_, *dgain = dgain_, *dbias = dbias_;
    const float *dy = dy_, *mean = mean_, *rstd = rstd_, *x = x_, *gain = gain_;
    for (size_t i = 0; i < n; i++, x += d, dy += d) {
        float mean_g = 0, mean_gx = 0;
        for (size_t j = 0; j < d; j++) {
            float xhat = (x[j] - mean[i]) * rstd[i];
            mean_g += gain[j] * dy[j] / (float)d;
            mean_gx += gain[j] * dy[j] * xhat / (float)d;
            dgain[j] += dy[j] * xhat;
            dbias[j] += dy[j];
        }
        for (size_t j = 0; dx && j < d; j++) {
            float xhat = (x[j] - mean[i]) * rstd[i];
            store_gradient(&dx[i * d + j], add, rstd[i] * (gain[j] * dy[j] - mean_g - xhat * mean_gx));
        }
    }
}

void mine_add_norm_forward(Stream *s, void *y, void *sum, void *mean, void *rstd, const void *x, const void *f,
                           Dropout drop, const StepState *state, const void *gain, const void *bias, double epsilon,
                           size_t n, size_t d)
{
    mine_add_forward(s, sum, x, f, drop, state, n, d);
    mine_norm_forward(s, y, mean, rstd, sum, gain, bias, epsilon, n, d);
}

void mine_add_norm_backward(Stream *s, void *dx, bool add_x, void *df, bool add_f, void *dgain, void *dbias,
                            const void *dy, const void *sum, const void *mean, const void *rstd, Dropout drop,
                            const StepState *state, const void *gain, size_t n, size_t d)
{
    float *dsum = malloc((n * d + 1) * sizeof *dsum);
    if (!dsum)
        return;
    mine_norm_backward(s, dsum, false, dgain, dbias, dy, mean, rstd, sum, gain, n, d);
    mine_add_backward(s, dx, add_x, df, add_f, dsum, drop, state, n, d);
    free(dsum);
}

void convolve(float *y, const float *x, const float *w, const float *bias, size_t n, size_t width, size_t in,
              size_t out)
{
    for (size_t i = 0; i < n; i++)
        for (size_t o = 0; o < out; o++) {
            float sum = bias[o];
            for (size_t t = 0; t < width; t++) {
                size_t at = i + t; /* width/2 too large, so that it is never below 0 */
                for (size_t l = 0; at >= width / 2 && at - width / 2 < n && l < in; l++)
                    sum += w[(t * out + o) * in + l] * x[(at - width / 2) * in + l];
            }
            y[i * out + o] = sum;
        }
}
