/* A mixture of experts. See kernels/plain/experts.c.
 *
 * How many slots an expert has is known on the device alone, so products are launched for all slots, and a thread looks up
 * whose its slot is. Sums are in order. */

static __device__ bool is_chosen(const int32_t *chosen, size_t count, size_t e)
{
    bool found = false;
    for (size_t j = 0; j < count; j++)
        found = found || (size_t)chosen[j] == e;
    return found;
}

static __device__ float log_total(const float *scores, const int32_t *chosen, size_t count)
{
    float largest = -INFINITY, sum = 0;
    for (size_t j = 0; j < count; j++) {
        float x = scores[chosen ? (size_t)chosen[j] : j];
        largest = x > largest ? x : largest;
    }
    for (size_t j = 0; j < count; j++)
        sum += expf(scores[chosen ? (size_t)chosen[j] : j] - largest);
    return largest + logf(sum);
}

/* A thread has one position. */
static __global__ void choose_kernel(Number *weights, int32_t *expert, const float *scores, size_t n, size_t experts,
                                     size_t k)
{
    for (size_t i = thread_number(); i < n; i += thread_count()) {
        const float *z = scores + i * experts;
        int32_t *chosen = expert + i * k;
        for (size_t j = 0; j < k; j++) {
            size_t best = experts, at = j;
            for (size_t e = 0; e < experts; e++)
                if (!is_chosen(chosen, j, e) && (best == experts || above(z[e], z[best])))
                    best = e;
            for (; at > 0 && (size_t)chosen[at - 1] > best; at--)
                chosen[at] = chosen[at - 1];
            chosen[at] = (int32_t)best;
        }
        float total = k == 1 ? log_total(z, NULL, experts) : log_total(z, chosen, k);
        for (size_t j = 0; j < k; j++)
            weights[i * k + j] = number(expf(z[chosen[j]] - total));
    }
}

/* One block; a thread has one expert, counts its choices, and then numbers them. */
static __global__ void slots_kernel(int32_t *slot, int32_t *from, int32_t *start, const int32_t *expert, size_t choices,
                                    size_t experts, size_t k)
{
    for (size_t e = threadIdx.x; e < experts; e += blockDim.x) {
        int32_t count = 0;
        for (size_t c = 0; c < choices; c++)
            count += (size_t)expert[c] == e;
        start[e + 1] = count;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        start[0] = 0;
        for (size_t e = 0; e < experts; e++)
            start[e + 1] += start[e];
    }
    __syncthreads();
    for (size_t e = threadIdx.x; e < experts; e += blockDim.x) {
        int32_t next = start[e];
        for (size_t c = 0; c < choices; c++)
            if ((size_t)expert[c] == e) {
                from[next] = (int32_t)(c / k);
                slot[c] = next++;
            }
    }
}

static __global__ void route_backward_kernel(Number *dscores, bool add, const Number *dweights, const int32_t *expert,
                                             const float *scores, size_t n, size_t experts, size_t k)
{
    for (size_t i = thread_number(); i < n; i += thread_count()) {
        const float *z = scores + i * experts;
        const int32_t *chosen = expert + i * k;
        float total = k == 1 ? log_total(z, NULL, experts) : log_total(z, chosen, k), sum = 0;
        for (size_t j = 0; j < k; j++)
            sum += expf(z[chosen[j]] - total) * real(dweights[i * k + j]);
        for (size_t e = 0; e < experts; e++) {
            float d = k == 1 ? -expf(z[e] - total) * sum : 0;
            for (size_t j = 0; j < k; j++)
                if ((size_t)chosen[j] == e)
                    d += k == 1 ? sum : expf(z[e] - total) * (real(dweights[i * k + j]) - sum);
            store_gradient(&dscores[i * experts + e], add, d);
        }
    }
}

static void route_forward(Stream *s, void *weights, int32_t *expert, int32_t *slot, int32_t *from, int32_t *start,
                          const void *scores, size_t n, size_t experts, size_t k)
{
    LAUNCH_EACH(s, choose_kernel, n, (Number *)weights, expert, (const float *)scores, n, experts, k);
    LAUNCH(s, slots_kernel, 1, threads_for(experts), slot, from, start, expert, n * k, experts, k);
}

static void route_backward(Stream *s, void *dscores, bool add, const void *dweights, const int32_t *expert,
                           const void *scores, size_t n, size_t experts, size_t k)
{
    LAUNCH_EACH(s, route_backward_kernel, n, (Number *)dscores, add, (const Number *)dweights, expert,
                (const float *)scores, n, experts, k);
}

/* What runs of numbers contain position i: start[r] <= i < start[r + 1]; `count` where none of them does. */
static __device__ size_t run_with(const int32_t *start, size_t count, size_t i)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((size_t)start[middle + 1] <= i)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && (size_t)start[low] <= i ? low : count;
}

static __global__ void experts_kernel(Number *y, const Number *x, const Number *w, const int32_t *start, size_t m,
                                      size_t in, size_t out, size_t experts)
{
    for (size_t t = thread_number(); t < m * out; t += thread_count()) {
        size_t i = t / out, e = run_with(start, experts, i);
        const Number *row = w + (e * out + t % out) * in;
        float sum = 0;
        for (size_t from = 0; from < in; from += DEPTH) {
            float part = 0;
            for (size_t j = from; j < from + DEPTH && j < in; j++)
                part += real(x[i * in + j]) * real(row[j]);
            sum += part;
        }
        y[t] = number(sum);
    }
}

static __global__ void experts_input_kernel(Number *dx, bool add, const Number *dy, const Number *w,
                                            const int32_t *start, size_t m, size_t in, size_t out, size_t experts)
{
    for (size_t t = thread_number(); t < m * in; t += thread_count()) {
        size_t i = t / in, e = run_with(start, experts, i);
        const Number *column = w + e * out * in + t % in;
        float sum = 0;
        for (size_t from = 0; from < out; from += DEPTH) {
            float part = 0;
            for (size_t o = from; o < from + DEPTH && o < out; o++)
                part += real(dy[i * out + o]) * real(column[o * in]);
            sum += part;
        }
        store_gradient(&dx[t], add, sum);
    }
}

static __global__ void experts_weight_kernel(float *dw, const Number *dy, const Number *x, const int32_t *start,
                                             size_t in, size_t out, size_t experts)
{
    for (size_t t = thread_number(); t < experts * out * in; t += thread_count()) {
        size_t e = t / (out * in), o = t / in % out, j = t % in, end = (size_t)start[e + 1];
        float sum = 0;
        for (size_t from = (size_t)start[e]; from < end; from += DEPTH) {
            float part = 0;
            for (size_t i = from; i < from + DEPTH && i < end; i++)
                part += real(dy[i * out + o]) * real(x[i * in + j]);
            sum += part;
        }
        dw[t] += sum;
    }
}

static void experts_forward(Stream *s, void *y, const void *x, const void *w, const int32_t *start, size_t m, size_t in,
                            size_t out, size_t experts)
{
    LAUNCH_EACH(s, experts_kernel, m * out, (Number *)y, (const Number *)x, (const Number *)w, start, m, in, out,
                experts);
}

static void experts_backward(Stream *s, void *dx, bool add, void *dw, void *dy, const void *x, const void *w,
                             const int32_t *start, size_t m, size_t in, size_t out, size_t experts)
{
    if (dx)
        LAUNCH_EACH(s, experts_input_kernel, m * in, (Number *)dx, add, (const Number *)dy, (const Number *)w, start, m,
                    in, out, experts);
    if (dw)
        LAUNCH_EACH(s, experts_weight_kernel, experts * out * in, (float *)dw, (const Number *)dy, (const Number *)x,
                    start, in, out, experts);
}

static __global__ void load_kernel(float *factors, const int32_t *expert, double a, const int32_t *start, size_t b,
                                   size_t experts, size_t k)
{
    for (size_t t = thread_number(); t < b * experts; t += thread_count()) {
        size_t first = (size_t)start[t / experts], end = (size_t)start[t / experts + 1], count = 0;
        for (size_t c = first * k; c < end * k; c++)
            count += (size_t)expert[c] == t % experts;
        factors[t] = end > first ? (float)(a * (double)(experts * count) / (double)(k * (end - first))) : 0;
    }
}

/* Of one position: the factors of its row times the shares of experts. */
static __device__ float load_of(const float *factors, const float *z, float total, size_t experts)
{
    float sum = 0;
    for (size_t e = 0; e < experts; e++)
        sum += factors[e] * expf(z[e] - total);
    return sum;
}

/* One block, whose sum is in a fixed order. */
static __global__ void load_loss_kernel(float *losses, const float *factors, StepState *state, size_t which,
                                        const float *scores, const int32_t *start, size_t b, size_t n, size_t experts)
{
    double sum = 0;
    for (size_t i = threadIdx.x; i < n; i += BLOCK) {
        size_t r = run_with(start, b, i);
        const float *z = scores + i * experts;
        losses[i] = r < b ? load_of(factors + r * experts, z, log_total(z, NULL, experts), experts) : 0;
        sum += (double)losses[i];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        state->loss[which].sum += sum;
}

static __global__ void load_loss_backward_kernel(Number *dscores, bool add, const StepState *state, size_t which,
                                                 const float *factors, const float *scores, const int32_t *start,
                                                 size_t b, size_t n, size_t experts)
{
    float scale = (float)state->loss[which].scale;
    for (size_t i = thread_number(); i < n; i += thread_count()) {
        size_t r = run_with(start, b, i);
        const float *z = scores + i * experts, *f = factors + r * experts;
        float total = log_total(z, NULL, experts), mean = r < b ? load_of(f, z, total, experts) : 0;
        for (size_t e = 0; e < experts; e++)
            store_gradient(&dscores[i * experts + e], add, r < b ? scale * expf(z[e] - total) * (f[e] - mean) : 0);
    }
}

static void load_loss_forward(Stream *s, void *losses, void *factors, StepState *state, size_t which,
                              const void *scores, const int32_t *expert, double a, const int32_t *start, size_t b,
                              size_t n, size_t experts, size_t k)
{
    LAUNCH_EACH(s, load_kernel, b * experts, (float *)factors, expert, a, start, b, experts, k);
    if (n > 0)
        LAUNCH(s, load_loss_kernel, 1, BLOCK, (float *)losses, (const float *)factors, state, which,
               (const float *)scores, start, b, n, experts);
}

static void load_loss_backward(Stream *s, void *dscores, bool add, const StepState *state, size_t which,
                               const void *factors, const void *scores, const int32_t *start, size_t b, size_t n,
                               size_t experts)
{
    LAUNCH_EACH(s, load_loss_backward_kernel, n, (Number *)dscores, add, state, which, (const float *)factors,
                (const float *)scores, start, b, n, experts);
}
