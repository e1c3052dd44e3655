/* Residual connection and dropout, alone or with layer normalisation in the same pass. See kernels/plain/add.c. */

static void add_forward(Stream *s, void *y_, const void *x_, const void *f_, Dropout drop, const StepState *state,
                        size_t n, size_t d)
{
    (void)s;
    const Number *x = x_, *f = f_;
    Number *y = y_;
    Factors factors = {.drop = drop, .state = state};

    for (size_t i = 0; i < n; i++) {
        factors.position = i;
        for (size_t j = 0; j < d; j += WIDTH) {
            Vec sum = load(f + i * d + j, d - j) * factors_at(&factors, j);
            store(y + i * d + j, x ? load(x + i * d + j, d - j) + sum : sum, d - j);
        }
    }
}

static void add_backward(Stream *s, void *dx_, bool add_x, void *df_, bool add_f, const void *dy_, Dropout drop,
                         const StepState *state, size_t n, size_t d)
{
    (void)s;
    const Number *dy = dy_;
    Number *dx = dx_, *df = df_;
    Factors factors = {.drop = drop, .state = state};

    for (size_t i = 0; i < n; i++) {
        factors.position = i;
        for (size_t j = 0; j < d; j += WIDTH) {
            Vec gradient = load(dy + i * d + j, d - j);
            if (dx)
                store_gradient(dx + i * d + j, add_x, gradient, d - j);
            if (df)
                store_gradient(df + i * d + j, add_f, gradient * factors_at(&factors, j), d - j);
        }
    }
}

static void add_norm_forward(Stream *s, void *y_, void *sum_, void *mean_, void *rstd_, const void *x, const void *f,
                             Dropout drop, const StepState *state, const void *gain, const void *bias, double epsilon,
                             size_t n, size_t d)
{
    Number *y = y_, *sum = sum_;
    float *mean = mean_, *rstd = rstd_;
    StepState here = drop.rate > 0 ? *state : (StepState){0};

    for (size_t i = 0; i < n; i++) { /* one position at a time, so that the sum is still in the first cache */
        const Number *x_i = (const Number *)x + i * d, *f_i = (const Number *)f + i * d;
        add_forward(s, sum + i * d, x_i, f_i, drop, &here, 1, d);
        norm_vector(y, mean, rstd, sum, gain, bias, epsilon, i, d);
        here.first_position[drop.side]++;
    }
}

static void add_norm_backward(Stream *s, void *dx_, bool add_x, void *df_, bool add_f, void *dgain, void *dbias,
                              const void *dy_, const void *sum_, const void *mean_, const void *rstd_, Dropout drop,
                              const StepState *state, const void *gain_, size_t n, size_t d)
{
    (void)s;
    const Number *dy = dy_, *sum = sum_;
    const float *mean = mean_, *rstd = rstd_, *gain = gain_;
    Number *dx = dx_, *df = df_;
    Factors factors = {.drop = drop, .state = state};

    for (size_t i = 0; i < n; i++, sum += d, dy += d) {
        NormSums all = norm_sums(dgain, dbias, dy, sum, gain, mean, rstd, i, d);
        factors.position = i;
        for (size_t j = 0; j < d; j += WIDTH) {
            size_t left = d - j;
            Vec gradient = norm_gradient(all, load(dy + j, left), load(sum + j, left), load_real(gain + j, left));
            if (dx)
                store_gradient(dx + i * d + j, add_x, gradient, left);
            if (df)
                store_gradient(df + i * d + j, add_f, gradient * factors_at(&factors, j), left);
        }
    }
}
