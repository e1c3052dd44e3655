/* core/exchange/onnx: the bytes are those that the package onnx writes (tests/fixtures/onnx_file.py). That onnxruntime
 * computes the same as we do, tests/peers/interop.py shows. */
#include "base/file.h"
#include "base/memory.h"
#include "core/exchange/onnx.h"
#include "tests/command.h"

#include <stdio.h>
#include <string.h>

static void some_graph(Onnx *g, const float *w)
{
    static const int64_t shape[] = {0, -1, 6}, order[] = {1, 0, 2};
    const OnnxValue none = {""};
    OnnxValue x = onnx_input(g, "x", ONNX_FLOAT, (const char *const[]){"batch", "length", "6"}, 3);
    const OnnxValue gain = onnx_floats(g, "w", w, (const size_t[]){6}, 1);
    x = onnx_transpose(g, onnx_reshape(g, onnx_two(g, "Add", x, gain), shape, 3), order, 3);
    x = onnx_softmax(g, onnx_layer_norm(g, x, gain, none, 1e-5));
    x = onnx_reduce(g, "ReduceSum", onnx_mean(g, onnx_two(g, "Mul", x, onnx_number(g, 0.5))), -1);
    const OnnxValue yes = onnx_cast(g, onnx_cast(g, x, ONNX_INT64), ONNX_BOOL);
    onnx_output(g, onnx_three(g, "Where", yes, x, x), "y", (const char *const[]){"length", "batch"}, 2);
}

static char *bytes_of(const char *path, size_t *size)
{
    Error e;
    char *bytes;
    ck_done(file_read(path, &bytes, size, &e), e);
    return bytes;
}

START_TEST(bytes_are_those_of_the_package_onnx)
{
    static const float w[] = {0, 1, 2, 3, 4, 5};
    size_t our_size, their_size;
    Onnx g = {0};
    Error e;
    const char *path = fresh_path("file.onnx");
    some_graph(&g, w);
    ck_done(onnx_write(&g, path, &e), e);
    ck_assert(!g.constant && !g.nodes.text);
    char *ours = bytes_of(path, &our_size), *theirs = bytes_of("tests/fixtures/small.onnx", &their_size);
    ck_assert_uint_eq(our_size, their_size);
    for (size_t i = 0; i < our_size; i++)
        ck_assert_msg(ours[i] == theirs[i], "byte %zu: %02x, not %02x", i, ours[i] & 255, theirs[i] & 255);
    memory_free(ours);
    memory_free(theirs);
}

START_TEST(a_graph_that_is_too_large_is_refused_before_it_is_written)
{
    Onnx g = {0};
    Error e;
    const char *path = fresh_path("file.onnx");
    some_graph(&g, NULL);
    g.constant[0].bytes = (size_t)1 << 31;
    ck_assert(!onnx_write(&g, path, &e));
    ck_assert_msg(strstr(e.text, "2 GiB at most"), "%s", e.text);
    ck_assert(!file_exists(path));
}

START_TEST(what_is_missing_makes_no_file)
{
    static const float w[6];
    Onnx g = {0};
    Error e;
    const char *path = fresh_path("file.onnx");
    some_graph(&g, w);
    g.failed = true;
    ck_assert(!onnx_write(&g, path, &e) && !file_exists(path));
    some_graph(&g, w);
    ck_assert(!onnx_write(&g, "no/such/folder/x.onnx", &e));
    some_graph(&g, w);
    onnx_close(&g);
    ck_assert(!g.constants && !g.inputs.text);
}

START_TEST(memory_that_runs_out_is_said)
{
    static const float w[6];
    for (uint64_t n = 1;; n++) {
        Error e = {{0}};
        Onnx g = {0};
        memory_fail_at(0);
        const size_t before = memory_in_use();
        const uint64_t asked = memory_requests();
        memory_fail_at(n);
        some_graph(&g, w);
        const bool fine = onnx_write(&g, "/dev/null/none", &e), met = memory_requests() - asked >= n;
        memory_fail_at(0);
        ck_assert(!fine);
        ck_assert_msg(strstr(e.text, met ? "memory" : "/dev/null"), "%u: %s", (unsigned)n, e.text);
        ck_assert_uint_eq(memory_in_use(), before);
        if (!met)
            break;
    }
}

static const Test tests[] = {TEST(bytes_are_those_of_the_package_onnx),
                             TEST(a_graph_that_is_too_large_is_refused_before_it_is_written),
                             TEST(what_is_missing_makes_no_file), TEST(memory_that_runs_out_is_said)};

int main(int argc, char **argv) { return suite_run("exchange/onnx", tests, sizeof tests / sizeof *tests, argc, argv); }
