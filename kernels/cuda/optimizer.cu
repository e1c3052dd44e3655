/* What happens to the block of parameters after the backward pass. See kernels/plain/optimizer.c for the formulas.
 *
 * The ladder:
 *   1. a thread for each weight, which is what Adam needs; but squares_naive, where a thread sums a whole chunk.
 *   2. squares: a block for each chunk, whose threads read side by side.
 *
 * One launch each over the whole block of parameters: the host reads nothing between them, as norm, clip and "finite"
 * are in StepState. */

static __global__ void accumulate_kernel(float *to, const float *from, size_t n)
{
    for (size_t i = thread_number(); i < n; i += thread_count())
        to[i] += from[i];
}

static __global__ void convert_kernel(Number *numbers, const float *reals, size_t n)
{
    for (size_t i = thread_number(); i < n; i += thread_count())
        numbers[i] = number(reals[i]);
}

static __global__ void clamp_kernel(float *w, float low, float high, size_t n)
{
    for (size_t i = thread_number(); i < n; i += thread_count())
        w[i] = w[i] < low ? low : w[i] > high ? high : w[i];
}

static __global__ void widen_kernel(float *reals, const Number *numbers, size_t n)
{
    for (size_t i = thread_number(); i < n; i += thread_count())
        reals[i] = real(numbers[i]);
}

static __global__ void squares_naive(double *parts, const float *g, size_t n, size_t chunks)
{
    for (size_t c = thread_number(); c < chunks; c += thread_count()) {
        double sum = 0;
        for (size_t i = c * SQUARES_CHUNK; i < n && i < (c + 1) * SQUARES_CHUNK; i++)
            sum += (double)g[i] * (double)g[i];
        parts[c] = sum;
    }
}

/* A block for each chunk. */
static __global__ void squares_kernel(double *parts, const float *g, size_t n)
{
    size_t from = (size_t)blockIdx.x * SQUARES_CHUNK, to = n - from < SQUARES_CHUNK ? n : from + SQUARES_CHUNK;
    double sum = 0;
    for (size_t i = from + threadIdx.x; i < to; i += BLOCK)
        sum += (double)g[i] * (double)g[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = sum;
}

static __global__ void clip_kernel(StepState *state, const double *parts, size_t count, double max_norm)
{
    double sum = 0;
    for (size_t i = threadIdx.x; i < count; i += BLOCK)
        sum += parts[i];
    sum = block_sum(sum);
    if (threadIdx.x > 0)
        return;
    state->norm = sqrt(sum);
    state->finite = isfinite(state->norm) ? 1 : 0;
    state->clip = max_norm > 0 && state->norm > max_norm ? max_norm / (state->norm + 1e-6) : 1;
}

/* What all weights of a step have in common. */
typedef struct AdamStep {
    float beta1, beta2, epsilon, rate, clip, correction2;
} AdamStep;

static __device__ AdamStep adam_step(Adam adam, const StepState *state)
{
    return AdamStep{(float)adam.beta1,   (float)adam.beta2,
                    (float)adam.epsilon, (float)(state->learning_rate / state->correction1),
                    (float)state->clip,  (float)state->correction2};
}

static __device__ void adam_one(float *w, float *m, float *v, float g, const AdamStep &a, float shrink)
{
    float gradient = g * a.clip;
    *m += (1 - a.beta1) * (gradient - *m);
    *v += (1 - a.beta2) * (gradient * gradient - *v);
    *w -= shrink * *w + a.rate * *m / (sqrtf(*v / a.correction2) + a.epsilon);
}

/* The decay of weight i: of the span it is in, found by halving. */
static __device__ double decay_of(const Span *spans, size_t count, size_t i)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (spans[middle].end <= i)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && spans[low].begin <= i ? spans[low].decay : 0;
}

static __global__ void adam_kernel(float *w, Number *copy, float *m, float *v, const float *g, const StepState *state,
                                   Adam adam, const Span *spans, size_t span_count, size_t first, size_t n)
{
    if (!state->finite)
        return;
    AdamStep a = adam_step(adam, state);
    float none = 0;
    for (size_t i = first + thread_number(); i < first + n; i += thread_count()) {
        adam_one(&w[i], &m[i], v ? &v[i] : &none, g[i], a,
                 (float)(state->learning_rate * decay_of(spans, span_count, i)));
        if (copy)
            copy[i] = number(w[i]);
    }
}

static __global__ void adam_rows_kernel(float *w, float *m, float *v, const float *g, const int32_t *slots,
                                        const StepState *state, Adam adam, double decay, size_t first, size_t n,
                                        size_t d)
{
    if (!state->finite)
        return;
    AdamStep a = adam_step(adam, state);
    float shrink = (float)(state->learning_rate * decay), none = 0;
    for (size_t i = first * d + thread_number(); i < (first + n) * d; i += thread_count()) {
        int32_t slot = slots[i / d];
        adam_one(&w[i], &m[i], v ? &v[i] : &none, slot < 0 ? 0 : g[(size_t)slot * d + i % d], a, shrink);
    }
}

static void accumulate(Stream *s, void *to, const void *from, size_t n)
{
    LAUNCH_EACH(s, accumulate_kernel, n, (float *)to, (const float *)from, n);
}

static void widen(Stream *s, void *reals, const void *numbers, size_t n)
{
    LAUNCH_EACH(s, widen_kernel, n, (float *)reals, (const Number *)numbers, n);
}

static void clamp(Stream *s, void *w, double low, double high, size_t n)
{
    LAUNCH_EACH(s, clamp_kernel, n, (float *)w, (float)low, (float)high, n);
}

static void convert(Stream *s, void *numbers, const void *reals, size_t n)
{
    LAUNCH_EACH(s, convert_kernel, n, (Number *)numbers, (const float *)reals, n);
}

static void squares(Stream *s, double *parts, const void *g, size_t n)
{
    if (s->naive)
        LAUNCH_EACH(s, squares_naive, divide_up(n, SQUARES_CHUNK), parts, (const float *)g, n,
                    divide_up(n, SQUARES_CHUNK));
    else if (n > 0)
        LAUNCH(s, squares_kernel, (unsigned)divide_up(n, SQUARES_CHUNK), BLOCK, parts, (const float *)g, n);
}

static void clip(Stream *s, StepState *state, const double *parts, size_t count, double max_norm)
{
    LAUNCH(s, clip_kernel, 1, BLOCK, state, parts, count, max_norm);
}

static void adam(Stream *s, void *w, void *copy, void *m, void *v, const void *g, const StepState *state, Adam adam,
                 const Span *spans, size_t span_count, size_t first, size_t n)
{
    LAUNCH_EACH(s, adam_kernel, n, (float *)w, (Number *)copy, (float *)m, (float *)v, (const float *)g, state, adam,
                spans, span_count, first, n);
}

static void adam_rows(Stream *s, void *w, void *m, void *v, LazyRow *lazy, const void *g, const int32_t *slots,
                      const StepState *state, Adam adam, double decay, size_t first, size_t n, size_t d)
{
    (void)lazy; /* all rows move */
    LAUNCH_EACH(s, adam_rows_kernel, n * d, (float *)w, (float *)m, (float *)v, (const float *)g, slots, state, adam,
                decay, first, n, d);
}

static __global__ void lion_kernel(float *w, Number *copy, float *m, const float *g, const int32_t *slots,
                                   const StepState *state, Adam adam, double decay, size_t first, size_t n, size_t d)
{
    const float rate = (float)state->learning_rate, shrink = (float)(state->learning_rate * decay),
                beta1 = (float)adam.beta1, beta2 = (float)adam.beta2;
    if (!state->finite)
        return;
    for (size_t i = first * d + thread_number(); i < (first + n) * d; i += thread_count()) {
        const bool read = !slots || slots[i / d] >= 0;
        const float now = read ? g[slots ? (size_t)slots[i / d] * d + i % d : i] * (float)state->clip : 0,
                    way = m[i] + (1 - beta1) * (now - m[i]);
        w[i] -= shrink * w[i] + (way > 0 ? rate : way < 0 ? -rate : 0);
        m[i] += (1 - beta2) * (now - m[i]);
        if (copy)
            copy[i] = number(w[i]);
    }
}

static void lion(Stream *s, void *w, void *copy, void *m, const void *g, const int32_t *slots, const StepState *state,
                 Adam adam, double decay, size_t first, size_t n, size_t d)
{
    LAUNCH_EACH(s, lion_kernel, n * d, (float *)w, (Number *)copy, (float *)m, (const float *)g, slots, state, adam,
                decay, first, n, d);
}

/* ---- Adafactor */

typedef struct SquareTerm {
    const float *g;
    size_t d;
    float clip;
    __device__ float operator()(size_t i, size_t j) const { return g[i * d + j] * clip * (g[i * d + j] * clip); }
    __device__ void keep(size_t, size_t, float) const {}
} SquareTerm;

static __global__ void factor_columns(float *column, const float *g, const StepState *state, float tiny, size_t rows,
                                      size_t used, size_t d)
{
    const size_t j = (size_t)blockIdx.x * SUM_COLUMNS + threadIdx.x;
    const float sum = column_sum(SquareTerm{g, d, (float)state->clip}, 0, used, j, d);
    if (threadIdx.y == 0 && j < d && state->finite)
        column[j] += (float)state->correction2 * (sum / (float)rows + tiny - column[j]);
}

/* A warp for each row. */
static __global__ void factor_rows(float *row, const float *column, float *g, const int32_t *slots,
                                   const StepState *state, float tiny, size_t rows, size_t d)
{
    const size_t i = warp_row();
    if (i >= rows || !state->finite)
        return;
    const int32_t from = slots ? slots[i] : (int32_t)i;
    const SquareTerm square = {g + (from < 0 ? 0 : (size_t)from * d), d, (float)state->clip};
    float sum = 0, mean = 0;
    for (size_t j = lane(); j < d; j += LANES)
        sum += from < 0 ? 0 : square(0, j), mean += column[j];
    sum = warp_sum(sum);
    mean = warp_sum(mean) / (float)d;
    const float now = row[i] + (float)state->correction2 * (sum / (float)d + tiny - row[i]);
    __syncwarp();
    if (lane() == 0)
        row[i] = now;
    for (size_t j = lane(); from >= 0 && j < d; j += LANES)
        g[(size_t)from * d + j] *= square.clip / sqrtf(now / mean) / sqrtf(column[j]);
}

static void factors(Stream *s, void *v, void *g, const int32_t *slots, const StepState *state, double tiny, size_t rows,
                    size_t used, size_t d)
{
    float *row = (float *)v, *column = row + rows;
    LAUNCH(s, factor_columns, (unsigned)divide_up(d, SUM_COLUMNS), dim3(SUM_COLUMNS, SUM_ROWS), column,
           (const float *)g, state, (float)tiny, rows, used, d);
    LAUNCH_ROWS(s, factor_rows, rows, row, column, (float *)g, slots, state, (float)tiny, rows, d);
}

static __device__ double root_mean(const double *parts, size_t n, size_t all)
{
    double sum = 0;
    for (size_t i = 0; i * SQUARES_CHUNK < n; i++)
        sum += parts[i];
    return sqrt(sum / (double)all);
}

static __global__ void adafactor_kernel(float *w, Number *copy, const float *u, const double *weights,
                                        const double *updates, const int32_t *slots, const StepState *state,
                                        double least, double decay, size_t rows, size_t used, size_t d)
{
    if (!state->finite)
        return;
    const double size = root_mean(weights, rows * d, rows * d), most = root_mean(updates, used * d, rows * d);
    const float shrink = (float)(state->learning_rate * decay),
                rate = (float)(state->learning_rate * (size > least ? size : least) / (most > 1 ? most : 1));
    for (size_t i = thread_number(); i < rows * d; i += thread_count()) {
        const int32_t row = slots ? slots[i / d] : (int32_t)(i / d);
        w[i] -= shrink * w[i] + (row < 0 ? 0 : rate * u[(size_t)row * d + i % d]);
        if (copy)
            copy[i] = number(w[i]);
    }
}

static void adafactor(Stream *s, void *w, void *copy, const void *u, const double *weights, const double *updates,
                      const int32_t *slots, const StepState *state, double least, double decay, size_t rows,
                      size_t used, size_t d)
{
    LAUNCH_EACH(s, adafactor_kernel, rows * d, (float *)w, (Number *)copy, (const float *)u, weights, updates, slots,
                state, least, decay, rows, used, d);
}
