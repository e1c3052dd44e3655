/* --shard: parts of an optimizer's state, each in a process of its own, move the weights as one state does, bit for bit. */
#include "core/train/optimizer.h"

#include "core/tensor/tape.h"
#include "tests/chance.h"
#include "tests/train/tiny.h"

#include <string.h>

/* Adafactor, the last, keeps no state that could be parted. */
enum { KINDS = OPTIMIZER_ADAFACTOR, USED = 2, STEPS = 6, MOST_PARTS = 7, WORKERS = 2, TYPES = 3, MOST = 1 << 15 };

static const size_t parts[] = {1, 2, 3, MOST_PARTS};

static OptimizerOptions options_of(int kind, size_t part, size_t all)
{
    OptimizerOptions o = {.kind = kind,
                          .adam = {0.9, 0.99, 1e-8},
                          .momentum = 0.75,
                          .decay = 0.1,
                          .groups = "*norm*:lr=3,decay=0.5;blocks.0.attention.query*:lr=0",
                          .part = part,
                          .parts = all};
    optimizer_configure(&o);
    return o;
}

/* One after another they are all of the block, and none is much larger than its share. */
START_TEST(parts_cover_all_and_cut_neither_rows_nor_whole_matrices)
{
    Tiny tiny;
    Error e;
    ck_done(tiny_open(&tiny, &tiny_standard, &e), e);
    const Parameters *p = &tiny.parameters;
    const OptimizerKind *kind = optimizer_kind(_i);
    for (size_t n = 1; n <= 60; n++) {
        size_t next = 0;
        for (size_t i = 0; i < n; i++) {
            size_t first, end;
            optimizer_part(&(OptimizerOptions){.kind = _i, .parts = n}, p, i, &first, &end);
            ck_assert(first == next && end >= first);
            ck_assert(kind->is_whole || end - first <= p->size / n + 64);
            for (size_t j = 0; j < p->count; j++) {
                const Parameter *one = p->list[j];
                const bool cut = end > one->offset && end < one->offset + one->count,
                           whole = kind->is_whole && kind->is_whole(one);
                ck_assert_msg(!cut ||
                                  (!whole && (one->role != ROLE_LOOKUP || (end - one->offset) % one->shape[1] == 0)),
                              "%zu parts: %zu cuts %s", n, end, one->name);
            }
            next = end;
        }
        ck_assert_uint_eq(next, p->size);
    }
    tiny_close(&tiny);
}

typedef struct Moved {
    Optimizer part[MOST_PARTS];
    size_t parts;
    Weights weights;
} Moved;

static void begin(Moved *m, const Parameters *p, const Kernels *k, Stream *s, int kind, size_t count)
{
    Error e;
    *m = (Moved){.parts = count};
    ck_done(weights_open(&m->weights, k, s, p, &e) && weights_init(&m->weights, s, INIT_GPT2, 1, 1, &e), e);
    for (size_t i = 0; i < count; i++) {
        const OptimizerOptions o = options_of(kind, i, count);
        ck_done(optimizer_open(&m->part[i], &o, WORKERS, k, s, p, &e), e);
    }
}

/* Gradients are written over by some optimizers, each in its part. */
static void step(Moved *m, Stream *s, const void *gradient, size_t bytes, const int32_t *slots, uint64_t number)
{
    static double copy[MOST];
    memcpy(copy, gradient, bytes);
    for (size_t i = 0; i < m->parts; i++) {
        Optimizer *o = &m->part[i];
        StepState state = {.learning_rate = 0.01, .clip = 0.5, .finite = 1};
        optimizer_begin(o, s, &state, number);
        for (size_t g = 0; g < o->groups; g++)
            o->states[g].clip = 0.5, o->states[g].finite = 1;
        for (size_t w = 0; w < WORKERS; w++)
            o->kind->step(o, s, &(OptimizerStep){&m->weights, copy, USED, slots, &state, w, WORKERS});
    }
}

/* Weights; and after what was skipped has been made up for, the state. */
static void expect_same(Moved *one, Moved *m, const Kernels *k, Stream *s, const Parameters *p)
{
    for (size_t i = 0; i < p->count; i++) {
        const Parameter *w = p->list[i];
        ck_assert_msg(!memcmp(parameter_in(w, one->weights.reals, k->real), parameter_in(w, m->weights.reals, k->real),
                              w->count * k->real) &&
                          !memcmp(parameter_in(w, one->weights.numbers, k->number),
                                  parameter_in(w, m->weights.numbers, k->number), w->count * k->number),
                      "%s moves otherwise in %zu parts", w->name, m->parts);
    }
    for (size_t w = 0; w < WORKERS; w++)
        optimizer_flush(&one->part[0], s, w, WORKERS);
    for (size_t i = 0; i < m->parts; i++) {
        Optimizer *o = &m->part[i];
        for (size_t w = 0; w < WORKERS; w++)
            optimizer_flush(o, s, w, WORKERS);
        for (size_t j = 0; j < p->count; j++)
            for (size_t b = 0; b < o->kind->blocks; b++) {
                size_t from, end;
                optimizer_own(o, p->list[j], &from, &end);
                const size_t at = p->list[j]->offset + from;
                ck_assert(from == end || !optimizer_keeps(o, b, j) ||
                          !memcmp(optimizer_at(&one->part[0], b, at), optimizer_at(o, b, at), (end - from) * k->real));
            }
    }
}

static void end(Moved *m)
{
    for (size_t i = 0; i < m->parts; i++)
        optimizer_close(&m->part[i]);
    weights_close(&m->weights);
}

START_TEST(parts_move_weights_as_one_does)
{
    const int kind = _i / TYPES;
    const Kernels *k = kernels_find(_i % TYPES ? "cpu" : "plain",
                                    (NumberType[]){NUMBER_F64, NUMBER_F32, NUMBER_BF16}[_i % TYPES], NULL);
    Random random = {(uint32_t)_i, 0};
    Tiny tiny;
    Stream *s;
    Error e;
    ck_done(tiny_open(&tiny, &tiny_standard, &e) && k->open(&s, 1, &e), e);
    const Parameters *p = &tiny.parameters;
    for (size_t n = 0; n < sizeof parts / sizeof *parts; n++) {
        static union {
            float single[MOST];
            double twice[MOST];
        } g;
        Moved one, divided;
        const size_t rows = tiny.options.letters + 1, numbers = p->dense + USED * p->lookup;
        int32_t slots[100];
        ck_assert(numbers <= MOST && p->longest <= 100);
        begin(&one, p, k, s, kind, 1);
        begin(&divided, p, k, s, kind, parts[n]);
        for (uint64_t number = 1; number <= STEPS; number++) {
            memset(slots, -1, sizeof slots);
            slots[below(&random, rows)] = 1;
            slots[below(&random, rows)] = 0;
            for (size_t i = 0; i < numbers; i++)
                real_put(k, &g, i, uniform(&random));
            step(&one, s, &g, numbers * k->real, slots, number);
            step(&divided, s, &g, numbers * k->real, slots, number);
        }
        expect_same(&one, &divided, k, s, p);
        end(&one);
        end(&divided);
    }
    k->close(s);
    tiny_close(&tiny);
}

START_TEST(a_part_takes_its_part_of_memory)
{
    Tiny tiny;
    Error e;
    ck_done(tiny_open(&tiny, &tiny_standard, &e), e);
    const Parameters *p = &tiny.parameters;
    const Kernels *k = kernels_find("cpu", NUMBER_F32, NULL);
    const OptimizerOptions whole = options_of(_i, 0, 1);
    size_t all = 0;
    for (size_t i = 0; i < 3; i++) {
        const OptimizerOptions o = options_of(_i, i, 3);
        all += optimizer_bytes(&o, p, k, WORKERS);
    }
    const size_t beside = optimizer_kind(_i)->beside ? optimizer_kind(_i)->beside(p, k, WORKERS) : 0;
    ck_assert_uint_eq(all - 3 * beside, optimizer_bytes(&whole, p, k, WORKERS) - beside);
    tiny_close(&tiny);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(parts_cover_all_and_cut_neither_rows_nor_whole_matrices, KINDS),
                                 TEST_LOOP(parts_move_weights_as_one_does, KINDS * TYPES),
                                 TEST_LOOP(a_part_takes_its_part_of_memory, KINDS)};
    return suite_run("train/shard", tests, sizeof tests / sizeof *tests, argc, argv);
}
