/* expect hint: two large numbers cancel */
#define mine_norm_forward right_norm_forward
#include "course/solutions/09-block.c"
#undef mine_norm_forward

/* The variance in one pass: the mean of the squares less the square of the mean. */
void mine_norm_forward(Stream *s, void *y_, void *mean_, void *rstd_, const void *x_, const void *gain_,
                       const void *bias_, double epsilon, size_t n, size_t d)
{
    (void)s;
    float *y = y_, *mean = mean_, *rstd = rstd_;
    const float *x = x_, *gain = gain_, *bias = bias_;
    for (size_t i = 0; i < n; i++, x += d, y += d) {
        float sum = 0, squares = 0;
        for (size_t j = 0; j < d; j++) {
            sum += x[j];
            squares += x[j] * x[j];
        }
        mean[i] = sum / (float)d;
        rstd[i] = 1 / sqrtf(squares / (float)d - mean[i] * mean[i] + (float)epsilon);
        for (size_t j = 0; j < d; j++)
            y[j] = (x[j] - mean[i]) * rstd[i] * gain[j] + bias[j];
    }
}
