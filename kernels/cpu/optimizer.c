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

INLINE void adam_moments(Vec *m, Vec *v, Vec gradient, const AdamStep *a)
{
    *m += (gradient - *m) * (1 - a->beta1);
    *v += (gradient * gradient - *v) * (1 - a->beta2);
}

/* The next vector of weights. moved: by how much, without decay. second: whether there is a v */
INLINE Vec adam_vector(float *w, float *m, float *v, bool second, Vec g, const AdamStep *a, float shrink, size_t left,
                       Vec *moved)
{
    Vec weight = load_real(w, left), m_i = load_real(m, left), v_i = second ? load_real(v, left) : vec_set(0);
    adam_moments(&m_i, &v_i, g * a->clip, a);
    *moved = m_i * a->rate / (vec_sqrt(v_i / a->correction2) + a->epsilon);
    weight -= weight * shrink + *moved;
    store_real(m, m_i, left);
    if (second)
        store_real(v, v_i, left);
    store_real(w, weight, left);
    return weight;
}

/* Weights first .. end-1, all with the same decay. second: a constant, for which the compiler makes a loop */
INLINE void adam_range(float *w, Number *copy, float *m, float *v, bool second, const float *g, AdamStep a,
                       float shrink, size_t first, size_t end)
{
    for (size_t i = first; i < end; i += WIDTH) {
        Vec moved, weight = adam_vector(w + i, m + i, second ? v + i : NULL, second, load_real(g + i, end - i), &a,
                                        shrink, end - i, &moved);
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
        float shrink = inside ? (float)(state->learning_rate * spans[span].decay) : 0;
        if (v)
            adam_range(w, copy, m, v, true, g, a, shrink, i, stop);
        else
            adam_range(w, copy, m, NULL, false, g, a, shrink, i, stop);
        i = stop;
    }
}

/* Lazy rows. Of 50,000 words a step reads some hundreds, but moments move all of them: most of what a step of
 * such a model reads and writes. A row that is not read moves by rate m / (sqrt(v / correction2) + epsilon), and there
 * m gets smaller by beta1 each step, the root by sqrt(beta2) at most (and by sqrt(correction2) until that is 1). So
 * once all of it is less than a quarter of a weight's last place, that weight stays what it is, and all that happens to
 * the row is that its moments fade, which can wait until the row is read, and then needs no memory: some hundred steps
 * after the last that read it, a row costs nothing any more. */
static const float still = 0x1p-27f;    /* a quarter of the last place is 2^-26 of a weight or more; half of that */
static const float smallest = 0x1p-60f; /* of weights that this is about: far above where moments end */

/* The largest part of a weight that it was moved by; infinite where that cannot be said */
INLINE Vec part_moved(Vec moved, Vec weight)
{
    Vec size = vec_max(weight, -weight);
    Vec part = vec_max(moved, -moved) / vec_select((size > smallest) & (size <= FLT_MAX), size, vec_set(0));
    return vec_select(moved == 0, vec_set(0), part);
}

enum { FADING = 4 }; /* vectors of each moment that fade at once: they do not wait for each other */

/* The steps that a row skipped, to the bit: its moments fade as adam_moments has them. v: NULL where there is none */
static void fade(float *m, float *v, uint32_t skipped, const AdamStep *a, size_t d)
{
    for (size_t j = 0; skipped && j < d; j += FADING * WIDTH) {
        Vec m_j[FADING], v_j[FADING];
        size_t from[FADING];
        UVec bits = {0}, none = {0};
        for (size_t l = 0; l < FADING; l++) {
            from[l] = j + l * WIDTH < d ? j + l * WIDTH : d;
            m_j[l] = load_real(m + from[l], d - from[l]);
            v_j[l] = v ? load_real(v + from[l], d - from[l]) : vec_set(0);
            bits |= (UVec)m_j[l] | (UVec)v_j[l];
        }
        if (memcmp(&bits, &none, sizeof bits) == 0)
            continue; /* of a row that was never read */
        for (uint32_t i = 0; i < skipped; i++)
            for (size_t l = 0; l < FADING; l++)
                adam_moments(&m_j[l], &v_j[l], vec_set(0), a);
        for (size_t l = 0; l < FADING; l++) {
            store_real(m + from[l], m_j[l], d - from[l]);
            if (v)
                store_real(v + from[l], v_j[l], d - from[l]);
        }
    }
}

/* What a step of a table has in common */
typedef struct TableStep {
    float *w, *m, *v;
    LazyRow *lazy; /* NULL: no row rests */
    const float *g;
    const int32_t *slots;
    AdamStep a;
    float shrink, slower; /* slower: what reach is multiplied by each step */
    size_t d;
} TableStep;

/* Whether a row may stay where it is; if so, it skips one more step. */
static bool rests(const TableStep *t, size_t r)
{
    LazyRow *row = &t->lazy[r];
    if (t->slots[r] >= 0 || t->shrink > 0 || !row->known || !(row->reach * t->a.rate <= still))
        return false;
    row->reach *= t->slower;
    row->skipped++;
    return true;
}

/* reach is looked up where the row was read, and then, as that costs a division for each weight, where it would be skipped if
 * its weights were still those. */
INLINE void move_row(const TableStep *t, size_t r, bool second)
{
    float *w = t->w + r * t->d, *m = t->m + r * t->d, *v = second ? t->v + r * t->d : NULL;
    const float *g = t->slots[r] < 0 ? NULL : t->g + (size_t)t->slots[r] * t->d; /* NULL: 0, which needs no memory */
    LazyRow none = {0}, *row = t->lazy ? &t->lazy[r] : &none;
    float nearly = row->reach * t->a.rate;
    bool look = t->lazy && (g || !(nearly > still && nearly <= FLT_MAX));
    Vec largest = {0};

    fade(m, v, row->skipped, &t->a, t->d);
    for (size_t j = 0; j < t->d; j += WIDTH) {
        Vec moved, gradient = g ? load_real(g + j, t->d - j) : vec_set(0);
        Vec weight = adam_vector(w + j, m + j, second ? v + j : NULL, second, gradient, &t->a, t->shrink, t->d - j,
                                 &moved);
        if (look)
            largest = vec_max(part_moved(moved, weight), largest);
    }
    *row = (LazyRow){row->reach * t->slower, 0, look};
    if (look)
        row->reach = t->a.rate > 0 ? vec_largest(largest) / (t->a.rate * sqrtf(t->a.correction2)) : INFINITY;
}

static void adam_rows(Stream *s, void *w, void *m, void *v, LazyRow *lazy, const void *g, const int32_t *slots,
                      const StepState *state, Adam adam, double decay, size_t first, size_t n, size_t d)
{
    (void)s;
    TableStep t = {w, m, v, lazy, g, slots, adam_step(adam, state), (float)(state->learning_rate * decay), 0, d};
    t.slower = t.a.beta1 / sqrtf(t.a.beta2);
    for (size_t r = first; state->finite && r < first + n; r++) {
        if (lazy && rests(&t, r))
            continue;
        if (v)
            move_row(&t, r, true);
        else
            move_row(&t, r, false);
    }
}

static void adam_flush(Stream *s, void *m, void *v, LazyRow *lazy, Adam adam, size_t first, size_t n, size_t d)
{
    (void)s;
    AdamStep a = {.beta1 = (float)adam.beta1, .beta2 = (float)adam.beta2};
    for (size_t r = first; r < first + n; r++) {
        fade((float *)m + r * d, v ? (float *)v + r * d : NULL, lazy[r].skipped, &a, d);
        lazy[r].skipped = 0;
    }
}
