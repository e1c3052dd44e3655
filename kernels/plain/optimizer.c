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

static void widen(Stream *s, void *reals_, const void *numbers_, size_t n)
{
    (void)s;
    const Number *numbers = numbers_;
    Real *reals = reals_;
    for (size_t i = 0; i < n; i++)
        reals[i] = real(numbers[i]);
}

static void clamp(Stream *s, void *w_, double low, double high, size_t n)
{
    (void)s;
    Real *w = w_;
    for (size_t i = 0; i < n; i++)
        w[i] = w[i] < (Real)low ? (Real)low : w[i] > (Real)high ? (Real)high : w[i];
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
        const bool read = !slots || slots[i / d] >= 0;
        const Real now = read ? g[slots ? (size_t)slots[i / d] * d + i % d : i] * (Real)state->clip : 0,
                   way = m[i] + (1 - beta1) * (now - m[i]);
        w[i] -= shrink * w[i] + (way > 0 ? rate : way < 0 ? -rate : 0);
        m[i] += (1 - beta2) * (now - m[i]);
        if (copy)
            copy[i] = number(w[i]);
    }
}

/* Adafactor (Shazeer, Stern 2018): the second moments of a matrix [V,D] are kept as the mean of each row, r [V], and of each
 * column, c [D]. With the mean m of all, which is that of c, r c / m is the matrix of rank 1 nearest to them:
 *
 *     c = (1 - s) c + s mean over rows of (g^2 + tiny)         s = state->correction2
 *     r = (1 - s) r + s mean over columns of (g^2 + tiny)
 *     u = g / sqrt(r c / m)
 *     w = w - lr max(least, rms(w)) u / max(1, rms(u)) - lr decay w
 *
 * where g is multiplied by the factor that clips the whole gradient, as it is for Adam. A vector is a matrix of one column:
 * then c = m, and nothing is factored. Of a table few rows have a gradient; slots says where. */
static void factors(Stream *s, void *v_, void *g_, const int32_t *slots, const StepState *state, double tiny,
                    size_t rows, size_t used, size_t d)
{
    (void)s;
    const Real share = (Real)state->correction2, clip = (Real)state->clip;
    Real *row = v_, *column = row + rows, *g = g_, mean = 0;
    for (size_t j = 0; state->finite && j < d; j++) {
        Real sum = 0;
        for (size_t i = 0; i < used; i++)
            sum += g[i * d + j] * clip * (g[i * d + j] * clip);
        column[j] += share * (sum / (Real)rows + (Real)tiny - column[j]);
        mean += column[j] / (Real)d;
    }
    for (size_t i = 0; state->finite && i < rows; i++) {
        const bool read = !slots || slots[i] >= 0;
        Real *u = read ? &g[(slots ? (size_t)slots[i] : i) * d] : NULL, sum = 0;
        for (size_t j = 0; read && j < d; j++)
            sum += u[j] * clip * (u[j] * clip);
        row[i] += share * (sum / (Real)d + (Real)tiny - row[i]);
        for (size_t j = 0; read && j < d; j++)
            u[j] *= clip / real_sqrt(row[i] / mean) / real_sqrt(column[j]);
    }
}

/* The root mean square of `all` numbers, from sums of the squares of n of them; the others are 0. */
static double root_mean(const double *parts, size_t n, size_t all)
{
    double sum = 0;
    for (size_t i = 0; i * SQUARES_CHUNK < n; i++)
        sum += parts[i];
    return sqrt(sum / (double)all);
}

static void adafactor(Stream *s, void *w_, void *copy_, const void *u_, const double *weights, const double *updates,
                      const int32_t *slots, const StepState *state, double least, double decay, size_t rows,
                      size_t used, size_t d)
{
    (void)s;
    const Real *u = u_;
    Real *w = w_;
    Number *copy = copy_;
    if (!state->finite)
        return;
    const double size = root_mean(weights, rows * d, rows * d), most = root_mean(updates, used * d, rows * d);
    const Real shrink = (Real)(state->learning_rate * decay),
               rate = (Real)(state->learning_rate * (size > least ? size : least) / (most > 1 ? most : 1));
    for (size_t i = 0; i < rows * d; i++) {
        const int32_t row = slots ? slots[i / d] : (int32_t)(i / d);
        w[i] -= shrink * w[i] + (row < 0 ? 0 : rate * u[(size_t)row * d + i % d]);
        if (copy)
            copy[i] = number(w[i]);
    }
}
