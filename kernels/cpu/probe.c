/* See probe.h. Own code and oneDNN take turns, and the fastest call of each counts, by the thread's own clock: other work
 * on the machine makes some calls slower, and none faster. */
#include "kernels/cpu/probe.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "base/units.h"
#include "kernels/cpu/blocked.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/tile.h"

#include <stdlib.h>
#include <time.h>

enum {
    ROWS = 96,
    TAKES = 6,            /* after one that prepares */
    BYTES = 4 * 512 * 512 /* the largest operand */
};

/* A product of each kind, as a linear map calls it; `bytes` of a number. */
static MatmulShape shape_of(Element inputs, Product p)
{
    const size_t units = p == PRODUCT_LONG ? 1024 : 256, k = inputs == ELEMENT_BF16 ? 2 * units : units;
    return (MatmulShape){.m = ROWS,
                         .n = p == PRODUCT_LONG ? 256 : 512,
                         .k = k,
                         .a_stride = k,
                         .b_stride = k,
                         .c_stride = 512,
                         .b_transposed = true,
                         .bias = true,
                         .inputs = inputs,
                         .output = inputs};
}

/* Operands are zeros: what numbers they are costs nothing. */
typedef struct Operands {
    char *a, *b, *c;
    float *bias;
    void *scratch;
} Operands;

static void operands_free(Operands *o)
{
    memory_free(o->a);
    memory_free(o->b);
    memory_free(o->c);
    memory_free(o->bias);
    memory_free(o->scratch);
}

static bool operands_get(Operands *o, size_t scratch)
{
    *o = (Operands){memory_get(BYTES, 1), memory_get(BYTES, 1), memory_get(BYTES, 1), memory_get(512, sizeof *o->bias),
                    memory_get(scratch ? scratch : 1, 1)};
    if (o->a && o->b && o->c && o->bias && o->scratch)
        return true;
    operands_free(o);
    return false;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A short product by our own code */
static double seconds_of(Element inputs)
{
    const MatmulShape s = shape_of(inputs, PRODUCT_SHORT);
    Operands o;
    double best = 1e9;
    if (!operands_get(&o, blocked_scratch(&s)))
        return best;
    for (int i = 0; i <= TAKES; i++) {
        const double start = seconds();
        blocked_product(&s, o.c, o.a, o.b, o.bias, o.scratch);
        const double took = seconds() - start;
        best = i && took < best ? took : best;
    }
    operands_free(&o);
    return best;
}

double probe_bf16(void) { return seconds_of(ELEMENT_BF16); }

/* Whether oneDNN is the faster one. Where it prepares each new shape, it has to be so by a twentieth. */
static bool is_faster(Matmul *m, const Operands *o, Element inputs, Product p)
{
    const MatmulShape s = shape_of(inputs, p);
    bool *choice = &tuning_now.onednn[inputs == ELEMENT_BF16][p];
    double best[2] = {1e9, 1e9};
    matmul_hold(m, o->b, p == PRODUCT_HELD ? BYTES : 0);
    for (int i = 0; i <= TAKES; i++)
        for (int other = 0; other < 2; other++) {
            *choice = other;
            const double start = seconds();
            matmul_run(m, &s, o->c, o->a, o->b, o->bias);
            const double took = seconds() - start;
            best[other] = i && took < best[other] ? took : best[other];
        }
    return !m->failed && best[1] < best[0] * (p == PRODUCT_HELD ? 1 : 0.95);
}

static void choose_products(Tuning *t)
{
    Matmul m;
    Operands o;
    if (!matmul_open(&m, NULL)) {
        matmul_close(&m);
        return;
    }
    const bool there = operands_get(&o, 0);
    for (int type = 0; there && type < 2; type++)
        for (int p = 0; p < PRODUCTS; p++) {
            const Element inputs = type ? ELEMENT_BF16 : ELEMENT_F32;
            t->onednn[type][p] = m.onednn[type] && is_faster(&m, &o, inputs, (Product)p);
            tuning_now = *t;
        }
    matmul_close(&m);
    if (there)
        operands_free(&o);
}

static void nothing(void *argument, size_t worker) { (void)argument, (void)worker; }

/* How long it takes to call all threads of a team and to wait for them, a quarter of the calls being faster: now and then
 * one of them is not at once on its processor. 0: there is no team. */
static double seconds_of_call(void)
{
    enum { CALLS = 99, LEAST = 3 };
    const double most = 5e-3; /* for all, once the least are done */
    Pool *team = NULL;
    double took[CALLS], all = 0;
    size_t calls = 0;
    if (processors_allowed() == 1 || !pool_open(&team, processors_allowed(), true, NULL))
        return 0;
    pool_run(team, nothing, NULL);
    while (calls < LEAST || (calls < CALLS && all < most)) {
        const double start = clock_seconds();
        pool_run(team, nothing, NULL);
        all += took[calls++] = clock_seconds() - start;
    }
    pool_close(team);
    qsort(took, calls, sizeof *took, ascending);
    return took[calls / 4];
}

/* Two threads save half of the time, and spend that of a call and as much again until operands and results have moved from
 * core to core. */
static void choose_alone(Tuning *t)
{
    const MatmulShape s = shape_of(ELEMENT_F32, PRODUCT_SHORT);
    const double call = seconds_of_call(), rate = (double)(s.m * s.n * s.k) / seconds_of(ELEMENT_F32);
    const double alone = 4 * call * rate / 1000;
    if (call > 0)
        t->alone = 1000 * (alone < 1 << 20 ? (size_t)alone : 1 << 20);
}

void probe_choices(Tuning *t)
{
    tuning_now = *t;
    choose_products(t);
    choose_alone(t);
    t->widening = t->widening || !DOTS;
    tuning_now = *t;
}
