/* Layer normalisation (Ba, Kiros, Hinton 2016), one vector at a time.
 *
 *     xhat = (x - mean) * rstd          rstd = 1 / sqrt(variance + epsilon), variance divided by D
 *     y    = gain * xhat + bias
 *
 * Backward, with g = gain * dy: every x moves the mean and the variance of its own vector, so
 *
 *     dx   = rstd * (g - mean(g) - xhat * mean(g * xhat))
 *
 * RMSNorm (Zhang, Sennrich 2019) has no mean (NULL: it counts as 0) and no bias. No x moves a mean, so mean(g) drops
 * out. */

static void norm_forward(Stream *s, void *y_, void *mean_, void *rstd_, const void *x_, const void *gain_,
                         const void *bias_, double epsilon, size_t n, size_t d)
{
    (void)s;
    const Number *x = x_;
    const Real *gain = gain_, *bias = bias_;
    Number *y = y_;
    Real *mean = mean_, *rstd = rstd_;

    for (size_t i = 0; i < n; i++, x += d, y += d) {
        Real sum = 0, squared = 0;
        for (size_t j = 0; mean && j < d; j++)
            sum += real(x[j]);
        Real center = sum / (Real)d;
        if (mean)
            mean[i] = center;
        for (size_t j = 0; j < d; j++) /* a second pass: nothing cancels */
            squared += (real(x[j]) - center) * (real(x[j]) - center);
        rstd[i] = 1 / real_sqrt(squared / (Real)d + (Real)epsilon);

        for (size_t j = 0; j < d; j++)
            y[j] = number((real(x[j]) - center) * rstd[i] * gain[j] + (bias ? bias[j] : 0));
    }
}

/* What the gradient of one vector x depends on, apart from its own numbers; norm_gradient_at gives each of them. */
typedef struct NormGradient {
    Real mean, rstd, mean_g, mean_gx;
} NormGradient;

/* For vector i, with its dy and x; also adds its part of dgain and dbias. */
static NormGradient norm_gradient(Real *dgain, Real *dbias, const Number *dy, const Number *x, const Real *gain,
                                  const Real *mean, const Real *rstd, size_t i, size_t d)
{
    NormGradient all = {.mean = mean ? mean[i] : 0, .rstd = rstd[i]};
    for (size_t j = 0; j < d; j++) {
        Real xhat = (real(x[j]) - all.mean) * all.rstd;
        all.mean_g += mean ? gain[j] * real(dy[j]) / (Real)d : 0;
        all.mean_gx += gain[j] * real(dy[j]) * xhat / (Real)d;
        dgain[j] += real(dy[j]) * xhat;
        if (dbias)
            dbias[j] += real(dy[j]);
    }
    return all;
}

static Real norm_gradient_at(NormGradient all, Real dy, Real x, Real gain)
{
    Real xhat = (x - all.mean) * all.rstd;
    return all.rstd * (gain * dy - all.mean_g - xhat * all.mean_gx);
}

static void norm_backward(Stream *s, void *dx_, bool add, void *dgain, void *dbias, const void *dy_, const void *mean_,
                          const void *rstd_, const void *x_, const void *gain_, size_t n, size_t d)
{
    (void)s;
    const Number *dy = dy_, *x = x_;
    const Real *mean = mean_, *rstd = rstd_, *gain = gain_;
    Number *dx = dx_;

    for (size_t i = 0; i < n; i++, x += d, dy += d) {
        NormGradient all = norm_gradient(dgain, dbias, dy, x, gain, mean, rstd, i, d);
        for (size_t j = 0; dx && j < d; j++)
            store_gradient(&dx[i * d + j], add, norm_gradient_at(all, real(dy[j]), real(x[j]), gain[j]));
    }
}
