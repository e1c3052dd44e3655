/* expect hint: compute no score that is not used */
/* expect points: 16 */
#define local_attention right_local_attention
#include "course/solutions/16-why.c"
#undef local_attention

/* All scores are computed, and those outside of the window hidden. */
void local_attention(float *y, const float *q, const float *k, const float *v, size_t window, size_t n, size_t d)
{
    float *w = malloc(n * sizeof *w);
    for (size_t t = 0; w && t < n; t++) {
        float sum = 0;
        for (size_t j = 0; j < n; j++) {
            float score = 0;
            for (size_t i = 0; i < d; i++)
                score += q[t * d + i] * k[j * d + i] / sqrtf((float)d);
            w[j] = j > t || j + window <= t ? -INFINITY : score;
            sum += expf(w[j]);
        }
        memset(y + t * d, 0, d * sizeof *y);
        for (size_t j = 0; j < n; j++)
            for (size_t i = 0; i < d; i++)
                y[t * d + i] += expf(w[j]) / sum * v[j * d + i];
    }
    free(w);
}
