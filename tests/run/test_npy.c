/* .npy: the bytes NumPy expects, rows that come one by one, and files that lie. */
#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "core/run/npy.h"
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
            ck_done(npy_read(&a, path, &e), e);
            ck_assert_int_eq(a.type, type);
            ck_assert_uint_eq(a.rank, rank);
            ck_assert_mem_eq(a.shape, shape, rank * sizeof *shape);
            ck_assert_mem_eq(a.data, data[type], elements[rank] * size[type]);
            npy_free(&a);
        }
    ck_assert_uint_eq(memory_in_use(), 0);
}
END_TEST

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
END_TEST

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
END_TEST

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
END_TEST

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
END_TEST

static void put(const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, size, f), size);
    fclose(f);
}

/* A file with this header, padded with `pad` spaces, and so many bytes of data. */
static bool reads(int version, const char *header, size_t pad, size_t data, Npy *a)
{
    Buffer b = {0};
    size_t length = strlen(header) + pad + 1;
    const char start[] = {(char)version, 0, (char)(length & 255), (char)(length >> 8), 0, 0};
    const char zeros[64] = {0};
    Error e;
    buffer_add(&b, "\x93NUMPY", 6);
    buffer_add(&b, start, version == 1 ? 4 : 6);
    buffer_print(&b, "%s%*s\n", header, (int)pad, "");
    buffer_add(&b, zeros, data);
    put(b.text, b.size);
    buffer_free(&b);
    return npy_read(a, path, &e);
}

START_TEST(headers_of_other_writers_are_read)
{
    setup();
    Npy a;
    ck_assert(reads(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 300, 24, &a));
    ck_assert_uint_eq(a.shape[1], 3);
    npy_free(&a);
    ck_assert(reads(1, "{'shape': (4,), 'fortran_order': False, 'descr': '<f8'}", 3, 32, &a)); /* misaligned data */
    ck_assert_int_eq(a.type, NPY_F64);
    npy_free(&a);
    ck_assert(reads(3, "{'descr':'<i4','fortran_order':False,'shape':(1,1,1,2)}", 0, 8, &a));
    ck_assert_uint_eq(a.rank, 4);
    npy_free(&a);
}
END_TEST

START_TEST(headers_that_lie_are_refused)
{
    setup();
    Npy a;
    const struct {
        const char *header;
        size_t data;
    } lies[] = {{"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 7},
                {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 9},
                {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", 8},
                {"{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }", 8},
                {"{'descr': '<f4', 'shape': (2,), }", 8},
                {"{'descr': '<f4', 'fortran_order': False, }", 8},
                {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", 4},
                {"{'descr': '<f4', 'fortran_order': False, 'shape': (2", 8},
                {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", 8},
                {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,2), }", 8},
                {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,), }", 0},
                {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296,4294967296), }", 0},
                {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 0},
                {"{'descr': ", 0},
                {"", 0}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
        ck_assert_msg(!reads(1, lies[i].header, 5, lies[i].data, &a), "%s", lies[i].header);
    ck_assert_uint_eq(memory_in_use(), 0);
}
END_TEST

START_TEST(damaged_files_do_no_harm)
{
    setup();
    char *bytes;
    size_t size;
    Error e;
    ck_done(npy_write(path, NPY_F32, 2, (const size_t[]){2, 3}, f32, &e), e);
    ck_done(file_read(path, &bytes, &size, &e), e);
    char *damaged = memory_get(size, 1);
    for (uint32_t i = 0; i < 5000; i++) {
        Npy a;
        memcpy(damaged, bytes, size);
        for (uint64_t k = 0; k < 2; k++)
            damaged[philox_below(80, 1, i, k, 0)] = (char)philox_below(256, 2, i, k, 0);
        put(damaged, i % 3 ? size : (size_t)philox_below(size, 3, i, 0, 0));
        if (npy_read(&a, path, &e))
            npy_free(&a);
    }
    memory_free(bytes);
    memory_free(damaged);
    ck_assert_uint_eq(memory_in_use(), 0);
}
END_TEST

static bool write_and_read(void *argument, Error *e)
{
    (void)argument;
    Npy a;
    if (!npy_write(path, NPY_F32, 2, (const size_t[]){2, 3}, f32, e) || !npy_read(&a, path, e))
        return false;
    npy_free(&a);
    return true;
}

START_TEST(each_failed_allocation_is_an_error)
{
    setup();
    fail_each_allocation(write_and_read, NULL);
}
END_TEST

static const Test tests[] = {
    TEST(what_is_written_is_read),
    TEST(the_header_is_as_numpy_writes_it),
    TEST(rows_that_come_one_by_one_give_the_same_file),
    TEST(an_abandoned_array_leaves_no_file),
    TEST(impossible_shapes_are_refused),
    TEST(headers_of_other_writers_are_read),
    TEST(headers_that_lie_are_refused),
    TEST(damaged_files_do_no_harm),
    TEST(each_failed_allocation_is_an_error),
};

int main(int argc, char **argv) { return suite_run("run/npy", tests, sizeof tests / sizeof *tests, argc, argv); }
