/* A score that each head gives to nothing. See kernels/plain/sink.c.
 *
 * Forward a thread has one head of one query. Backward what each of these adds is written down first, and added up by
 * columns. */

/* log(exp a + exp b); -infinity where both are */
static __device__ float log_sum(float a, float b)
{
    float largest = a > b ? a : b, smallest = a > b ? b : a;
    return largest == -INFINITY ? largest : largest + log1pf(expf(smallest - largest));
}

static __global__ void sink_kernel(Number *y, float *lse, const float *sink, Attend how)
{
    for (size_t t = thread_number(); t < how.rows * how.heads * how.longest_query; t += thread_count()) {
        size_t i = t % how.longest_query, h = t / how.longest_query % how.heads, b = t / how.longest_query / how.heads;
        size_t n = (size_t)how.query_start[b] + i, at = n * how.heads + h, dv = how.value_size;
        if (n >= (size_t)how.query_start[b + 1])
            continue;
        float total = log_sum(lse[at], sink[h]), part = total == -INFINITY ? 0 : expf(lse[at] - total);
        float *weights = how.weights ? (float *)how.weights + t * how.longest_key : NULL;
        lse[at] = total;
        for (size_t c = 0; c < dv; c++)
            y[at * dv + c] = number(part * real(y[at * dv + c]));
        for (size_t j = 0; weights && j < how.longest_key; j++)
            weights[j] *= part;
    }
}

/* parts [N,H]: what each query adds to the gradient of a head's sink; 0 for positions of no row */
static __global__ void sink_parts_kernel(float *parts, const Number *dy, const Number *y, const float *lse,
                                         const float *sink, Attend how)
{
    for (size_t t = thread_number(); t < how.queries * how.heads; t += thread_count()) {
        size_t n = t / how.heads, h = t % how.heads, dv = how.value_size;
        bool there = n >= (size_t)how.query_start[0] && n < (size_t)how.query_start[how.rows];
        parts[t] = there && sink[h] > -INFINITY
                       ? -expf(sink[h] - lse[t]) * biased_dot(dy + t * dv, NULL, y + t * dv, dv)
                       : 0;
    }
}

static void sink_forward(Stream *s, void *y, void *lse, const void *sink, const Attend *how)
{
    LAUNCH_EACH(s, sink_kernel, how->rows * how->heads * how->longest_query, (Number *)y, (float *)lse,
                (const float *)sink, *how);
}

static void sink_backward(Stream *s, void *dsink, const void *dy, const void *y, const void *lse, const void *sink,
                          const Attend *how)
{
    size_t all = how->rows ? how->queries * how->heads : 0;
    float *parts = (float *)scratch(s, all * sizeof *parts);
    LAUNCH_EACH(s, sink_parts_kernel, all, parts, (const Number *)dy, (const Number *)y, (const float *)lse,
                (const float *)sink, *how);
    if (all)
        sum_columns(s, AddTo{(float *)dsink, NULL, how->heads}, RowTerm{parts, how->heads}, how->queries, how->heads);
}
