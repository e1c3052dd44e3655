/* Two passes compared: forward a warp for each position, backward a thread for each logit. See kernels/plain/agreement.c. */

static __device__ float warp_log_total(const float *z, size_t v)
{
    float largest = -INFINITY, sum = 0;
    for (size_t j = lane(); j < v; j += LANES)
        largest = z[j] > largest ? z[j] : largest;
    largest = warp_max(largest);
    for (size_t j = lane(); j < v; j += LANES)
        sum += expf(z[j] - largest);
    return logf(warp_sum(sum)) + largest;
}

static __global__ void agreement_kernel(float *losses, float *saved, const float *x, const float *z,
                                        const int32_t *targets, float c, size_t n, size_t v)
{
    size_t i = warp_row();
    if (i >= n)
        return;
    float lse_x = 0, lse_z = 0, a = 0, b = 0;
    if (targets[i] >= 0) { /* all lanes */
        x += i * v, z += i * v;
        lse_x = warp_log_total(x, v);
        lse_z = warp_log_total(z, v);
        for (size_t j = lane(); j < v; j += LANES) {
            a += expf(x[j] - lse_x) * (x[j] - z[j]);
            b += expf(z[j] - lse_z) * (x[j] - z[j]);
        }
        a = warp_sum(a);
        b = warp_sum(b);
    }
    if (lane() == 0) {
        saved[i * 4] = lse_x, saved[i * 4 + 1] = lse_z, saved[i * 4 + 2] = a, saved[i * 4 + 3] = b;
        losses[i] = c / 2 * (a - b);
    }
}

/* One block, whose sum is in a fixed order. */
static __global__ void losses_sum_kernel(StepState *state, size_t which, const float *losses, size_t n)
{
    double sum = 0;
    for (size_t i = threadIdx.x; i < n; i += BLOCK)
        sum += (double)losses[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        state->loss[which].sum += sum;
}

static __global__ void agreement_backward_kernel(Number *dx, bool add_x, Number *dz, bool add_z, const StepState *state,
                                                 size_t which, const float *saved, const float *x, const float *z,
                                                 const int32_t *targets, double c, size_t n, size_t v)
{
    float factor = (float)(c / 2 * state->loss[which].scale);
    for (size_t t = thread_number(); t < n * v; t += thread_count()) {
        const float *of = saved + t / v * 4, p = expf(x[t] - of[0]), q = expf(z[t] - of[1]), apart = x[t] - z[t];
        bool scored = targets[t / v] >= 0;
        store_gradient(&dx[t], add_x, scored ? factor * (p * (apart - of[2]) + p - q) : 0);
        store_gradient(&dz[t], add_z, scored ? factor * (q * (of[3] - apart) + q - p) : 0);
    }
}

static void agreement_forward(Stream *s, void *losses, void *saved, StepState *state, size_t which, const void *x,
                              const void *z, const int32_t *targets, double c, size_t n, size_t v)
{
    LAUNCH_ROWS(s, agreement_kernel, n, (float *)losses, (float *)saved, (const float *)x, (const float *)z, targets,
                (float)c, n, v);
    if (n > 0)
        LAUNCH(s, losses_sum_kernel, 1, BLOCK, state, which, (const float *)losses, n);
}

static void agreement_backward(Stream *s, void *dx, bool add_x, void *dz, bool add_z, const StepState *state,
                               size_t which, const void *saved, const void *x, const void *z, const int32_t *targets,
                               double c, size_t n, size_t v)
{
    LAUNCH_EACH(s, agreement_backward_kernel, n * v, (Number *)dx, add_x, (Number *)dz, add_z, state, which,
                (const float *)saved, (const float *)x, (const float *)z, targets, c, n, v);
}
