/* safetensors: what is written is read, bytes are the same each time, and no file can do harm. */
#define _XOPEN_SOURCE 700
#include "base/bf16.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "base/thread.h"
#include "core/run/json.h"
#include "core/run/safetensors.h"
#include "tests/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char path[700];

static void setup(void) { snprintf(path, sizeof path, "%s/x.safetensors", test_folder()); }

static const float f32[6] = {1, -2, 0.1f, 3e38f, 1e-40f, 0};
static const double f64[2] = {0.1, -1e300};
static const int64_t i64[1] = {INT64_MIN};
static const int32_t i32[4] = {1, -2, 3, INT32_MAX};
static const uint16_t bf16[3] = {0x3f80, 0xc000, 0x3dcd};
static const uint8_t u8[5] = {0, 1, 2, 3, 255};

static const SafeTensor some[] = {
    {.name = "blocks.0.ff.in.weight", .type = SAFE_F32, .rank = 2, .shape = {2, 3}, .data = f32},
    {.name = "bytes", .type = SAFE_U8, .rank = 1, .shape = {5}, .data = u8},
    {.name = "half", .type = SAFE_BF16, .rank = 3, .shape = {3, 1, 1}, .data = bf16},
    {.name = "f64", .type = SAFE_F64, .rank = 1, .shape = {2}, .data = f64},
    {.name = "scalar", .type = SAFE_I64, .rank = 0, .data = i64},
    {.name = "i32", .type = SAFE_I32, .rank = 4, .shape = {1, 2, 1, 2}, .data = i32},
    {.name = "empty \"\xc3\xa4\"", .type = SAFE_F32, .rank = 2, .shape = {0, 7}, .data = f32},
};
static const SafeText texts[] = {{"config", "{\"dim\": 256}"}, {"b", "\xe2\x82\xac"}};
enum { SOME = sizeof some / sizeof *some };

static void write_some(void)
{
    Error e;
    ck_done(safetensors_write(path, some, SOME, texts, 2, &e), e);
}

START_TEST(what_is_written_is_read)
{
    setup();
    write_some();
    Safetensors *file;
    Error e;
    ck_done(safetensors_open(&file, path, &e), e);
    ck_assert_uint_eq(safetensors_count(file), SOME);
    for (size_t i = 0; i < SOME; i++) {
        const SafeTensor *t = safetensors_find(file, some[i].name);
        char bytes[64];
        ck_assert_ptr_nonnull(t);
        ck_assert_int_eq(t->type, some[i].type);
        ck_assert_uint_eq(t->rank, some[i].rank);
        ck_assert_mem_eq(t->shape, some[i].shape, sizeof t->shape);
        ck_done(safetensors_read(file, t, t->type, bytes, safe_elements(t), &e), e);
        ck_assert_mem_eq(bytes, some[i].data, safe_elements(t) * safe_type_size(t->type));
    }
    ck_assert_str_eq(safetensors_text(file, "config"), "{\"dim\": 256}");
    ck_assert_str_eq(safetensors_text(file, "b"), "\xe2\x82\xac");
    ck_assert_str_eq(safetensors_text(file, "format"), "pt"); /* which others ask for */
    ck_assert_ptr_null(safetensors_text(file, "c"));
    ck_assert_ptr_null(safetensors_find(file, "__metadata__"));
    safetensors_close(file);
    safetensors_close(NULL);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_format_that_is_given_stays)
{
    setup();
    const SafeText given = {"format", "np"};
    Safetensors *file;
    Error e;
    ck_done(safetensors_write(path, NULL, 0, &given, 1, &e) && safetensors_open(&file, path, &e), e);
    ck_assert_str_eq(safetensors_text(file, "format"), "np");
    safetensors_close(file);
}

START_TEST(data_are_aligned_and_equal_input_gives_equal_bytes)
{
    setup();
    char *first, *second;
    size_t size, again;
    uint64_t header;
    Error e;
    write_some();
    ck_done(file_read(path, &first, &size, &e), e);
    write_some();
    ck_done(file_read(path, &second, &again, &e), e);
    ck_assert_uint_eq(size, again);
    ck_assert_mem_eq(first, second, size);
    memcpy(&header, first, 8);
    ck_assert_uint_eq(header % 8, 0);
    memory_free(first), memory_free(second);

    Safetensors *file;
    ck_done(safetensors_open(&file, path, &e), e);
    for (size_t i = 0; i < SOME; i++) {
        const SafeTensor *t = safetensors_at(file, i);
        ck_assert_uint_eq(t->from % safe_type_size(t->type), 0);
    }
    safetensors_close(file);
}

START_TEST(real_numbers_are_converted)
{
    thread_flush(false); /* denormal numbers are among them */
    setup();
    write_some();
    Safetensors *file;
    Error e;
    float f[6];
    double d[6];
    Bf16 b[6];
    ck_done(safetensors_open(&file, path, &e), e);
    const SafeTensor *t = safetensors_find(file, "blocks.0.ff.in.weight");
    ck_done(safetensors_read(file, t, SAFE_F64, d, 6, &e), e);
    ck_done(safetensors_read(file, t, SAFE_BF16, b, 6, &e), e);
    for (int i = 0; i < 6; i++) {
        ck_assert(d[i] == (double)f32[i]);
        ck_assert_uint_eq(b[i].bits, bf16_from_float(f32[i]).bits);
    }
    t = safetensors_find(file, "half");
    ck_done(safetensors_read(file, t, SAFE_F32, f, 3, &e), e);
    ck_assert(f[0] == 1 && f[1] == -2);
    t = safetensors_find(file, "f64");
    ck_done(safetensors_read(file, t, SAFE_F32, f, 2, &e), e);
    ck_assert(f[0] == 0.1f);
    safetensors_close(file);
}

START_TEST(halves_are_read)
{
    static const uint16_t bits[] = {0,      0x8000, 1,      0x03ff, 0x0400, 0x3c00,
                                    0xc000, 0x3555, 0x7bff, 0x7c00, 0xfc00, 0x7e01};
    static const double wanted[] = {0,  -0.0,           0x1p-24, 1023 * 0x1p-24, 0x1p-14,   1,
                                    -2, 1365 * 0x1p-12, 65504,   INFINITY,       -INFINITY, NAN};
    enum { COUNT = sizeof bits / sizeof *bits };
    const SafeTensor half = {.name = "h", .type = SAFE_F16, .rank = 1, .shape = {COUNT}, .data = bits};
    Safetensors *file;
    double d[COUNT];
    Error e;
    setup();
    ck_done(safetensors_write(path, &half, 1, NULL, 0, &e) && safetensors_open(&file, path, &e), e);
    ck_done(safetensors_read(file, safetensors_at(file, 0), SAFE_F64, d, COUNT, &e), e);
    for (size_t i = 0; i < COUNT; i++)
        ck_assert_msg(isnan(wanted[i]) ? isnan(d[i]) : d[i] == wanted[i] && !signbit(d[i]) == !signbit(wanted[i]),
                      "%04x: %g", bits[i], d[i]);
    safetensors_close(file);
}

START_TEST(a_conversion_longer_than_its_chunk_is_whole)
{
    setup();
    enum { N = 10007 };
    static float from[N];
    static double to[N];
    for (int i = 0; i < N; i++)
        from[i] = (float)i;
    SafeTensor t = {.name = "t", .type = SAFE_F32, .rank = 1, .shape = {N}, .data = from};
    Safetensors *file;
    Error e;
    ck_done(safetensors_write(path, &t, 1, NULL, 0, &e), e);
    ck_done(safetensors_open(&file, path, &e), e);
    ck_done(safetensors_read(file, safetensors_at(file, 0), SAFE_F64, to, N, &e), e);
    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += to[i] != i;
    ck_assert_int_eq(wrong, 0);
    safetensors_close(file);
}

START_TEST(other_types_and_other_sizes_are_refused)
{
    setup();
    write_some();
    Safetensors *file;
    Error e;
    char capacity[64];
    ck_done(safetensors_open(&file, path, &e), e);
    ck_assert(!safetensors_read(file, safetensors_find(file, "i32"), SAFE_F32, capacity, 4, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "'i32' is I32 where F32 is needed"));
    ck_assert(!safetensors_read(file, safetensors_find(file, "bytes"), SAFE_BOOL, capacity, 5, &e));
    ck_assert(!safetensors_read(file, safetensors_find(file, "half"), SAFE_F16, capacity, 3, &e));
    ck_assert(!safetensors_read(file, safetensors_find(file, "f64"), SAFE_F64, capacity, 3, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "2 elements where 3"));
    safetensors_close(file);
}

START_TEST(a_name_is_written_once)
{
    setup();
    SafeTensor twice[] = {some[0], some[1], some[0]};
    Error e;
    ck_assert(!safetensors_write(path, twice, 3, NULL, 0, &e));
    twice[2].name = "__metadata__";
    ck_assert(!safetensors_write(path, twice, 3, NULL, 0, &e));
    ck_assert(!file_exists(path));
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(no_tensor_at_all_is_a_file)
{
    setup();
    Safetensors *file;
    Error e;
    ck_done(safetensors_write(path, NULL, 0, NULL, 0, &e), e);
    ck_done(safetensors_open(&file, path, &e), e);
    ck_assert_uint_eq(safetensors_count(file), 0);
    ck_assert_ptr_null(safetensors_text(file, "x"));
    safetensors_close(file);
}

/* Writes a file without the care of ours: fast, and as broken as wanted. */
static void put(const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, size, f), size);
    fclose(f);
}

static bool opens(Error *e)
{
    Safetensors *file;
    if (!safetensors_open(&file, path, e))
        return false;
    for (size_t i = 0; i < safetensors_count(file); i++) {
        const SafeTensor *t = safetensors_at(file, i);
        void *capacity = memory_get(safe_elements(t), safe_type_size(t->type));
        ck_assert_ptr_nonnull(capacity);
        ck_done(safetensors_read(file, t, t->type, capacity, safe_elements(t), e), *e);
        memory_free(capacity);
    }
    safetensors_close(file);
    return true;
}

START_TEST(a_file_cut_off_anywhere_is_refused)
{
    setup();
    char *bytes;
    size_t size;
    Error e;
    write_some();
    ck_done(file_read(path, &bytes, &size, &e), e);
    for (size_t cut = 0; cut < size; cut++) {
        put(bytes, cut);
        ck_assert_msg(!opens(&e), "cut off at %d of %d", (int)cut, (int)size);
        ck_assert_ptr_nonnull(strstr(e.text, "x.safetensors"));
    }
    put(bytes, size);
    ck_done(opens(&e), e);
    memory_free(bytes);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_damaged_header_does_no_harm)
{
    setup();
    char *bytes;
    size_t size;
    Error e;
    write_some();
    ck_done(file_read(path, &bytes, &size, &e), e);
    char *damaged = memory_get(size, 1);
    const char likely[] = "0123456789{}[]\",:-e\\ ";
    for (uint32_t i = 0; i < 10000; i++) {
        memcpy(damaged, bytes, size);
        uint64_t flips = 1 + philox_below(4, 1, i, 0, 0);
        for (uint64_t k = 0; k < flips; k++) {
            size_t at = (size_t)philox_below(size - 100, 2, i, k, 0);
            if (i % 2 && at >= 8)
                damaged[at] = likely[philox_below(sizeof likely - 1, 3, i, k, 0)];
            else
                damaged[at] ^= (char)(1 << philox_below(8, 3, i, k, 0));
        }
        put(damaged, size);
        opens(&e);
    }
    memory_free(bytes);
    memory_free(damaged);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static const struct {
    const char *header;
    size_t data; /* bytes after it */
    bool good;
} crafted[] = {
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, true},
    {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,8],\"dtype\":\"F32\"}}   ", 8, true},
    {"{\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[8,9]},\"a\":{\"dtype\":\"F32\",\"shape\":[2],"
     "\"data_offsets\":[0,8]},\"z\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[8,8]}}",
     9, true},
    {"{}", 0, true},
    {"{}", 1, false}, /* data of no tensor */
    {"[]", 0, false},
    {" {}", 0, false},
    {"{\"a\":1}", 0, false},
    {"{\"a\":{}}", 0, false},
    {"{\"a\":{\"dtype\":\"F33\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, false},
    {"{\"a\":{\"dtype\":4,\"shape\":[2],\"data_offsets\":[0,8]}}", 8, false},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]}}", 8, false},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2.0],\"data_offsets\":[0,8]}}", 8, false},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8, false},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8, false},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,8]}}", 8, false},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", 8, false},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[-8,0]}}", 8, false},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 7, false},   /* too short */
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 9, false},   /* too long */
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}", 12, false}, /* a hole */
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"b\":{\"dtype\":\"F32\",\"shape\":[2],"
     "\"data_offsets\":[4,12]}}",
     12, false}, /* an overlap */
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"a\":{\"dtype\":\"F32\",\"shape\":[2],"
     "\"data_offsets\":[8,16]}}",
     16, false}, /* a name twice */
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387906],\"data_offsets\":[0,8]}}", 8, false},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,2],\"data_offsets\":[0,0]}}", 0, false},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0, false},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[9223372036854775807],\"data_offsets\":[0,9223372036854775807]}}", 8, false},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[18446744073709551616],\"data_offsets\":[0,0]}}", 0, false},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[9223372036854775807,0],\"data_offsets\":[0,0]}}", 0, true}, /* empty */
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4, false},
    {"{\"__metadata__\":{\"a\":1}}", 0, false},
    {"{\"__metadata__\":\"a\"}", 0, false},
    {"{\"__metadata__\":{\"a\":\"1\"}}", 0, true},
};

START_TEST(headers_are_trusted_in_nothing)
{
    setup();
    char bytes[1000] = {0};
    uint64_t length = strlen(crafted[_i].header);
    Error e;
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, crafted[_i].header, length);
    put(bytes, 8 + length + crafted[_i].data);
    ck_assert_msg(opens(&e) == crafted[_i].good, "%s", crafted[_i].header);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_header_length_beyond_the_limit_is_refused)
{
    setup();
    const uint64_t lengths[] = {UINT64_MAX, UINT64_MAX - 7, INT64_MAX, 100000001, 17};
    Error e;
    for (size_t i = 0; i < 5; i++) {
        char bytes[] = "........{}              ";
        memcpy(bytes, &lengths[i], 8);
        put(bytes, sizeof bytes - 1);
        ck_assert(!opens(&e));
    }
    char big[8];
    memcpy(big, &lengths[3], 8);
    put(big, 8);
    ck_assert_int_eq(truncate(path, 200000000), 0);
    ck_assert(!opens(&e));
    ck_assert_ptr_nonnull(strstr(e.text, "100000001"));
}

/* A file with a hole of 5 GiB, which costs no disk. */
START_TEST(a_file_larger_than_4_gib_is_read)
{
    setup();
    char bytes[200] = {0};
    const uint64_t large = 5368709123, at = 8 + 184 + large;
    int n = snprintf(bytes + 8, sizeof bytes - 8,
                     "{\"large\":{\"dtype\":\"U8\",\"shape\":[%llu],\"data_offsets\":[0,%llu]},"
                     "\"tail\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[%llu,%llu]}}",
                     (unsigned long long)large, (unsigned long long)large, (unsigned long long)large,
                     (unsigned long long)large + 4);
    ck_assert_int_lt(n, 184);
    memset(bytes + 8 + n, ' ', (size_t)(184 - n));
    bytes[0] = (char)184;
    put(bytes, 192);
    FILE *f = fopen(path, "r+b");
    float tail = 42, got = 0;
    ck_assert_int_eq(fseeko(f, (off_t)at, SEEK_SET), 0);
    ck_assert_uint_eq(fwrite(&tail, 4, 1, f), 1);
    if (fclose(f)) {
        test_skip("a_file_larger_than_4_gib_is_read", "the file system holds no such file");
        return;
    }
    Safetensors *file;
    Error e;
    ck_done(safetensors_open(&file, path, &e), e);
    ck_assert_uint_eq(safe_elements(safetensors_find(file, "large")), large);
    ck_done(safetensors_read(file, safetensors_find(file, "tail"), SAFE_F32, &got, 1, &e), e);
    ck_assert(got == tail);
    safetensors_close(file);
}

START_TEST(what_is_no_file_is_refused)
{
    Safetensors *file;
    Error e;
    ck_assert(!safetensors_open(&file, test_folder(), &e));
    ck_assert(!safetensors_open(&file, "/dev/null", &e));
    ck_assert(!safetensors_open(&file, "no such file", &e));
    ck_assert_ptr_nonnull(strstr(e.text, "no such file"));
    ck_assert_uint_eq(memory_in_use(), 0);
}

static bool write_and_read(void *argument, Error *e)
{
    (void)argument;
    Safetensors *file;
    if (!safetensors_write(path, some, SOME, texts, 2, e) || !safetensors_open(&file, path, e))
        return false;
    safetensors_close(file);
    return true;
}

START_TEST(each_failed_allocation_is_an_error)
{
    setup();
    fail_each_allocation(write_and_read, NULL);
}

START_TEST(the_first_number_that_is_not_finite_is_found)
{
    enum { MOST = 41 };
    static const double odd[] = {(double)NAN, -(double)NAN, (double)INFINITY, -(double)INFINITY};
    static const double fine[2][4] = {{3.4028234663852886e38, -1e-45, -0.0, 1},
                                      {1.7976931348623157e308, -5e-324, -0.0, 1}};
    for (size_t count = 0; count <= MOST; count++)
        for (size_t which = 0; which <= count; which++) {
            double doubles[MOST + 1];
            float floats[MOST + 1];
            for (size_t i = 0; i <= MOST; i++) { /* those beyond the end are not finite, either */
                const bool bad = i == which || i >= count || (i > which && i % 5 == 0);
                doubles[i] = bad ? odd[i % 4] : fine[1][i % 4];
                floats[i] = (float)(bad ? odd[i % 4] : fine[0][i % 4]);
            }
            ck_assert_uint_eq(safe_nonfinite(SAFE_F64, doubles, count), which);
            ck_assert_uint_eq(safe_nonfinite(SAFE_F32, floats, count), which);
        }
}

static const Test tests[] = {
    TEST(what_is_written_is_read),
    TEST(a_format_that_is_given_stays),
    TEST(data_are_aligned_and_equal_input_gives_equal_bytes),
    TEST(real_numbers_are_converted),
    TEST(halves_are_read),
    TEST(a_conversion_longer_than_its_chunk_is_whole),
    TEST(other_types_and_other_sizes_are_refused),
    TEST(a_name_is_written_once),
    TEST(no_tensor_at_all_is_a_file),
    TEST(a_file_cut_off_anywhere_is_refused),
    TEST_SLOW(a_damaged_header_does_no_harm, 120),
    TEST_LOOP(headers_are_trusted_in_nothing, sizeof crafted / sizeof *crafted),
    TEST(a_header_length_beyond_the_limit_is_refused),
    TEST(a_file_larger_than_4_gib_is_read),
    TEST(what_is_no_file_is_refused),
    TEST(the_first_number_that_is_not_finite_is_found),
    TEST(each_failed_allocation_is_an_error),
};

int main(int argc, char **argv)
{
    return suite_run("run/safetensors", tests, sizeof tests / sizeof *tests, argc, argv);
}
