/* What Muon does with a matrix beside its products: a thread for each weight. See kernels/plain/muon.c for the formulas. */

static __global__ void momentum_kernel(float *m, float *g, const StepState *state, float keep, size_t n)
{
    const float clip = (float)state->clip;
    if (!state->finite)
        return;
    for (size_t i = thread_number(); i < n; i += thread_count()) {
        const float now = g[i] * clip;
        m[i] += (1 - keep) * (now - m[i]);
        g[i] = now + keep * (m[i] - now);
    }
}

static __global__ void unit_kernel(Number *x, const float *g, const double *parts, size_t count, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += parts[i];
    for (size_t i = thread_number(); i < n; i += thread_count())
        x[i] = number(sum > 0 ? (float)(g[i] / sqrt(sum)) : 0);
}

static __global__ void descend_kernel(float *w, Number *copy, const Number *x, const StepState *state, double scale,
                                      double decay, size_t n)
{
    const float rate = (float)(state->learning_rate * scale), shrink = (float)(state->learning_rate * decay);
    if (!state->finite)
        return;
    for (size_t i = thread_number(); i < n; i += thread_count()) {
        w[i] -= rate * real(x[i]) + shrink * w[i];
        if (copy)
            copy[i] = number(w[i]);
    }
}

static void momentum(Stream *s, void *m, void *g, const StepState *state, double keep, size_t n)
{
    LAUNCH_EACH(s, momentum_kernel, n, (float *)m, (float *)g, state, (float)keep, n);
}

static void unit(Stream *s, void *x, const void *g, const double *parts, size_t count, size_t n)
{
    LAUNCH_EACH(s, unit_kernel, n, (Number *)x, (const float *)g, parts, count, n);
}

static void descend(Stream *s, void *w, void *copy, const void *x, const StepState *state, double scale, double decay,
                    size_t n)
{
    LAUNCH_EACH(s, descend_kernel, n, (float *)w, (Number *)copy, (const Number *)x, state, scale, decay, n);
}
