/* Softmax and cross-entropy in one operation. See kernels/plain/cross_entropy.c for the formulas.
 *
 * The ladder:
 *   1. cross_entropy_naive: a thread for each position. Neighbours in a warp read V numbers apart, so each read takes a
 *      line of memory for one number.
 *   2. (cross_entropy_kernel) a warp for each position: lanes read side by side. Logits are read twice forward, the
 *      second time from the cache as far as a row fits it, and once backward; softmax is never stored.
 *
 * The sums over positions are taken by one block afterwards, in a fixed order and in double, because atomics would add
 * in any. */

/* What is saved of each position. */
typedef struct Losses {
    float *losses;
    double *nll;
    float *lse;
} Losses;

/* Everything is relative to the largest logit, so that small losses of large logits keep their digits. */
static __device__ void put_loss(const Losses &to, size_t i, float wanted, float largest, float sum, float mean,
                                float smoothing)
{
    float loss = logf(sum) - (1 - smoothing) * (wanted - largest);
    if (smoothing > 0) /* else a class ruled out by -infinity would count 0 times infinity */
        loss -= smoothing * mean;
    to.losses[i] = loss;
    to.lse[i] = logf(sum) + largest;
    to.nll[i] = (double)(logf(sum) - (wanted - largest));
}

static __device__ void put_no_loss(const Losses &to, size_t i) { to.losses[i] = to.lse[i] = 0, to.nll[i] = 0; }

static __global__ void cross_entropy_naive(Losses to, const float *logits, const int32_t *targets, float smoothing,
                                           size_t n, size_t v)
{
    for (size_t i = thread_number(); i < n; i += thread_count()) {
        const float *z = logits + i * v;
        float largest = -INFINITY, sum = 0, mean = 0;
        if (targets[i] < 0) {
            put_no_loss(to, i);
            continue;
        }
        for (size_t j = 0; j < v; j++)
            largest = z[j] > largest ? z[j] : largest;
        for (size_t j = 0; j < v; j++) {
            sum += expf(z[j] - largest);
            mean += (z[j] - largest) / (float)v;
        }
        put_loss(to, i, z[targets[i]], largest, sum, mean, smoothing);
    }
}

static __global__ void cross_entropy_kernel(Losses to, const float *logits, const int32_t *targets, float smoothing,
                                            size_t n, size_t v)
{
    size_t i = warp_row();
    if (i >= n)
        return;
    const float *z = logits + i * v;
    if (targets[i] < 0) { /* all lanes */
        if (lane() == 0)
            put_no_loss(to, i);
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
    if (lane() == 0)
        put_loss(to, i, z[targets[i]], largest, sum, mean, smoothing);
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
        store_gradient(&dz[t], add, targets[i] < 0 ? 0 : (expf(z[t] - lse[i]) - wanted) * scale);
    }
}

static void cross_entropy_forward(Stream *s, void *losses, void *lse, StepState *state, size_t which,
                                  const void *logits, const int32_t *targets, double smoothing, size_t n, size_t v)
{
    double *nll = (double *)scratch(s, n * sizeof *nll);
    Losses to = {(float *)losses, nll, (float *)lse};
    if (s->naive)
        LAUNCH_EACH(s, cross_entropy_naive, n, to, (const float *)logits, targets, (float)smoothing, n, v);
    else
        LAUNCH_ROWS(s, cross_entropy_kernel, n, to, (const float *)logits, targets, (float)smoothing, n, v);
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

/* One block, whose sum is in a fixed order. */
static __global__ void z_loss_kernel(float *losses, StepState *state, size_t which, const float *lse, float z, size_t n)
{
    double sum = 0;
    for (size_t i = threadIdx.x; i < n; i += BLOCK) {
        const float more = z * lse[i] * lse[i];
        losses[i] += more;
        sum += (double)more;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        state->loss[which].sum += sum;
}

static __global__ void z_loss_backward_kernel(Number *dx, bool add, const StepState *state, size_t which,
                                              const float *lse, const float *x, double z, size_t n, size_t v)
{
    const float twice = (float)(2 * z * state->loss[which].scale);
    for (size_t t = thread_number(); t < n * v; t += thread_count()) {
        const float total = lse[t / v];
        store_gradient(&dx[t], add, total == 0 ? 0 : twice * total * expf(x[t] - total));
    }
}

static void z_loss_forward(Stream *s, void *losses, StepState *state, size_t which, const void *lse, double z, size_t n)
{
    if (n > 0)
        LAUNCH(s, z_loss_kernel, 1, BLOCK, (float *)losses, state, which, (const float *)lse, (float)z, n);
}

static void z_loss_backward(Stream *s, void *dlogits, bool add, const StepState *state, size_t which, const void *lse,
                            const void *logits, double z, size_t n, size_t v)
{
    LAUNCH_EACH(s, z_loss_backward_kernel, n * v, (Number *)dlogits, add, state, which, (const float *)lse,
                (const float *)logits, z, n, v);
}
