/* See rollout.h. */
#include "core/inspect/rollout.h"

#include "base/memory.h"

#include <assert.h>
#include <string.h>

/* a [T,T]: one layer's A */
static void layer_flow(const Maps *m, size_t layer, double *a)
{
    size_t n = m->queries;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < n; j++) {
            double mean = 0;
            for (size_t h = 0; h < m->heads; h++)
                mean += (double)maps_head(m, layer, h)[i * n + j];
            sum += a[i * n + j] = (mean / (double)m->heads + (i == j)) / 2;
        }
        for (size_t j = 0; j < n; j++)
            a[i * n + j] /= sum; /* at least 1/2 */
    }
}

/* to = a b, all [n,n] */
static void multiply(double *to, const double *a, const double *b, size_t n)
{
    memset(to, 0, n * n * sizeof *to);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++)
                to[i * n + j] += a[i * n + k] * b[k * n + j];
}

bool rollout(const Maps *m, float **r, Error *e)
{
    size_t n = m->queries, all = n * n;
    assert(m->queries == m->keys && m->layers);
    double *a = memory_get(3 * all, sizeof *a), *flow, *next;
    *r = memory_get(all, sizeof **r);
    if (!a || !*r) {
        memory_free(a);
        memory_free(*r);
        *r = NULL;
        return memory_error(e, "a rollout of attention", 3 * all, sizeof *a);
    }
    flow = a + all;
    next = flow + all;
    layer_flow(m, 0, flow);
    for (size_t layer = 1; layer < m->layers; layer++) {
        layer_flow(m, layer, a);
        multiply(next, a, flow, n);
        memcpy(flow, next, all * sizeof *flow);
    }
    for (size_t i = 0; i < all; i++)
        (*r)[i] = (float)flow[i];
    memory_free(a);
    return true;
}
