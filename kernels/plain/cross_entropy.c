/* Softmax and cross-entropy in one operation, in nats.
 *
 *     loss = lse - (1 - e) z[target] - e mean(z)       lse = log sum exp z, e the label smoothing
 *     nll  = lse - z[target]                           what it would be without
 *     dz   = (softmax(z) - (1 - e) [target] - e / V) * scale
 *
 * A negative target is ignored: no loss, no gradient, not counted.
 *
 * The z loss is a loss of its own on the same logits:
 *
 *     loss = c lse^2       dz = 2 c lse softmax(z) * scale            c its coefficient */

static void cross_entropy_forward(Stream *s, void *losses_, void *lse_, StepState *state, size_t which,
                                  const void *logits, const int32_t *targets, double smoothing, size_t n, size_t v)
{
    (void)s;
    const Real *z = logits;
    Real *losses = losses_, *lse = lse_;

    for (size_t i = 0; i < n; i++, z += v) {
        losses[i] = lse[i] = 0;
        if (targets[i] < 0)
            continue;
        Real largest = z[0], sum = 0, mean = 0;
        for (size_t j = 1; j < v; j++)
            largest = z[j] > largest ? z[j] : largest;
        for (size_t j = 0; j < v; j++) {
            sum += real_exp(z[j] - largest);
            mean += (z[j] - largest) / (Real)v;
        }
        /* everything is relative to the largest logit, so that small losses of large logits keep their digits */
        Real wanted = z[targets[i]] - largest;
        losses[i] = real_log(sum) - (1 - (Real)smoothing) * wanted;
        if (smoothing > 0) /* else a class ruled out by -infinity would count 0 times infinity */
            losses[i] -= (Real)smoothing * mean;
        lse[i] = real_log(sum) + largest;
        state->loss[which].sum += (double)losses[i];
        state->loss[which].nll += (double)(real_log(sum) - wanted);
        state->loss[which].count += 1;
    }
}

static void cross_entropy_backward(Stream *s, void *dlogits, bool add, const StepState *state, size_t which,
                                   const void *lse_, const void *logits, const int32_t *targets, double smoothing,
                                   size_t n, size_t v)
{
    (void)s;
    const Real *z = logits, *lse = lse_;
    Number *dz = dlogits;
    Real scale = (Real)state->loss[which].scale, spread = (Real)smoothing / (Real)v;

    for (size_t i = 0; i < n; i++, z += v, dz += v)
        for (size_t j = 0; j < v; j++) {
            Real wanted = spread + (j == (size_t)targets[i] ? 1 - (Real)smoothing : 0);
            store_gradient(&dz[j], add, targets[i] < 0 ? 0 : (real_exp(z[j] - lse[i]) - wanted) * scale);
        }
}

static void z_loss_forward(Stream *s, void *losses_, StepState *state, size_t which, const void *lse_, double z,
                           size_t n)
{
    (void)s;
    const Real *lse = lse_;
    Real *losses = losses_;
    for (size_t i = 0; i < n; i++) {
        const Real more = (Real)z * lse[i] * lse[i];
        losses[i] += more;
        state->loss[which].sum += (double)more;
    }
}

static void z_loss_backward(Stream *s, void *dlogits, bool add, const StepState *state, size_t which, const void *lse_,
                            const void *logits, double z, size_t n, size_t v)
{
    (void)s;
    const Real *x = logits, *lse = lse_;
    Number *dx = dlogits;
    for (size_t i = 0; i < n; i++, x += v, dx += v) {
        const Real slope = (Real)(2 * z * state->loss[which].scale) * lse[i];
        for (size_t j = 0; j < v; j++)
            store_gradient(&dx[j], add, lse[i] == 0 ? 0 : slope * real_exp(x[j] - lse[i]));
    }
}
