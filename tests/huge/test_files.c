/* More than 2^31 bytes in one file, written and read back, with something to tell at both ends. */
#include "base/file.h"
#include "base/memory.h"
#include "core/run/safetensors.h"
#include "tests/huge/room.h"
#include "tests/npy.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const size_t BYTES = ((size_t)1 << 31) + 4096; /* of data */

enum { MARK = 12345 };

static char path[700];

/* Whether memory and the test folder have room. */
static bool setup(const char *test)
{
    char why[100];
    if (!huge_has_room(test))
        return false;
    snprintf(path, sizeof path, "%s/file", test_folder());
    const double capacity = (double)huge_disk(test_folder()) / (1 << 30), needed = 3;
    if (capacity >= needed)
        return true;
    snprintf(why, sizeof why, "%.1f GiB of disk are free, not %.0f", capacity, needed);
    test_skip(test, why);
    return false;
}

static int32_t *make_data(size_t n)
{
    int32_t *data = memory_get(n, sizeof *data);
    ck_assert_ptr_nonnull(data);
    data[0] = MARK;
    data[n / 2] = MARK + 1;
    data[n - 1] = MARK + 2;
    return data;
}

static void expect_data(const int32_t *data, size_t n)
{
    ck_assert_int_eq(data[0], MARK);
    ck_assert_int_eq(data[1], 0);
    ck_assert_int_eq(data[n / 2], MARK + 1);
    ck_assert_int_eq(data[n - 2], 0);
    ck_assert_int_eq(data[n - 1], MARK + 2);
}

START_TEST(a_tensor_of_more_than_2_gib_in_safetensors)
{
    const size_t n = BYTES / sizeof(int32_t);
    const uint8_t near[3] = {1, 2, 3};
    uint8_t found[3] = {0};
    Safetensors *file;
    Error e;
    if (!setup("huge/files: a_tensor_of_more_than_2_gib_in_safetensors"))
        return;
    int32_t *data = make_data(n);
    const SafeTensor tensors[] = {
        {.name = "far", .type = SAFE_U8, .rank = 1, .shape = {3}, .data = near}, /* after the larger type */
        {.name = "large", .type = SAFE_I32, .rank = 2, .shape = {n / 2, 2}, .data = data}};
    ck_done(safetensors_write(path, tensors, 2, NULL, 0, &e), e);
    memory_free(data);
    ck_done(safetensors_open(&file, path, &e), e);
    const SafeTensor *far = safetensors_find(file, "far"), *large = safetensors_find(file, "large");
    ck_assert(far && large && far->from == BYTES && far->to == BYTES + 3);
    ck_assert_uint_eq(safe_elements(large), n);
    ck_done(safetensors_read(file, far, SAFE_U8, found, 3, &e), e);
    ck_assert_mem_eq(found, near, 3);
    data = memory_get(n, sizeof *data);
    ck_assert_ptr_nonnull(data);
    ck_done(safetensors_read(file, large, SAFE_I32, data, n, &e), e);
    expect_data(data, n);
    safetensors_close(file);
    memory_free(data);
    ck_assert_int_eq(truncate(path, (off_t)BYTES), 0); /* the end of it is missing */
    ck_assert(!safetensors_open(&file, path, &e));
    unlink(path);
}

START_TEST(an_array_of_more_than_2_gib_in_npy)
{
    const size_t n = BYTES / sizeof(int32_t), shape[] = {n / 4, 4};
    Npy a;
    Error e;
    if (!setup("huge/files: an_array_of_more_than_2_gib_in_npy"))
        return;
    int32_t *data = make_data(n);
    ck_done(npy_write(path, NPY_I32, 2, shape, data, &e), e);
    memory_free(data);
    a = npy_read(path);
    ck_assert(a.type == NPY_I32 && a.rank == 2 && a.shape[0] == n / 4 && a.shape[1] == 4);
    expect_data(a.data, n);
    npy_free(&a);
    unlink(path);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_SLOW(a_tensor_of_more_than_2_gib_in_safetensors, 300),
                                 TEST_SLOW(an_array_of_more_than_2_gib_in_npy, 300)};
    test_folders_in_memory();
    return suite_run("huge/files", tests, sizeof tests / sizeof *tests, argc, argv);
}
