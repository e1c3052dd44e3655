/* expect hint: half of each vector comes past attention */
#define roll_out right_roll_out
#define flow     right_flow
#include "course/solutions/15-reading.c"
#undef roll_out
#undef flow

/* The mean over heads alone */
static void flow(float *a, const float *w, size_t heads, size_t n)
{
    right_flow(a, w, heads, n);
    for (size_t e = 0; e < n * n; e++)
        a[e] = 2 * a[e] - (e / n == e % n ? 1.0f : 0.0f);
}

void roll_out(float *r, const float *w, size_t layers, size_t heads, size_t n)
{
    float *a = malloc(n * n * sizeof *a), *before = malloc(n * n * sizeof *before);
    flow(r, w, heads, n);
    for (size_t l = 1; a && before && l < layers; l++) {
        flow(a, w + l * heads * n * n, heads, n);
        memcpy(before, r, n * n * sizeof *before);
        for (size_t e = 0; e < n * n; e++) {
            r[e] = 0;
            for (size_t k = 0; k < n; k++)
                r[e] += a[e / n * n + k] * before[k * n + e % n];
        }
    }
    free(a);
    free(before);
}
