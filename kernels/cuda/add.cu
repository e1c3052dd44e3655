/* Residual connection and dropout, alone or with layer normalisation in the same pass. See kernels/plain/add.c.
 *
 * The ladder:
 *   1. a thread for each four columns, as Philox makes four numbers at once.
 *   2. add and norm in one pass, a warp for each vector: what a lane has just written of the sum it reads again itself,
 *      while it still is in the cache. */

/* The groups of four columns of all vectors: this thread's, one after the other. */
typedef struct Group {
    size_t i, j, end; /* vector, first column, after the last */
} Group;

static __device__ Group group_at(size_t t, size_t d)
{
    size_t groups = (d + 3) / 4, j = t % groups * 4;
    return Group{t / groups, j, j + 4 < d ? j + 4 : d};
}

static __device__ void add_group(Number *y, const Number *x, const Number *f, Factors drop, Group g, size_t d)
{
    for (size_t j = g.j; j < g.end; j++) {
        size_t at = g.i * d + j;
        y[at] = number((x ? real(x[at]) : 0) + real(f[at]) * drop.of[j - g.j]);
    }
}

static __global__ void add_kernel(Number *y, const Number *x, const Number *f, Chance drop, const StepState *state,
                                  size_t n, size_t d)
{
    for (size_t t = thread_number(); t < n * ((d + 3) / 4); t += thread_count()) {
        Group g = group_at(t, d);
        add_group(y, x, f, dropout_factors(drop, state, g.i, 0, g.j / 4), g, d);
    }
}

static __global__ void add_backward_kernel(Number *dx, bool add_x, Number *df, bool add_f, const Number *dy,
                                           Chance drop, const StepState *state, size_t n, size_t d)
{
    for (size_t t = thread_number(); t < n * ((d + 3) / 4); t += thread_count()) {
        Group g = group_at(t, d);
        Factors factors = dropout_factors(drop, state, g.i, 0, g.j / 4);
        for (size_t j = g.j; j < g.end; j++) {
            float gradient = real(dy[g.i * d + j]);
            if (dx)
                store_gradient(&dx[g.i * d + j], add_x, gradient);
            if (df)
                store_gradient(&df[g.i * d + j], add_f, gradient * factors.of[j - g.j]);
        }
    }
}

static __global__ void add_norm_kernel(Number *y, Number *sum, float *mean, float *rstd, const Number *x,
                                       const Number *f, Chance drop, const StepState *state, const float *gain,
                                       const float *bias, float epsilon, size_t n, size_t d)
{
    size_t i = warp_row();
    if (i >= n)
        return;
    for (size_t j = 4 * lane(); j < d; j += 4 * LANES)
        add_group(sum, x, f, dropout_factors(drop, state, i, 0, j / 4), Group{i, j, j + 4 < d ? j + 4 : d}, d);
    __syncwarp(); /* lanes read other columns below than they wrote */
    normalise(y, mean, rstd, sum, gain, bias, epsilon, i, d);
}

static __global__ void add_norm_backward_kernel(Number *dx, bool add_x, Number *df, bool add_f, const Number *dy,
                                                const Number *sum, const float *mean, const float *rstd, Chance drop,
                                                const StepState *state, const float *gain, size_t n, size_t d)
{
    size_t i = warp_row();
    if (i >= n)
        return;
    NormGradient all = norm_gradient(dy + i * d, sum + i * d, gain, mean, rstd, i, d);
    for (size_t group = lane(); 4 * group < d; group += LANES) {
        Factors factors = dropout_factors(drop, state, i, 0, group);
        for (size_t j = 4 * group; j < 4 * group + 4 && j < d; j++) {
            float gradient = all.at(real(dy[i * d + j]), real(sum[i * d + j]), gain[j]);
            if (dx)
                store_gradient(&dx[i * d + j], add_x, gradient);
            if (df)
                store_gradient(&df[i * d + j], add_f, gradient * factors.of[j % 4]);
        }
    }
}

static void add_forward(Stream *s, void *y, const void *x, const void *f, Dropout drop, const StepState *state,
                        size_t n, size_t d)
{
    LAUNCH_EACH(s, add_kernel, n * divide_up(d, 4), (Number *)y, (const Number *)x, (const Number *)f, chance_of(drop),
                state, n, d);
}

static void add_backward(Stream *s, void *dx, bool add_x, void *df, bool add_f, const void *dy, Dropout drop,
                         const StepState *state, size_t n, size_t d)
{
    LAUNCH_EACH(s, add_backward_kernel, n * divide_up(d, 4), (Number *)dx, add_x, (Number *)df, add_f,
                (const Number *)dy, chance_of(drop), state, n, d);
}

static void add_norm_forward(Stream *s, void *y, void *sum, void *mean, void *rstd, const void *x, const void *f,
                             Dropout drop, const StepState *state, const void *gain, const void *bias, double epsilon,
                             size_t n, size_t d)
{
    if (s->naive) {
        add_forward(s, sum, x, f, drop, state, n, d);
        norm_forward(s, y, mean, rstd, sum, gain, bias, epsilon, n, d);
        return;
    }
    LAUNCH_ROWS(s, add_norm_kernel, n, (Number *)y, (Number *)sum, (float *)mean, (float *)rstd, (const Number *)x,
                (const Number *)f, chance_of(drop), state, (const float *)gain, (const float *)bias, (float)epsilon, n,
                d);
}

static void add_norm_backward(Stream *s, void *dx, bool add_x, void *df, bool add_f, void *dgain, void *dbias,
                              const void *dy, const void *sum, const void *mean, const void *rstd, Dropout drop,
                              const StepState *state, const void *gain, size_t n, size_t d)
{
    if (dx || df)
        LAUNCH_ROWS(s, add_norm_backward_kernel, n, (Number *)dx, add_x, (Number *)df, add_f, (const Number *)dy,
                    (const Number *)sum, (const float *)mean, (const float *)rstd, chance_of(drop), state,
                    (const float *)gain, n, d);
    norm_parameters(s, (float *)dgain, (float *)dbias, (const Number *)dy, (const float *)mean, (const float *)rstd,
                    (const Number *)sum, n, d);
}
