/* expect hint: w is [out,in] */
#define mine_linear_forward right_linear_forward
#include "course/solutions/03-queries.c"
#undef mine_linear_forward

/* x w for x w^T */
void mine_linear_forward(Stream *s, void *y_, bool real_output, const void *x_, const void *w_, const void *bias_,
                         bool relu, size_t n, size_t in, size_t out)
{
    (void)s, (void)real_output;
    float *y = y_;
    const float *x = x_, *w = w_, *bias = bias_;
    for (size_t i = 0; i < n; i++)
        for (size_t o = 0; o < out; o++) {
            float sum = bias ? bias[o] : 0;
            for (size_t j = 0; j < in; j++)
                sum += x[i * in + j] * w[j * out + o];
            y[i * out + o] = relu && sum < 0 ? 0 : sum;
        }
}
