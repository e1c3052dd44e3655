/* A score that each head gives to nothing: a key that every query sees, with a score of its own and a value of 0 (Xiao et
 * al. 2024; OpenAI 2025). Attention need not know it. With t = log(exp lse + exp sink)
 *
 *     y exp(lse - t)  is what the softmax over one key more makes        t  is its lse
 *
 * Backward, with these as y and lse, attention's own gradients hold: dw - dy . y is what they are made of. The sink's
 * weight is exp(sink - t) and its value 0:
 *
 *     dsink = - sum over queries of exp(sink - t) dy . y */

/* log(exp a + exp b); -infinity where both are */
static Real log_sum(Real a, Real b)
{
    Real largest = a > b ? a : b, smallest = a > b ? b : a;
    return largest == -(Real)INFINITY ? largest : largest + real_log(1 + real_exp(smallest - largest));
}

static void sink_forward(Stream *s, void *y_, void *lse_, const void *sink_, const Attend *how)
{
    (void)s;
    Number *y = y_;
    Real *lse = lse_;
    const Real *sink = sink_;
    size_t heads = how->heads, dv = how->value_size;
    for (size_t b = 0; b < how->rows; b++)
        for (size_t n = (size_t)how->query_start[b]; n < (size_t)how->query_start[b + 1]; n++)
            for (size_t h = 0; h < heads; h++) {
                size_t at = n * heads + h, query = n - (size_t)how->query_start[b];
                Real total = log_sum(lse[at], sink[h]), part = total == -(Real)INFINITY ? 0 : real_exp(lse[at] - total);
                Real *weights = how->weights;
                weights += weights ? ((b * heads + h) * how->longest_query + query) * how->longest_key : 0;
                lse[at] = total;
                for (size_t c = 0; c < dv; c++)
                    y[at * dv + c] = number(part * real(y[at * dv + c]));
                for (size_t j = 0; weights && j < how->longest_key; j++)
                    weights[j] *= part;
            }
}

static void sink_backward(Stream *s, void *dsink_, const void *dy_, const void *y_, const void *lse_, const void *sink_,
                          const Attend *how)
{
    (void)s;
    const Number *dy = dy_, *y = y_;
    const Real *lse = lse_, *sink = sink_;
    Real *dsink = dsink_;
    size_t heads = how->heads, dv = how->value_size;
    for (size_t h = 0; how->rows && h < heads; h++) {
        Real sum = 0;
        for (size_t n = (size_t)how->query_start[0]; n < (size_t)how->query_start[how->rows]; n++) {
            size_t at = n * heads + h;
            if (sink[h] > -(Real)INFINITY)
                sum += real_exp(sink[h] - lse[at]) * dot(dy + at * dv, y + at * dv, dv);
        }
        dsink[h] -= sum;
    }
}
