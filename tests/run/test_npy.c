/* .npy: the bytes NumPy expects, and rows that come one by one. */
#include "base/file.h"
#include "base/memory.h"
#include "tests/npy.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>

static char path[700];

static void setup(void) { snprintf(path, sizeof path, "%s/x.npy", test_folder()); }

static const float f32[24] = {1, 2.5f, -3};
static const double f64[24] = {0.1, -0.2};
static const int32_t i32[24] = {7, -8, INT32_MIN};

START_TEST(what_is_written_is_read)
{
    setup();
    const size_t shape[] = {2, 3, 1, 4};
    const void *const data[] = {[NPY_F32] = f32, [NPY_F64] = f64, [NPY_I32] = i32};
    const size_t size[] = {[NPY_F32] = 4, [NPY_F64] = 8, [NPY_I32] = 4}, elements[] = {0, 2, 6, 6, 24};
    Error e;
    for (int type = NPY_F32; type <= NPY_I32; type++)
        for (size_t rank = 1; rank <= 4; rank++) {
            Npy a;
            ck_done(npy_write(path, (NpyType)type, rank, shape, data[type], &e), e);
            a = npy_read(path);
            ck_assert_int_eq(a.type, type);
            ck_assert_uint_eq(a.rank, rank);
            ck_assert_mem_eq(a.shape, shape, rank * sizeof *shape);
            ck_assert_mem_eq(a.data, data[type], elements[rank] * size[type]);
            npy_free(&a);
        }
    ck_assert_uint_eq(memory_in_use(), 0);
}

static void expect_header(const char *text, size_t data)
{
    char *bytes;
    size_t size;
    Error e;
    ck_done(file_read(path, &bytes, &size, &e), e);
    ck_assert_uint_eq(size, 128 + data);
    ck_assert_mem_eq(bytes, "\x93NUMPY\1\0\x76\0", 10);
    ck_assert_mem_eq(bytes + 10, text, strlen(text));
    ck_assert_uint_eq(strspn(bytes + 10 + strlen(text), " "), 117 - strlen(text));
    ck_assert_int_eq(bytes[127], '\n');
    memory_free(bytes);
}

START_TEST(the_header_is_as_numpy_writes_it)
{
    setup();
    Error e;
    ck_done(npy_write(path, NPY_F32, 1, (const size_t[]){3}, f32, &e), e);
    expect_header("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 12);
    ck_done(npy_write(path, NPY_I32, 2, (const size_t[]){2, 3}, i32, &e), e);
    expect_header("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }", 24);
    ck_done(npy_write(path, NPY_F64, 2, (const size_t[]){0, 3}, f64, &e), e);
    expect_header("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3), }", 0);
}

START_TEST(rows_that_come_one_by_one_give_the_same_file)
{
    setup();
    char *whole, *pieces;
    size_t size, again;
    NpyWriter w;
    Error e;
    const size_t shape[] = {8, 3};
    ck_done(npy_write(path, NPY_F32, 2, shape, f32, &e), e);
    ck_done(file_read(path, &whole, &size, &e), e);
    ck_done(npy_open(&w, path, NPY_F32, 2, (const size_t[]){99, 3}, &e), e);
    for (size_t row = 0; row < 8; row += 2) {
        ck_done(npy_rows(&w, f32 + 3 * row, 2, &e), e);
        ck_done(npy_rows(&w, f32, 0, &e), e);
    }
    ck_done(npy_close(&w, &e), e);
    ck_done(file_read(path, &pieces, &again, &e), e);
    ck_assert_uint_eq(size, again);
    ck_assert_mem_eq(whole, pieces, size);
    memory_free(whole), memory_free(pieces);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(an_abandoned_array_leaves_no_file)
{
    setup();
    NpyWriter w;
    Error e;
    ck_done(npy_open(&w, path, NPY_F32, 1, (const size_t[]){0}, &e), e);
    ck_done(npy_rows(&w, f32, 3, &e), e);
    npy_abandon(&w);
    ck_assert(!file_exists(path));
    ck_assert(!npy_rows(&w, f32, 3, &e));
    ck_assert(!npy_close(&w, &e));
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(impossible_shapes_are_refused)
{
    setup();
    Error e;
    const size_t huge[] = {1, SIZE_MAX / 8, SIZE_MAX / 8, 1};
    ck_assert(!npy_write(path, NPY_F32, 0, huge, f32, &e));
    ck_assert(!npy_write(path, NPY_F32, 5, huge, f32, &e));
    ck_assert(!npy_write(path, NPY_F32, 3, huge, f32, &e));
    ck_assert(!npy_write(path, NPY_F32, 1, (const size_t[]){SIZE_MAX / 2}, f32, &e));
    ck_assert(!file_exists(path));
    ck_assert_uint_eq(memory_in_use(), 0);
}

static bool write_array(void *argument, Error *e)
{
    (void)argument;
    return npy_write(path, NPY_F32, 2, (const size_t[]){2, 3}, f32, e);
}

START_TEST(each_failed_allocation_is_an_error)
{
    setup();
    fail_each_allocation(write_array, NULL);
}

static const Test tests[] = {
    TEST(what_is_written_is_read),
    TEST(the_header_is_as_numpy_writes_it),
    TEST(rows_that_come_one_by_one_give_the_same_file),
    TEST(an_abandoned_array_leaves_no_file),
    TEST(impossible_shapes_are_refused),
    TEST(each_failed_allocation_is_an_error),
};

int main(int argc, char **argv) { return suite_run("run/npy", tests, sizeof tests / sizeof *tests, argc, argv); }
