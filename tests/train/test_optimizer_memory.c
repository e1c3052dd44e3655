/* Optimizers take the memory that they name, stay within it, and move all weights; and what they say of their work. */
#include "base/memory.h"
#include "core/tensor/tape.h"
#include "core/train/optimizer.h"
#include "tests/suite.h"

#include <math.h>
#include <string.h>

enum {
    KINDS = OPTIMIZER_ADAFACTOR + 1,
    MOST_WORKERS = 3,
    GUARD = 64,
    ROWS = 264,
    COLUMNS = 256 /* more than one partial sum of squares */
};

static const unsigned char mark = 0xa5;

/* What is allocated stands between guards, behind its size. */
typedef struct Guarded {
    size_t bytes;
    unsigned char before[GUARD - sizeof(size_t)];
} Guarded;

static size_t held, damaged;

static void *guarded_allocate(size_t bytes)
{
    Guarded *g = memory_get(1, sizeof *g + bytes + GUARD);
    held += bytes;
    g->bytes = bytes;
    memset(g->before, mark, sizeof g->before);
    memset(g + 1, 0, bytes);
    memset((char *)(g + 1) + bytes, mark, GUARD);
    return g + 1;
}

static void guarded_release(void *p)
{
    if (!p)
        return;
    Guarded *g = (Guarded *)p - 1;
    held -= g->bytes;
    const unsigned char *behind = (unsigned char *)p + g->bytes;
    for (size_t i = 0; i < sizeof g->before; i++)
        damaged += g->before[i] != mark;
    for (size_t i = 0; i < GUARD; i++)
        damaged += behind[i] != mark;
    memory_free(g);
}

/* The largest matrix comes first, and others are larger still but no maps of vectors. */
static Parameters shapes(void)
{
    Parameters p = {0};
    Error e;
    parameters_add(&p, ROLE_WEIGHT, ROWS, COLUMNS, "first");
    parameters_add(&p, ROLE_BIAS, ROWS, 0, "bias");
    parameters_add(&p, ROLE_LOOKUP, 40, 30, "table");
    parameters_add(&p, ROLE_WEIGHT, 300, 270, "logits")->edge = EDGE_OUT;
    parameters_add(&p, ROLE_WEIGHT, 48, 80, "last");
    ck_done(parameters_finish(&p, &e), e);
    return p;
}

static void step(Optimizer *o, Stream *s, const Weights *w, size_t workers, uint64_t number)
{
    const Parameters *p = o->parameters;
    int32_t slots[40];
    float *g = memory_get(p->size, sizeof *g);
    StepState state = {.learning_rate = 0.01, .clip = 1, .finite = 1};
    for (size_t i = 0; i < p->size; i++)
        g[i] = (float)sin((double)i);
    for (int32_t i = 0; i < 40; i++)
        slots[i] = i;
    optimizer_begin(o, s, &state, number);
    for (size_t i = 0; i < workers; i++)
        o->kind->step(o, s, &(OptimizerStep){w, g, p->longest, slots, &state, i, workers});
    memory_free(g);
}

/* Beside it there are lists: of an Adam's parameters that decay, and the host's of where Adafactor's sums are. */
START_TEST(it_takes_what_it_names_and_stays_within)
{
    const Kernels *plain = kernels_find("plain", NUMBER_F32, NULL);
    Kernels k = *plain;
    Parameters p = shapes();
    const int kind = _i % KINDS;
    OptimizerOptions options = {.kind = kind, .adam = {0.9, 0.99, 1e-8}, .decay = 0.1, .iterations = 1};
    const size_t workers = _i < KINDS ? 1 : MOST_WORKERS,
                 own = kind == OPTIMIZER_LION || kind == OPTIMIZER_ADAFACTOR ? 0 : p.count * sizeof(Span),
                 host = kind == OPTIMIZER_ADAFACTOR ? p.count * sizeof(Parameter) : 0;
    Weights weights;
    Optimizer o;
    Stream *s;
    Error e;
    optimizer_configure(&options);
    ck_done(k.open(&s, 1, &e) && weights_open(&weights, &k, s, &p, &e) && weights_init(&weights, s, 0, 1, 1, &e), e);
    k.allocate = guarded_allocate, k.release = guarded_release;
    held = damaged = 0;
    ck_done(optimizer_open(&o, &options, workers, &k, s, &p, &e), e);
    ck_assert_uint_eq(held + host, optimizer_bytes(&options, &p, &k, workers) + own);
    float *before = memory_get(p.size, sizeof *before);
    memcpy(before, weights.reals, p.size * sizeof *before);
    for (uint64_t i = 1; i <= 2; i++)
        step(&o, s, &weights, workers, i);
    for (size_t i = 0; i < p.count; i++) /* by some worker */
        ck_assert(memcmp(before + p.list[i]->offset, (float *)weights.reals + p.list[i]->offset, sizeof *before) != 0);
    memory_free(before);
    optimizer_close(&o);
    ck_assert_uint_eq(held, 0);
    ck_assert_uint_eq(damaged, 0);
    weights.k = plain;
    weights_close(&weights);
    plain->close(s);
    parameters_close(&p);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(muon_has_a_momentum_and_iterations_of_its_own)
{
    OptimizerOptions o = {.kind = OPTIMIZER_MUON}, other = {.kind = OPTIMIZER_MUON, .momentum = 0.5, .iterations = 2};
    optimizer_configure(&o), optimizer_configure(&other);
    ck_assert(o.momentum == 0.95 && o.iterations == 5);
    ck_assert(other.momentum == 0.5 && other.iterations == 2);
}

/* Three products an iteration, of the matrices inside alone. */
START_TEST(muon_counts_its_products)
{
    Parameters p = shapes();
    OptimizerOptions options = {.kind = OPTIMIZER_MUON, .iterations = 3};
    const OptimizerKind *kind = optimizer_kind(options.kind);
    const size_t shape[][2] = {{COLUMNS, ROWS}, {48, 80}};
    double flop = 0, moved = 0;
    for (size_t i = 0; i < 2; i++) {
        const double side = (double)shape[i][0], larger = (double)shape[i][1];
        flop += 3 * (2 * side * side * larger + 2 * side * side * side + 2 * side * side * larger);
        moved += 3 * (4 * side * larger + 5 * side * side) + 4 * side * larger;
    }
    ck_assert_double_eq(kind->flop(&options, &p), flop);
    ck_assert_double_eq(kind->moved(&options, &p), moved);
    parameters_close(&p);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(it_takes_what_it_names_and_stays_within, 2 * KINDS),
                                 TEST(muon_has_a_momentum_and_iterations_of_its_own), TEST(muon_counts_its_products)};
    return suite_run("train/optimizer_memory", tests, sizeof tests / sizeof *tests, argc, argv);
}
