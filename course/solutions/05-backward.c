/* Lesson 5: one way to do the exercises. */
#include "course/05-backward/exercise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double central_difference(double (*f)(const float *x, const void *context), const void *context, float *x, size_t i,
                          float h)
{
    float before = x[i], right = before + h, left = before - h;
    x[i] = right;
    double above = f(x, context);
    x[i] = left;
    double below = f(x, context);
    x[i] = before;
    return (above - below) / ((double)right - (double)left);
}

void mine_softmax_backward(Stream *s, void *dx_, bool add, const void *dy_, const void *y_, size_t n, size_t columns)
{
    (void)s;
    float *dx = dx_;
    const float *dy = dy_, *y = y_;
    for (size_t i = 0; i < n; i++, dx += columns, dy += columns, y += columns) {
        float sum = 0;
        for (size_t j = 0; j < columns; j++)
            sum += y[j] * dy[j];
        for (size_t j = 0; j < columns; j++)
            dx[j] = (add ? dx[j] : 0) + y[j] * (dy[j] - sum);
    }
}

void mine_linear_backward(Stream *s, void *dx_, bool add, void *dw_, void *dbias_, void *dy_, const void *y_,
                          const void *x_, const void *w_, bool relu, size_t n, size_t in, size_t out)
{
    (void)s;
    float *dx = dx_, *dw = dw_, *dbias = dbias_, *dy = dy_;
    const float *y = y_, *x = x_, *w = w_;
    if (relu)
        for (size_t i = 0; i < n * out; i++)
            dy[i] = y[i] > 0 ? dy[i] : 0;
    for (size_t i = 0; dx && !add && i < n * in; i++)
        dx[i] = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t o = 0; o < out; o++) {
            for (size_t j = 0; dx && j < in; j++)
                dx[i * in + j] += dy[i * out + o] * w[o * in + j];
            for (size_t j = 0; dw && j < in; j++)
                dw[o * in + j] += dy[i * out + o] * x[i * in + j];
            if (dbias)
                dbias[o] += dy[i * out + o];
        }
}

/* ds [n,n], the gradient of the scores, from that of the weights, dy v^T; and by_v = weights^T dy */
static void scores_backward(float *ds, float *by_v, const float *dy, const Head *h)
{
    memset(by_v, 0, h->n * h->dv * sizeof *by_v);
    for (size_t i = 0; i < h->n; i++)
        for (size_t j = 0; j < h->n; j++) {
            ds[i * h->n + j] = 0;
            for (size_t l = 0; l < h->dv; l++) {
                ds[i * h->n + j] += dy[i * h->dv + l] * h->v[j * h->dv + l];
                by_v[j * h->dv + l] += h->weights[i * h->n + j] * dy[i * h->dv + l];
            }
        }
    mine_softmax_backward(NULL, ds, false, ds, h->weights, h->n, h->n);
}

void attention_backward(float *by_q, float *by_k, float *by_v, const float *dy, const Head *h)
{
    float *ds = malloc(h->n * h->n * sizeof *ds), scale = 1 / sqrtf((float)h->dk);
    if (!ds)
        return;
    scores_backward(ds, by_v, dy, h);
    memset(by_q, 0, h->n * h->dk * sizeof *by_q);
    memset(by_k, 0, h->n * h->dk * sizeof *by_k);
    for (size_t i = 0; i < h->n; i++)
        for (size_t j = 0; j < h->n; j++)
            for (size_t l = 0; l < h->dk; l++) {
                by_q[i * h->dk + l] += scale * ds[i * h->n + j] * h->k[j * h->dk + l];
                by_k[j * h->dk + l] += scale * ds[i * h->n + j] * h->q[i * h->dk + l];
            }
    free(ds);
}

void head_backward(float *dx, float *dwq, float *dwk, float *dwv, const float *dy, const Head *h)
{
    size_t n = h->n, d = h->d;
    float *by_q = malloc(n * h->dk * sizeof *by_q), *by_k = malloc(n * h->dk * sizeof *by_k);
    float *by_v = malloc(n * h->dv * sizeof *by_v);
    if (by_q && by_k && by_v) {
        attention_backward(by_q, by_k, by_v, dy, h);
        memset(dwq, 0, h->dk * d * sizeof *dwq);
        memset(dwk, 0, h->dk * d * sizeof *dwk);
        memset(dwv, 0, h->dv * d * sizeof *dwv);
        mine_linear_backward(NULL, dx, false, dwq, NULL, by_q, NULL, h->x, h->wq, false, n, d, h->dk);
        mine_linear_backward(NULL, dx, true, dwk, NULL, by_k, NULL, h->x, h->wk, false, n, d, h->dk);
        mine_linear_backward(NULL, dx, true, dwv, NULL, by_v, NULL, h->x, h->wv, false, n, d, h->dv);
    }
    free(by_q);
    free(by_k);
    free(by_v);
}
