/* core/exchange/gguf: the bytes are those that the package gguf writes (tests/fixtures/gguf_file.py). */
#include "base/file.h"
#include "base/memory.h"
#include "core/exchange/gguf.h"
#include "tests/command.h"

#include <stdio.h>
#include <string.h>

static void add(Tensors *t, const char *name, const float *values, size_t rows, size_t columns)
{
    Error e;
    const size_t count = rows * (columns ? columns : 1);
    float *own = tensor_values(name, rows, columns, &e);
    ck_assert_ptr_nonnull(own);
    memcpy(own, values, count * sizeof *own);
    ck_done(tensors_add(t, name, own, rows, columns, &e), e);
}

static GgufKeys some_keys(void)
{
    GgufKeys g = {.count = 0};
    gguf_text(&g, "general.architecture", "gpt2");
    gguf_u32(&g, "gpt2.block_count", 7);
    gguf_f32(&g, "epsilon", 1e-5F);
    gguf_bool(&g, "flag", true);
    gguf_texts(&g, "texts", 3);
    gguf_add_text(&g, "a", 1);
    gguf_add_text(&g, "", 0);
    gguf_add_text(&g,
                  "\xc4\xa0"
                  "b c",
                  5);
    gguf_i32s(&g, "numbers", 3);
    for (int i = 0; i < 3; i++)
        gguf_add_i32(&g, (int32_t[]){1, -2, 3}[i]);
    return g;
}

static Tensors some_tensors(void)
{
    float values[16];
    Tensors t = {0};
    for (int i = 0; i < 16; i++)
        values[i] = (float)i;
    add(&t, "a.weight", values, 2, 3);
    add(&t, "b.bias", (float[]){0.5F, -1}, 2, 0);
    add(&t, "c", values, 16, 1);
    return t;
}

START_TEST(bytes_are_those_of_the_package_gguf)
{
    char *ours, *theirs;
    size_t our_size, their_size;
    Error e;
    GgufKeys g = some_keys();
    Tensors t = some_tensors();
    const char *path = fresh_path("file.gguf");
    ck_done(gguf_write(&g, path, &t, &e), e);
    ck_done(file_read(path, &ours, &our_size, &e), e);
    ck_done(file_read("tests/fixtures/small.gguf", &theirs, &their_size, &e), e);
    ck_assert_uint_eq(our_size, their_size);
    ck_assert_mem_eq(ours, theirs, our_size);
    memory_free(ours);
    memory_free(theirs);
    tensors_close(&t);
}

START_TEST(a_name_that_readers_cut_is_refused)
{
    char name[65];
    GgufKeys g = some_keys();
    Tensors t = {0};
    Error e;
    memset(name, 'n', 64);
    name[64] = 0;
    add(&t, name, (float[]){1}, 1, 0);
    ck_assert(!gguf_write(&g, "/no/such", &t, &e));
    ck_assert_msg(strstr(e.text, "is longer than 63 bytes"), "%s", e.text);
    ck_assert_ptr_null(g.bytes.text);
    tensors_close(&t);
}

/* Whatever allocation fails, it is said, and nothing is kept. */
START_TEST(memory_that_runs_out_is_said)
{
    for (uint64_t n = 1;; n++) {
        Error e = {{0}};
        memory_fail_at(0);
        Tensors t = some_tensors();
        const size_t before = memory_in_use();
        const uint64_t asked = memory_requests();
        memory_fail_at(n);
        GgufKeys g = some_keys();
        const bool fine = gguf_write(&g, "/dev/null/none", &t, &e);
        const bool met = memory_requests() - asked >= n;
        memory_fail_at(0);
        ck_assert(!fine);
        ck_assert_msg(strstr(e.text, met ? "memory" : "/dev/null"), "%u: %s", (unsigned)n, e.text);
        ck_assert_uint_eq(memory_in_use(), before);
        tensors_close(&t);
        if (!met)
            break;
    }
}

static const Test tests[] = {TEST(bytes_are_those_of_the_package_gguf), TEST(a_name_that_readers_cut_is_refused),
                             TEST(memory_that_runs_out_is_said)};

int main(int argc, char **argv) { return suite_run("exchange/gguf", tests, sizeof tests / sizeof *tests, argc, argv); }
