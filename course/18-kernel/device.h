/* How check.c runs kernels: on the emulator, in one order of threads or in several, and what it says where the device
 * finds a mistake. Only check.c includes it. */
#ifndef COURSE_18_DEVICE_H
#define COURSE_18_DEVICE_H

#ifdef HAVE_EMULATOR

#include "course/18-kernel/gpu.h"
#include "course/frame/grade.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_CHECKED
static const Gpu *const looked_at = &gpu_checked;
#else
static const Gpu *const looked_at = &gpu_emulated;
#endif

static const char *const orders[] = {"forward", "backward", "random:3", "greedy:1", "greedy:8"};
enum { ORDERS_TRIED = sizeof orders / sizeof *orders };

/* A kernel's operands, on the host: y [outputs], what it reads, and what launches it. */
typedef struct Launching {
    float *y;
    size_t outputs;
    float *in[3];
    size_t inputs[3];
    void (*launch)(const Gpu *gpu, cudaStream_t queue, float *y, float *const *in, const void *sizes);
    const void *sizes;
} Launching;

/* "FILE:LINE" of a place in this program, if there is a tool that knows; else nothing */
static void source_line(char *line, size_t size, unsigned long place)
{
    char program[1000], command[1200];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    line[0] = 0;
    if (!place || length < 0)
        return;
    program[length] = 0;
    snprintf(command, sizeof command, "addr2line -e '%s' %#lx 2>/dev/null", program, place - 1); /* after a call */
    FILE *from = popen(command, "r");
    if (from && fgets(line, (int)size, from)) {
        line[strcspn(line, "\n ")] = 0;
        for (char *folder; (folder = strstr(line, "/course/"));)
            memmove(line, folder + 1, strlen(folder + 1) + 1);
        char *included = strstr(line, "graded.cu:"); /* which holds no code: some tools take it for what it includes */
        if (included)
            snprintf(line, size, "line %d", atoi(included + strlen("graded.cu:")));
    }
    if (from)
        pclose(from);
}

/* What the device says, with its one or two places as lines of the source */
static void in_lines(char *words, size_t size, const char *error)
{
    char line[2][300] = {"", ""}, *end;
    const char *places = strstr(error, "addr2line -e PROGRAM ");
    unsigned long first = places ? strtoul(places + strlen("addr2line -e PROGRAM "), &end, 16) : 0;
    source_line(line[0], sizeof line[0], first);
    source_line(line[1], sizeof line[1], places && *end == ' ' && end[1] == '0' ? strtoul(end, NULL, 16) : 0);
    bool within = places && places[-1] == ' '; /* "(... memory; addr2line ...", and not "(addr2line ..." */
    int told = (int)(places ? places - error - 2 : (long)strlen(error));
    snprintf(words, size, "%.*s%s%s%s%s%s", told, error, within ? ")" : "", line[0][0] ? ", at " : "", line[0],
             line[1][0] ? " and " : "", line[1]);
}

static const char *hint_for(const char *error)
{
    static const char *const hints[][2] = {
        {"(global memory", "two threads have the same number of the result: which of them is it for?"},
        {"race", "where one thread writes what another reads there is a __syncthreads() between, in both directions: "
                 "after something is loaded, and before it is written over"},
        {"unwritten", "shared memory holds rubbish until a thread of the block has written it. Either none does (a row "
                      "shorter than the block, a tile that is not full), or it has not come so far: without "
                      "__syncthreads() nobody waits for it"},
        {"outside", "threads come in whole blocks: those that have no number, row or key must not touch memory"},
        {"index", "an array in shared memory is as large as it was declared"},
        {"have returned",
         "every thread of a block comes to every __syncthreads(), even one that has nothing to do: no return "
         "before it, and no branch around it"},
        {"barrier",
         "every thread of a block comes to every __syncthreads(), even one that has nothing to do: no return "
         "before it, and no branch around it"},
        {"at least 1", "n / BLOCK is 0 for a small n: the number of blocks is rounded up"},
    };
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (strstr(error, hints[i][0]))
            return hints[i][1];
    return NULL;
}

static float *to_device(Grade *g, cudaStream_t queue, const float *x, size_t n)
{
    void *device = NULL;
    expect(g, cudaMalloc(&device, (n ? n : 1) * sizeof *x) == cudaSuccess, NULL, "the device has no memory");
    cudaMemcpyAsync(device, x, n * sizeof *x, cudaMemcpyHostToDevice, queue);
    return device;
}

/* Runs it in an order of threads: y is then what the device made of it, and inputs what it left of them. */
static void on_device(Grade *g, const Gpu *gpu, const char *order, const Launching *l)
{
    cudaStream_t queue;
    float *in[3] = {NULL}, *y;
    char words[1000];
    setenv("ATTEND_ORDER", order, 1);
    expect(g, cudaStreamCreate(&queue) == cudaSuccess, NULL, "the device gives no stream");
    y = to_device(g, queue, l->y, l->outputs);
    for (size_t i = 0; i < 3; i++)
        in[i] = l->in[i] ? to_device(g, queue, l->in[i], l->inputs[i]) : NULL;
    l->launch(gpu, queue, y, in, l->sizes);
    cudaError_t error = cudaStreamSynchronize(queue);
    in_lines(words, sizeof words, cudaGetErrorString(error));
    expect(g, error == cudaSuccess, hint_for(words), "%s", words);
    cudaMemcpyAsync(l->y, y, l->outputs * sizeof *y, cudaMemcpyDeviceToHost, queue);
    for (size_t i = 0; i < 3; i++) {
        if (in[i])
            cudaMemcpyAsync(l->in[i], in[i], l->inputs[i] * sizeof *in[i], cudaMemcpyDeviceToHost, queue);
        cudaFree(in[i]);
    }
    cudaFree(y);
    cudaStreamDestroy(queue);
}

/* The same numbers, to the last bit, in every order; y keeps those of the first. */
static void in_every_order(Grade *g, const Launching *l)
{
    float *first = malloc(l->outputs * sizeof *first), *start = malloc(l->outputs * sizeof *start);
    expect(g, first && start, NULL, "the check itself ran out of memory");
    memcpy(start, l->y, l->outputs * sizeof *start);
    for (size_t o = 0; o < 2 * ORDERS_TRIED; o++) {
        memcpy(l->y, start, l->outputs * sizeof *start);
        on_device(g, o % 2 ? &gpu_emulated : looked_at, orders[o / 2], l);
        if (o == 0)
            memcpy(first, l->y, l->outputs * sizeof *first);
        for (size_t i = 0; i < l->outputs; i++)
            expect(g, memcmp(&first[i], &l->y[i], sizeof *first) == 0,
                   "the sum of floats depends on their order: a tree of fixed shape has one, atomicAdd has none",
                   "with threads in order %s y[%zu] is %.9g, and in order %s %.9g", orders[0], i, (double)first[i],
                   orders[o / 2], (double)l->y[i]);
    }
    free(first), free(start);
}

#endif

#endif
