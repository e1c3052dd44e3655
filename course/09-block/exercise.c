/* Lesson 9, exercises: fill in the functions; exercise.h says what each does. `make grade-09` grades them. */
#include "course/09-block/exercise.h"

#include <math.h>

/* 1. The residual connection: one line, and x may be NULL. */
void mine_add_forward(Stream *s, void *y_, const void *x_, const void *f_, Dropout drop, const StepState *state,
                      size_t n, size_t d)
{
    float *y = y_;
    const float *x = x_, *f = f_;
    (void)s, (void)y, (void)x, (void)f, (void)drop, (void)state, (void)n, (void)d;
}

/* 2. The sum's gradient goes to both of those that were summed. */
void mine_add_backward(Stream *s, void *dx_, bool add_x, void *df_, bool add_f, const void *dy_, Dropout drop,
                       const StepState *state, size_t n, size_t d)
{
    float *dx = dx_, *df = df_;
    const float *dy = dy_;
    (void)s, (void)dx, (void)add_x, (void)df, (void)add_f, (void)dy, (void)drop, (void)state, (void)n, (void)d;
}

/* 3. For each vector three loops: its mean, its variance, its numbers. */
void mine_norm_forward(Stream *s, void *y_, void *mean_, void *rstd_, const void *x_, const void *gain_,
                       const void *bias_, double epsilon, size_t n, size_t d)
{
    float *y = y_, *mean = mean_, *rstd = rstd_;
    const float *x = x_, *gain = gain_, *bias = bias_;
    (void)s, (void)y, (void)mean, (void)rstd, (void)x, (void)gain, (void)bias, (void)epsilon, (void)n, (void)d;
}

/* 4. For each vector two loops: the two means (with dgain and dbias on the way), then dx. */
void mine_norm_backward(Stream *s, void *dx_, bool add, void *dgain_, void *dbias_, const void *dy_, const void *mean_,
                        const void *rstd_, const void *x_, const void *gain_, size_t n, size_t d)
{
    float *dx = dx_, *dgain = dgain_, *dbias = dbias_;
    const float *dy = dy_, *mean = mean_, *rstd = rstd_, *x = x_, *gain = gain_;
    (void)s, (void)dx, (void)add, (void)dgain, (void)dbias, (void)dy, (void)mean, (void)rstd, (void)x, (void)gain;
    (void)n, (void)d;
}

/* 5. Post-norm: the functions above, one after another. Backward needs memory for the gradient between them. */
void mine_add_norm_forward(Stream *s, void *y, void *sum, void *mean, void *rstd, const void *x, const void *f,
                           Dropout drop, const StepState *state, const void *gain, const void *bias, double epsilon,
                           size_t n, size_t d)
{
    (void)s, (void)y, (void)sum, (void)mean, (void)rstd, (void)x, (void)f, (void)drop, (void)state, (void)gain;
    (void)bias, (void)epsilon, (void)n, (void)d;
}

void mine_add_norm_backward(Stream *s, void *dx, bool add_x, void *df, bool add_f, void *dgain, void *dbias,
                            const void *dy, const void *sum, const void *mean, const void *rstd, Dropout drop,
                            const StepState *state, const void *gain, size_t n, size_t d)
{
    (void)s, (void)dx, (void)add_x, (void)df, (void)add_f, (void)dgain, (void)dbias, (void)dy, (void)sum, (void)mean;
    (void)rstd, (void)drop, (void)state, (void)gain, (void)n, (void)d;
}

/* 6. A linear map of each of `width` neighbours, and all of them summed. */
void convolve(float *y, const float *x, const float *w, const float *bias, size_t n, size_t width, size_t in,
              size_t out)
{
    (void)y, (void)x, (void)w, (void)bias, (void)n, (void)width, (void)in, (void)out;
}
