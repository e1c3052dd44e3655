/* expect hint: divided by d, not by d - 1 */
#define mine_norm_forward right_norm_forward
#include "course/solutions/09-block.c"
#undef mine_norm_forward

/* The variance as statistics estimates it from a sample, as some widely read implementations have it. */
void mine_norm_forward(Stream *s, void *y_, void *mean, void *rstd_, const void *x_, const void *gain_,
                       const void *bias_, double epsilon, size_t n, size_t d)
{
    float *y = y_, *rstd = rstd_;
    const float *gain = gain_, *bias = bias_;
    right_norm_forward(s, y, mean, rstd, x_, gain, bias, epsilon, n, d);
    for (size_t i = 0; i < n; i++) {
        float right = rstd[i], variance = 1 / (right * right) - (float)epsilon;
        rstd[i] = 1 / sqrtf(variance * (float)d / (float)(d - 1) + (float)epsilon);
        for (size_t j = 0; j < d; j++)
            y[i * d + j] = (y[i * d + j] - bias[j]) * rstd[i] / right + bias[j];
    }
}
