/* expect hint: tanh of each of the F sums */
#define additive_scores right_additive_scores
#include "course/solutions/04-scores.c"
#undef additive_scores

/* v . (...) first, and tanh of that */
void additive_scores(float *s, const float *q, const float *k, const float *wq, const float *wk, const float *b,
                     const float *v, size_t t, size_t n, size_t dq, size_t dk, size_t f)
{
    for (size_t i = 0; i < t; i++)
        for (size_t j = 0; j < n; j++) {
            float sum = 0;
            for (size_t l = 0; l < f; l++)
                sum += v[l] * (dot(wq + l * dq, q + i * dq, dq) + dot(wk + l * dk, k + j * dk, dk) + b[l]);
            s[i * n + j] = tanhf(sum);
        }
}
