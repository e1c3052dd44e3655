/* What Muon (Jordan et al. 2024) does with a matrix beside its products, see core/train/muon.c:
 *
 *     m = momentum m + (1 - momentum) g        u = momentum m + (1 - momentum) g        (Nesterov's look ahead, over g)
 *     x = u / |u|
 *     w = w - lr (scale x + decay w)
 *
 * where g is multiplied by the factor that clips the whole gradient, as it is for Adam. */

static void momentum(Stream *s, void *m_, void *g_, const StepState *state, double keep_, size_t n)
{
    (void)s;
    const Real keep = (Real)keep_, clip = (Real)state->clip;
    Real *m = m_, *g = g_;
    for (size_t i = 0; state->finite && i < n; i++) {
        m[i] += (1 - keep) * (g[i] * clip - m[i]);
        g[i] = g[i] * clip + keep * (m[i] - g[i] * clip);
    }
}

static void unit(Stream *s, void *x_, const void *g_, const double *parts, size_t count, size_t n)
{
    (void)s;
    const Real *g = g_;
    Number *x = x_;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += parts[i];
    for (size_t i = 0; i < n; i++)
        x[i] = number(sum > 0 ? (Real)(g[i] / sqrt(sum)) : 0);
}

static void descend(Stream *s, void *w_, void *copy_, const void *x_, const StepState *state, double scale,
                    double decay, size_t n)
{
    (void)s;
    const Real rate = (Real)(state->learning_rate * scale), shrink = (Real)(state->learning_rate * decay);
    const Number *x = x_;
    Real *w = w_;
    Number *copy = copy_;
    for (size_t i = 0; state->finite && i < n; i++) {
        w[i] -= rate * real(x[i]) + shrink * w[i];
        if (copy)
            copy[i] = number(w[i]);
    }
}
