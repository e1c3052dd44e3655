/* The residual connection, with dropout on what a layer adds, alone or followed by layer normalisation.
 *
 *     sum = x + dropout(f)        y = norm(sum)
 *
 * Backward: the gradient of the sum goes to x as it is, and to f through the mask. */

static void add_forward(Stream *s, void *y_, const void *x_, const void *f_, Dropout drop, const StepState *state,
                        size_t n, size_t d)
{
    (void)s;
    const Number *x = x_, *f = f_;
    Number *y = y_;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) {
            Real dropped = real(f[i * d + j]) * (Real)dropout_factor(drop, state, i, 0, j);
            y[i * d + j] = number((x ? real(x[i * d + j]) : 0) + dropped);
        }
}

static void add_backward(Stream *s, void *dx_, bool add_x, void *df_, bool add_f, const void *dy_, Dropout drop,
                         const StepState *state, size_t n, size_t d)
{
    (void)s;
    const Number *dy = dy_;
    Number *dx = dx_, *df = df_;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) {
            Real gradient = real(dy[i * d + j]);
            if (dx)
                store_gradient(&dx[i * d + j], add_x, gradient);
            if (df)
                store_gradient(&df[i * d + j], add_f, gradient * (Real)dropout_factor(drop, state, i, 0, j));
        }
}

static void add_norm_forward(Stream *s, void *y, void *sum, void *mean, void *rstd, const void *x, const void *f,
                             Dropout drop, const StepState *state, const void *gain, const void *bias, double epsilon,
                             size_t n, size_t d)
{
    add_forward(s, sum, x, f, drop, state, n, d);
    norm_forward(s, y, mean, rstd, sum, gain, bias, epsilon, n, d);
}

static void add_norm_backward(Stream *s, void *dx_, bool add_x, void *df_, bool add_f, void *dgain, void *dbias,
                              const void *dy_, const void *sum_, const void *mean_, const void *rstd_, Dropout drop,
                              const StepState *state, const void *gain_, size_t n, size_t d)
{
    (void)s;
    const Number *dy = dy_, *sum = sum_;
    const Real *mean = mean_, *rstd = rstd_, *gain = gain_;
    Number *dx = dx_, *df = df_;

    for (size_t i = 0; i < n; i++, sum += d, dy += d) {
        NormGradient all = norm_gradient(dgain, dbias, dy, sum, gain, mean, rstd, i, d);
        for (size_t j = 0; j < d; j++) {
            Real gradient = norm_gradient_at(all, real(dy[j]), real(sum[j]), gain[j]);
            if (dx)
                store_gradient(&dx[i * d + j], add_x, gradient);
            if (df)
                store_gradient(&df[i * d + j], add_f, gradient * (Real)dropout_factor(drop, state, i, 0, j));
        }
    }
}
