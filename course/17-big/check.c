/* Lesson 17: what is graded. */
#include "course/17-big/exercise.h"
#include "course/frame/grade.h"

#include "base/philox.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- 1. bf16 */

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void comes_back(Grade *g)
{
    static const uint16_t bits[] = {0x0000, 0x3f80, 0xbf80, 0x4049, 0x7f80, 0xff80, 0x0001, 0x7f7f};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        float x = float_of((uint32_t)bits[i] << 16), back = from_bf16(bits[i]);
        expect(g, memcmp(&x, &back, sizeof x) == 0, "the 16 bits are the upper ones; the lower ones are 0",
               "from_bf16(0x%04x) is %g and should be %g", bits[i], (double)back, (double)x);
        uint16_t to = to_bf16(x);
        expect(g, to == bits[i], "a number that has bf16's digits stays what it is",
               "to_bf16(%g) is 0x%04x and should be 0x%04x", (double)x, to, bits[i]);
    }
}

static void goes_nearest(Grade *g)
{
    static const struct {
        uint32_t from;
        uint16_t to;
        bool tie;
    } cases[] = {{0x3f80ffff, 0x3f81, false}, {0x3f808001, 0x3f81, false}, {0x3f807fff, 0x3f80, false},
                 {0xbf80ffff, 0xbf81, false}, {0x3fffff00, 0x4000, false}, {0x7f7fffff, 0x7f80, false},
                 {0x3f808000, 0x3f80, true},  {0x3f818000, 0x3f82, true},  {0xc0018000, 0xc002, true},
                 {0x00008000, 0x0000, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float x = float_of(cases[i].from);
        uint16_t to = to_bf16(x), cut = (uint16_t)(cases[i].from >> 16);
        const char *hint = to == cut && !cases[i].tie ? "the lower half was cut off: half a step has to be added first"
                           : cases[i].tie ? "exactly in the middle: to the neighbour whose last bit is 0, up or down"
                                          : "add just under half a step, and 1 more if the last bit is 1; a carry into "
                                            "the exponent is right";
        expect(g, to == cases[i].to, hint, "to_bf16(%.9g) is 0x%04x and should be 0x%04x", (double)x, to, cases[i].to);
    }
    for (uint32_t i = 0; i < 100000; i++) {
        float x = (float)philox_normal(17, 0, i, 0), y = from_bf16(to_bf16(x));
        expect(g, fabs((double)x - (double)y) <= fabs((double)x) / 256, "7 bits of fraction: no farther than 1/256 off",
               "%.9g becomes %.9g", (double)x, (double)y);
    }
}

static void keeps_nan(Grade *g)
{
    static const uint32_t bits[] = {0x7fc00000, 0x7f800001, 0xff80ffff, 0x7fffffff};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        uint16_t to = to_bf16(float_of(bits[i]));
        expect(
            g, (to & 0x7fff) > 0x7f80,
            "NaN has all bits of the exponent and any of the fraction: cut off or rounded up, it may become infinity "
            "or a number; ask for it first",
            "NaN with the bits 0x%08x becomes 0x%04x, which is none", bits[i], to);
    }
}

/* ---- 2. state_bytes */

static void counts(Grade *g)
{
    size_t one = state_bytes(1000, 1, false), four = state_bytes(1000, 4, false), bf16 = state_bytes(1000, 2, true);
    expect(g, one == 16000, "weights, two moments, a gradient: four floats for each parameter",
           "1000 parameters, 1 worker, f32: %zu, and should be 16000", one);
    expect(g, four == 28000, "each worker has a gradient of its own; weights and moments are there once",
           "1000 parameters, 4 workers, f32: %zu, and should be 28000", four);
    expect(g, bf16 != 8000 && bf16 != 10000,
           "what Adam adds to is too small for bf16's digits: masters, gradients and moments stay floats",
           "1000 parameters, 2 workers, bf16: %zu, and should be 22000", bf16);
    expect(g, bf16 == 22000, "the copy in bf16 comes on top", "1000 parameters, 2 workers, bf16: %zu, should be 22000",
           bf16);
}

/* ---- 3. accumulate */

static void accumulates(Grade *g)
{
    enum { SIZE = 37 };
    float *from = grade_input(g, "from", SIZE, 3), *to = grade_output(g, "to", SIZE);
    double expected[SIZE], over[SIZE];
    for (size_t i = 0; i < SIZE; i++) {
        to[i] = (float)i;
        expected[i] = (double)i + (double)from[i], over[i] = (double)from[i];
    }
    mine_accumulate(NULL, to, from, SIZE);
    const Suspect suspects[] = {{over, "it is added to what is there"}, {NULL, NULL}};
    expect_numbers(g, "to", to, expected, SIZE, 0, 1e-6, suspects, "to[i] += from[i]");
    mine_accumulate(NULL, to, from, 0);
    expect_numbers(g, "to", to, expected, SIZE, 0, 1e-6, NULL, "n is 0 here: nothing happens");
}

/* ---- 4. accumulated: the loss (w . x[i] - t[i])^2 / 2 of rows i */

enum { ROWS = 11, SIZE = 3 };

typedef struct Regression {
    const float *w, *x, *t;
    size_t *calls, *rows;
} Regression;

static float regression(float *gradient, const void *context, size_t from, size_t to)
{
    const Regression *r = context;
    double loss = 0, sum[SIZE] = {0};
    for (size_t i = from; i < to; i++) {
        double error = -(double)r->t[i];
        for (size_t j = 0; j < SIZE; j++)
            error += (double)r->w[j] * (double)r->x[i * SIZE + j];
        loss += error * error / 2;
        for (size_t j = 0; j < SIZE; j++)
            sum[j] += error * (double)r->x[i * SIZE + j];
    }
    for (size_t j = 0; j < SIZE; j++)
        gradient[j] = (float)(sum[j] / (double)(to - from));
    ++*r->calls, *r->rows += to - from;
    return (float)(loss / (double)(to - from)); /* of no rows: 0/0 */
}

static void accumulates_by(Grade *g, const size_t *cut, size_t micros)
{
    size_t calls = 0, rows = 0, live = 0, scrap = 0;
    float *w = grade_input(g, "w", SIZE, 4), *x = grade_input(g, "x", ROWS * SIZE, 5);
    float *t = grade_input(g, "t", ROWS, 6), *own = grade_output(g, "own", SIZE);
    float *gradient = grade_output(g, "gradient", SIZE), whole[SIZE], part[SIZE];
    double expected[SIZE], means[SIZE] = {0}, sums[SIZE] = {0};
    Regression r = {w, x, t, &calls, &rows}, quiet = {w, x, t, &scrap, &scrap};
    float loss = regression(whole, &quiet, 0, ROWS);
    for (size_t m = 0; m < micros; m++)
        live += cut[m] < cut[m + 1];
    for (size_t m = 0; m < micros; m++) {
        if (cut[m] < cut[m + 1])
            regression(part, &quiet, cut[m], cut[m + 1]);
        for (size_t j = 0; j < SIZE && cut[m] < cut[m + 1]; j++)
            means[j] += (double)part[j] / (double)live, sums[j] += (double)part[j];
    }
    for (size_t j = 0; j < SIZE; j++)
        expected[j] = (double)whole[j];
    float found = accumulated(gradient, own, SIZE, regression, &r, cut, micros);
    expect(g, rows == ROWS || gradient[0] == 4096, "rows cut[m] .. cut[m+1]-1, for each m",
           "mean was asked for %zu rows, and there are %d", rows, ROWS);
    expect(g, rows != ROWS || calls == live, "a micro-batch of no rows has no mean: it is left out",
           "mean was called %zu times, and %zu micro-batches have rows", calls, live);
    const Suspect suspects[] = {
        {live > 1 ? means : NULL, "this is the mean of means: a micro-batch of few rows counts as much as one of many"},
        {NULL, NULL}};
    const Suspect summed[] = {{sums, "the gradients were added as they are: each counts with its share of the rows"},
                              {NULL, NULL}};
    bool equal = live > 1 && fabs(sums[0] - (double)gradient[0]) < 1e-5;
    expect_numbers(g, "gradient", gradient, expected, SIZE, 0, 1e-5, equal ? summed : suspects,
                   "mean times its number of rows is a sum; sums are added, and divided by all rows");
    expect(g, fabsf(found - loss) < 1e-5f, "the loss is put together as its gradient is",
           "the loss is %g, should be %g", (double)found, (double)loss);
}

static void accumulates_all(Grade *g) { accumulates_by(g, (const size_t[]){0, ROWS}, 1); }
static void accumulates_parts(Grade *g)
{
    accumulates_by(g, (const size_t[]){0, 4, 8, ROWS}, 3);
    accumulates_by(g, (const size_t[]){0, 1, 1, ROWS}, 3);
}

/* ---- 5. tree_sum */

/* What the tree gives, to the last bit: of workers from .. from + width - 1, those that there are */
static float tree(float *const *g, size_t workers, size_t from, size_t width, size_t at)
{
    if (width == 1)
        return g[from][at];
    float left = tree(g, workers, from, width / 2, at);
    return from + width / 2 < workers ? left + tree(g, workers, from + width / 2, width / 2, at) : left;
}

static void sums_workers(Grade *g, size_t workers)
{
    enum { NUMBERS = 50 };
    float **x = malloc(workers * sizeof *x);
    double sum[NUMBERS] = {0};
    float expected[NUMBERS];
    for (size_t w = 0; w < workers; w++) {
        x[w] = grade_output(g, "g", NUMBERS);
        for (size_t i = 0; i < NUMBERS; i++) {
            x[w][i] = (float)philox_normal(5, (uint32_t)w, i, 0);
            sum[i] += (double)x[w][i];
        }
    }
    for (size_t i = 0; i < NUMBERS; i++)
        expected[i] = tree(x, workers, 0, 64, i);
    tree_sum(x, workers, NUMBERS);
    expect_numbers(g, "g[0]", x[0], sum, NUMBERS, 0, 1e-5, NULL, "each worker's gradient goes into the sum once");
    expect(
        g, memcmp(x[0], expected, sizeof expected) == 0,
        "as a tree: neighbours first, then pairs of pairs; only then does it not depend on which worker was ready when",
        "with %zu workers the sum is right, but in another order: its last bits differ", workers);
    free(x);
}

static void sums_few(Grade *g)
{
    sums_workers(g, 1);
    sums_workers(g, 2);
}

static void sums_many(Grade *g)
{
    sums_workers(g, 3);
    sums_workers(g, 4);
    sums_workers(g, 7);
    sums_workers(g, 16);
}

/* ---- 6. recomputed: a chain of layers x' = tanh(a x + b of the neighbour) */

enum { WIDE = 4, MOST_LAYERS = 32 };

typedef struct Counted {
    const float *a; /* [layers,2] */
    size_t forward[MOST_LAYERS], backward;
    size_t next;       /* layer whose backward is due */
    bool out_of_order; /* backward was called for another one */
    bool other;        /* or with what the layer had not read */
    float read[MOST_LAYERS][WIDE];
} Counted;

static double before_tanh(const float *a, size_t layer, const float *x, size_t i)
{
    return (double)a[2 * layer] * (double)x[i] + (double)a[2 * layer + 1] * (double)x[(i + 1) % WIDE];
}

static void layer_forward(void *context, size_t layer, float *y, const float *x)
{
    Counted *c = context;
    float out[WIDE];
    for (size_t i = 0; i < WIDE; i++)
        out[i] = (float)tanh(before_tanh(c->a, layer, x, i));
    memcpy(y, out, sizeof out);
    c->forward[layer]++;
}

static void layer_backward(void *context, size_t layer, float *d, const float *x)
{
    Counted *c = context;
    float dx[WIDE] = {0};
    c->out_of_order |= layer != c->next;
    c->other |= memcmp(x, c->read[layer], sizeof dx) != 0;
    for (size_t i = 0; i < WIDE; i++) {
        double y = tanh(before_tanh(c->a, layer, x, i)), slope = (1 - y * y) * (double)d[i];
        dx[i] += (float)(slope * (double)c->a[2 * layer]);
        dx[(i + 1) % WIDE] += (float)(slope * (double)c->a[2 * layer + 1]);
    }
    memcpy(d, dx, sizeof dx);
    c->backward++;
    c->next = layer ? layer - 1 : 0;
}

static void recomputes(Grade *g, size_t layers, size_t every)
{
    float *a = grade_input(g, "a", 2 * layers, 7), *x0 = grade_input(g, "x0", WIDE, 8);
    float *dy = grade_input(g, "dy", WIDE, 9), *dx = grade_output(g, "dx", WIDE), d[WIDE];
    double expected[WIDE];
    Counted c = {.a = a};
    Chain chain = {layers, WIDE, every, layer_forward, layer_backward, &c};
    size_t slots = chain_segments(&chain) + every;
    float *room = grade_output(g, "room", slots * WIDE);
    memcpy(c.read[0], x0, sizeof d);
    for (size_t l = 0; l + 1 < layers; l++)
        layer_forward(&c, l, c.read[l + 1], c.read[l]);
    memcpy(d, dy, sizeof d);
    for (size_t l = layers; l > 0; l--)
        layer_backward(&c, l - 1, d, c.read[l - 1]);
    for (size_t i = 0; i < WIDE; i++)
        expected[i] = (double)d[i];
    memset(c.forward, 0, sizeof c.forward);
    c.backward = 0, c.next = layers - 1, c.out_of_order = c.other = false;
    recomputed(dx, dy, x0, room, &chain);
    expect(g, c.backward > 0 || dx[0] != 4096, "nothing was written: is the function still empty?",
           "%zu layers, every %zu: backward was not called", layers, every);
    expect(g, c.backward == layers && !c.out_of_order, "from the last layer to the first, each once",
           "%zu layers, every %zu: backward was called %zu times%s", layers, every, c.backward,
           c.out_of_order ? ", in another order" : "");
    expect(g, !c.other, "backward(l, d, x) wants what layer l has read, x[l], not what it has made",
           "%zu layers, every %zu: a layer was walked back with another vector than it had read", layers, every);
    for (size_t l = 0; l < layers; l++)
        expect(g, c.forward[l] <= 2,
               "a layer runs twice at most: once forward, and once when its segment is computed again, from "
               "what was kept at its beginning",
               "%zu layers, every %zu: layer %zu ran forward %zu times", layers, every, l, c.forward[l]);
    expect_numbers(g, "dx", dx, expected, WIDE, 0, 1e-6, NULL, "d begins as dy and ends as dx");
}

static void recomputes_even(Grade *g)
{
    recomputes(g, 1, 1);
    recomputes(g, 9, 3);
    recomputes(g, 16, 4);
}

static void recomputes_any(Grade *g)
{
    recomputes(g, 10, 4);
    recomputes(g, 5, 1);
    recomputes(g, 5, 8);
    recomputes(g, 31, 6);
}

static void mine(Kernels *k) { k->accumulate = mine_accumulate; }

static void time_accumulate(Grade *g, const Kernels *k, Stream *s)
{
    enum { MANY = 1 << 19 };
    float *from = grade_input(g, "from", MANY, 1), *to = grade_output(g, "to", MANY);
    while (grade_again(g))
        k->accumulate(s, to, from, MANY);
}

int main(int argc, char **argv)
{
    static const Check checks[] = {
        {"to_bf16", "numbers of bf16 there and back", 1, comes_back, 0},
        {"to_bf16", "others go to the nearest, ties to even", 2, goes_nearest, 0},
        {"to_bf16", "NaN stays NaN", 1, keeps_nan, 0},
        {"state_bytes", "what training keeps", 1, counts, 0},
        {"accumulate", "what is there, and more", 1, accumulates, 0},
        {"accumulated", "one micro-batch is the batch", 1, accumulates_all, 0},
        {"accumulated", "several, of different sizes, are the same batch", 2, accumulates_parts, 0},
        {"tree_sum", "one worker, and two", 1, sums_few, 0},
        {"tree_sum", "any number of workers, in the order of a tree", 2, sums_many, 0},
        {"recomputed", "whole segments", 2, recomputes_even, 0},
        {"recomputed", "any number of layers and segments", 1, recomputes_any, 0},
    };
    static const Timed timed[] = {{"accumulate", time_accumulate}};
    const Lesson lesson = {"Lesson 17: going big", checks, sizeof checks / sizeof *checks, mine, timed, 1};
    return grade_main(&lesson, argc, argv);
}
