/* make bench-kernels: the speed of each operation of the cpu backend on one core, beside the machine's own limits.
 *
 *     bench-kernels [WORD...]     only operations and shapes that contain one of the words
 *
 * An operation is first compared with plain, on a smaller shape, on which plain is timed as well: it is hundreds of
 * times slower. Times are the median of repeated runs after a warm-up; FLOP and bytes are kernels/cost's. Products
 * are compared with the peak of their type, the rest with memory that is read and written in place: more than all of
 * that means that caches helped. */

#include "base/bf16.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/philox.h"
#include "base/thread.h"
#include "core/program/tuned.h"
#include "kernels/cost/cost.h"
#include "kernels/cpu/level.h"
#include "kernels/plain/plain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS = 12 };

typedef struct Sizes {
    size_t n, in, out; /* positions and widths; in alone: D, or V of a loss */
    size_t t, heads;   /* attention: length of each row; its width is `in` */
    bool relu, real, causal;
} Sizes;

typedef enum Kind { NUMBERS, REALS, IDS, STARTS } Kind;

typedef struct Tensor {
    Kind kind;
    size_t count;
    bool result;  /* to be compared with plain's */
    size_t below; /* ids are below this */
    bool squares; /* moments of squares are not negative */
} Tensor;

/* An operation with the memory that it works on, for one table. */
typedef struct Work {
    const Kernels *k;
    Stream *s;
    Sizes size;
    Tensor tensor[TENSORS];
    void *at[TENSORS];
    StepState state;
} Work;

typedef struct Operation {
    const char *name;
    void (*describe)(Tensor *t, const Sizes *z);
    void (*before)(Work *w); /* computes what the operation reads, or NULL */
    void (*run)(Work *w);
} Operation;

/* --- operations: their tensors, and their calls --- */

static Tensor input(Kind kind, size_t count) { return (Tensor){.kind = kind, .count = count}; }
static Tensor output(Kind kind, size_t count) { return (Tensor){.kind = kind, .count = count, .result = true}; }

enum { Y, X, W, BIAS, DX, DW, DBIAS, DY };

static void describe_linear(Tensor *t, const Sizes *z)
{
    t[Y] = output(z->real ? REALS : NUMBERS, z->n * z->out);
    t[X] = input(NUMBERS, z->n * z->in);
    t[W] = input(NUMBERS, z->in * z->out);
    t[BIAS] = input(REALS, z->out);
    t[DX] = output(NUMBERS, z->n * z->in);
    t[DW] = output(REALS, z->in * z->out);
    t[DBIAS] = output(REALS, z->out);
    t[DY] = input(NUMBERS, z->n * z->out);
}

static void linear_forward(Work *w)
{
    const Sizes *z = &w->size;
    w->k->linear_forward(w->s, w->at[Y], z->real, w->at[X], w->at[W], w->at[BIAS], z->relu, z->n, z->in, z->out);
}

static void linear_backward(Work *w)
{
    const Sizes *z = &w->size;
    w->k->linear_backward(w->s, w->at[DX], false, w->at[DW], w->at[DBIAS], w->at[DY], w->at[Y], w->at[X], w->at[W],
                          z->relu, z->n, z->in, z->out);
}

enum { LSE = 1, QKV, DQKV, START, ATTENDED_DY };

static void describe_attention(Tensor *t, const Sizes *z)
{
    t[Y] = output(NUMBERS, z->n * z->in);
    t[LSE] = output(REALS, z->n * z->heads);
    t[QKV] = input(NUMBERS, 3 * z->n * z->in);
    t[DQKV] = output(NUMBERS, 3 * z->n * z->in);
    t[START] = input(STARTS, z->n / z->t + 1);
    t[ATTENDED_DY] = input(NUMBERS, z->n * z->in);
}

static Attend attend_of(const Work *w)
{
    const Sizes *z = &w->size;
    size_t head = z->in / z->heads;
    return (Attend){.rows = z->n / z->t,
                    .queries = z->n,
                    .longest_query = z->t,
                    .keys = z->n,
                    .longest_key = z->t,
                    .heads = z->heads,
                    .key_size = head,
                    .value_size = head,
                    .query_start = w->at[START],
                    .key_start = w->at[START],
                    .causal = z->causal,
                    .scale = 1 / sqrt((double)head)};
}

/* Queries, keys and values are side by side, as one product makes them. */
static Strided part_of(const Work *w, size_t tensor, size_t part)
{
    return (Strided){(char *)w->at[tensor] + part * w->size.in * w->k->number, 3 * w->size.in};
}

static void attention_forward(Work *w)
{
    Attend how = attend_of(w);
    w->k->attention_forward(w->s, w->at[Y], w->at[LSE], part_of(w, QKV, 0), part_of(w, QKV, 1), part_of(w, QKV, 2),
                            &how, &w->state);
}

static void attention_backward(Work *w)
{
    Attend how = attend_of(w);
    AttendGradients d = {.q = part_of(w, DQKV, 0), .k = part_of(w, DQKV, 1), .v = part_of(w, DQKV, 2)};
    w->k->attention_backward(w->s, &d, w->at[ATTENDED_DY], w->at[Y], w->at[LSE], part_of(w, QKV, 0), part_of(w, QKV, 1),
                             part_of(w, QKV, 2), &how, &w->state);
}

enum { SUM = 1, MEAN, RSTD, FIRST, SECOND, GAIN, SHIFT, DFIRST, DGAIN, DSHIFT, NORMED_DY };

static void describe_norm(Tensor *t, const Sizes *z)
{
    t[Y] = output(NUMBERS, z->n * z->in);
    t[SUM] = t[FIRST] = t[SECOND] = t[NORMED_DY] = input(NUMBERS, z->n * z->in);
    t[MEAN] = t[RSTD] = output(REALS, z->n);
    t[GAIN] = t[SHIFT] = input(REALS, z->in);
    t[DFIRST] = output(NUMBERS, z->n * z->in);
    t[DGAIN] = t[DSHIFT] = output(REALS, z->in);
}

static void norm_forward(Work *w)
{
    w->k->norm_forward(w->s, w->at[Y], w->at[MEAN], w->at[RSTD], w->at[FIRST], w->at[GAIN], w->at[SHIFT], 1e-5,
                       w->size.n, w->size.in);
}

static void norm_backward(Work *w)
{
    w->k->norm_backward(w->s, w->at[DFIRST], false, w->at[DGAIN], w->at[DSHIFT], w->at[NORMED_DY], w->at[MEAN],
                        w->at[RSTD], w->at[FIRST], w->at[GAIN], w->size.n, w->size.in);
}

static void add_norm_forward(Work *w)
{
    w->k->add_norm_forward(w->s, w->at[Y], w->at[SUM], w->at[MEAN], w->at[RSTD], w->at[FIRST], w->at[SECOND],
                           (Dropout){0}, &w->state, w->at[GAIN], w->at[SHIFT], 1e-5, w->size.n, w->size.in);
}

/* The second input's gradient goes where its value was. */
static void add_norm_backward(Work *w)
{
    w->k->add_norm_backward(w->s, w->at[DFIRST], false, w->at[SECOND], false, w->at[DGAIN], w->at[DSHIFT],
                            w->at[NORMED_DY], w->at[SUM], w->at[MEAN], w->at[RSTD], (Dropout){0}, &w->state,
                            w->at[GAIN], w->size.n, w->size.in);
}

enum { LOGITS = 2, TARGETS, DLOGITS };

static void describe_loss(Tensor *t, const Sizes *z)
{
    t[Y] = t[LSE] = output(REALS, z->n);
    t[LOGITS] = input(REALS, z->n * z->in);
    t[TARGETS] = (Tensor){.kind = IDS, .count = z->n, .below = z->in};
    t[DLOGITS] = output(NUMBERS, z->n * z->in);
}

static void cross_entropy_forward(Work *w)
{
    w->k->cross_entropy_forward(w->s, w->at[Y], w->at[LSE], &w->state, 0, w->at[LOGITS], w->at[TARGETS], 0, w->size.n,
                                w->size.in);
}

static void cross_entropy_backward(Work *w)
{
    w->k->cross_entropy_backward(w->s, w->at[DLOGITS], false, &w->state, 0, w->at[LSE], w->at[LOGITS], w->at[TARGETS],
                                 0, w->size.n, w->size.in);
}

enum { WEIGHTS, COPY, FIRST_MOMENT, SECOND_MOMENT, GRADIENT };

static void describe_adam(Tensor *t, const Sizes *z)
{
    t[WEIGHTS] = t[FIRST_MOMENT] = output(REALS, z->n);
    t[COPY] = output(NUMBERS, z->n);
    t[SECOND_MOMENT] = (Tensor){.kind = REALS, .count = z->n, .result = true, .squares = true};
    t[GRADIENT] = input(REALS, z->n);
}

/* In f32 weights are their own numbers: there is no copy. */
static void adam(Work *w)
{
    w->k->adam(w->s, w->at[WEIGHTS], w->k->number < w->k->real ? w->at[COPY] : NULL, w->at[FIRST_MOMENT],
               w->at[SECOND_MOMENT], w->at[GRADIENT], &w->state, (Adam){0.9, 0.999, 1e-8}, NULL, 0, 0, w->size.n);
}

static const Operation operations[] = {
    {"linear_forward", describe_linear, NULL, linear_forward},
    {"linear_backward", describe_linear, linear_forward, linear_backward},
    {"attention_forward", describe_attention, NULL, attention_forward},
    {"attention_backward", describe_attention, attention_forward, attention_backward},
    {"norm_forward", describe_norm, NULL, norm_forward},
    {"norm_backward", describe_norm, norm_forward, norm_backward},
    {"add_norm_forward", describe_norm, NULL, add_norm_forward},
    {"add_norm_backward", describe_norm, add_norm_forward, add_norm_backward},
    {"cross_entropy_forward", describe_loss, NULL, cross_entropy_forward},
    {"cross_entropy_backward", describe_loss, cross_entropy_forward, cross_entropy_backward},
    {"adam", describe_adam, NULL, adam},
};

enum { OPERATIONS = sizeof operations / sizeof *operations };

/* --- shapes --- */

typedef struct Group {
    size_t first, last; /* operations that meet these shapes */
    size_t count;
    const Sizes *sizes;
} Group;

/* Those of charlm's preset former with two rows a micro-batch; one byte at a time; and a large one. */
static const Sizes linear_sizes[] = {
    {.n = 512, .in = 256, .out = 768},
    {.n = 512, .in = 256, .out = 256},
    {.n = 512, .in = 256, .out = 1024, .relu = true},
    {.n = 512, .in = 1024, .out = 256},
    {.n = 512, .in = 256, .out = 256, .real = true},
    {.n = 1, .in = 256, .out = 1024},
    {.n = 1024, .in = 1024, .out = 1024},
};
/* Heads of 32 and 64; and of 16, which are classifier's. */
static const Sizes attention_sizes[] = {
    {.n = 512, .in = 256, .t = 256, .heads = 8, .causal = true},
    {.n = 512, .in = 256, .t = 256, .heads = 8},
    {.n = 512, .in = 256, .t = 256, .heads = 4, .causal = true},
    {.n = 512, .in = 256, .t = 256, .heads = 4},
    {.n = 512, .in = 256, .t = 512, .heads = 8, .causal = true},
    {.n = 512, .in = 256, .t = 512, .heads = 8},
    {.n = 512, .in = 256, .t = 512, .heads = 4, .causal = true},
    {.n = 512, .in = 256, .t = 512, .heads = 4},
    {.n = 2048, .in = 256, .t = 2048, .heads = 8, .causal = true},
    {.n = 2048, .in = 256, .t = 2048, .heads = 8},
    {.n = 2048, .in = 256, .t = 2048, .heads = 4, .causal = true},
    {.n = 2048, .in = 256, .t = 2048, .heads = 4},
    {.n = 512, .in = 128, .t = 256, .heads = 8},
    {.n = 512, .in = 128, .t = 512, .heads = 8},
};
static const Sizes norm_sizes[] = {{.n = 512, .in = 256}, {.n = 65536, .in = 256}};
static const Sizes loss_sizes[] = {{.n = 512, .in = 256}, {.n = 512, .in = 32768}};
static const Sizes adam_sizes[] = {{.n = 9664768}};

#define GROUP(first, last, sizes)                                                                                      \
    {                                                                                                                  \
        first, last, sizeof(sizes) / sizeof *(sizes), sizes                                                            \
    }
static const Group groups[] = {GROUP(0, 1, linear_sizes), GROUP(2, 3, attention_sizes), GROUP(4, 7, norm_sizes),
                               GROUP(8, 9, loss_sizes), GROUP(10, 10, adam_sizes)};

static size_t at_most(size_t n, size_t most) { return n < most ? n : most; }

/* What plain is asked to do: the same with fewer and odd sizes. */
static Sizes smaller(Sizes z)
{
    z.n = z.t ? 2 * 77 : at_most(z.n, z.in ? 61 : 10007);
    z.t = z.t ? 77 : 0;
    if (z.heads) {
        z.in /= z.heads / 2;
        z.heads = 2;
    } else {
        z.in = at_most(z.in, 256);
        z.out = at_most(z.out, 301);
    }
    return z;
}

static const char *shape_text(const Sizes *z)
{
    static char text[64];
    if (z->t)
        snprintf(text, sizeof text, "%zu x T %zu, %zu heads of %zu%s", z->n / z->t, z->t, z->heads, z->in / z->heads,
                 z->causal ? ", causal" : "");
    else if (z->out)
        snprintf(text, sizeof text, "%zu x %zu -> %zu%s%s", z->n, z->in, z->out, z->relu ? ", relu" : "",
                 z->real ? ", real" : "");
    else if (z->in)
        snprintf(text, sizeof text, "%zu x %zu", z->n, z->in);
    else
        snprintf(text, sizeof text, "%zu", z->n);
    return text;
}

/* --- memory --- */

static size_t bytes_of(const Kernels *k, Kind kind)
{
    return kind == NUMBERS ? k->number : kind == REALS ? k->real : sizeof(int32_t);
}

static double value_at(const Work *w, size_t i, size_t j)
{
    const void *p = w->at[i];
    bool narrow = w->tensor[i].kind == NUMBERS && w->k->type == NUMBER_BF16;
    return (double)(narrow ? bf16_to_float(((const Bf16 *)p)[j]) : ((const float *)p)[j]);
}

/* Numbers in (-1,1) that bf16 can hold, so that all types compute the same. */
static void fill(Work *w, size_t i)
{
    const Tensor *t = &w->tensor[i];
    for (size_t j = 0; j < t->count; j++) {
        /* a short period is enough, and quickly made */
        Philox r = philox(1, 0, (uint32_t)(j % 4099), 0, 0, (uint32_t)i);
        float x = bf16_to_float(bf16_from_float(2 * philox_float(r.word[0]) - 1));
        if (t->kind == IDS)
            ((int32_t *)w->at[i])[j] = (int32_t)(r.word[0] % t->below);
        else if (t->kind == STARTS)
            ((int32_t *)w->at[i])[j] = (int32_t)(j * w->size.t);
        else if (t->kind == NUMBERS && w->k->type == NUMBER_BF16)
            ((Bf16 *)w->at[i])[j] = bf16_from_float(x);
        else
            ((float *)w->at[i])[j] = t->squares ? x * x : x;
    }
}

static void work_close(Work *w)
{
    for (size_t i = 0; i < TENSORS; i++)
        w->k->release(w->at[i]);
    if (w->s)
        w->k->close(w->s);
}

/* Results begin as zeros, but for those of Adam, which are read first. */
static bool work_open(Work *w, const Kernels *k, const Operation *o, const Sizes *z, Error *e)
{
    *w = (Work){.k = k, .size = *z};
    w->state = (StepState){.learning_rate = 1e-3, .correction1 = 0.1, .correction2 = 1e-3, .clip = 1, .finite = 1};
    w->state.loss[0].scale = 1 / (double)z->n;
    o->describe(w->tensor, z);
    bool fine = k->open(&w->s, 1, e);
    for (size_t i = 0; fine && i < TENSORS; i++) {
        const Tensor *t = &w->tensor[i];
        if (!t->count)
            continue;
        w->at[i] = k->allocate(t->count * bytes_of(k, t->kind));
        fine = w->at[i] || memory_error(e, o->name, t->count, bytes_of(k, t->kind));
        if (fine && (!t->result || o->describe == describe_adam))
            fill(w, i);
    }
    if (fine && o->before)
        o->before(w);
    if (!fine)
        work_close(w);
    return fine;
}

/* --- checking and timing --- */

/* The largest difference of each result, against its largest value. */
static bool agrees(const Work *w, const Work *plain, const Operation *o, Error *e)
{
    double allowed = w->k->type == NUMBER_BF16 ? 3e-2 : 1e-4;
    for (size_t i = 0; i < TENSORS; i++) {
        double largest = 0, difference = 0;
        bool copied = w->tensor[i].kind == NUMBERS && o->describe == describe_adam;
        if (!w->tensor[i].result || copied) /* f32's Adam makes no copy */
            continue;
        for (size_t j = 0; j < w->tensor[i].count; j++) {
            double a = value_at(w, i, j), b = value_at(plain, i, j);
            largest = fmax(largest, fabs(b));
            if (!(fabs(a - b) <= difference))
                difference = fabs(a - b);
        }
        if (!(difference <= allowed * largest))
            return fail(e, "%s %s %s: differs from plain by %.2g of %.2g in its tensor %zu", o->name,
                        shape_text(&w->size), number_type_name(w->k->type), difference, largest, i);
    }
    return true;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

enum { SAMPLES = 101 };

/* The median time of one run: samples of at least 50 us, for about a fifth of a second, but no fewer than `least`. */
static double median_time(const Operation *o, Work *w, size_t least)
{
    double times[SAMPLES] = {0}, start = clock_seconds();
    o->run(w);
    double once = clock_seconds() - start;
    size_t runs = once < 50e-6 ? (size_t)(50e-6 / (once + 1e-9)) + 1 : 1, count = 0;
    start = clock_seconds();
    while (count < SAMPLES && (count < least || clock_seconds() - start < 0.2)) {
        double begin = clock_seconds();
        for (size_t i = 0; i < runs; i++)
            o->run(w);
        times[count++] = (clock_seconds() - begin) / (double)runs;
    }
    qsort(times, count, sizeof *times, by_value);
    return times[count / 2];
}

/* What measure says of the same call. */
static bool cost_of(Cost *cost, const Operation *o, const Work *w, Error *e)
{
    Work shapes = *w;
    shapes.k = cost_kernels(w->k->type);
    shapes.s = NULL;
    if (!shapes.k->open(&shapes.s, 1, e))
        return false;
    o->run(&shapes);
    *cost = *cost_last(shapes.s);
    shapes.k->close(shapes.s);
    return true;
}

static bool print_row(const Operation *o, Work *w, size_t least, const Limits *limits, Error *e)
{
    Cost cost;
    double seconds = median_time(o, w, least);
    if (!cost_of(&cost, o, w, e))
        return false;
    bool flop = cost.flop > 0;
    double peak = w->k->type == NUMBER_BF16 && limits->bf16 > 0 ? limits->bf16 : limits->f32;
    double rate = (flop ? cost.flop : cost.bytes) / seconds, share = rate / (flop ? peak : limits->update);
    printf("%-22s %-34s %-5s %-4s %10.4f %8.1f %-7s %5.0f %%\n", o->name, shape_text(&w->size), w->k->backend,
           number_type_name(w->k->type), 1e3 * seconds, 1e-9 * rate, flop ? "GFLOP/s" : "GB/s", 100 * share);
    fflush(stdout);
    return w->k->finish(w->s, e);
}

/* One backend against plain on the small shape, then timed on the whole one. */
static bool try_backend(const Kernels *k, const Operation *o, const Sizes *z, const Work *plain, const Limits *limits,
                        Error *e)
{
    Work w;
    if (!work_open(&w, k, o, &plain->size, e))
        return false;
    o->run(&w);
    bool fine = agrees(&w, plain, o, e);
    work_close(&w);
    if (!fine || !work_open(&w, k, o, z, e))
        return false;
    fine = print_row(o, &w, 5, limits, e);
    work_close(&w);
    return fine;
}

static bool try_shape(const Operation *o, const Sizes *z, bool time_plain, const Limits *limits, Error *e)
{
    Sizes small = smaller(*z);
    Work plain, timed;
    if (!work_open(&plain, &plain_f32, o, &small, e))
        return false;
    o->run(&plain);
    bool fine = try_backend(cpu_kernels(NUMBER_F32), o, z, &plain, limits, e) &&
                try_backend(cpu_kernels(NUMBER_BF16), o, z, &plain, limits, e);
    work_close(&plain);
    if (!fine || !time_plain)
        return fine;
    fine = work_open(&timed, &plain_f32, o, &small, e);
    if (fine) {
        fine = print_row(o, &timed, 3, limits, e);
        work_close(&timed);
    }
    return fine;
}

static bool wanted(const Operation *o, const Sizes *z, int words, char **word)
{
    for (int i = 0; i < words; i++)
        if (strstr(o->name, word[i]) || strstr(shape_text(z), word[i]))
            return true;
    return words == 0;
}

/* Whether an earlier shape of the group was made as small. */
static bool seen_small(const Group *g, size_t index)
{
    Sizes a = smaller(g->sizes[index]);
    for (size_t i = 0; i < index; i++) {
        Sizes b = smaller(g->sizes[i]);
        if (a.n == b.n && a.in == b.in && a.out == b.out && a.causal == b.causal && a.relu == b.relu)
            return true;
    }
    return false;
}

static void print_limits(const Limits *l, size_t cores)
{
    printf("%zu core%s: f32 %.1f GFLOP/s, ", cores, cores == 1 ? "" : "s", 1e-9 * l->f32);
    if (l->bf16 > 0)
        printf("bf16 %.1f GFLOP/s", 1e-9 * l->bf16);
    else
        printf("no bf16 instructions");
    printf(", memory read %.1f GB/s, copied %.1f, updated %.1f (both ways together)\n", 1e-9 * l->read, 1e-9 * l->copy,
           1e-9 * l->update);
}

static bool bench(int words, char **word, Error *e)
{
    Limits one, all;
    const CpuLevel *level = cpu_level(e);
    size_t cores = processors_allowed();
    Buffer text = {0};
    tuned_keep();
    if (!level || !tuning_ready(e) || !level->measure(&one, 1, e))
        return false;
    tuning_text(&tuning_now, &text);
    printf("%s instructions; tuning: %s\n", level->name, text.text ? text.text : "");
    buffer_free(&text);
    print_limits(&one, 1);
    if (cores > 1) {
        if (!level->measure(&all, cores, e))
            return false;
        print_limits(&all, cores);
    }
    printf("\n%-22s %-34s %-10s %10s %16s %7s\n", "operation, one core", "shape", "backend", "ms", "", "share");
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (size_t o = groups[g].first; o <= groups[g].last; o++)
            for (size_t i = 0; i < groups[g].count; i++) {
                const Sizes *z = &groups[g].sizes[i];
                if (wanted(&operations[o], z, words, word) &&
                    !try_shape(&operations[o], z, !seen_small(&groups[g], i), &one, e))
                    return false;
            }
    return true;
}

int main(int argc, char **argv)
{
    Error e;
    size_t matches = 0;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (size_t o = groups[g].first; o <= groups[g].last; o++)
            for (size_t i = 0; i < groups[g].count; i++)
                matches += wanted(&operations[o], &groups[g].sizes[i], argc - 1, argv + 1);
    if (!matches) {
        fprintf(stderr, "bench-kernels: no operation or shape contains '%s'; operations:", argv[1]);
        for (size_t o = 0; o < OPERATIONS; o++)
            fprintf(stderr, " %s", operations[o].name);
        fprintf(stderr, "\n");
        return 2;
    }
    if (bench(argc - 1, argv + 1, &e))
        return 0;
    fprintf(stderr, "bench-kernels: %s\n", e.text);
    return 1;
}
