/* n-grams: which rows of a table they read, against PyTorch, and that a row read in parts has those of the whole. */
#include "base/memory.h"
#include "core/program/network.h"
#include "tests/nn/networks.h"
#include "tests/parity.h"

#include <math.h>
#include <string.h>

static Network open(ParityFixture *s, bool composed)
{
    SharedOptions o = reference_options(&s->f);
    o.attention = composed ? ATTENTION_COMPOSED : ATTENTION_FUSED;
    s->model = opened_model(&o);
    return charlm_network(s->model, o.smoothing);
}

static void close(void *model) { model_close(model); }

static const ParityKind kind = {3, open, close};

START_TEST(n_grams_equal_pytorch_in_loss_and_every_gradient)
{
    parity_network(&kind, "ngrams", &parity_f64);
    parity_network(&kind, "ngrams", &parity_f32);
    parity_network(&kind, "ngrams", &parity_bf16);
}

START_TEST(twenty_steps_of_adam_equal_pytorch)
{
    parity_adam(&kind, "ngrams", &parity_f64);
    parity_adam(&kind, "ngrams", &parity_f32);
}

START_TEST(insides_that_are_computed_again_give_the_same_bits) { parity_dropped(&kind, "ngrams"); }

/* Those of the fixture were written down by another formula: a sum of powers. */
START_TEST(rows_of_a_table_are_those_of_the_definition)
{
    Reference f = reference_open("ngrams", kind.sides);
    const SharedOptions o = reference_options(&f);
    const Ngrams g = {.longest = o.ngrams, .rows = o.ngram_rows, .side = NGRAMS};
    for (size_t i = 0; i < f.batch_count; i++) {
        const Batch *b = &f.batch[i];
        for (size_t r = 0; r < b->side[0].rows; r++)
            for (int32_t at = b->side[0].start[r]; at < b->side[0].start[r + 1]; at++)
                for (size_t n = 2; n <= g.longest; n++)
                    ck_assert_int_eq(
                        b->side[NGRAMS + n - 2].ids[at],
                        ngram_row(&g, n, b->side[0].ids + b->side[0].start[r], (size_t)(at - b->side[0].start[r])));
    }
    reference_close(&f);
}

START_TEST(large_ids_and_small_tables_have_rows_within)
{
    static const int32_t ids[] = {INT32_MAX, 0, INT32_MAX - 1, INT32_MAX};
    static const size_t rows[] = {2, 3, 16777216};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t n = 2; n <= SIDES; n++)
            for (size_t at = 0; at < sizeof ids / sizeof *ids; at++) {
                const int32_t row = ngram_row(&(Ngrams){.rows = rows[i]}, n, ids, at);
                ck_assert(row >= 1 && (size_t)row < rows[i]);
            }
}

START_TEST(a_row_that_continues_has_the_n_grams_of_the_whole)
{
    static const int32_t ids[] = {5, 200, 7, 7, 0, 255, 31, 5, 200};
    enum { ALL = sizeof ids / sizeof *ids, LONGEST = 4 };
    const Ngrams g = {.longest = LONGEST, .rows = 1000, .side = NGRAMS};
    Batch b;
    Error e;
    ck_done(batch_open(&b, &(BatchSize){LONGEST, 2, {2 * ALL, 2 * ALL, 2 * ALL, 2 * ALL}, 0, 0}, &e), e);
    for (size_t from = 0; from <= ALL; from++) {
        batch_clear(&b);
        memcpy(b.side[0].ids + batch_row(&b, 0, ALL), ids, sizeof ids);
        ngrams_add(&g, &b);
        memcpy(b.side[0].ids + batch_row(&b, 0, ALL - from), ids + from, (ALL - from) * sizeof *ids);
        ngrams_continue(&g, &b, ids, from);
        for (size_t side = NGRAMS; side < LONGEST; side++) {
            ck_assert_uint_eq(b.side[side].positions, 2 * ALL - from);
            ck_assert_mem_eq(b.side[side].ids + from, b.side[side].ids + ALL, (ALL - from) * sizeof *ids);
        }
    }
    batch_close(&b);
}

/* As in a row of charlm or classifier: registers have ids beyond all tokens, and are part of no n-gram. */
START_TEST(registers_have_no_n_grams_and_are_in_none)
{
    static const int32_t ids[] = {5, 200, 7, 7, 0, 255};
    enum { ALL = sizeof ids / sizeof *ids, LONGEST = 3, REGISTERS = 2 };
    SharedOptions o = small_options();
    Batch b;
    Error e;
    o.ngrams = LONGEST, o.ngram_rows = 1000, o.registers = REGISTERS;
    const Ngrams g = network_ngrams(&o, NGRAMS);
    const size_t most = ALL + REGISTERS;
    ck_done(batch_open(&b, &(BatchSize){LONGEST, 2, {2 * most, 2 * most, 2 * most}, 0, 0}, &e), e);
    for (size_t row = 0; row < 2; row++) {
        const size_t at = batch_row_after(&b, 0, (Registers){BYTES, REGISTERS}, ALL);
        memcpy(b.side[0].ids + at, ids, sizeof ids);
        ngrams_add(&g, &b);
        for (size_t n = 2; n <= LONGEST; n++) {
            const int32_t *rows = b.side[NGRAMS + n - 2].ids + at - REGISTERS;
            ck_assert_uint_eq(b.side[NGRAMS + n - 2].positions, (row + 1) * most);
            for (size_t i = 0; i < REGISTERS; i++)
                ck_assert_int_eq(rows[i], 0);
            for (size_t i = 0; i < ALL; i++)
                ck_assert_int_eq(rows[REGISTERS + i], ngram_row(&g, n, ids, i));
        }
    }
    batch_close(&b);
}

/* Those of all lengths, and no tokens. */
START_TEST(training_drops_as_many_as_said)
{
    static const size_t lengths[] = {13, 13, 13};
    enum { STEPS = 100 };
    SharedOptions o = small_options();
    Model m;
    TrainerFixture t;
    Error e;
    o.ngrams = 3, o.ngram_rows = 4000;
    ck_done(model_open(&m, &o, BYTES, &e), e);
    Batch b = ngram_batch(&m.ngrams, lengths, 3, 3);
    const Network n = charlm_network(&m, 0);
    trainer_fixture_open(&t, plain_of(NUMBER_F64), &n, &b, 1, &(Training){0});
    ngrams_drop(&m.ngrams, &t.task, 0.25);
    size_t dropped = 0, all = 0;
    for (uint64_t step = 1; step <= STEPS; step++) {
        trainer_fixture_step(&t, step, 0);
        const Side *read = t.trainer.batch.side;
        ck_assert_mem_eq(read[0].ids, b.side[0].ids, b.side[0].positions * sizeof *b.side[0].ids);
        for (size_t side = NGRAMS; side < model_sides(&m); side++)
            for (size_t i = 0; i < b.side[side].positions; i++, all++) {
                ck_assert(!read[side].ids[i] || read[side].ids[i] == b.side[side].ids[i]);
                dropped += !read[side].ids[i];
            }
    }
    ck_assert_double_eq_tol((double)dropped / (double)all, 0.25, 4 * sqrt(0.25 * 0.75 / (double)all));
    trainer_fixture_close(&t);
    batch_close(&b);
    model_close(&m);
}

/* The same step in parts, and its dropout. */
START_TEST(a_step_in_parts_is_the_same_step)
{
    static const size_t lengths[] = {9, 0, 13, 1, 5};
    SharedOptions o = small_options();
    double *gradient[2];
    size_t size = 0;
    o.ngrams = 4, o.ngram_rows = 300, o.dropout = 0.2;
    for (int parts = 0; parts < 2; parts++) {
        Model m;
        TrainerFixture t;
        Error e;
        ck_done(model_open(&m, &o, BYTES, &e), e);
        Batch b = ngram_batch(&m.ngrams, lengths, 5, 3);
        const Network n = charlm_network(&m, 0);
        trainer_fixture_open(&t, plain_of(NUMBER_F64), &n, &b, 1,
                             &(Training){.workers = parts ? 2 : 1, .micro_rows = parts ? 1 : 0});
        trainer_fixture_draw(&t, 5);
        trainer_fixture_step(&t, 1, 0);
        gradient[parts] = trainer_fixture_gradient(&t);
        size = m.parameters.size;
        trainer_fixture_close(&t);
        batch_close(&b);
        model_close(&m);
    }
    ck_assert_double_le(largest_difference(gradient[0], gradient[1], size), 1e-13);
    ck_assert_double_gt(largest_difference(gradient[0], NULL, size), 1e-4);
    memory_free(gradient[0]);
    memory_free(gradient[1]);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST(n_grams_equal_pytorch_in_loss_and_every_gradient),
        TEST(twenty_steps_of_adam_equal_pytorch),
        TEST(insides_that_are_computed_again_give_the_same_bits),
        TEST(rows_of_a_table_are_those_of_the_definition),
        TEST(large_ids_and_small_tables_have_rows_within),
        TEST(a_row_that_continues_has_the_n_grams_of_the_whole),
        TEST(registers_have_no_n_grams_and_are_in_none),
        TEST(training_drops_as_many_as_said),
        TEST(a_step_in_parts_is_the_same_step),
    };
    return suite_run("nn/ngrams", tests, sizeof tests / sizeof *tests, argc, argv);
}
