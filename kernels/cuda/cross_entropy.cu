/* Softmax and cross-entropy in one operation. See kernels/plain/cross_entropy.c for the formulas.
 *
 * A warp for each position; the logits are read twice forward and once backward, and softmax is never stored. The sums
 * over positions are taken by one block afterwards, in a fixed order and in double, since atomics would add in any. */

static __global__ void cross_entropy_kernel(float *losses, double *nll, float *lse, const float *logits,
                                            const int32_t *targets, float smoothing, size_t n, size_t v)
{
    size_t i = warp_row();
    if (i >= n)
        return;
    const float *z = logits + i * v;
    if (targets[i] < 0) { /* all lanes */
        if (lane() == 0)
            losses[i] = lse[i] = 0, nll[i] = 0;
        return;
    }
    float largest = -INFINITY, sum = 0, mean = 0;
    for (size_t j = lane(); j < v; j += LANES)
        largest = z[j] > largest ? z[j] : largest;
    largest = warp_max(largest);
    for (size_t j = lane(); j < v; j += LANES) {
        sum += expf(z[j] - largest);
        mean += (z[j] - largest) / (float)v;
    }
    sum = warp_sum(sum);
    mean = warp_sum(mean);
    if (lane() > 0)
        return;
    /* everything is relative to the largest logit, so that small losses of large logits keep their digits */
    float wanted = z[targets[i]] - largest, loss = logf(sum) - (1 - smoothing) * wanted;
    if (smoothing > 0) /* else a class ruled out by -infinity would count 0 times infinity */
        loss -= smoothing * mean;
    losses[i] = loss;
    lse[i] = logf(sum) + largest;
    nll[i] = (double)(logf(sum) - wanted);
}

static __global__ void loss_sums_kernel(StepState *state, size_t which, const float *losses, const double *nll,
                                        const int32_t *targets, size_t n)
{
    double sum = 0, plain = 0, count = 0;
    for (size_t i = threadIdx.x; i < n; i += BLOCK)
        if (targets[i] >= 0) {
            sum += (double)losses[i];
            plain += nll[i];
            count += 1;
        }
    sum = block_sum(sum);
    plain = block_sum(plain);
    count = block_sum(count);
    if (threadIdx.x == 0) {
        state->loss[which].sum += sum;
        state->loss[which].nll += plain;
        state->loss[which].count += count;
    }
}

static __global__ void cross_entropy_backward_kernel(Number *dz, bool add, const StepState *state, size_t which,
                                                     const float *lse, const float *z, const int32_t *targets,
                                                     float smoothing, size_t n, size_t v)
{
    float scale = (float)state->loss[which].scale, spread = smoothing / (float)v;
    for (size_t t = thread_number(); t < n * v; t += thread_count()) {
        size_t i = t / v, j = t % v;
        float wanted = spread + (j == (size_t)targets[i] ? 1 - smoothing : 0);
        give(&dz[t], add, targets[i] < 0 ? 0 : (expf(z[t] - lse[i]) - wanted) * scale);
    }
}

static void cross_entropy_forward(Stream *s, void *losses, void *lse, StepState *state, size_t which,
                                  const void *logits, const int32_t *targets, double smoothing, size_t n, size_t v)
{
    double *nll = (double *)scratch(s, n * sizeof *nll);
    LAUNCH_ROWS(s, cross_entropy_kernel, n, (float *)losses, nll, (float *)lse, (const float *)logits, targets,
                (float)smoothing, n, v);
    if (n > 0)
        LAUNCH(s, loss_sums_kernel, 1, BLOCK, state, which, (const float *)losses, nll, targets, n);
}

static void cross_entropy_backward(Stream *s, void *dlogits, bool add, const StepState *state, size_t which,
                                   const void *lse, const void *logits, const int32_t *targets, double smoothing,
                                   size_t n, size_t v)
{
    LAUNCH_EACH(s, cross_entropy_backward_kernel, n * v, (Number *)dlogits, add, state, which, (const float *)lse,
                (const float *)logits, targets, (float)smoothing, n, v);
}
