/* Part of cost.c, which includes it: the operations of optimizers. */
#ifndef KERNELS_COST_OPTIMIZER_H
#define KERNELS_COST_OPTIMIZER_H

static void accumulate(Stream *s, void *to, const void *from, size_t n)
{
    (void)to, (void)from;
    count(s, AT_accumulate, 0, 0, 3 * n);
}

static void widen(Stream *s, void *reals, const void *numbers, size_t n)
{
    (void)reals, (void)numbers;
    count(s, AT_widen, 0, n, n);
}

static void clamp(Stream *s, void *w, double low, double high, size_t n)
{
    (void)w, (void)low, (void)high;
    count(s, AT_clamp, 0, 0, 2 * n);
}

static void convert(Stream *s, void *numbers, const void *reals, size_t n)
{
    (void)numbers, (void)reals;
    count(s, AT_convert, 0, n, n);
}

static void squares(Stream *s, double *parts, const void *g, size_t n)
{
    (void)parts, (void)g;
    count(s, AT_squares, 0, 0, n);
}

static void clip(Stream *s, StepState *state, const double *parts, size_t chunks, double max_norm)
{
    (void)state, (void)parts, (void)chunks, (void)max_norm;
    count(s, AT_clip, 0, 0, 0);
}

static void adam(Stream *s, void *w, void *copied, void *m, void *v, const void *g, const StepState *state, Adam how,
                 const Span *spans, size_t span_count, size_t first, size_t n)
{
    (void)w, (void)m, (void)g, (void)state, (void)how, (void)spans, (void)span_count, (void)first;
    count(s, AT_adam, 0, copied ? n : 0, (v ? 7 : 5) * n);
}

/* Of the gradient no more than all rows; how many were read, and how many are skipped, the shapes do not say. */
static void adam_rows(Stream *s, void *w, void *m, void *v, LazyRow *lazy, const void *g, const int32_t *slots,
                      const StepState *state, Adam how, double decay, size_t first, size_t n, size_t d)
{
    (void)w, (void)m, (void)lazy, (void)g, (void)slots, (void)state, (void)how, (void)decay, (void)first;
    count(s, AT_adam_rows, 0, 0, (v ? 6 : 4) * n * d);
}

/* The moments of rows that were left alone are read and written. */
static void adam_flush(Stream *s, void *m, void *v, LazyRow *lazy, Adam how, size_t first, size_t n, size_t d)
{
    (void)m, (void)lazy, (void)how, (void)first;
    count(s, AT_adam_flush, 0, 0, (v ? 4 : 2) * n * d);
}

static void lion(Stream *s, void *w, void *copied, void *m, const void *g, const int32_t *slots, const StepState *state,
                 Adam how, double decay, size_t first, size_t n, size_t d)
{
    (void)w, (void)m, (void)g, (void)slots, (void)state, (void)how, (void)decay, (void)first;
    count(s, AT_lion, 0, copied ? n * d : 0, 5 * n * d);
}

static void momentum(Stream *s, void *m, void *g, const StepState *state, double keep, size_t n)
{
    (void)m, (void)g, (void)state, (void)keep;
    count(s, AT_momentum, 0, 0, 4 * n);
}

static void unit(Stream *s, void *x, const void *g, const double *parts, size_t chunks, size_t n)
{
    (void)x, (void)g, (void)parts, (void)chunks;
    count(s, AT_unit, 0, n, n);
}

static void descend(Stream *s, void *w, void *copied, const void *x, const StepState *state, double scale, double decay,
                    size_t n)
{
    (void)w, (void)x, (void)state, (void)scale, (void)decay;
    count(s, AT_descend, 0, copied ? 2 * n : n, 2 * n);
}

static void factors(Stream *s, void *v, void *g, const int32_t *slots, const StepState *state, double tiny, size_t rows,
                    size_t used, size_t d)
{
    (void)v, (void)g, (void)slots, (void)state, (void)tiny;
    count(s, AT_factors, 0, 0, 4 * used * d + 3 * (rows + d));
}

static void adafactor(Stream *s, void *w, void *copied, const void *u, const double *weights, const double *updates,
                      const int32_t *slots, const StepState *state, double least, double decay, size_t rows,
                      size_t used, size_t d)
{
    (void)w, (void)u, (void)weights, (void)updates, (void)slots, (void)state, (void)least, (void)decay;
    count(s, AT_adafactor, 0, copied ? rows * d : 0, 2 * rows * d + used * d);
}

#endif
