/* Gradients of the rows that a step reads, in the place of whole tables. */
#include "base/memory.h"
#include "core/train/used.h"
#include "tests/train/tiny.h"

#include <math.h>

enum { WORDS = 50000, WIDTH = 8 };

static void add_row(Batch *b, size_t side, const int32_t *ids, size_t count)
{
    size_t first = batch_row(b, side, count);
    for (size_t i = 0; i < count; i++)
        b->side[side].ids[first + i] = ids[i];
}

typedef struct Book {
    Parameters parameters;
    Batch batch;
    UsedRows used;
} Book;

/* A table of 50,000 words and one of 100, a map, and batches of two sides. */
static void book_open(Book *b, const BatchSize *size)
{
    Error e;
    *b = (Book){.used.count = 0};
    parameters_add(&b->parameters, ROLE_LOOKUP, WORDS, WIDTH, "words.weight");
    parameters_add(&b->parameters, ROLE_WEIGHT, 16, 16, "map.weight");
    parameters_add(&b->parameters, ROLE_LOOKUP, 100, 3, "others.weight");
    ck_done(parameters_finish(&b->parameters, &e), e);
    ck_done(batch_open(&b->batch, size, &e), e);
    ck_done(used_rows_open(&b->used, &b->parameters, size, &e), e);
}

static void book_close(Book *b)
{
    used_rows_close(&b->used);
    batch_close(&b->batch);
    parameters_close(&b->parameters);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static void expect_slots(const Side *side, const int32_t *wanted)
{
    for (size_t i = 0; i < side->positions; i++)
        ck_assert_int_eq(side->slots[i], wanted[i]);
}

START_TEST(slots_are_numbered_as_ids_appear)
{
    Book b;
    book_open(&b, &(BatchSize){2, 2, {6, 3}, 0, 0});
    add_row(&b.batch, 0, (const int32_t[]){49999, 7, 49999}, 3);
    add_row(&b.batch, 0, (const int32_t[]){0, 7}, 2);
    add_row(&b.batch, 1, (const int32_t[]){7, 12}, 2);
    add_row(&b.batch, 1, NULL, 0);
    used_rows_find(&b.used, &b.batch);
    ck_assert_uint_eq(b.used.count, 4);
    expect_slots(&b.batch.side[0], (const int32_t[]){0, 1, 0, 2, 1});
    expect_slots(&b.batch.side[1], (const int32_t[]){1, 3});
    ck_assert(b.used.slots[49999] == 0 && b.used.slots[12] == 3 && b.used.slots[1] == -1);

    batch_clear(&b.batch); /* nothing of the last batch is left */
    add_row(&b.batch, 0, (const int32_t[]){12}, 1);
    used_rows_find(&b.used, &b.batch);
    ck_assert_uint_eq(b.used.count, 1);
    ck_assert(b.used.slots[49999] == -1 && b.used.slots[7] == -1 && b.used.slots[12] == 0);
    book_close(&b);
}

START_TEST(a_block_of_gradients_holds_used_rows_alone)
{
    Book b;
    const BatchSize size = {1, 5, {2000}, 0, 0};
    book_open(&b, &size);
    ck_assert_uint_eq(used_rows_capacity(&b.parameters, &size), b.parameters.dense + (size_t)2000 * (WIDTH + 3));
    for (size_t r = 0; r < 5; r++) {
        size_t first = batch_row(&b.batch, 0, 200);
        for (size_t i = 0; i < 200; i++)
            b.batch.side[0].ids[first + i] = (int32_t)((r * 200 + i) % 500 * 99); /* each of 500 words twice */
    }
    used_rows_find(&b.used, &b.batch);
    ck_assert_uint_eq(b.used.count, 500);
    ck_assert_uint_eq(used_rows_gradient(&b.used), b.parameters.dense + (size_t)500 * (WIDTH + 3));
    static const size_t rounds[][2] = {{128, 512}, {500, 500}, {499, 998}, {3000, 2000}};
    for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
        b.used.round = rounds[i][0];
        ck_assert_uint_eq(used_rows_count(&b.used), rounds[i][1]);
    }
    ck_assert_uint_eq(gradient_offset(&b.parameters, b.parameters.list[0], 500), b.parameters.dense);
    ck_assert_uint_eq(gradient_offset(&b.parameters, b.parameters.list[1], 500), b.parameters.list[1]->offset);
    ck_assert_uint_eq(gradient_offset(&b.parameters, b.parameters.list[2], 500), b.parameters.dense + 500 * WIDTH);
    const BatchSize both = {2, 5, {2000, 300}, 0, 0}, large = {1, 1, {2 * WORDS}, 0, 0};
    ck_assert_uint_eq(used_rows_capacity(&b.parameters, &both), b.parameters.dense + (size_t)2300 * (WIDTH + 3));
    ck_assert_uint_eq(used_rows_capacity(&b.parameters, &large), b.parameters.dense + (size_t)WORDS * (WIDTH + 3));
    book_close(&b);
}

/* Ids of a side that another table serves, larger than this one. */
START_TEST(ids_beyond_all_tables_have_no_row)
{
    Book b;
    book_open(&b, &(BatchSize){2, 1, {2, 2}, 0, 0});
    add_row(&b.batch, 0, (const int32_t[]){3, 4}, 2);
    add_row(&b.batch, 1, (const int32_t[]){WORDS, INT32_MAX}, 2);
    used_rows_find(&b.used, &b.batch);
    ck_assert_uint_eq(b.used.count, 2);
    book_close(&b);
}

static bool open_used(void *argument, Error *e)
{
    const Book *b = argument;
    UsedRows u;
    bool fine = used_rows_open(&u, &b->parameters, &(BatchSize){1, 1, {2}, 0, 0}, e);
    used_rows_close(&u);
    return fine;
}

START_TEST(each_allocation_may_fail)
{
    Book b;
    book_open(&b, &(BatchSize){1, 1, {2}, 0, 0});
    fail_each_allocation(open_used, &b);
    book_close(&b);
}

/* Trains and gives back what was learned, by name. dense: the table's gradient is one whole table. */
static void train(double *weights, size_t *count, bool dense, size_t workers, double clip)
{
    Tiny tiny;
    Trainer trainer;
    Error e;
    TrainerOptions o = tiny_trainer(workers, 1);
    StepResult step;
    o.clip = clip;
    ck_done(tiny_open(&tiny, &tiny_standard, &e), e);
    if (dense) {
        tiny.embedding.table->role = ROLE_TABLE;
        ck_done(parameters_finish(&tiny.parameters, &e), e);
    }
    ck_done(trainer_open(&trainer, &o, &tiny.parameters, &tiny.task, &e), e);
    ck_done(weights_init(&trainer.weights, trainer.worker[0].stream, INIT_GPT2, 1, 1, &e), e);
    for (uint64_t i = 1; i <= 20; i++)
        ck_done(trainer_step(&trainer, i, 0.01, &step, &e), e);
    *count = 0;
    for (size_t i = 0; i < tiny.parameters.count; i++) {
        const Parameter *p = tiny.parameters.list[i];
        const float *from = parameter_in(p, trainer.weights.reals, sizeof *from);
        for (size_t j = 0; p->role != ROLE_CONSTANT && j < p->count; j++)
            weights[(*count)++] = (double)from[j];
    }
    trainer_close(&trainer);
    tiny_close(&tiny);
}

/* Without a limit of the norm to the bit; the norm itself is summed in another order. */
START_TEST(training_is_what_it_is_with_whole_tables)
{
    enum { MOST = 10000 };
    static double used[MOST], whole[MOST];
    size_t count, all;
    double clip = _i / 2 ? 1 : 0;
    train(used, &count, false, 1 + (size_t)_i % 2, clip);
    train(whole, &all, true, 1 + (size_t)_i % 2, clip);
    ck_assert_uint_eq(count, all);
    ck_assert(count > 500 && count <= MOST);
    for (size_t i = 0; i < count; i++)
        ck_assert(fabs(used[i] - whole[i]) <= (clip > 0 ? 1e-5 : 0));
    ck_assert_uint_eq(memory_in_use(), 0);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(slots_are_numbered_as_ids_appear),
                                 TEST(a_block_of_gradients_holds_used_rows_alone),
                                 TEST(ids_beyond_all_tables_have_no_row), TEST(each_allocation_may_fail),
                                 TEST_LOOP(training_is_what_it_is_with_whole_tables, 4)};
    return suite_run("train/used", tests, sizeof tests / sizeof *tests, argc, argv);
}
