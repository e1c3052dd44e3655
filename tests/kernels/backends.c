/* See backends.h. */
#include "tests/kernels/backends.h"

#include "base/bf16.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The list: devices that a build may have, and types to test them in. A backend that kernels_find knows is tested, or
 * the one that the environment's BACKEND names alone. */
static const char *const devices[] = {"plain", "cpu", "cuda", "emulated", "checked"};
static const NumberType types[] = {NUMBER_F32, NUMBER_BF16};

enum { DEVICES = sizeof devices / sizeof *devices, TYPES = sizeof types / sizeof *types, GUARD = 8, TEAMS = 3 };

const Kernels *backend(size_t i)
{
    const char *only = getenv("BACKEND");
    for (size_t d = 0; d < DEVICES; d++) {
        if (only && *only && strcmp(only, devices[d]) != 0)
            continue;
        for (size_t t = 0; t < TYPES; t++) {
            Error e;
            const Kernels *k = kernels_find(devices[d], types[t], &e);
            if (k && !i--)
                return k;
        }
    }
    return NULL;
}

/* ---- cases */

static void *get(size_t count, size_t size)
{
    void *block = memory_get(count, size);
    ck_assert_ptr_nonnull(block);
    return block;
}

Case case_new(Call *call, const void *shape, uint32_t seed)
{
    Case c = {.call = call, .shape = shape, .random = {.seed = seed}};
    c.state = (StepState){.seed = 17 + seed, .step = 3, .finite = 1};
    for (uint32_t side = 0; side < SIDES; side++)
        c.state.first_position[side] = 5 * seed + 100 * side;
    c.add = seed % 2;
    return c;
}

void case_free(Case *c)
{
    for (size_t i = 0; i < TENSORS; i++)
        memory_free(c->tensor[i].value);
}

Tensor *tensor_strided(Case *c, size_t index, const char *name, Kind kind, Use use, size_t rows, size_t columns,
                       size_t stride)
{
    ck_assert(index < TENSORS && !c->tensor[index].name && stride >= columns);
    Tensor *t = &c->tensor[index];
    *t = (Tensor){name, kind, use, rows, columns, stride, .source = -1, .weight = -1, .terms = 1};
    t->offset = 1 + below(&c->random, GUARD - 1);
    t->all = t->offset + rows * stride + GUARD;
    t->value = get(t->all, sizeof *t->value);
    t->stores = kind == NUMBERS;
    for (size_t i = 0; i < t->all; i++)
        t->value[i] = kind == INTEGERS ? 0 : uniform(&c->random);
    return t;
}

Tensor *tensor(Case *c, size_t index, const char *name, Kind kind, Use use, size_t rows, size_t columns)
{
    return tensor_strided(c, index, name, kind, use, rows, columns, columns);
}

Tensor *gradient(Case *c, size_t index, const char *name, Kind kind, Use use, size_t source)
{
    const Tensor *of = &c->tensor[source];
    Tensor *t = tensor_strided(c, index, name, kind, use, of->rows, of->columns, of->stride);
    t->source = (int)source;
    return t;
}

void output(Case *c, size_t index, size_t weight)
{
    Tensor *t = &c->tensor[index];
    t->weight = (int)weight;
    tensor(c, weight, "dy", NUMBERS, READ, t->rows, t->columns);
}

static size_t place(const Tensor *t, size_t i, size_t j) { return t->offset + i * t->stride + j; }

double *element(const Tensor *t, size_t i, size_t j) { return &t->value[place(t, i, j)]; }

double result_at(const Case *c, const Result *r, size_t index, size_t i, size_t j)
{
    return r->value[index][place(&c->tensor[index], i, j)];
}

void tensor_fill(Tensor *t, double x)
{
    for (size_t i = 0; i < t->rows; i++)
        for (size_t j = 0; j < t->columns; j++)
            *element(t, i, j) = x;
}

void tensor_integers(Tensor *t, const int32_t *from)
{
    for (size_t i = 0; i < t->rows; i++)
        for (size_t j = 0; j < t->columns; j++)
            *element(t, i, j) = from[i * t->columns + j];
}

/* ---- running one */

/* What an element is stored as, in a table of a type. */
typedef enum Format { AS_F32, AS_BF16, AS_F64, AS_INTEGER } Format;

static Format format_of(Kind kind, NumberType type)
{
    if (kind == INTEGERS)
        return AS_INTEGER;
    if (kind == DOUBLES || type == NUMBER_F64)
        return AS_F64;
    return kind == NUMBERS && type == NUMBER_BF16 ? AS_BF16 : AS_F32;
}

static size_t format_size(Format format)
{
    static const size_t sizes[] = {sizeof(float), sizeof(Bf16), sizeof(double), sizeof(int32_t)};
    return sizes[format];
}

static void encode(void *to, Format format, const double *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        switch (format) {
        case AS_F32: ((float *)to)[i] = (float)from[i]; break;
        case AS_BF16: ((Bf16 *)to)[i] = bf16_from_float((float)from[i]); break;
        case AS_F64: ((double *)to)[i] = from[i]; break;
        case AS_INTEGER: ((int32_t *)to)[i] = (int32_t)from[i]; break;
        }
}

static void decode(double *to, Format format, const void *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        switch (format) {
        case AS_F32: to[i] = (double)((const float *)from)[i]; break;
        case AS_BF16: to[i] = (double)bf16_to_float(((const Bf16 *)from)[i]); break;
        case AS_F64: to[i] = ((const double *)from)[i]; break;
        case AS_INTEGER: to[i] = (double)((const int32_t *)from)[i]; break;
        }
}

static Use use_of(const Case *c, const Tensor *t) { return t->use == GRADIENT ? c->add ? ADDED : WRITTEN : t->use; }

/* A tensor's values before the call: rounded, and where it is to be written something that f64 and others differ in. */
static void *encode_tensor(const Case *c, const Tensor *t, NumberType type, NumberType rounded)
{
    Format format = format_of(t->kind, type), round = format_of(t->kind, rounded);
    double *value = get(t->all, sizeof *value);
    void *bytes = get(t->all, format_size(format));
    void *narrow = get(t->all, format_size(round));
    encode(narrow, round, t->value, t->all);
    decode(value, round, narrow, t->all);
    if (use_of(c, t) == WRITTEN)
        for (size_t i = 0; i < t->rows; i++)
            for (size_t j = 0; j < t->columns; j++)
                value[place(t, i, j)] = type == NUMBER_F64 ? 3333 : -5555;
    encode(bytes, format, value, t->all);
    memory_free(narrow);
    memory_free(value);
    return bytes;
}

/* Guards, gaps and what is only read hold what they held. */
static void untouched(const Case *c, size_t index, const Kernels *k, const double *before, const double *after)
{
    const Tensor *t = &c->tensor[index];
    size_t inside = t->rows * t->stride;
    for (size_t i = 0; i < t->all; i++) {
        bool written = i >= t->offset && i < t->offset + inside && (i - t->offset) % t->stride < t->columns;
        if ((written && t->use != READ) || !memcmp(&before[i], &after[i], sizeof *before))
            continue;
        ck_abort_msg("%s %s, %s: %s[%d] was %g and became %g, where nothing may be written", k->backend,
                     number_type_name(k->type), c->words, t->name, (int)i - (int)t->offset, before[i], after[i]);
    }
}

/* What runs CUDA kernels on a CPU is told by the environment in which order their threads run: another one each time a
 * case is run, which must not change a bit. And which kernels: one case in four has the first version of each. */
static void choose_order(const Case *c)
{
    static const char *const orders[] = {"greedy", "backward", "random:1", "forward", "greedy:2", "random:2"};
    static size_t runs;
    setenv("ATTEND_ORDER", orders[runs++ % (sizeof orders / sizeof *orders)], 1);
    setenv("ATTEND_KERNELS", c->state.seed % 4 ? "" : "naive", 1);
}

static Stream *stream_open(const Case *c, const Kernels *k)
{
    Stream *s;
    Error e;
    choose_order(c);
    ck_done(k->open(&s, 1 + c->random.seed % TEAMS, &e), e);
    return s;
}

Result case_run(const Case *c, const Kernels *k, NumberType rounded)
{
    Stream *s = stream_open(c, k);
    Result r = {.k = k, .state = c->state};
    StepState *state = k->allocate(sizeof *state);
    void *device[TENSORS] = {0}, *host[TENSORS] = {0}, *at[TENSORS] = {0};
    ck_assert_ptr_nonnull(state);
    k->upload(s, state, &c->state, sizeof *state);
    for (size_t i = 0; i < TENSORS; i++) {
        const Tensor *t = &c->tensor[i];
        if (!t->name || t->use == ABSENT)
            continue;
        size_t size = format_size(format_of(t->kind, k->type));
        host[i] = encode_tensor(c, t, k->type, rounded);
        device[i] = k->allocate(t->all * size);
        ck_assert_ptr_nonnull(device[i]);
        k->upload(s, device[i], host[i], t->all * size);
        at[i] = (char *)device[i] + t->offset * size;
    }
    c->call(k, s, at, state, c);
    k->download(s, &r.state, state, sizeof r.state);
    for (size_t i = 0; i < TENSORS; i++) {
        const Tensor *t = &c->tensor[i];
        if (!device[i])
            continue;
        Format format = format_of(t->kind, k->type);
        double *before = get(t->all, sizeof *before);
        decode(before, format, host[i], t->all);
        k->download(s, host[i], device[i], t->all * format_size(format));
        r.value[i] = get(t->all, sizeof *r.value[i]);
        Error e;
        ck_done(k->finish(s, &e), e);
        decode(r.value[i], format, host[i], t->all);
        untouched(c, i, k, before, r.value[i]);
        k->release(device[i]);
        memory_free(before);
        memory_free(host[i]);
    }
    k->release(state);
    k->close(s);
    return r;
}

void result_free(Result *r)
{
    for (size_t i = 0; i < TENSORS; i++)
        memory_free(r->value[i]);
}

void same_bits(const Case *c, size_t index, const Result *a, const Result *b)
{
    const Tensor *t = &c->tensor[index];
    ck_assert(!a->value[index] == !b->value[index]);
    for (size_t i = 0; a->value[index] && i < t->rows; i++)
        for (size_t j = 0; j < t->columns; j++) {
            double x = result_at(c, a, index, i, j), y = result_at(c, b, index, i, j);
            if (memcmp(&x, &y, sizeof x) != 0) /* a ck_assert writes to a file each time */
                ck_abort_msg("%s: %s[%d,%d] is %.17g and %.17g", c->words, t->name, (int)i, (int)j, x, y);
        }
}

/* ---- agreement with f64 */

/* The largest value of a result, but no less than the tensor's floor. */
static double unit_of(const Case *c, size_t index, const Result *r)
{
    const Tensor *t = &c->tensor[index];
    double largest = t->floor;
    for (size_t i = 0; i < t->rows; i++)
        for (size_t j = 0; j < t->columns; j++) {
            double x = fabs(result_at(c, r, index, i, j));
            largest = isfinite(x) && x > largest ? x : largest;
        }
    return largest;
}

/* The largest difference from f64. What is infinite or NaN there must be so here, and nothing else. */
static double error_of(const Case *c, size_t index, const Result *f64, const Result *r)
{
    const Tensor *t = &c->tensor[index];
    double largest = 0;
    for (size_t i = 0; i < t->rows; i++)
        for (size_t j = 0; j < t->columns; j++) {
            double x = result_at(c, r, index, i, j), y = result_at(c, f64, index, i, j);
            double error = isfinite(y) ? fabs(x - y) : (isnan(y) ? isnan(x) : x == y) ? 0 : INFINITY;
            if (!(error <= largest)) /* also NaN */
                largest = isnan(error) ? INFINITY : error;
        }
    return largest;
}

/* How far a result may be from f64. `plain` itself: a few roundings, and as many more as sums of that length gather,
 * which grow with the root of their number; each store as bf16 adds one of its own. Another backend: twice what plain is
 * off, plus two units in the last place of the largest value: of reals, if it was never rounded to a number. But cuBLAS
 * may sum a product in one chain, and tensor cores cut off what they add: that need not be nearer than plain must be.
 */
static double allowed(const Tensor *t, const Kernels *k, double plain_error, double unit)
{
    bool half = k->type == NUMBER_BF16;
    double sums = unit * (0x1p-24 * (8 + 4 * sqrt((double)t->terms)) + (half ? 0x1p-8 * (double)t->stores : 0));
    if (!strcmp(k->backend, "plain"))
        return sums;
    int exponent;
    frexp(unit, &exponent);
    double near = 2 * plain_error + 2 * ldexp(1, exponent - (half && t->stores ? 8 : 24));
    return !strcmp(k->backend, "cuda") && t->product && sums > near ? sums : near;
}

/* VERBOSE=1: how much of what is allowed was needed, to see that bounds are neither loose nor at their limit. */
static void report(const Case *c, const Tensor *t, const Kernels *k, double error, double most)
{
    static int verbose = -1;
    if (verbose < 0)
        verbose = getenv("VERBOSE") != NULL;
    if (verbose && most > 0)
        printf("%.3f %s %s %s, %s\n", error / most, t->name, k->backend, number_type_name(k->type), c->words);
}

static void backend_agrees(const Case *c, const Kernels *k, const Result *f64, const Result *plain)
{
    Result once = case_run(c, k, k->type), again = case_run(c, k, k->type);
    for (size_t i = 0; i < TENSORS; i++) {
        const Tensor *t = &c->tensor[i];
        if (!f64->value[i] || t->use == READ || t->use == SPOILED)
            continue;
        double unit = unit_of(c, i, f64), error = error_of(c, i, f64, &once);
        double most = allowed(t, k, error_of(c, i, f64, plain), unit);
        report(c, t, k, error, most);
        ck_assert_msg(error <= most, "%s %s, %s: %s is off by %g, allowed is %g, its largest value is %g", k->backend,
                      number_type_name(k->type), c->words, t->name, error, most, unit);
        same_bits(c, i, &once, &again);
    }
    result_free(&once);
    result_free(&again);
}

void case_agrees(const Case *c)
{
    for (size_t t = 0; t < TYPES; t++) {
        Error e;
        Result f64 = case_run(c, &plain_f64, types[t]);
        Result plain = case_run(c, kernels_find("plain", types[t], &e), types[t]);
        for (size_t i = 0; backend(i); i++)
            if (backend(i)->type == types[t])
                backend_agrees(c, backend(i), &f64, &plain);
        result_free(&f64);
        result_free(&plain);
    }
}

/* ---- gradients */

/* The sum of all outputs, each weighed by the gradient that arrives for it. */
static double loss_of(const Case *c)
{
    Result r = case_run(c, &plain_f64, NUMBER_F64);
    double sum = 0;
    for (size_t k = 0; k < TENSORS; k++) {
        const Tensor *t = &c->tensor[k];
        for (size_t i = 0; t->name && t->weight >= 0 && i < t->rows; i++)
            for (size_t j = 0; j < t->columns; j++) {
                double weight = *element(&c->tensor[t->weight], i, j);
                sum += weight != 0 ? weight * result_at(c, &r, k, i, j) : 0; /* 0 times NaN: not looked at */
            }
    }
    result_free(&r);
    return sum;
}

static double slope(const Case *c, double *at)
{
    const double h = 1e-5, was = *at;
    *at = was + h;
    double up = loss_of(c);
    *at = was - h;
    double down = loss_of(c);
    *at = was;
    return (up - down) / (2 * h);
}

/* All elements of small tensors, and about MOST of large ones. */
static void gradient_is_slope(const Case *c, size_t index, const Result *r)
{
    enum { MOST = 60 };
    const Tensor *t = &c->tensor[index], *source = &c->tensor[t->source];
    size_t n = t->rows * t->columns, by = n / MOST + 1;
    bool added = use_of(c, t) == ADDED;
    double largest = 1e-2;
    for (size_t i = 0; i < n; i++) {
        double before = added ? *element(t, i / t->columns, i % t->columns) : 0;
        double x = fabs(result_at(c, r, index, i / t->columns, i % t->columns) - before);
        largest = x > largest ? x : largest;
    }
    for (size_t i = n ? c->random.seed % by : 0; i < n; i += by) {
        size_t row = i / t->columns, column = i % t->columns;
        double computed = result_at(c, r, index, row, column) - (added ? *element(t, row, column) : 0);
        double measured = slope(c, element(source, row, column));
        ck_assert_msg(fabs(computed - measured) <= 1e-7 * largest, "%s: %s[%d,%d] is %.12g, the slope is %.12g",
                      c->words, t->name, (int)row, (int)column, computed, measured);
    }
}

/* Two runs for each element: large cases, which add nothing here that small ones do not have, are left out. */
void case_differentiates(const Case *c)
{
    size_t all = 0;
    for (size_t i = 0; i < TENSORS; i++)
        all += c->tensor[i].all;
    if (all > 4000)
        return;
    Result r = case_run(c, &plain_f64, NUMBER_F64);
    for (size_t i = 0; i < TENSORS; i++)
        if (c->tensor[i].name && c->tensor[i].source >= 0 && c->tensor[i].use != ABSENT)
            gradient_is_slope(c, i, &r);
    result_free(&r);
}

/* Twice with different values to add to: what is added is the same. Without `add`, none of them shows. */
void case_adds(const Case *c)
{
    Case over = *c, onto = *c, again = *c;
    over.add = false;
    onto.add = again.add = true;
    Result plainly = case_run(&over, &plain_f64, NUMBER_F64), r = case_run(&onto, &plain_f64, NUMBER_F64);
    for (size_t k = 0; k < TENSORS; k++) {
        const Tensor *t = &c->tensor[k];
        if (!r.value[k] || (t->use != GRADIENT && t->use != ADDED))
            continue;
        for (size_t i = 0; i < t->rows; i++)
            for (size_t j = 0; j < t->columns; j++) {
                double before = *element(t, i, j), after = result_at(c, &r, k, i, j);
                double alone = result_at(c, &plainly, k, i, j) - (t->use == ADDED ? before : 0);
                if (!(fabs(after - before - alone) <= 1e-12 * (1 + fabs(alone))))
                    ck_abort_msg("%s: %s[%d,%d] %g + %g = %g", c->words, t->name, (int)i, (int)j, before, alone, after);
            }
    }
    for (size_t k = 0; k < TENSORS; k++) { /* parameter gradients: the same again on top of zeros */
        const Tensor *t = &c->tensor[k];
        if (!r.value[k] || t->use != ADDED)
            continue;
        double *was = get(t->all, sizeof *was);
        memcpy(was, t->value, t->all * sizeof *was);
        tensor_fill(&again.tensor[k], 0);
        Result fresh = case_run(&again, &plain_f64, NUMBER_F64);
        memcpy(t->value, was, t->all * sizeof *was);
        for (size_t i = 0; i < t->rows; i++)
            for (size_t j = 0; j < t->columns; j++)
                ck_assert_double_eq_tol(result_at(c, &fresh, k, i, j) + *element(t, i, j), result_at(c, &r, k, i, j),
                                        1e-11);
        result_free(&fresh);
        memory_free(was);
    }
    result_free(&plainly);
    result_free(&r);
}

void case_teams(const Case *c)
{
    for (size_t k = 0; backend(k); k++) {
        Case other = *c;
        other.random.seed = 0;
        Result alone = case_run(&other, backend(k), backend(k)->type);
        while (++other.random.seed < TEAMS) {
            Result r = case_run(&other, backend(k), backend(k)->type);
            for (size_t i = 0; i < TENSORS; i++)
                if (c->tensor[i].use != SPOILED)
                    same_bits(c, i, &alone, &r);
            result_free(&r);
        }
        result_free(&alone);
    }
}

void case_spares(const Case *c)
{
    Result all = case_run(c, &plain_f64, NUMBER_F64);
    for (size_t k = 0; k < TENSORS; k++) {
        if (!c->tensor[k].optional || c->tensor[k].use == ABSENT)
            continue;
        Case without = *c;
        without.tensor[k].use = ABSENT;
        Result r = case_run(&without, &plain_f64, NUMBER_F64);
        for (size_t i = 0; i < TENSORS; i++)
            if (i != k && all.value[i])
                same_bits(c, i, &all, &r);
        result_free(&r);
        case_agrees(&without);
    }
    result_free(&all);
}

bool flushed(const Kernels *k, double x, double y)
{
    return strcmp(k->backend, "plain") != 0 && k->type == NUMBER_BF16 && fabs(x) < FLT_MIN && y == 0;
}

void case_ask(void (*question)(const Case *c), Case c)
{
    question(&c);
    case_free(&c);
}
