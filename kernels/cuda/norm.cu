/* Layer normalisation. See kernels/plain/norm.c for the formulas.
 *
 * The ladder:
 *   1. norm_naive: a thread for each vector. Neighbours in a warp read D numbers apart, so each read takes a line of
 *      memory for one number.
 *   2. norm_kernel: a warp for each vector: lanes read side by side, and sums go from lane to lane by shuffles,
 *      without shared memory or barriers.
 *
 * Backward: the same for dx; gradients of gain and bias are sums down columns, which sums.h takes, of both at once. */

typedef struct Statistics {
    float mean, rstd;
} Statistics;

/* Around a first mean, which is rounded, the second pass finds what it is off, too, and mends mean and variance with it
 * (Chan, Golub, LeVeque 1983). */
static __device__ Statistics statistics_of(const Number *x, bool centred, float epsilon, size_t d)
{
    float sum = 0, off = 0, squared = 0;
    for (size_t j = lane(); centred && j < d; j += LANES)
        sum += real(x[j]);
    float mean = warp_sum(sum) / (float)d;
    for (size_t j = lane(); j < d; j += LANES) {
        float from_mean = real(x[j]) - mean;
        off += from_mean;
        squared += from_mean * from_mean;
    }
    off = centred ? warp_sum(off) / (float)d : 0;
    squared = warp_sum(squared) / (float)d - off * off;
    return Statistics{mean + off, 1 / sqrtf(squared + epsilon)};
}

/* What each lane does with its columns of vector i, and lane 0 with the statistics. */
static __device__ void normalise(Number *y, float *mean, float *rstd, const Number *x, const float *gain,
                                 const float *bias, float epsilon, size_t i, size_t d)
{
    x += i * d, y += i * d;
    Statistics of = statistics_of(x, mean != nullptr, epsilon, d);
    if (lane() == 0) {
        if (mean)
            mean[i] = of.mean;
        rstd[i] = of.rstd;
    }
    for (size_t j = lane(); j < d; j += LANES)
        y[j] = number((real(x[j]) - of.mean) * of.rstd * gain[j] + (bias ? bias[j] : 0));
}

static __global__ void norm_kernel(Number *y, float *mean, float *rstd, const Number *x, const float *gain,
                                   const float *bias, float epsilon, size_t n, size_t d)
{
    size_t i = warp_row();
    if (i < n)
        normalise(y, mean, rstd, x, gain, bias, epsilon, i, d);
}

static __global__ void norm_naive(Number *y, float *mean, float *rstd, const Number *x, const float *gain,
                                  const float *bias, float epsilon, size_t n, size_t d)
{
    for (size_t i = thread_number(); i < n; i += thread_count()) {
        float sum = 0, squared = 0;
        for (size_t j = 0; mean && j < d; j++)
            sum += real(x[i * d + j]);
        float center = sum / (float)d;
        if (mean)
            mean[i] = center;
        for (size_t j = 0; j < d; j++)
            squared += (real(x[i * d + j]) - center) * (real(x[i * d + j]) - center);
        rstd[i] = 1 / sqrtf(squared / (float)d + epsilon);
        for (size_t j = 0; j < d; j++)
            y[i * d + j] = number((real(x[i * d + j]) - center) * rstd[i] * gain[j] + (bias ? bias[j] : 0));
    }
}

/* ---- backward */

/* dx of one vector: rstd (g - mean(g) - xhat mean(g xhat)), g = gain dy */
typedef struct NormGradient {
    float mean, rstd, mean_g, mean_gx;
    __device__ float at(float dy, float x, float gain) const
    {
        return rstd * (gain * dy - mean_g - ((x - mean) * rstd) * mean_gx);
    }
} NormGradient;

static __device__ NormGradient norm_gradient(const Number *dy, const Number *x, const float *gain, const float *means,
                                             const float *rstds, size_t i, size_t d)
{
    float g = 0, gx = 0, mean = means ? means[i] : 0, rstd = rstds[i];
    for (size_t j = lane(); j < d; j += LANES) {
        float each = gain[j] * real(dy[j]);
        g += each;
        gx += each * ((real(x[j]) - mean) * rstd);
    }
    return NormGradient{mean, rstd, means ? warp_sum(g) / (float)d : 0, warp_sum(gx) / (float)d};
}

static __global__ void norm_backward_kernel(Number *dx, bool add, const Number *dy, const float *mean,
                                            const float *rstd, const Number *x, const float *gain, size_t n, size_t d)
{
    size_t i = warp_row();
    if (i >= n)
        return;
    x += i * d, dy += i * d;
    NormGradient all = norm_gradient(dy, x, gain, mean, rstd, i, d);
    for (size_t j = lane(); j < d; j += LANES)
        store_gradient(&dx[i * d + j], add, all.at(real(dy[j]), real(x[j]), gain[j]));
}

/* dgain = sum of dy xhat, dbias = sum of dy */
typedef struct NormTerm {
    const Number *dy, *x;
    const float *mean, *rstd;
    size_t d;
    __device__ float operator()(size_t i, size_t j) const /* of dgain, and after it of dbias */
    {
        size_t at = i * d + (j < d ? j : j - d);
        return real(dy[at]) * (j < d ? (real(x[at]) - (mean ? mean[i] : 0)) * rstd[i] : 1);
    }
    __device__ void keep(size_t, size_t, float) const {}
} NormTerm;

static void norm_parameters(Stream *s, float *dgain, float *dbias, const Number *dy, const float *mean,
                            const float *rstd, const Number *x, size_t n, size_t d)
{
    sum_columns(s, AddTo{dgain, dbias, d}, NormTerm{dy, x, mean, rstd, d}, n, dbias ? 2 * d : d);
}

static void norm_forward(Stream *s, void *y, void *mean, void *rstd, const void *x, const void *gain, const void *bias,
                         double epsilon, size_t n, size_t d)
{
    if (s->naive)
        LAUNCH_EACH(s, norm_naive, n, (Number *)y, (float *)mean, (float *)rstd, (const Number *)x, (const float *)gain,
                    (const float *)bias, (float)epsilon, n, d);
    else
        LAUNCH_ROWS(s, norm_kernel, n, (Number *)y, (float *)mean, (float *)rstd, (const Number *)x,
                    (const float *)gain, (const float *)bias, (float)epsilon, n, d);
}

static void norm_backward(Stream *s, void *dx, bool add, void *dgain, void *dbias, const void *dy, const void *mean,
                          const void *rstd, const void *x, const void *gain, size_t n, size_t d)
{
    if (dx)
        LAUNCH_ROWS(s, norm_backward_kernel, n, (Number *)dx, add, (const Number *)dy, (const float *)mean,
                    (const float *)rstd, (const Number *)x, (const float *)gain, n, d);
    norm_parameters(s, (float *)dgain, (float *)dbias, (const Number *)dy, (const float *)mean, (const float *)rstd,
                    (const Number *)x, n, d);
}
