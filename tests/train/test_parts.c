/* Where the time of steps goes: as it is written, and as a trainer measures it. */
#include "base/memory.h"
#include "core/train/parts.h"
#include "tests/train/tiny.h"

#include <stdlib.h>
#include <string.h>

/* Two workers, four steps of 2 ms. */
static const Timing timings[] = {{"linear_forward", 64, 128, 8, 0.004, 4e6, 2e6},
                                 {"add_forward", 0, 0, 4, 0.001, 0, 8e5},
                                 {"zero", 0, 0, 4, 0, 1, 1}};
static const Parts known = {.timing = (Timing *)timings,
                            .count = 3,
                            .workers = 2,
                            .steps = 4,
                            .whole = 0.016,
                            .operations = 0.005,
                            .waiting = 0.002,
                            .profiling = 0.0005,
                            .rest = 0.0085};

static void expect_printed(const Parts *p, const char *expected)
{
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(file);
    parts_print(p, file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_str_eq(text, expected);
    free(text);
}

START_TEST(milliseconds_are_those_of_a_step_of_one_worker)
{
    expect_printed(&known,
                   "\nWhere a step's time goes: the mean of 4 steps; ms and rates are those of one of 2 workers\n"
                   "  operation                           calls         ms    share   GFLOP/s    GB/s\n"
                   "  linear_forward 64 -> 128                2      0.500  25.00 %       1.0     0.5\n"
                   "  add_forward                             1      0.125   6.25 %               0.8\n"
                   "  zero                                    1      0.000   0.00 %                  \n"
                   "  waiting for other workers                      0.250  12.50 %\n"
                   "  profiling itself                               0.062   3.12 %\n"
                   "  the rest (batches, tape, layers)               1.062  53.13 %\n"
                   "  the whole                                      2.000 100.00 %\n");
    Parts none = {.workers = 1, .steps = 1};
    expect_printed(&none, "\nWhere a step's time goes: the mean of 1 steps; ms and rates are those of one of 1 worker\n"
                          "  operation                           calls         ms    share   GFLOP/s    GB/s\n"
                          "  waiting for other workers                      0.000   0.00 %\n"
                          "  profiling itself                               0.000   0.00 %\n"
                          "  the rest (batches, tape, layers)               0.000   0.00 %\n"
                          "  the whole                                      0.000   0.00 %\n");
    Buffer b = {0};
    buffer_print(&b, "{");
    parts_json(&known, &b);
    ck_assert_str_eq(b.text,
                     "{\"profile\": {\"operations\": ["
                     "{\"operation\": \"linear_forward\", \"in\": 64, \"out\": 128, \"calls\": 2, \"ms\": 0.5, "
                     "\"flop\": 1000000, \"bytes\": 500000}, "
                     "{\"operation\": \"add_forward\", \"calls\": 1, \"ms\": 0.125, \"flop\": 0, \"bytes\": 200000}, "
                     "{\"operation\": \"zero\", \"calls\": 1, \"ms\": 0, \"flop\": 0.25, \"bytes\": 0.25}], "
                     "\"waiting_ms\": 0.25, \"profiling_ms\": 0.0625, \"rest_ms\": 1.0625, \"whole_ms\": 2}");
    buffer_free(&b);
}

enum { WORKERS = 2, STEPS = 3 };

/* Calls of an operation, in all its sizes. */
static uint64_t calls_of(const Parts *p, const char *operation)
{
    uint64_t calls = 0;
    for (size_t i = 0; i < p->count; i++)
        calls += strcmp(p->timing[i].operation, operation) ? 0 : p->timing[i].calls;
    return calls;
}

static bool take_parts(void *argument, Error *e)
{
    Parts p;
    if (!parts_of(&p, argument, 1, STEPS, e))
        return false;
    parts_close(&p);
    return true;
}

START_TEST(what_workers_did_is_added_up_by_operation_and_size)
{
    enum { MICROS = 4, BLOCKS = 1 };
    Error e;
    Tiny tiny;
    Trainer trainer;
    Parts p;
    StepResult result;
    TrainerOptions o = tiny_trainer(WORKERS, 1);
    o.k = profile_over(o.k);
    ck_done(tiny_open(&tiny, &tiny_standard, &e), e);
    ck_done(trainer_open(&trainer, &o, &tiny.parameters, &tiny.task, &e), e);
    ck_done(weights_init(&trainer.weights, trainer.worker[0].stream, INIT_GPT2, BLOCKS, 1, &e), e);
    ck_done(trainer_step(&trainer, 1, 1e-3, &result, &e), e);
    parts_begin(&trainer); /* what was before does not count */
    for (uint64_t step = 2; step < 2 + STEPS; step++)
        ck_done(trainer_step(&trainer, step, 1e-3, &result, &e), e);
    trainer.worker[0].waited = 0.25, trainer.worker[1].waited = 0.5;
    ck_done(parts_of(&p, &trainer, 10, STEPS, &e), e);

    double operations = 0, profiling = 0;
    for (size_t i = 0; i < p.count; i++) {
        operations += p.timing[i].seconds;
        ck_assert(p.timing[i].calls && (i == 0 || p.timing[i - 1].seconds >= p.timing[i].seconds));
        for (size_t j = 0; j < i; j++)
            ck_assert(strcmp(p.timing[i].operation, p.timing[j].operation) || p.timing[i].in != p.timing[j].in ||
                      p.timing[i].out != p.timing[j].out);
    }
    for (size_t i = 0; i < WORKERS; i++)
        profiling += profile_overhead(trainer.worker[i].stream);
    ck_assert(p.workers == WORKERS && p.steps == STEPS && p.whole == 10 * WORKERS && p.waiting == 0.75);
    ck_assert(operations > 0 && profiling > 0);
    ck_assert_double_eq_tol(p.operations, operations, 1e-9);
    ck_assert_double_eq_tol(p.profiling, profiling, 1e-9);
    ck_assert_double_eq_tol(p.rest, p.whole - operations - p.waiting - profiling, 1e-9);
    ck_assert_uint_eq(calls_of(&p, "cross_entropy_forward"), STEPS * MICROS);
    ck_assert_uint_eq(calls_of(&p, "embed_backward"), STEPS * MICROS);
    ck_assert_uint_eq(calls_of(&p, "clip"), STEPS);

    double flop = 0, bytes = 0; /* of all workers */
    for (size_t i = 0; i < WORKERS; i++) {
        size_t count;
        const Timing *one = profile_timings(trainer.worker[i].stream, &count);
        for (size_t j = 0; j < count; j++)
            flop += one[j].flop, bytes += one[j].bytes;
    }
    for (size_t i = 0; i < p.count; i++)
        flop -= p.timing[i].flop, bytes -= p.timing[i].bytes;
    ck_assert(flop == 0 && bytes == 0);
    parts_close(&p);
    fail_each_allocation(take_parts, &trainer);
    parts_begin(&trainer);
    ck_done(parts_of(&p, &trainer, 0, 1, &e), e);
    ck_assert(p.count == 0 && p.waiting == 0 && p.operations == 0 && p.rest <= 0);
    parts_close(&p);
    trainer_close(&trainer);
    tiny_close(&tiny);
    ck_assert_uint_eq(memory_in_use(), 0);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(milliseconds_are_those_of_a_step_of_one_worker),
                                 TEST(what_workers_did_is_added_up_by_operation_and_size)};
    return suite_run("train/parts", tests, sizeof tests / sizeof *tests, argc, argv);
}
