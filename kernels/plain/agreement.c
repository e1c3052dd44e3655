/* How far two passes of a network over the same positions, with other dropout, are apart (R-Drop, Liang et al. 2021). Of the
 * softmaxes p of logits x and q of z
 *
 *     loss = c/2 (KL(p, q) + KL(q, p)) = c/2 sum over classes of (p - q) (x - z)
 *
 * because what logits and their logarithms of shares differ by is the same for all classes, and p - q sums to 0.
 *
 *     dx = c/2 (p (x - z - a) + p - q)        a = sum of p (x - z)
 *     dz = c/2 (q (b - x + z) + q - p)        b = sum of q (x - z)
 *
 * Saved of each position: lse of x and of z, a and b. */

static void agreement_forward(Stream *s, void *losses_, void *saved_, StepState *state, size_t which, const void *x_,
                              const void *z_, const int32_t *targets, double c, size_t n, size_t v)
{
    (void)s;
    const Real *x = x_, *z = z_;
    Real *losses = losses_, *saved = saved_;
    for (size_t i = 0; i < n; i++, x += v, z += v, saved += 4) {
        losses[i] = saved[0] = saved[1] = saved[2] = saved[3] = 0;
        if (targets[i] < 0)
            continue;
        saved[0] = log_total(x, NULL, v);
        saved[1] = log_total(z, NULL, v);
        for (size_t j = 0; j < v; j++) {
            saved[2] += real_exp(x[j] - saved[0]) * (x[j] - z[j]);
            saved[3] += real_exp(z[j] - saved[1]) * (x[j] - z[j]);
        }
        losses[i] = (Real)(c / 2) * (saved[2] - saved[3]);
        state->loss[which].sum += (double)losses[i];
    }
}

static void agreement_backward(Stream *s, void *dx_, bool add_x, void *dz_, bool add_z, const StepState *state,
                               size_t which, const void *saved_, const void *x_, const void *z_, const int32_t *targets,
                               double c, size_t n, size_t v)
{
    (void)s;
    const Real *x = x_, *z = z_, *saved = saved_, factor = (Real)(c / 2 * state->loss[which].scale);
    Number *dx = dx_, *dz = dz_;
    for (size_t i = 0; i < n; i++, saved += 4)
        for (size_t j = 0; j < v; j++) {
            const size_t at = i * v + j;
            const Real p = real_exp(x[at] - saved[0]), q = real_exp(z[at] - saved[1]), apart = x[at] - z[at];
            store_gradient(&dx[at], add_x, targets[i] < 0 ? 0 : factor * (p * (apart - saved[2]) + p - q));
            store_gradient(&dz[at], add_z, targets[i] < 0 ? 0 : factor * (q * (saved[3] - apart) + q - p));
        }
}
