/* Rows of a table that rest while no step reads them (kernels/cpu/optimizer.c): weights and moments are to the last bit
 * what they are where all rows move in each step. */
#include "base/memory.h"
#include "kernels/lazy_rows.h"
#include "tests/chance.h"
#include "tests/suite.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { ROWS = 48, WIDEST = 131, MOST_READ = 4 };

typedef struct Table {
    float w[ROWS * WIDEST], m[ROWS * WIDEST], v[ROWS * WIDEST];
} Table;

typedef struct Resting {
    const Kernels *k;
    Stream *s;
    Table moved, rested;
    LazyRow lazy[ROWS];
    size_t d, steps, left_alone;
    Adam adam;
    double decay;
    Random random;
    StepState state;
    int32_t slots[ROWS];
    float g[MOST_READ * WIDEST];
} Resting;

static float any_weight(Random *r)
{
    static const float special[] = {0, -0.0f, 1e-30f, -FLT_MIN, 1e-42f, 2e-19f, 3e4f, -1e30f};
    return chance(r, 0.02) ? special[below(r, sizeof special / sizeof *special)] : (float)uniform(r);
}

static void open_resting(Resting *t, size_t d, Adam adam, double decay, uint32_t seed)
{
    Error e;
    *t = (Resting){.k = kernels_find("cpu", NUMBER_F32, &e), .d = d, .adam = adam, .decay = decay, .random = {seed, 0}};
    ck_assert_msg(t->k && t->k->adam_flush, "%s", e.text);
    ck_done(t->k->open(&t->s, 1, &e), e);
    for (size_t i = 0; i < ROWS * d; i++)
        t->moved.w[i] = any_weight(&t->random);
    t->rested = t->moved;
}

/* A step that reads few rows, seldom the later ones; some by gradients that are hardly there. */
static void read_rows(Resting *t)
{
    size_t count = below(&t->random, MOST_READ + 1);
    memset(t->slots, -1, sizeof t->slots);
    for (size_t i = 0; i < count; i++)
        t->slots[below(&t->random, 1 + below(&t->random, ROWS - 2))] = (int32_t)i; /* the last is never read */
    double size = chance(&t->random, 0.2) ? 1e-18 : 1;
    for (size_t i = 0; i < MOST_READ * t->d; i++)
        t->g[i] = chance(&t->random, 0.1) ? 0 : (float)(size * uniform(&t->random));
}

/* Rates that rise, fall, jump, and are nothing at all. */
static double rate(const Resting *t)
{
    size_t n = t->steps;
    return n % 97 == 5 ? 0 : n % 211 == 190 ? 0.5 : n < 100 ? 1e-5 * (double)n : 1e-3 / (double)(1 + n % 300);
}

/* Where beta2 is 1, v is 0 and need not be there. */
static float *second(Resting *t) { return t->adam.beta2 < 1 ? t->rested.v : NULL; }

static void step(Resting *t)
{
    t->steps++;
    read_rows(t);
    t->state = (StepState){.learning_rate = rate(t), .clip = chance(&t->random, 0.5) ? 1 : 0.3};
    t->state.finite = t->steps % 61 != 60;
    t->state.correction1 = 1 - pow(t->adam.beta1, (double)t->steps);
    t->state.correction2 = t->adam.beta2 < 1 ? 1 - pow(t->adam.beta2, (double)t->steps) : 1;
    size_t cut = below(&t->random, ROWS); /* as two workers share them */
    for (size_t part = 0; part < 2; part++) {
        size_t first = part ? cut : 0, n = part ? ROWS - cut : cut;
        t->k->adam_rows(t->s, t->moved.w, t->moved.m, t->moved.v, NULL, t->g, t->slots, &t->state, t->adam, t->decay,
                        first, n, t->d);
        t->k->adam_rows(t->s, t->rested.w, t->rested.m, second(t), t->lazy, t->g, t->slots, &t->state, t->adam,
                        t->decay, first, n, t->d);
    }
    for (size_t r = 0; r < ROWS; r++)
        t->left_alone += t->lazy[r].skipped > 0;
}

static void expect_same(const Resting *t, const float *moved, const float *rested, const char *what)
{
    bool same = memcmp(moved, rested, ROWS * t->d * sizeof *moved) == 0;
    for (size_t i = 0; !same && i < ROWS * t->d; i++)
        ck_assert_msg(memcmp(&moved[i], &rested[i], sizeof *moved) == 0, "step %zu: %s[%zu][%zu] is %a, and %a rested",
                      t->steps, what, i / t->d, i % t->d, (double)moved[i], (double)rested[i]);
}

static void flush(Resting *t)
{
    t->k->adam_flush(t->s, t->rested.m, second(t), t->lazy, t->adam, 0, ROWS / 2, t->d);
    t->k->adam_flush(t->s, t->rested.m, second(t), t->lazy, t->adam, ROWS / 2, ROWS - ROWS / 2, t->d);
    for (size_t r = 0; r < ROWS; r++)
        ck_assert_uint_eq(t->lazy[r].skipped, 0);
    expect_same(t, t->moved.m, t->rested.m, "m");
    expect_same(t, t->moved.v, t->rested.v, "v");
}

/* Weights after each step; moments now and then, which must not change what comes. */
START_TEST(rows_that_rest_end_where_they_would_have_moved)
{
    static const size_t widths[] = {1, 5, 16, 33, 64, WIDEST};
    static const Adam adams[] = {{0.9, 0.98, 1e-9}, {0.9, 0.999, 1e-8}, {0.5, 0.9, 1e-6}, {0, 0.99, 1e-8},
                                 {0.9, 0.5, 1e-8},  {0.9, 0.999, 0},    {0.9, 1, 1}};
    static Resting t;
    open_resting(&t, widths[_i % 6], adams[_i / 6], 0, (uint32_t)_i);
    for (size_t i = 0; i < 1200; i++) {
        step(&t);
        expect_same(&t, t.moved.w, t.rested.w, "w");
        if (i % 500 == 499)
            flush(&t);
    }
    flush(&t);
    ck_assert_uint_gt(t.left_alone, adams[_i / 6].beta2 > 0.8 ? 1200 * ROWS / 12 : 0);
    t.k->close(t.s);
}

START_TEST(what_decays_never_rests)
{
    static Resting t;
    open_resting(&t, 33, (Adam){0.9, 0.98, 1e-9}, 0.1, 7);
    for (size_t i = 0; i < 400; i++) {
        step(&t);
        expect_same(&t, t.moved.w, t.rested.w, "w");
    }
    flush(&t);
    ck_assert_uint_le(t.left_alone, 5 * ROWS); /* but for a step at a rate of 0 */
    t.k->close(t.s);
}

/* One read, and 300 steps later it costs nothing: that is what it is for. */
START_TEST(a_row_rests_soon)
{
    static Resting t;
    size_t waited = 0;
    open_resting(&t, 64, (Adam){0.9, 0.98, 1e-9}, 0, 3);
    for (size_t i = 0; i < t.d * ROWS; i++)
        t.rested.w[i] = t.moved.w[i] = (float)(0.1 + fabs(uniform(&t.random)));
    for (size_t i = 0; i < t.d; i++)
        t.g[i] = (float)uniform(&t.random);
    memset(t.slots, -1, sizeof t.slots);
    t.slots[3] = 0;
    for (t.steps = 1; t.steps < 300; t.steps++) {
        t.state = (StepState){.learning_rate = 1e-4, .clip = 1, .finite = 1};
        t.state.correction1 = 1 - pow(t.adam.beta1, (double)t.steps);
        t.state.correction2 = 1 - pow(t.adam.beta2, (double)t.steps);
        t.k->adam_rows(t.s, t.rested.w, t.rested.m, t.rested.v, t.lazy, t.g, t.slots, &t.state, t.adam, 0, 0, ROWS,
                       t.d);
        t.slots[3] = -1;
        waited += t.lazy[3].skipped == 0;
        ck_assert(t.steps == 1 || t.lazy[4].skipped == t.steps - 1); /* never read: it rests from the second step on */
    }
    ck_assert_uint_gt(waited, 50);
    ck_assert_uint_lt(waited, 200);
    t.k->close(t.s);
}

/* A weight that is no number stays so, and takes nothing with it. */
START_TEST(special_weights_stay)
{
    static Resting t;
    open_resting(&t, 5, (Adam){0.9, 0.98, 1e-9}, 0, 11);
    for (size_t r = 0; r < ROWS; r++)
        t.moved.w[r * t.d + r % t.d] = r % 3 == 0 ? NAN : r % 3 == 1 ? INFINITY : -FLT_MAX;
    t.rested = t.moved;
    for (size_t i = 0; i < 300; i++)
        step(&t);
    flush(&t);
    for (size_t i = 0; i < ROWS * t.d; i++)
        ck_assert(t.moved.w[i] == t.rested.w[i] || (isnan(t.moved.w[i]) && isnan(t.rested.w[i])));
    t.k->close(t.s);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(rows_that_rest_end_where_they_would_have_moved, 42),
                                 TEST(what_decays_never_rests), TEST(a_row_rests_soon), TEST(special_weights_stay)};
    return suite_run("kernels/rest", tests, sizeof tests / sizeof *tests, argc, argv);
}
