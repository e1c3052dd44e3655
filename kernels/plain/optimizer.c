/* What happens to the block of parameters after the backward pass.
 *
 * Gradients are summed over workers, their norm is taken and limited, and Adam (Kingma, Ba 2015) moves the weights:
 *
 *     m = beta1 m + (1 - beta1) g         v = beta2 v + (1 - beta2) g^2
 *     w = w - lr (m / correction1) / (sqrt(v / correction2) + epsilon) - lr decay w
 *
 * with corrections 1 - beta^step, and weight decay apart from the moments (Loshchilov, Hutter 2019). */

static void accumulate(Stream *s, void *to_, const void *from_, size_t n)
{
    (void)s;
    const Real *from = from_;
    Real *to = to_;
    for (size_t i = 0; i < n; i++)
        to[i] += from[i];
}

static void convert(Stream *s, void *numbers_, const void *reals_, size_t n)
{
    (void)s;
    const Real *reals = reals_;
    Number *numbers = numbers_;
    for (size_t i = 0; i < n; i++)
        numbers[i] = number(reals[i]);
}

static void squares(Stream *s, double *parts, const void *g_, size_t n)
{
    (void)s;
    const Real *g = g_;
    for (size_t from = 0; from < n; from += SQUARES_CHUNK, parts++) {
        size_t to = n - from < SQUARES_CHUNK ? n : from + SQUARES_CHUNK;
        *parts = 0;
        for (size_t i = from; i < to; i++)
            *parts += (double)g[i] * (double)g[i];
    }
}

static void clip(Stream *s, StepState *state, const double *parts, size_t count, double max_norm)
{
    (void)s;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += parts[i];
    state->norm = sqrt(sum);
    state->finite = isfinite(state->norm) ? 1 : 0;
    state->clip = max_norm > 0 && state->norm > max_norm ? max_norm / (state->norm + 1e-6) : 1;
}

/* What all weights of a step have in common. */
typedef struct AdamStep {
    Real beta1, beta2, epsilon, rate, clip, correction2;
} AdamStep;

static AdamStep adam_step(Adam adam, const StepState *state)
{
    return (AdamStep){(Real)adam.beta1,   (Real)adam.beta2,
                      (Real)adam.epsilon, (Real)(state->learning_rate / state->correction1),
                      (Real)state->clip,  (Real)state->correction2};
}

static void adam_one(Real *w, Real *m, Real *v, Real g, const AdamStep *a, Real shrink)
{
    Real gradient = g * a->clip;
    *m += (1 - a->beta1) * (gradient - *m);
    *v += (1 - a->beta2) * (gradient * gradient - *v);
    *w -= shrink * *w + a->rate * *m / (real_sqrt(*v / a->correction2) + a->epsilon);
}

static void adam(Stream *s, void *w_, void *copy_, void *m_, void *v_, const void *g_, const StepState *state,
                 Adam adam, const Span *spans, size_t span_count, size_t first, size_t n)
{
    (void)s;
    const Real *g = g_;
    Real *w = w_, *m = m_, *v = v_;
    Number *copy = copy_;
    AdamStep a = adam_step(adam, state);
    Real none = 0;
    size_t span = 0;

    if (!state->finite)
        return;
    for (size_t i = first; i < first + n; i++) {
        while (span < span_count && spans[span].end <= i)
            span++;
        bool inside = span < span_count && spans[span].begin <= i;
        adam_one(&w[i], &m[i], v ? &v[i] : &none, g[i], &a,
                 inside ? (Real)(state->learning_rate * spans[span].decay) : 0);
        if (copy)
            copy[i] = number(w[i]);
    }
}

static void adam_rows(Stream *s, void *w_, void *m_, void *v_, LazyRow *lazy, const void *g_, const int32_t *slots,
                      const StepState *state, Adam adam, double decay, size_t first, size_t n, size_t d)
{
    (void)s, (void)lazy; /* all rows move */
    const Real *g = g_;
    Real *w = w_, *m = m_, *v = v_, shrink = (Real)(state->learning_rate * decay), none = 0;
    AdamStep a = adam_step(adam, state);

    for (size_t r = first; state->finite && r < first + n; r++)
        for (size_t j = 0; j < d; j++)
            adam_one(&w[r * d + j], &m[r * d + j], v ? &v[r * d + j] : &none,
                     slots[r] < 0 ? 0 : g[(size_t)slots[r] * d + j], &a, shrink);
}

/* Lion (Chen et al. 2023): sign(0) is 0. */
static void lion(Stream *s, void *w_, void *copy_, void *m_, const void *g_, const int32_t *slots,
                 const StepState *state, Adam adam, double decay, size_t first, size_t n, size_t d)
{
    (void)s;
    const Real *g = g_, rate = (Real)state->learning_rate, shrink = (Real)(state->learning_rate * decay),
               beta1 = (Real)adam.beta1, beta2 = (Real)adam.beta2;
    Real *w = w_, *m = m_;
    Number *copy = copy_;

    for (size_t i = first * d; state->finite && i < (first + n) * d; i++) {
        const int32_t row = slots ? slots[i / d] : (int32_t)(i / d);
        const Real now = row < 0 ? 0 : g[(size_t)row * d + i % d] * (Real)state->clip,
                   way = m[i] + (1 - beta1) * (now - m[i]);
        w[i] -= shrink * w[i] + (way > 0 ? rate : way < 0 ? -rate : 0);
        m[i] += (1 - beta2) * (now - m[i]);
        if (copy)
            copy[i] = number(w[i]);
    }
}
