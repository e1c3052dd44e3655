/* Layer normalisation, a vector at a time. See kernels/plain/norm.c. */

typedef struct Moments {
    float mean, rstd;
} Moments;

INLINE Moments moments_of(const Number *x, bool centred, double epsilon, size_t d)
{
    Vec sum = {0}, squared = {0};
    size_t j = 0;
    for (; centred && j < d; j += WIDTH)
        sum += load(x + j, d - j);
    float mean = vec_sum(sum) / (float)d;
    for (j = 0; j + WIDTH <= d; j += WIDTH) {
        Vec from_mean = load(x + j, d - j) - mean;
        squared += from_mean * from_mean;
    }
    if (j < d) {
        Vec from_mean = vec_select(vec_first(d - j), load(x + j, d - j) - mean, vec_set(0));
        squared += from_mean * from_mean;
    }
    return (Moments){mean, 1 / sqrtf(vec_sum(squared) / (float)d + (float)epsilon)};
}

/* Vector i of y and x. */
INLINE void norm_vector(Number *y, float *mean, float *rstd, const Number *x, const float *gain, const float *bias,
                        double epsilon, size_t i, size_t d)
{
    x += i * d, y += i * d;
    Moments m = moments_of(x, mean, epsilon, d);
    if (mean)
        mean[i] = m.mean;
    rstd[i] = m.rstd;
    for (size_t j = 0; j < d; j += WIDTH) {
        Vec xhat = (load(x + j, d - j) - m.mean) * m.rstd;
        store(y + j, xhat * load_real(gain + j, d - j) + (bias ? load_real(bias + j, d - j) : vec_set(0)), d - j);
    }
}

static void norm_forward(Stream *s, void *y, void *mean, void *rstd, const void *x, const void *gain, const void *bias,
                         double epsilon, size_t n, size_t d)
{
    (void)s;
    for (size_t i = 0; i < n; i++)
        norm_vector(y, mean, rstd, x, gain, bias, epsilon, i, d);
}

/* What the gradient of vector i needs beside its x: see NormGradient in plain. Adds to dgain and dbias. */
typedef struct NormSums {
    float mean, rstd, mean_g, mean_gx;
} NormSums;

INLINE NormSums norm_sums(float *dgain, float *dbias, const Number *dy, const Number *x, const float *gain,
                          const float *mean_, const float *rstd_, size_t i, size_t d)
{
    float mean = mean_ ? mean_[i] : 0, rstd = rstd_[i];
    Vec g_sum = {0}, gx_sum = {0};
    for (size_t j = 0; j < d; j += WIDTH) {
        size_t left = d - j;
        Vec gradient = load(dy + j, left), xhat = (load(x + j, left) - mean) * rstd;
        Vec g = gradient * load_real(gain + j, left), scaled = gradient * xhat;
        g_sum += g;
        gx_sum += g * xhat;
        store_real(dgain + j, load_real(dgain + j, left) + scaled, left);
        if (dbias)
            store_real(dbias + j, load_real(dbias + j, left) + gradient, left);
    }
    return (NormSums){mean, rstd, mean_ ? vec_sum(g_sum) / (float)d : 0, vec_sum(gx_sum) / (float)d};
}

INLINE Vec norm_gradient(NormSums all, Vec dy, Vec x, Vec gain)
{
    Vec xhat = (x - all.mean) * all.rstd;
    return (gain * dy - all.mean_g - xhat * all.mean_gx) * all.rstd;
}

static void norm_backward(Stream *s, void *dx_, bool add, void *dgain, void *dbias, const void *dy_, const void *mean_,
                          const void *rstd_, const void *x_, const void *gain_, size_t n, size_t d)
{
    (void)s;
    const Number *dy = dy_, *x = x_;
    const float *mean = mean_, *rstd = rstd_, *gain = gain_;
    Number *dx = dx_;

    for (size_t i = 0; i < n; i++, x += d, dy += d) {
        NormSums all = norm_sums(dgain, dbias, dy, x, gain, mean, rstd, i, d);
        for (size_t j = 0; dx && j < d; j += WIDTH)
            store_gradient(dx + i * d + j, add,
                           norm_gradient(all, load(dy + j, d - j), load(x + j, d - j), load_real(gain + j, d - j)),
                           d - j);
    }
}
