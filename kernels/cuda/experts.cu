/* A mixture of experts. See kernels/plain/experts.c.
 *
 * How many slots an expert has is known on the device alone, so products are launched for all slots, and a thread looks up
 * whose its slot is. Sums are in order.
 *
 * The ladder of products:
 *   1. experts_naive and those after it: a thread for each number of the result. Neighbours in a warp read rows of a
 *      weight that are far apart, and nothing that is read is shared.
 *   2. experts_tiled, experts_weight_tiled: the tiles of matmul.cu. Each expert's slots begin a tile of their own, and a
 *      block looks up which tile of which expert it has: of some blocks there is none. Sums are those of the first rung. */

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

/* One block; a warp has one expert after another. Its lanes look at choices side by side: they count those of the expert,
 * and then number them in their order. */
constexpr unsigned SLOTS_WARPS = 32;

static __global__ void slots_kernel(int32_t *slot, int32_t *from, int32_t *start, const int32_t *expert, size_t choices,
                                    size_t experts, size_t k)
{
    unsigned warp = threadIdx.x / LANES, in_warp = threadIdx.x % LANES, warps = blockDim.x / LANES;
    for (size_t e = warp; e < experts; e += warps) {
        int32_t count = 0;
        for (size_t c = in_warp; c < choices; c += LANES)
            count += (size_t)expert[c] == e;
        count = warp_sum(count);
        if (in_warp == 0)
            start[e + 1] = count;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        start[0] = 0;
        for (size_t e = 0; e < experts; e++)
            start[e + 1] += start[e];
    }
    __syncthreads();
    for (size_t e = warp; e < experts; e += warps) {
        int32_t next = start[e];
        for (size_t first = 0; first < choices; first += LANES) {
            size_t c = first + in_warp;
            bool mine = c < choices && (size_t)expert[c] == e;
            unsigned all = __ballot_sync(ALL_LANES, mine);
            if (mine) {
                slot[c] = next + __popc(all & ((1u << in_warp) - 1));
                from[slot[c]] = (int32_t)(c / k);
            }
            next += __popc(all);
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
    LAUNCH(s, slots_kernel, 1, (unsigned)(experts < SLOTS_WARPS ? experts : SLOTS_WARPS) * LANES, slot, from, start,
           expert, n * k, experts, k);
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

static __global__ void experts_naive(Number *y, const Number *x, const Number *w, const int32_t *start, size_t m,
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

static __global__ void experts_input_naive(Number *dx, bool add, const Number *dy, const Number *w,
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

static __global__ void experts_weight_naive(float *dw, const Number *dy, const Number *x, const int32_t *start,
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

/* Tile number `tile` of the slots of all experts: whose it is, and its first slot; `experts`: there are fewer tiles. */
static __device__ size_t expert_of_tile(const int32_t *start, size_t experts, size_t tile, size_t *first)
{
    size_t e = 0;
    for (; e < experts; e++) {
        size_t tiles = ((size_t)(start[e + 1] - start[e]) + TILE - 1) / TILE;
        if (tile < tiles)
            break;
        tile -= tiles;
    }
    *first = e < experts ? (size_t)start[e] + tile * TILE : 0;
    return e;
}

/* c [m,n] (+)= a [m,k] b [k,n], each slot with the b of its expert, which are b.outer apart. */
static __global__ void experts_tiled(Product p, const int32_t *start, size_t experts)
{
    size_t across = (p.n + TILE - 1) / TILE, row, e = expert_of_tile(start, experts, blockIdx.x / across, &row);
    if (e == experts) /* all of the block */
        return;
    p.m = (size_t)start[e + 1];
    product_tile<Number>(p, e, row, blockIdx.x % across * TILE);
}

/* c [m,n] += a [m,k] b [k,n] for each expert, whose c are c.outer apart, with the columns of a and the rows of b that are
 * its slots. */
static __global__ void experts_weight_tiled(Product p, const int32_t *start)
{
    size_t across = (p.n + TILE - 1) / TILE, down = (p.m + TILE - 1) / TILE, e = blockIdx.x / (across * down);
    size_t first = (size_t)start[e];
    p.a.data = (Number *)p.a.data + first * p.a.column;
    p.b.data = (Number *)p.b.data + first * p.b.row;
    p.k = (size_t)start[e + 1] - first;
    product_tile<float>(p, e, blockIdx.x / across % down * TILE, blockIdx.x % across * TILE);
}

static void multiply_by_experts(Stream *s, const Product &p, const int32_t *start, size_t experts)
{
    if (p.m * p.n > 0)
        LAUNCH(s, experts_tiled, (unsigned)((divide_up(p.m, TILE) + experts) * divide_up(p.n, TILE)), ACROSS * ACROSS,
               p, start, experts);
}

static void experts_forward(Stream *s, void *y, const void *x, const void *w, const int32_t *start, size_t m, size_t in,
                            size_t out, size_t experts)
{
    Operand each = {(void *)w, out * in, 0, 1, in};
    if (s->naive)
        LAUNCH_EACH(s, experts_naive, m * out, (Number *)y, (const Number *)x, (const Number *)w, start, m, in, out,
                    experts);
    else
        multiply_by_experts(s, Product{matrix(y, out), matrix(x, in), each, false, false, 1, NULL, 1, m, out, in},
                            start, experts);
}

static void experts_backward_naive(Stream *s, Number *dx, bool add, float *dw, const Number *dy, const Number *x,
                                   const Number *w, const int32_t *start, size_t m, size_t in, size_t out,
                                   size_t experts)
{
    if (dx)
        LAUNCH_EACH(s, experts_input_naive, m * in, dx, add, dy, w, start, m, in, out, experts);
    if (dw)
        LAUNCH_EACH(s, experts_weight_naive, experts * out * in, dw, dy, x, start, in, out, experts);
}

static void experts_backward(Stream *s, void *dx, bool add, void *dw, void *dy, const void *x, const void *w,
                             const int32_t *start, size_t m, size_t in, size_t out, size_t experts)
{
    Operand each = {(void *)w, out * in, 0, in, 1}, each_dw = {dw, out * in, 0, in, 1};
    if (s->naive) {
        experts_backward_naive(s, (Number *)dx, add, (float *)dw, (const Number *)dy, (const Number *)x,
                               (const Number *)w, start, m, in, out, experts);
        return;
    }
    if (dx)
        multiply_by_experts(s, Product{matrix(dx, in), matrix(dy, out), each, add, false, 1, NULL, 1, m, in, out},
                            start, experts);
    if (dw && m > 0)
        LAUNCH(s, experts_weight_tiled, (unsigned)(experts * divide_up(out, TILE) * divide_up(in, TILE)),
               ACROSS * ACROSS,
               Product{each_dw, transposed(dy, out), matrix(x, in), true, false, 1, NULL, 1, out, in, 0}, start);
}

static __global__ void load_kernel(float *factors, const int32_t *expert, double a, const int32_t *start,
                                   const int32_t *scored, size_t b, size_t experts, size_t k)
{
    for (size_t t = thread_number(); t < b * experts; t += thread_count()) {
        size_t r = t / experts, first = (size_t)start[r], end = (size_t)start[r + 1], count = 0;
        size_t targets = scored ? (size_t)(scored[r + 1] - scored[r]) : end - first;
        for (size_t c = first * k; c < end * k; c++)
            count += (size_t)expert[c] == t % experts;
        factors[t] = end > first ? (float)(a * (double)(experts * count) / (double)(k * (end - first)) *
                                           (double)targets / (double)(end - first))
                                 : 0;
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
                              const void *scores, const int32_t *expert, double a, const int32_t *start,
                              const int32_t *scored, size_t b, size_t n, size_t experts, size_t k)
{
    LAUNCH_EACH(s, load_kernel, b * experts, (float *)factors, expert, a, start, scored, b, experts, k);
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
