/* expect hint: which is in the future */
#define convolution right_convolution
#include "course/solutions/16-why.c"
#undef convolution

/* The taps reach forwards. */
void convolution(float *y, const float *x, const float *w, const float *bias, size_t n, size_t d, size_t out,
                 size_t taps, size_t step)
{
    for (size_t t = 0; t < n; t++) {
        for (size_t o = 0; o < out; o++)
            y[t * out + o] = bias ? bias[o] : 0;
        for (size_t tap = 0; tap < taps && t + tap * step < n; tap++)
            add_map(y + t * out, w + tap * out * d, x + (t + tap * step) * d, d, out);
    }
}
