/* Embedding. See kernels/plain/embed.c.
 *
 * The ladder:
 *   1. forward: a thread for every four columns of a position, as Philox gives four numbers at once.
 *   Backward:
 *   1. embed_backward_naive: a thread for each column walks all positions in order and adds to the row of each. No
 *      other thread adds to that column, so sums have one order and need no atomics; but there are only as many threads as
 *      columns, and each adds in memory.
 *   2. positions in the order of their rows (order.cu), and of their positions: a warp for each used row and 32 columns
 *      sums what is its own, and adds it once. */

static __global__ void embed_kernel(Number *y, const int32_t *ids, const int32_t *position, const float *table,
                                    const float *positions, float scale, Chance drop, const StepState *state, size_t n,
                                    size_t d)
{
    size_t groups = (d + 3) / 4;
    for (size_t t = thread_number(); t < n * groups; t += thread_count()) {
        size_t i = t / groups, j = t % groups * 4;
        Factors f = dropout_factors(drop, state, i, 0, j / 4);
        for (size_t c = 0; c < 4 && j + c < d; c++) {
            float sum = 0;
            if (position[i] >= 0)
                sum = scale * table[(size_t)ids[i] * d + j + c];
            if (position[i] >= 0 && positions)
                sum += positions[(size_t)position[i] * d + j + c];
            y[i * d + j + c] = number(sum * f.of[c]);
        }
    }
}

static __global__ void embed_backward_naive(float *dtable, float *dpositions, const Number *dy, const int32_t *slots,
                                            const int32_t *position, float scale, Chance drop, const StepState *state,
                                            size_t n, size_t d)
{
    for (size_t j = thread_number(); j < d; j += thread_count())
        for (size_t i = 0; i < n; i++) {
            if (position[i] < 0)
                continue;
            float value = real(dy[i * d + j]) * dropout_factor(drop, state, i, 0, j);
            dtable[(size_t)slots[i] * d + j] += scale * value;
            if (dpositions)
                dpositions[(size_t)position[i] * d + j] += value;
        }
}

/* What column j of position i adds to a row, before scale. */
typedef struct EmbedTerm {
    const Number *dy;
    Chance drop;
    const StepState *state;
    size_t d;
    __device__ float operator()(size_t i, size_t j) const
    {
        return real(dy[i * d + j]) * dropout_factor(drop, state, i, 0, j);
    }
} EmbedTerm;

typedef struct EmbedSum {
    float *to;
    float scale;
    size_t d;
    __device__ void operator()(size_t row, size_t j, float sum) const { to[row * d + j] += scale * sum; }
} EmbedSum;

static void embed_forward(Stream *s, void *y, const int32_t *ids, const int32_t *position, const void *table,
                          const void *positions, double scale, Dropout drop, const StepState *state, size_t n, size_t d)
{
    LAUNCH_EACH(s, embed_kernel, n * divide_up(d, 4), (Number *)y, ids, position, (const float *)table,
                (const float *)positions, (float)scale, chance_of(drop), state, n, d);
}

static void embed_backward(Stream *s, void *dtable, void *dpositions, const void *dy, const int32_t *slots,
                           const int32_t *position, double scale, Dropout drop, const StepState *state, size_t n,
                           size_t d)
{
    if (s->naive) {
        LAUNCH_EACH(s, embed_backward_naive, d, (float *)dtable, (float *)dpositions, (const Number *)dy, slots,
                    position, (float)scale, chance_of(drop), state, n, d);
        return;
    }
    int32_t *memory = (int32_t *)scratch(s, 2 * order_bytes(n));
    EmbedTerm term = {(const Number *)dy, chance_of(drop), state, d};
    Sorting rows = sorting(Used{slots, position}, memory, n),
            vectors = sorting(Used{position, position}, memory + 2 * n, n);
    sort_positions(s, rows, vectors, dpositions ? 2 : 1, n);
    add_used(s, rows, term, EmbedSum{(float *)dtable, (float)scale, d}, n, d);
    if (dpositions)
        add_used(s, vectors, term, EmbedSum{(float *)dpositions, 1, d}, n, d);
}
