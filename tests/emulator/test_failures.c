/* Calls of CUDA's that fail, each of those that kernels/cuda makes and each time that it makes it: somebody is told, in
 * one line, which call failed, where, and what to do about it. */
#include "base/memory.h"
#include "tests/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_EMULATOR
#include "kernels/cuda/emulator/emulator.h"
#include "kernels/kernels.h"

enum { ROWS = 200, COLUMNS = 3, SMALL = ROWS * COLUMNS, LARGE = (8 << 20) / sizeof(float) + 1 /* not staged */ };

static void plant(const char *call, int which, int error)
{
    char text[100];
    snprintf(text, sizeof text, "%s:%d:%d", call, which, error);
    setenv("ATTEND_FAIL", text, 1);
}

typedef struct Used {
    const Kernels *k;
    Stream *s;
    Captured *captured;
    float *at[6], *large;
} Used;

static bool allocated(Used *u, Error *e)
{
    for (size_t i = 0; i < sizeof u->at / sizeof *u->at; i++) {
        u->at[i] = u->k->allocate(SMALL * sizeof(float));
        if (!u->at[i])
            return memory_error(e, "a few numbers", SMALL, sizeof(float));
    }
    u->large = u->k->allocate(LARGE * sizeof(float));
    return u->large || memory_error(e, "many numbers", LARGE, sizeof(float));
}

static void captured(Used *u)
{
    if (!u->k->capture(u->s))
        return;
    u->k->accumulate(u->s, u->at[1], u->at[0], SMALL);
    u->k->zero(u->s, u->at[2], sizeof(float));
    u->k->copy(u->s, u->at[3], u->at[1], SMALL * sizeof(float));
    u->captured = u->k->captured(u->s);
    if (u->captured)
        u->k->replay(u->s, u->captured);
}

/* What a program does on a device, once: false where it was told of a failure. */
static bool use(Used *u, Error *e)
{
    const Kernels *k = kernels_find(u->k->backend, NUMBER_F32, e);
    float *host = memory_get(LARGE, sizeof *host);
    ck_assert_ptr_nonnull(host);
    bool fine = k && k->open(&u->s, 1, e) && allocated(u, e);
    if (fine) {
        for (size_t i = 0; i < 5; i++)
            k->upload(u->s, u->at[i], host, SMALL * sizeof(float));
        k->upload(u->s, u->large, host, LARGE * sizeof(float));
        k->norm_backward(u->s, u->at[5], false, u->at[1], u->at[2], u->at[0], u->at[3], u->at[3], u->at[0], u->at[4],
                         ROWS, COLUMNS);
        captured(u);
        k->send(u->s, u->at[5], host, SMALL * sizeof(float));
        k->fetch(u->s, u->at[4], u->at[5], SMALL * sizeof(float));
        k->download(u->s, host, u->at[4], SMALL * sizeof(float));
        fine = k->finish(u->s, e);
    }
    memory_free(host);
    return fine;
}

static void done_with(Used *u)
{
    if (u->s)
        u->k->finish(u->s, NULL);
    if (u->captured)
        u->k->forget(u->captured);
    for (size_t i = 0; i < sizeof u->at / sizeof *u->at; i++)
        u->k->release(u->at[i]);
    u->k->release(u->large);
    if (u->s)
        u->k->close(u->s);
}

static const char *const calls[] = {"cudaGetDeviceCount",
                                    "cudaDeviceGetAttribute",
                                    "cudaFuncGetAttributes",
                                    "cudaMalloc",
                                    "cudaMemset",
                                    "cudaMallocHost",
                                    "cudaFreeHost",
                                    "cudaMemcpyAsync",
                                    "cudaMemsetAsync",
                                    "cudaStreamCreateWithFlags",
                                    "cudaStreamSynchronize",
                                    "cudaEventCreateWithFlags",
                                    "cudaEventRecord",
                                    "cudaEventSynchronize",
                                    "cudaStreamWaitEvent",
                                    "cudaStreamBeginCapture",
                                    "cudaStreamEndCapture",
                                    "cudaGraphInstantiateWithFlags",
                                    "cudaGraphLaunch",
                                    "cudaLaunchKernel"};
enum { CALLS = sizeof calls / sizeof *calls, MISALIGNED = 716 };

/* The n-th call of that name fails: true where there was such a call. */
static bool told(const Kernels *k, const char *call, int n)
{
    Used u = {.k = k};
    Error e = {""};
    plant(call, n, MISALIGNED);
    bool fine = use(&u, &e), met = emulator_planted_met();
    unsetenv("ATTEND_FAIL");
    done_with(&u);
    ck_assert_msg(fine == !met, "%s, call %d of %s: %s", k->backend, n, call, met ? "no error" : e.text);
    if (!met)
        return false;
    bool launch = !strcmp(call, "cudaLaunchKernel"); /* it has no call that could be named, but its kernel */
    ck_assert_msg(strstr(e.text, launch ? "_kernel" : call) || (launch && strstr(e.text, "column_sums")), "%s: %s",
                  call, e.text);
    ck_assert_msg(strstr(e.text, launch ? ": misaligned address (kernels/cuda/"
                                        : ": misaligned address (kernels/cuda/device.cu:"),
                  "%s: %s", call, e.text);
    const char *hint = strstr(e.text, "); ");
    ck_assert_msg(hint && strstr(hint, "ATTEND_GRAPHS=no") && strstr(hint, "finds the line"), "%s: %s", call, e.text);
    return true;
}

START_TEST(each_call_that_fails_is_told_each_time)
{
    static const char *const devices[] = {"emulated", "checked"};
    for (size_t d = 0; d < 2; d++) {
        const Kernels *k = kernels_find(devices[d], NUMBER_F32, NULL);
        int n = 1;
        while (k && told(k, calls[_i], n))
            n++;
        ck_assert_msg(!k || n > 1, "%s is not called at all", calls[_i]);
    }
}

/* What CUDA says, and a word of what is said to do about it. */
static const struct {
    int error;
    const char *text, *hint;
} errors[] = {{1, "invalid argument", "--device cpu computes the same"},
              {2, "out of memory", "smaller batches need less"},
              {9, "invalid configuration", "--device cpu computes the same"},
              {46, "busy or unavailable", "another process may have the GPU to itself"},
              {100, "no CUDA-capable device", "CUDA_VISIBLE_DEVICES"},
              {209, "no kernel image", "make GPU=native"},
              {214, "ECC", "nvidia-smi -q -d ECC"},
              {222, "PTX", "make GPU=native"},
              {700, "illegal memory access", "CUDA_LAUNCH_BLOCKING=1 ATTEND_GRAPHS=no"},
              {701, "too many resources", "--device cpu computes the same"},
              {702, "timed out", "drives a display"},
              {716, "misaligned", "--device checked"},
              {719, "unspecified launch failure", "compute-sanitizer"},
              {802, "not yet initialized", "fabricmanager"},
              {803, "driver combination", "restart the machine"},
              {900, "not permitted when stream is capturing", "ATTEND_GRAPHS=no"},
              {901, "error during capture", "ATTEND_GRAPHS=no"},
              {906, "legacy stream", "ATTEND_GRAPHS=no"},
              {999, "unknown error", "nvidia-smi and dmesg"},
              {12345, "unrecognized error code", "nvidia-smi and dmesg"}};

START_TEST(each_error_has_a_hint_of_its_own)
{
    const Kernels *k = kernels_find("emulated", NUMBER_F32, NULL);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        Used u = {.k = k};
        Error e = {""};
        plant("cudaEventRecord", 1, errors[i].error);
        ck_assert(!use(&u, &e));
        unsetenv("ATTEND_FAIL");
        done_with(&u);
        const char *hint = strstr(e.text, "); ");
        ck_assert_msg(!strncmp(e.text, "cudaEventRecord(", 16) && strstr(e.text, errors[i].text), "%s", e.text);
        ck_assert_msg(hint && strstr(hint, errors[i].hint), "%s", e.text);
    }
}

/* CUDA says of both that the driver is too old. */
START_TEST(a_driver_that_is_missing_or_too_old_is_told_apart)
{
    static const struct {
        const char *gpu, *words;
    } drivers[] = {{"none", "no driver is installed; --device cpu needs none"},
                   {"9.0", "the driver is for CUDA 12.4, this build for 13.0: a newer driver, or make with an older"}};
    for (size_t i = 0; i < 2; i++) {
        Error e;
        setenv("ATTEND_GPU", drivers[i].gpu, 1);
        plant("cudaGetDeviceCount", 1, 35);
        ck_assert(!kernels_find("emulated", NUMBER_F32, &e));
        ck_assert_msg(!strncmp(e.text, "device emulated: there is no GPU here", 37) &&
                          strstr(e.text, "cudaGetDeviceCount: CUDA driver version is insufficient") &&
                          strstr(e.text, "(kernels/cuda/device.cu:") && strstr(e.text, drivers[i].words),
                      "%s", e.text);
        unsetenv("ATTEND_GPU");
        unsetenv("ATTEND_FAIL");
        ck_done(kernels_find("emulated", NUMBER_F32, &e), e);
    }
}

/* Memory that the device has not, whoever wanted it. */
START_TEST(memory_that_is_refused_is_told_with_its_size)
{
    const Kernels *k = kernels_find("emulated", NUMBER_F32, NULL);
    Error e;
    plant("cudaMalloc", 1, 2);
    ck_assert_ptr_null(k->allocate((size_t)3 << 29));
    unsetenv("ATTEND_FAIL");
    ck_assert(!memory_error(&e, "a test", 3, (size_t)1 << 29));
    ck_assert_msg(!strncmp(e.text, "no memory: 1.5 GiB for a test: cudaMalloc(", 42) &&
                      strstr(e.text, ": out of memory (kernels/cuda/device.cu:") && strstr(e.text, "nvidia-smi shows"),
                  "%s", e.text);
}

/* A program ends with that line, wherever it was: as memory is made, in a step, in a graph. */
START_TEST(a_program_ends_with_the_line)
{
    static const struct {
        const char *planted, *words;
    } ends[] = {{"cudaGetDeviceCount:1:100", "device emulated: there is no GPU here that CUDA can use: cudaGetDevice"},
                {"cudaStreamCreateWithFlags:1:2", "the device cannot create a stream: cudaStreamCreateWithFlags("},
                {"cudaMalloc:3:2", "for activations: cudaMalloc("},
                {"cudaMallocHost:1:2", "cudaMallocHost("},
                {"cudaLaunchKernel:40:701", ": too many resources requested for launch (kernels/cuda/"},
                {"cudaStreamSynchronize:30:719", "unspecified launch failure (kernels/cuda/device.cu:"},
                {"cudaStreamBeginCapture:1:900", "cudaStreamBeginCapture("},
                {"cudaStreamEndCapture:1:901", "; ATTEND_GRAPHS=no does without graphs"},
                {"cudaGraphInstantiateWithFlags:1:2", "cudaGraphInstantiateWithFlags("},
                {"cudaGraphLaunch:2:700", "cudaGraphLaunch("}};
    command_program("charlm");
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        setenv("ATTEND_FAIL", ends[i].planted, 1);
        refused(1, ends[i].words,
                "train --run %s --steps 5 --eval-every 0 --save-every 0 --quiet --minutes 0 --dim 8 --heads 1 --ff 8 "
                "--depth 1 --context 32 --batch 3 --device emulated",
                fresh_path("run"));
        unsetenv("ATTEND_FAIL");
    }
}

static const Test tests[] = {TEST_LOOP(each_call_that_fails_is_told_each_time, CALLS),
                             TEST(each_error_has_a_hint_of_its_own),
                             TEST(a_driver_that_is_missing_or_too_old_is_told_apart),
                             TEST(memory_that_is_refused_is_told_with_its_size), TEST(a_program_ends_with_the_line)};

int main(int argc, char **argv)
{
    return suite_run("emulator/failures", tests, sizeof tests / sizeof *tests, argc, argv);
}

#else

START_TEST(without_the_emulator_nothing_can_be_planted) { test_skip("calls that fail", "there is no C++17 compiler"); }

static const Test tests[] = {TEST(without_the_emulator_nothing_can_be_planted)};

int main(int argc, char **argv) { return suite_run("emulator/failures", tests, 1, argc, argv); }

#endif
