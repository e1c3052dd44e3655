/* Rows of a step, packed one after another, and the part of them that reaches a device. */
#include "base/memory.h"
#include "core/train/batch.h"
#include "tests/suite.h"

#include <string.h>

/* Rows of these lengths; ids count up from 100 * side, every third target is not scored. */
static void fill(Batch *b, size_t side, const size_t *lengths, size_t rows)
{
    for (size_t r = 0; r < rows; r++) {
        size_t at = batch_row(b, side, lengths[r]);
        for (size_t i = at; i < at + lengths[r]; i++) {
            b->side[side].ids[i] = (int32_t)(100 * side + i);
            b->side[side].targets[i] = i % 3 ? (int32_t)i : -1;
        }
    }
}

static void expect_ints(const int32_t *found, const int32_t *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(found[i] == wanted[i], "number %zu is %d, not %d", i, (int)found[i], (int)wanted[i]);
}

START_TEST(rows_follow_one_another)
{
    Batch b;
    Error e;
    const size_t lengths[] = {2, 0, 3, 1};
    ck_done(batch_open(&b, &(BatchSize){1, 4, {6}, 0, 0}, &e), e);
    fill(&b, 0, lengths, 4);
    ck_assert_uint_eq(b.side[0].rows, 4);
    ck_assert_uint_eq(b.side[0].positions, 6);
    expect_ints(b.side[0].start, (const int32_t[]){0, 2, 2, 5, 6}, 5);
    expect_ints(b.side[0].position, (const int32_t[]){0, 1, 0, 1, 2, 0}, 6);
    ck_assert_uint_eq(batch_targets(&b, 0), 4); /* 0 and 3 are not scored */

    batch_clear(&b);
    ck_assert_uint_eq(batch_targets(&b, 0), 0);
    ck_assert_uint_eq(batch_row(&b, 0, 6), 0);
    ck_assert_uint_eq(b.side[0].rows, 1);
    batch_clear(&b);
    fill(&b, 0, (const size_t[]){3, 3}, 2); /* whatever was there before */
    expect_ints(b.side[0].position, (const int32_t[]){0, 1, 2, 0, 1, 2}, 6);
    batch_close(&b);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Every row is in one part, in order; a part is longer than its share by less than a row. */
START_TEST(parts_are_of_about_as_many_positions)
{
    enum { ROWS = 40 };
    Batch b;
    Error e;
    size_t lengths[2][ROWS], cut[ROWS + 1], longest = 1;
    ck_done(batch_open(&b, &(BatchSize){2, ROWS, {ROWS * 13, ROWS * 13}, 0, 0}, &e), e);
    for (size_t r = 0; r < ROWS; r++) {
        lengths[0][r] = r * 7 % 13;
        lengths[1][r] = r * 5 % 11;
    }
    fill(&b, 0, lengths[0], ROWS);
    fill(&b, 1, lengths[1], ROWS);
    ck_assert_uint_eq(batch_length(&b, 0), 1); /* empty on both sides */
    for (size_t r = 0; r < ROWS; r++)
        longest = batch_length(&b, r) > longest ? batch_length(&b, r) : longest;
    for (size_t parts = 1; parts <= ROWS; parts++) {
        size_t share = (batch_lengths(&b) + parts - 1) / parts;
        batch_cut(&b, parts, cut);
        ck_assert(cut[0] == 0 && cut[parts] == ROWS);
        for (size_t m = 0; m < parts; m++) {
            size_t positions = 0;
            ck_assert(cut[m] <= cut[m + 1]);
            for (size_t r = cut[m]; r < cut[m + 1]; r++)
                positions += batch_length(&b, r);
            ck_assert_msg(positions < share + longest, "part %zu of %zu has %zu positions, a share %zu", m, parts,
                          positions, share);
        }
    }
    batch_close(&b);
}

static const Kernels *open_device(DeviceRows *d, Stream **s, size_t sides, size_t rows, size_t positions)
{
    Error e;
    const Kernels *k = kernels_find("plain", NUMBER_F32, &e);
    ck_done(k != NULL, e);
    ck_done(k->open(s, 1, &e), e);
    ck_done(device_rows_open(d, k, &(BatchSize){sides, rows, {positions, positions}, 0, 0}, &e), e);
    return k;
}

START_TEST(a_micro_batch_counts_from_its_own_first_position)
{
    Batch b;
    DeviceRows d;
    Stream *s;
    Error e;
    const size_t lengths[] = {2, 4, 0, 3, 1};
    const Kernels *k = open_device(&d, &s, 1, 3, 7);
    ck_done(batch_open(&b, &(BatchSize){1, 5, {10}, 0, 0}, &e), e);
    fill(&b, 0, lengths, 5);
    device_rows_upload(&d, s, &b, 1, 3);
    const Rows *rows = &d.rows[0];
    ck_assert_uint_eq(rows->rows, 3);
    ck_assert_uint_eq(rows->positions, 7);
    ck_assert_uint_eq(rows->longest, 4);
    expect_ints(rows->start, (const int32_t[]){0, 4, 4, 7}, 4);
    expect_ints(rows->ids, (const int32_t[]){2, 3, 4, 5, 6, 7, 8}, 7);
    expect_ints(rows->targets, (const int32_t[]){2, -1, 4, 5, -1, 7, 8}, 7);
    expect_ints(rows->position, (const int32_t[]){0, 1, 2, 3, 0, 1, 2}, 7);

    device_rows_upload(&d, s, &b, 4, 1); /* a smaller one into the same memory */
    ck_assert(rows->rows == 1 && rows->positions == 1 && rows->longest == 1);
    expect_ints(rows->start, (const int32_t[]){0, 1}, 2);
    expect_ints(rows->ids, (const int32_t[]){9}, 1);
    batch_close(&b);
    device_rows_close(&d);
    k->close(s);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* From each row's first target on; a target that is missing after it stays missing. */
START_TEST(what_is_scored_begins_with_the_first_target_of_each_row)
{
    Batch b;
    DeviceRows d;
    Stream *s;
    Error e;
    const size_t lengths[] = {2, 4, 0, 3, 2, 1};
    const int32_t targets[] = {8, 9, -1, -1, 5, -1, -1, -1, -1, 6, 7, 4};
    const Kernels *k = open_device(&d, &s, 1, 6, 12);
    ck_done(batch_open(&b, &(BatchSize){1, 6, {12}, 0, 0}, &e), e);
    fill(&b, 0, lengths, 6);
    memcpy(b.side[0].targets, targets, sizeof targets);
    for (size_t again = 0; again < 2; again++) { /* into the same memory */
        device_rows_upload(&d, s, &b, 1, 5);
        const Queries *q = rows_scored(&d.rows[0]);
        ck_assert_ptr_nonnull(q);
        ck_assert_uint_eq(q->positions, 5);
        ck_assert_uint_eq(q->longest, 2);
        expect_ints(q->start, (const int32_t[]){0, 2, 2, 2, 4, 5}, 6);
        expect_ints(q->offset, (const int32_t[]){2, 0, 3, 0, 0}, 5);
        expect_ints(q->index, (const int32_t[]){2, 3, 7, 8, 9}, 5);
        expect_ints(q->targets, (const int32_t[]){5, -1, 6, 7, 4}, 5);
        device_rows_upload(&d, s, &b, 0, 1);
        ck_assert_ptr_null(rows_scored(&d.rows[0])); /* all of it */
    }
    device_rows_upload(&d, s, &b, 2, 2); /* nothing, of rows of 0 and 3 */
    const Queries *q = rows_scored(&d.rows[0]);
    ck_assert(q && q->positions == 0 && q->longest == 0);
    expect_ints(q->start, (const int32_t[]){0, 0, 0}, 3);
    expect_ints(q->offset, (const int32_t[]){0, 3}, 2);
    batch_close(&b);
    device_rows_close(&d);
    k->close(s);
}

START_TEST(what_is_scored_is_found_on_each_side)
{
    Batch b;
    DeviceRows d;
    Stream *s;
    Error e;
    const size_t lengths[] = {3, 2};
    const Kernels *k = open_device(&d, &s, 2, 2, 5); /* as small as it can be */
    ck_done(batch_open(&b, &(BatchSize){2, 2, {5, 5}, 0, 0}, &e), e);
    for (size_t side = 0; side < 2; side++) {
        fill(&b, side, lengths, 2);
        for (size_t i = 0; i < 5; i++)
            b.side[side].targets[i] = i == side ? -1 : 7;
    }
    device_rows_upload(&d, s, &b, 0, 2);
    ck_assert_ptr_null(rows_scored(&d.rows[1])); /* what is missing is after a row's first */
    const Queries *q = rows_scored(&d.rows[0]);
    expect_ints(q->index, (const int32_t[]){1, 2, 3, 4}, 4);
    expect_ints(q->start, (const int32_t[]){0, 2, 4}, 3);
    expect_ints(d.rows[1].ids, (const int32_t[]){100, 101, 102, 103, 104}, 5);
    expect_ints(d.rows[1].start, (const int32_t[]){0, 3, 5}, 3);
    batch_close(&b);
    device_rows_close(&d);
    k->close(s);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(two_sides_are_cut_at_the_same_rows)
{
    Batch b;
    DeviceRows d;
    Stream *s;
    Error e;
    const size_t source[] = {2, 1, 3}, target[] = {1, 4, 0};
    const Kernels *k = open_device(&d, &s, 2, 2, 5);
    ck_done(batch_open(&b, &(BatchSize){2, 3, {6, 6}, 0, 0}, &e), e);
    fill(&b, 0, source, 3);
    fill(&b, 1, target, 3);
    device_rows_upload(&d, s, &b, 1, 2);
    ck_assert(d.rows[0].positions == 4 && d.rows[1].positions == 4);
    ck_assert(d.rows[0].longest == 3 && d.rows[1].longest == 4);
    expect_ints(d.rows[0].start, (const int32_t[]){0, 1, 4}, 3);
    expect_ints(d.rows[1].start, (const int32_t[]){0, 4, 4}, 3);
    expect_ints(d.rows[0].ids, (const int32_t[]){2, 3, 4, 5}, 4);
    expect_ints(d.rows[1].ids, (const int32_t[]){101, 102, 103, 104}, 4);
    batch_close(&b);
    device_rows_close(&d);
    k->close(s);
}

static bool open_both(void *argument, Error *e)
{
    const Kernels *k = argument;
    Batch b;
    DeviceRows d;
    if (!batch_open(&b, &(BatchSize){2, 3, {10, 10}, 0, 0}, e))
        return false;
    bool fine = device_rows_open(&d, k, &(BatchSize){2, 3, {10, 10}, 0, 0}, e);
    if (fine)
        device_rows_close(&d);
    batch_close(&b);
    return fine;
}

START_TEST(no_memory_for_a_batch_is_an_error)
{
    Kernels k = *kernels_find("plain", NUMBER_F32, NULL);
    fail_each_allocation(open_both, &k);
}

START_TEST(what_is_rounded_up_belongs_to_no_row)
{
    Batch b;
    DeviceRows d;
    Stream *s;
    Error e;
    const size_t lengths[] = {3, 0, 5, 2};
    const Kernels *k = kernels_find("plain", NUMBER_F32, &e);
    const BatchSize size = {1, 4, {10}, 4, 0};
    ck_done(k != NULL && k->open(&s, 1, &e) && batch_open(&b, &size, &e) && device_rows_open(&d, k, &size, &e), e);
    fill(&b, 0, lengths, 4);
    for (size_t first = 0; first < 4; first++) {
        size_t count = 4 - first, positions = (size_t)(b.side[0].start[4] - b.side[0].start[first]);
        device_rows_upload(&d, s, &b, first, count);
        const Rows *rows = d.rows;
        ck_assert(rows->positions % 4 == 0 && rows->positions >= positions && rows->positions < positions + 4);
        ck_assert_int_eq(rows->start[count], (int32_t)positions);
        for (size_t i = 0; i < rows->positions; i++) {
            bool real = i < positions;
            size_t from = (size_t)b.side[0].start[first] + i;
            ck_assert_int_eq(rows->position[i], real ? b.side[0].position[from] : -1);
            ck_assert_int_eq(rows->targets[i], real ? b.side[0].targets[from] : -1);
            ck_assert_int_eq(rows->ids[i], real ? b.side[0].ids[from] : 0);
        }
    }
    device_rows_close(&d);
    batch_close(&b);
    k->close(s);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static const Test tests[] = {TEST(rows_follow_one_another),
                             TEST(parts_are_of_about_as_many_positions),
                             TEST(what_is_rounded_up_belongs_to_no_row),
                             TEST(a_micro_batch_counts_from_its_own_first_position),
                             TEST(what_is_scored_begins_with_the_first_target_of_each_row),
                             TEST(what_is_scored_is_found_on_each_side),
                             TEST(two_sides_are_cut_at_the_same_rows),
                             TEST(no_memory_for_a_batch_is_an_error)};

int main(int argc, char **argv) { return suite_run("train/batch", tests, sizeof tests / sizeof *tests, argc, argv); }
