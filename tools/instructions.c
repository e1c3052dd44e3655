/* instructions --list | [--count] NAME: runs one operation of the cpu backend on a small shape, for
 * tools/instructions.sh to count; with --count it counts by itself, one instruction at a time.
 *
 * What is counted is `measured`, one call. Another call before it lets scratch memory grow. Numbers are such that their
 * bits are sensible as floats and as bfloat16. */
#define _GNU_SOURCE /* of ptrace */
#include "base/memory.h"
#include "base/philox.h"
#include "kernels/cpu/cpu.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    N = 64,
    D = 64,
    F = 128,
    HEADS = 2,
    LENGTH = 32,
    V = 256,
    COUNT = 4096,
    BLOCK = 1 << 14,
    BLOCKS = 12,
    DRAWN = 256
};

typedef struct Fixture {
    const Kernels *k;
    Stream *s;
    void *at[BLOCKS];
    int32_t ids[N], start[N / LENGTH + 1];
    StepState state;
} Fixture;

static Attend attend_of(const Fixture *f)
{
    return (Attend){.rows = N / LENGTH,
                    .queries = N,
                    .keys = N,
                    .longest_query = LENGTH,
                    .longest_key = LENGTH,
                    .heads = HEADS,
                    .key_size = D / HEADS,
                    .value_size = D / HEADS,
                    .query_start = f->start,
                    .key_start = f->start,
                    .causal = true,
                    .scale = 0.2};
}

static void linear_forward(Fixture *f)
{
    f->k->linear_forward(f->s, f->at[0], false, f->at[1], f->at[2], f->at[3], true, N, D, F);
}

static void linear_one(Fixture *f)
{
    f->k->linear_forward(f->s, f->at[0], false, f->at[1], f->at[2], f->at[3], false, 1, D, F);
}

static void linear_backward(Fixture *f)
{
    f->k->linear_backward(f->s, f->at[0], true, f->at[1], f->at[2], f->at[3], f->at[4], f->at[5], f->at[6], true, N, D,
                          F);
}

static void attention_forward(Fixture *f)
{
    Attend how = attend_of(f);
    Strided q = {f->at[2], D}, k = {f->at[3], D}, v = {f->at[4], D};
    f->k->attention_forward(f->s, f->at[0], f->at[1], q, k, v, &how, &f->state);
}

static void attention_backward(Fixture *f)
{
    Attend how = attend_of(f);
    Strided q = {f->at[2], D}, k = {f->at[3], D}, v = {f->at[4], D};
    AttendGradients d = {.q = {f->at[5], D}, .k = {f->at[6], D}, .v = {f->at[7], D}};
    f->k->attention_backward(f->s, &d, f->at[8], f->at[0], f->at[1], q, k, v, &how, &f->state);
}

static void add_norm_forward(Fixture *f)
{
    Dropout drop = {.rate = 0.1, .site = 1};
    f->k->add_norm_forward(f->s, f->at[0], f->at[1], f->at[2], f->at[3], f->at[4], f->at[5], drop, &f->state, f->at[6],
                           f->at[7], 1e-5, N, D);
}

static void add_norm_backward(Fixture *f)
{
    f->k->add_norm_backward(f->s, f->at[0], true, f->at[1], false, f->at[2], f->at[3], f->at[4], f->at[5], f->at[6],
                            f->at[7], (Dropout){0}, &f->state, f->at[8], N, D);
}

static void activation_forward(Fixture *f)
{
    f->k->activation_forward(f->s, f->at[0], f->at[1], ACTIVATION_GELU, COUNT);
}

static void cross_entropy_forward(Fixture *f)
{
    f->k->cross_entropy_forward(f->s, f->at[0], f->at[1], &f->state, 0, f->at[2], f->ids, 0, N, V);
}

static void cross_entropy_backward(Fixture *f)
{
    f->k->cross_entropy_backward(f->s, f->at[0], false, &f->state, 0, f->at[1], f->at[2], f->ids, 0, N, V);
}

static void squares(Fixture *f) { f->k->squares(f->s, f->at[0], f->at[1], COUNT); }

static void adam(Fixture *f)
{
    void *copy = f->k->number < f->k->real ? f->at[1] : NULL;
    f->k->adam(f->s, f->at[0], copy, f->at[2], f->at[3], f->at[4], &f->state, (Adam){0.9, 0.999, 1e-8}, NULL, 0, 0,
               COUNT);
}

static const struct {
    const char *name;
    void (*run)(Fixture *f);
} list[] = {{"linear_forward", linear_forward},
            {"linear_forward_one", linear_one},
            {"linear_backward", linear_backward},
            {"attention_forward", attention_forward},
            {"attention_backward", attention_backward},
            {"add_norm_forward", add_norm_forward},
            {"add_norm_backward", add_norm_backward},
            {"activation_forward", activation_forward},
            {"cross_entropy_forward", cross_entropy_forward},
            {"cross_entropy_backward", cross_entropy_backward},
            {"squares", squares},
            {"adam", adam}};

void measured(void (*run)(Fixture *f), Fixture *f); /* callgrind finds it by its name */

__attribute__((noinline)) void measured(void (*run)(Fixture *f), Fixture *f)
{
    run(f);
    __asm__ volatile("" ::: "memory"); /* no jump instead of a call */
}

/* Through a pointer that could change, so that no compiler makes a copy of it under another name. */
static void (*volatile measuring)(void (*run)(Fixture *f), Fixture *f) = measured;

static bool ground_open(Fixture *f, const Kernels *k, Error *e)
{
    *f = (Fixture){.k = k};
    f->state = (StepState){.learning_rate = 1e-3, .correction1 = 0.1, .correction2 = 1e-3, .clip = 1, .finite = 1};
    for (size_t i = 0; i < N; i++)
        f->ids[i] = (int32_t)(i * 3 % V);
    for (size_t b = 0; b <= N / LENGTH; b++)
        f->start[b] = (int32_t)(b * LENGTH);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        uint32_t *words = f->at[i] = k->allocate(BLOCK * sizeof *words);
        if (!words)
            return memory_error(e, "numbers", BLOCK, sizeof *words);
        for (uint32_t j = 0; j < DRAWN; j++) /* each half in [0.25, 0.5) */
            words[j] = 0x3e803e80u | (philox(1, 0, j, i, 0, 0).word[0] & 0x007f007fu);
        for (size_t filled = DRAWN; filled < BLOCK; filled *= 2) /* in few instructions, for emulators that trace all */
            memcpy(words + filled, words, filled * sizeof *words);
    }
    return k->open(&f->s, 1, e);
}

static void ground_close(Fixture *f)
{
    for (size_t i = 0; i < BLOCKS; i++)
        f->k->release(f->at[i]);
    if (f->s)
        f->k->close(f->s);
}

/* Between two stops, if it is counted: the steps between them are what `measured` takes, and some to stop again. */
static bool run(const Kernels *k, void (*operation)(Fixture *f), bool stops)
{
    static Fixture f;
    Error e;
    if (!ground_open(&f, k, &e)) {
        fprintf(stderr, "instructions: %s\n", e.text);
        return false;
    }
    operation(&f);
    if (stops)
        raise(SIGSTOP);
    measuring(operation, &f);
    if (stops)
        raise(SIGSTOP);
    ground_close(&f);
    return true;
}

static bool stopped_by(pid_t child, int signal)
{
    int status;
    return waitpid(child, &status, 0) == child && WIFSTOPPED(status) && WSTOPSIG(status) == signal;
}

/* Steps through a child. It is slow, but every processor knows all of its own instructions. (In qemu nothing can be
 * traced.) */
static bool count(const Kernels *k, void (*operation)(Fixture *f))
{
    size_t steps = 0;
    const pid_t child = fork();
    if (child == 0)
        _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) || !run(k, operation, true));
    if (child < 0 || !stopped_by(child, SIGSTOP)) {
        fprintf(stderr, "instructions: nothing can be traced here\n");
        return false;
    }
    do
        steps++;
    while (!ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) && stopped_by(child, SIGTRAP));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    printf("%zu\n", steps);
    return true;
}

int main(int argc, char **argv)
{
    Error e;
    const Kernels *const backends[] = {kernels_find("cpu", NUMBER_F32, &e), kernels_find("cpu", NUMBER_BF16, &e)};
    const bool all = argc == 2 && !strcmp(argv[1], "--list"), counts = argc == 3 && !strcmp(argv[1], "--count");
    if (!backends[0] || !backends[1]) {
        fprintf(stderr, "instructions: %s\n", e.text);
        return 1;
    }
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
            char name[64];
            snprintf(name, sizeof name, "%s.%s", list[i].name, number_type_name(backends[t]->type));
            if (all)
                printf("%s\n", name);
            else if (argc == 2 + counts && !strcmp(argv[1 + counts], name))
                return counts ? !count(backends[t], list[i].run) : !run(backends[t], list[i].run, false);
        }
    if (!all)
        fprintf(stderr, "usage: instructions --list | [--count] NAME\n");
    return all ? 0 : 2;
}
