/* Softmax and cross-entropy, a vector of logits at a time. See kernels/plain/cross_entropy.c. */

static float largest_of(const float *z, size_t v)
{
    Vec largest = vec_set(-INFINITY);
    size_t j = 0;
    for (; j + WIDTH <= v; j += WIDTH)
        largest = vec_max(vec_load(z + j), largest);
    if (j < v)
        largest = vec_max(vec_select(vec_first(v - j), load_real(z + j, v - j), largest), largest);
    return vec_largest(largest);
}

static void cross_entropy_forward(Stream *s, void *losses_, void *lse_, StepState *state, size_t which,
                                  const void *logits, const int32_t *targets, double smoothing, size_t n, size_t v)
{
    (void)s;
    const float *z = logits;
    float *losses = losses_, *lse = lse_;

    for (size_t i = 0; i < n; i++, z += v) {
        losses[i] = lse[i] = 0;
        if (targets[i] < 0)
            continue;
        float largest = largest_of(z, v);
        Vec sum = {0}, mean = {0};
        for (size_t j = 0; j < v; j += WIDTH) {
            Vec over = load_real(z + j, v - j) - largest, power = vec_exp(over);
            if (v - j < WIDTH) {
                power = vec_select(vec_first(v - j), power, vec_set(0));
                over = vec_select(vec_first(v - j), over, vec_set(0));
            }
            sum += power;
            mean += over;
        }
        float log_sum = logf(vec_sum(sum)), e = (float)smoothing, wanted = z[targets[i]] - largest;
        losses[i] = log_sum - (1 - e) * wanted;
        if (e > 0)
            losses[i] -= e * vec_sum(mean) / (float)v;
        lse[i] = log_sum + largest;
        state->loss[which].sum += (double)losses[i];
        state->loss[which].nll += (double)(log_sum - wanted);
        state->loss[which].count += 1;
    }
}

static void cross_entropy_backward(Stream *s, void *dlogits, bool add, const StepState *state, size_t which,
                                   const void *lse_, const void *logits, const int32_t *targets, double smoothing,
                                   size_t n, size_t v)
{
    (void)s;
    const float *z = logits, *lse = lse_;
    Number *dz = dlogits;
    float scale = (float)state->loss[which].scale, spread = (float)(smoothing / (double)v);

    for (size_t i = 0; i < n; i++, z += v, dz += v) {
        if (targets[i] < 0) {
            if (!add)
                memset(dz, 0, v * sizeof *dz);
            continue;
        }
        for (size_t j = 0; j < v; j += WIDTH) {
            Vec share = vec_exp(load_real(z + j, v - j) - lse[i]) - spread;
            size_t target = (size_t)targets[i];
            if (target >= j && target < j + WIDTH)
                share[target - j] -= 1 - (float)smoothing;
            store_gradient(dz + j, add, share * scale, v - j);
        }
    }
}

static void z_loss_backward(Stream *s, void *dlogits, bool add, const StepState *state, size_t which, const void *lse_,
                            const void *logits, double z, size_t n, size_t v)
{
    (void)s;
    const float *x = logits, *lse = lse_;
    Number *dx = dlogits;
    for (size_t i = 0; i < n; i++, x += v, dx += v) {
        const float slope = (float)(2 * z * state->loss[which].scale) * lse[i];
        if (lse[i] == 0 && !add)
            memset(dx, 0, v * sizeof *dx);
        for (size_t j = 0; lse[i] != 0 && j < v; j += WIDTH)
            store_gradient(dx + j, add, vec_exp(load_real(x + j, v - j) - lse[i]) * slope, v - j);
    }
}
