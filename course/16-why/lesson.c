/* Lesson 16: why self-attention. See README.md beside this file; `make lesson-16` runs it.
 *
 * Six layers that make n vectors of n vectors, each of the result from those before it. Each is written once, for any
 * table of operations: `measure` counts what it costs, `cpu` takes its time, `plain` shows how far it reaches. */
#include "course/frame/draw.h"
#include "course/frame/matrix.h"
#include "kernels/cost/cost.h"
#include "kernels/plain/plain.h"

#include "base/clock.h"
#include "base/philox.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum Kind { ATTENTION, LOCAL, RECURRENCE, CONVOLUTION, DILATED, SEPARABLE, KINDS } Kind;

static const char *const names[KINDS] = {"attention",   "local attention", "recurrence",
                                         "convolution", "dilated conv.",   "separable conv."};

enum { HEADS = 4, WINDOW = 64, TAPS = 3 };

/* A layer of n vectors of d numbers, on a table of operations. Where nothing is computed, memory is NULL. */
typedef struct Layer {
    const Kernels *k;
    Stream *s;
    size_t n, d;
    float *in, *out, *state; /* [3d,d] or [d,d], [d,d], [d,d] */
    float *taps, *depth;     /* [TAPS,d,d], [TAPS,d] */
    float *wide, *mixed;     /* [n + what stands before it, 3d], [n,d]: work */
    float *lse;              /* [n,HEADS] */
} Layer;

/* The place i numbers on, where there is memory */
static float *at(float *x, size_t i) { return x ? x + i : NULL; }

/* y = out(attention of what `in` makes of x); window 0: all that is past */
static void attention(const Layer *l, float *y, const float *x, size_t window)
{
    const size_t n = l->n, d = l->d;
    const int32_t start[2] = {0, (int32_t)n};
    const Strided q = {l->wide, 3 * d}, keys = {at(l->wide, d), 3 * d}, values = {at(l->wide, 2 * d), 3 * d};
    const Attend how = {.rows = 1,
                        .queries = n,
                        .longest_query = n,
                        .keys = n,
                        .longest_key = n,
                        .heads = HEADS,
                        .key_size = d / HEADS,
                        .value_size = d / HEADS,
                        .query_start = start,
                        .key_start = start,
                        .causal = true,
                        .window = window,
                        .scale = 1 / sqrt((double)d / HEADS)};
    l->k->linear_forward(l->s, l->wide, false, x, l->in, NULL, false, n, d, 3 * d);
    l->k->attention_forward(l->s, l->mixed, l->lse, q, keys, values, &how, NULL);
    l->k->linear_forward(l->s, y, false, l->mixed, l->out, NULL, false, n, d, d);
}

/* y[t] = tanh(in x[t] + state y[t-1]) */
static void recurrence(const Layer *l, float *y, const float *x)
{
    const size_t n = l->n, d = l->d;
    l->k->linear_forward(l->s, y, false, x, l->in, NULL, false, n, d, d);
    for (size_t t = 0; t < n; t++) {
        float *now = at(y, t * d), *before = t ? at(y, (t - 1) * d) : NULL;
        if (t)
            l->k->product(l->s, matrix(now, d), true, matrix(before, d), transposed(matrix(l->state, d)), 1, 1, 1, 1, d,
                          d);
        l->k->activation_forward(l->s, now, now, ACTIVATION_TANH, d);
    }
}

/* The work space holds x with zeros in front of it; returns where x begins. */
static float *pad_front(const Layer *l, const float *x, size_t zeros)
{
    float *begin = at(l->wide, zeros * l->d);
    if (begin) {
        l->k->zero(l->s, l->wide, zeros * l->d * sizeof *l->wide);
        l->k->copy(l->s, begin, x, l->n * l->d * sizeof *x);
    }
    return begin;
}

/* y[t] = sum over taps of W[tap] x[t - tap * step] */
static void convolution(const Layer *l, float *y, const float *x, size_t step)
{
    const size_t n = l->n, d = l->d;
    float *begin = pad_front(l, x, (TAPS - 1) * step);
    for (size_t tap = 0; tap < TAPS; tap++) {
        float *from = begin ? begin - tap * step * d : NULL;
        l->k->product(l->s, matrix(y, d), tap > 0, matrix(from, d), transposed(matrix(at(l->taps, tap * d * d), d)), 1,
                      1, 1, n, d, d);
    }
}

/* mixed[t,c] = sum over taps of depth[tap,c] x[t - (TAPS-1) + tap, c], each column c for itself; y = out(mixed).
 * Column c of n vectors is a matrix [n,TAPS] whose rows overlap; there are d of them, one number apart. */
static void separable(const Layer *l, float *y, const float *x)
{
    const size_t n = l->n, d = l->d;
    const float *begin = pad_front(l, x, TAPS - 1);
    const Operand windows = {begin ? l->wide : NULL, 0, 1, d, d}, depth = {l->depth, 0, 1, d, 1};
    l->k->product(l->s, (Operand){l->mixed, 0, 1, d, 1}, false, windows, depth, 1, 1, d, n, 1, TAPS);
    l->k->linear_forward(l->s, y, false, l->mixed, l->out, NULL, false, n, d, d);
}

/* Layer number `depth` of a chain of them: the taps of dilated convolutions stand farther and farther apart. */
static void run(const Layer *l, Kind kind, float *y, const float *x, size_t depth)
{
    switch (kind) {
    case ATTENTION: attention(l, y, x, 0); break;
    case LOCAL: attention(l, y, x, WINDOW); break;
    case RECURRENCE: recurrence(l, y, x); break;
    case CONVOLUTION: convolution(l, y, x, 1); break;
    case DILATED: convolution(l, y, x, (size_t)pow(TAPS, (double)depth)); break;
    default: separable(l, y, x);
    }
}

/* ---- 1. counted */

typedef struct Count {
    double maps, mixing; /* multiply-adds: of maps of single vectors, and of all else */
    size_t calls;        /* of operations */
} Count;

/* The layer runs on the table that computes nothing. */
static Count count(Kind kind, size_t n, size_t d)
{
    Layer l = {.k = cost_kernels(NUMBER_F32), .n = n, .d = d};
    Count c = {0};
    Error e;
    size_t operations;
    if (!l.k->open(&l.s, 1, &e))
        return c;
    run(&l, kind, NULL, NULL, 0);
    for (const Cost *cost = cost_counted(l.s, &operations), *end = cost + operations; cost < end; cost++) {
        *(strcmp(cost->operation, "linear_forward") ? &c.mixing : &c.maps) += cost->flop / 2;
        c.calls += cost->calls;
    }
    l.k->close(l.s);
    return c;
}

static void table_of_costs(void)
{
    static const size_t lengths[] = {64, 512, 4096};
    enum { D = 512 };
    section("1. Counted");
    printf("  millions of multiply-adds, d = %d, window %d, %d taps\n  %-16s", D, WINDOW, TAPS, "");
    for (int i = 0; i < 3; i++)
        printf("         n = %4zu%9s", lengths[i], "");
    printf("\n  %-16s", "");
    for (int i = 0; i < 3; i++)
        printf("%9s%9s%6s", "mixing", "all", "calls");
    printf("\n");
    for (Kind kind = 0; kind < KINDS; kind++) {
        printf("  %-16s", names[kind]);
        for (int i = 0; i < 3; i++) {
            Count c = count(kind, lengths[i], D);
            printf("%9.1f%9.1f%6zu", c.mixing / 1e6, (c.mixing + c.maps) / 1e6, c.calls);
        }
        printf("\n");
    }
}

/* Up to which length attention costs less than another layer: the mixing alone, and all of it */
static void crossings(void)
{
    static const Kind others[] = {RECURRENCE, CONVOLUTION, SEPARABLE};
    static const size_t sizes[] = {64, 512, 1024};
    printf("\n  up to which n attention costs less: its mixing, all of it\n  %-16s", "");
    for (int i = 0; i < 3; i++)
        printf("%12s%4zu", "d = ", sizes[i]);
    printf("\n");
    for (int o = 0; o < 3; o++) {
        printf("  than %-11s", names[others[o]]);
        for (int i = 0; i < 3; i++) {
            size_t mixing = 0, all = 0;
            for (size_t n = 2; n <= 4 * sizes[i]; n++) {
                Count a = count(ATTENTION, n, sizes[i]), c = count(others[o], n, sizes[i]);
                mixing = a.mixing < c.mixing ? n : mixing;
                all = a.mixing + a.maps < c.mixing + c.maps ? n : all;
            }
            printf("%12zu%4zu", mixing, all);
        }
        printf("\n");
    }
}

static void curves_of_costs(void)
{
    enum { POINTS = 11, SHOWN = 5 };
    static const Kind shown[SHOWN] = {ATTENTION, LOCAL, RECURRENCE, CONVOLUTION, SEPARABLE};
    static float n[POINTS], cost[SHOWN][POINTS];
    Curve curves[SHOWN];
    for (int i = 0; i < SHOWN; i++) {
        for (int p = 0; p < POINTS; p++) {
            Count c = count(shown[i], (size_t)16 << p, 512);
            n[p] = (float)(16 << p), cost[i][p] = (float)((c.mixing + c.maps) / (16 << p) / 1e6);
        }
        curves[i] = (Curve){names[shown[i]], n, cost[i], POINTS};
    }
    printf("\n");
    draw_curves(&(Plot){"16-cost", "the cost of a layer for each vector, d = 512", "length n",
                        "millions of multiply-adds", true, true},
                curves, SHOWN);
}

/* What is hidden after it was computed costs what it costs. */
static void hidden_costs(void)
{
    enum { N = 4096, D = 512 };
    Count window = count(LOCAL, N, D);
    Error e;
    Stream *s;
    if (!cost_kernels(NUMBER_F32)->open(&s, 1, &e))
        return;
    const Operand none = {0};
    size_t operations;
    double masked = 0;
    cost_kernels(NUMBER_F32)->product(s, none, false, none, none, 1, 1, HEADS, N, N, D / HEADS);
    cost_kernels(NUMBER_F32)->product(s, none, false, none, none, 1, 1, HEADS, N, D / HEADS, N);
    for (const Cost *c = cost_counted(s, &operations), *end = c + operations; c < end; c++)
        masked += c->flop / 2;
    printf("  a window of %d in %d vectors, millions: %.1f where only the window is computed,\n"
           "  %.1f where all scores are computed and most are hidden\n",
           WINDOW, N, window.mixing / 1e6, masked / 1e6);
    cost_kernels(NUMBER_F32)->close(s);
}

/* ---- 2. on a clock */

enum { D = 64, LONGEST = 1024 };

/* A layer with memory and random weights of the given size; at 1, numbers stay about as large as they are. gain: of the
 * matrix of a recurrence's state. */
static Layer layer(const Kernels *k, Stream *s, size_t n, size_t d, double size, double gain)
{
    static float weights[8 * D * D + TAPS * D * D + TAPS * D], wide[3 * (LONGEST + 2 * LONGEST) * D],
        mixed[LONGEST * D], lse[LONGEST * HEADS];
    Layer l = {k, s, n, d, weights, weights + 3 * d * d, weights + 4 * d * d, .wide = wide, .mixed = mixed, .lse = lse};
    l.taps = weights + 5 * d * d, l.depth = l.taps + TAPS * d * d;
    for (size_t i = 0; i < (5 + TAPS) * d * d + TAPS * d; i++)
        weights[i] = (float)(size * philox_normal(1, 0, i, 0) / sqrt((double)d));
    for (size_t i = 0; i < d * d; i++)
        l.state[i] *= (float)gain;
    return l;
}

static void fill(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)philox_normal(2, 0, i, 0);
}

/* Seconds of one call, the best of several */
static double seconds(const Layer *l, Kind kind, float *y, const float *x)
{
    double best = INFINITY, began = clock_seconds();
    for (int i = 0; i < 3 || (i < 50 && clock_seconds() - began < 0.05); i++) {
        double now = clock_seconds();
        run(l, kind, y, x, 0);
        best = fmin(best, clock_seconds() - now);
    }
    return best;
}

static void on_a_clock(void)
{
    static const size_t lengths[] = {64, 256, LONGEST};
    static float x[LONGEST * D], y[LONGEST * D], n[3], time[KINDS][3];
    Curve curves[KINDS];
    Error e = {{0}};
    Stream *s = NULL;
    const Kernels *cpu = kernels_find("cpu", NUMBER_F32, &e);
    section("2. On a clock");
    if (!cpu || !cpu->open(&s, 1, &e)) {
        printf("  no times: %s\n", e.text);
        return;
    }
    fill(x, LONGEST * D);
    printf("  one core, d = %d: microseconds, and of it nanoseconds for a thousand multiply-adds\n", D);
    for (Kind kind = 0; kind < KINDS; kind++) {
        printf("  %-16s", names[kind]);
        for (int i = 0; i < 3; i++) {
            Layer l = layer(cpu, s, lengths[i], D, 1, 1);
            Count c = count(kind, lengths[i], D);
            double t = seconds(&l, kind, y, x);
            n[i] = (float)lengths[i], time[kind][i] = (float)(1e6 * t);
            printf("   n = %4zu:%9.1f%8.1f", lengths[i], 1e6 * t, 1e12 * t / (c.mixing + c.maps));
        }
        printf("\n");
        curves[kind] = (Curve){names[kind], n, time[kind], 3};
    }
    cpu->close(s);
    printf("\n");
    draw_curves(&(Plot){"16-time", "the time of a layer, one core, d = 64", "length n", "microseconds", true, true},
                curves, KINDS);
}

/* ---- 3. how far */

/* How many layers it takes until the last of n vectors has heard of the first, which is NaN: whatever is computed from
 * NaN is NaN, even 0 times it. So it dyes what it reaches, and all weights may be 0. */
static size_t layers_to_the_end(Kind kind, size_t n)
{
    enum { NARROW = 4 };
    static float x[2][LONGEST * NARROW];
    Layer l = layer(&plain_f32, NULL, n, NARROW, 0, 0);
    size_t layers = 0;
    fill(x[0], n * NARROW);
    for (size_t i = 0; i < NARROW; i++)
        x[0][i] = NAN;
    for (; !isnan(x[layers % 2][n * NARROW - 1]); layers++)
        run(&l, kind, x[(layers + 1) % 2], x[layers % 2], layers);
    return layers;
}

static void how_far(void)
{
    static const size_t lengths[] = {64, 256, LONGEST};
    section("3. How far");
    printf("  from the first of n vectors to the last: layers, and steps one after another\n  %-16s", "");
    for (int i = 0; i < 3; i++)
        printf("%10s%4zu", "n = ", lengths[i]);
    printf("   all layers, d = 512\n");
    for (Kind kind = 0; kind < KINDS; kind++) {
        double cost = 0;
        printf("  %-16s", names[kind]);
        for (int i = 0; i < 3; i++) {
            size_t layers = layers_to_the_end(kind, lengths[i]);
            Count c = count(kind, lengths[i], 512);
            printf("%7zu%7zu", layers, kind == RECURRENCE ? lengths[i] - 1 : layers);
            cost = (c.mixing + c.maps) * (double)layers / 1e6;
        }
        printf("%19.0f M\n", cost);
    }
}

/* ---- 4. what arrives */

enum { FAR = 64, CASES = 4 };

/* change [FAR]: how much vector t of the result changes when the first vector does, as a share of that change */
static void influence(const Layer *l, Kind kind, float *change)
{
    static float x[FAR * D], y[2][FAR * D];
    const float push = 0.01f;
    fill(x, FAR * D);
    run(l, kind, y[0], x, 0);
    for (size_t i = 0; i < D; i++)
        x[i] += push * (i % 2 ? 1.0f : -1.0f);
    run(l, kind, y[1], x, 0);
    for (size_t t = 0; t < FAR; t++) {
        float sum = 0;
        for (size_t i = t * D; i < (t + 1) * D; i++)
            sum += (y[1][i] - y[0][i]) * (y[1][i] - y[0][i]);
        change[t] = sqrtf(sum / D) / push;
    }
}

static void what_arrives(void)
{
    static const char *const labels[CASES] = {"attention", "half: recurrence, gain 0.5", "one: recurrence, gain 1",
                                              "two: recurrence, gain 2"};
    static const double gains[CASES] = {1, 0.5, 1, 2};
    static float distance[FAR], change[CASES][FAR];
    Curve curves[CASES];
    section("4. What arrives");
    printf("  the first vector is moved a little; how much others move, as a share of it\n  %-28s", "distance");
    for (size_t t = 1; t < FAR; t = 4 * t - (t == 16))
        printf("%10zu", t);
    printf("\n");
    for (int i = 0; i < CASES; i++) {
        Layer l = layer(&plain_f32, NULL, FAR, D, 1, gains[i]);
        influence(&l, i ? RECURRENCE : ATTENTION, change[i]);
        printf("  %-28s", labels[i]);
        for (size_t t = 1; t < FAR; t = 4 * t - (t == 16))
            change[i][t] < 1e-4f ? printf("%10s", "< 0.0001") : printf("%10.5f", (double)change[i][t]);
        printf("\n");
        for (size_t t = 0; t < FAR; t++)
            distance[t] = (float)t, change[i][t] = change[i][t] < 1e-4f ? 0 : change[i][t];
        curves[i] = (Curve){labels[i], distance + 1, change[i] + 1, FAR - 1};
    }
    printf("\n");
    draw_curves(&(Plot){"16-arrives", "what arrives of a change", "distance", "share", false, true}, curves, CASES);
}

int main(void)
{
    table_of_costs();
    crossings();
    curves_of_costs();
    hidden_costs();
    on_a_clock();
    how_far();
    what_arrives();
    return 0;
}
