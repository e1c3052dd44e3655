/* Passes over the block of parameters, a vector at a time. See kernels/plain/optimizer.c. */

static void accumulate(Stream *s, void *to_, const void *from_, size_t n)
{
    (void)s;
    const float *from = from_;
    float *to = to_;
    for (size_t i = 0; i < n; i += WIDTH)
        store_real(to + i, load_real(to + i, n - i) + load_real(from + i, n - i), n - i);
}

static void convert(Stream *s, void *numbers_, const void *reals_, size_t n)
{
    (void)s;
    const float *reals = reals_;
    Number *numbers = numbers_;
    for (size_t i = 0; i < n; i += WIDTH)
        store(numbers + i, load_real(reals + i, n - i), n - i);
}

typedef double Doubles __attribute__((vector_size(8 * WIDTH)));

/* In double, which holds the square of any float. */
static void squares(Stream *s, double *parts, const void *g_, size_t n)
{
    (void)s;
    const float *g = g_;
    for (size_t from = 0; from < n; from += SQUARES_CHUNK, parts++) {
        size_t end = n - from < SQUARES_CHUNK ? n : from + SQUARES_CHUNK;
        Doubles sum = {0};
        for (size_t i = from; i < end; i += WIDTH) {
            Doubles x = __builtin_convertvector(load_real(g + i, end - i), Doubles);
            sum += x * x;
        }
        *parts = 0;
        for (size_t i = 0; i < WIDTH; i++)
            *parts += sum[i];
    }
}

typedef struct AdamStep {
    float beta1, beta2, epsilon, rate, clip, correction2;
} AdamStep;

static AdamStep adam_step(Adam adam, const StepState *state)
{
    return (AdamStep){(float)adam.beta1,   (float)adam.beta2,
                      (float)adam.epsilon, (float)(state->learning_rate / state->correction1),
                      (float)state->clip,  (float)state->correction2};
}

/* The next vector of weights */
INLINE Vec adam_vector(float *w, float *m, float *v, Vec g, const AdamStep *a, float shrink, size_t left)
{
    Vec gradient = g * a->clip, weight = load_real(w, left), m_i = load_real(m, left), v_i = load_real(v, left);
    m_i += (gradient - m_i) * (1 - a->beta1);
    v_i += (gradient * gradient - v_i) * (1 - a->beta2);
    weight -= weight * shrink + m_i * a->rate / (vec_sqrt(v_i / a->correction2) + a->epsilon);
    store_real(m, m_i, left);
    store_real(v, v_i, left);
    store_real(w, weight, left);
    return weight;
}

/* Weights first .. end-1, all with the same decay */
static void adam_range(float *w, Number *copy, float *m, float *v, const float *g, AdamStep a, float shrink,
                       size_t first, size_t end)
{
    for (size_t i = first; i < end; i += WIDTH) {
        Vec weight = adam_vector(w + i, m + i, v + i, load_real(g + i, end - i), &a, shrink, end - i);
        if (copy)
            store(copy + i, weight, end - i);
    }
}

static void adam(Stream *s, void *w, void *copy, void *m, void *v, const void *g, const StepState *state, Adam adam,
                 const Span *spans, size_t span_count, size_t first, size_t n)
{
    (void)s;
    AdamStep a = adam_step(adam, state);
    size_t span = 0, end = first + n;

    for (size_t i = first; state->finite && i < end;) { /* from one end of a span to the next */
        while (span < span_count && spans[span].end <= i)
            span++;
        bool inside = span < span_count && spans[span].begin <= i;
        size_t stop = inside ? spans[span].end : span < span_count ? spans[span].begin : end;
        stop = stop < end ? stop : end;
        adam_range(w, copy, m, v, g, a, inside ? (float)(state->learning_rate * spans[span].decay) : 0, i, stop);
        i = stop;
    }
}

/* For rows that were not read, nothing of g has to come from memory. */
static void adam_rows(Stream *s, void *w_, void *m_, void *v_, const void *g_, const int32_t *slots,
                      const StepState *state, Adam adam, double decay, size_t first, size_t n, size_t d)
{
    (void)s;
    AdamStep a = adam_step(adam, state);
    float shrink = (float)(state->learning_rate * decay);
    for (size_t r = first; state->finite && r < first + n; r++) {
        float *w = (float *)w_ + r * d, *m = (float *)m_ + r * d, *v = (float *)v_ + r * d;
        const float *g = slots[r] < 0 ? NULL : (const float *)g_ + (size_t)slots[r] * d;
        for (size_t j = 0; j < d; j += WIDTH)
            adam_vector(w + j, m + j, v + j, g ? load_real(g + j, d - j) : vec_set(0), &a, shrink, d - j);
    }
}
