/* instructions --list | NAME: runs one operation of the cpu backend on a small shape, for tools/instructions.sh to count.
 *
 * What is counted is `measured`, one call. Another call before it lets scratch memory grow. Numbers are such that their
 * bits are sensible as floats and as bfloat16. */
#include "base/memory.h"
#include "base/philox.h"
#include "kernels/cpu/cpu.h"

#include <stdio.h>
#include <string.h>

enum { N = 64, D = 64, F = 128, HEADS = 2, LENGTH = 32, V = 256, COUNT = 4096, BLOCK = 1 << 16, BLOCKS = 12 };

typedef struct Ground {
    const Kernels *k;
    Stream *s;
    void *at[BLOCKS];
    int32_t ids[N], start[N / LENGTH + 1];
    StepState state;
} Ground;

static Attend attend_of(const Ground *g)
{
    return (Attend){.rows = N / LENGTH,
                    .queries = N,
                    .keys = N,
                    .longest_query = LENGTH,
                    .longest_key = LENGTH,
                    .heads = HEADS,
                    .key_size = D / HEADS,
                    .value_size = D / HEADS,
                    .query_start = g->start,
                    .key_start = g->start,
                    .causal = true,
                    .scale = 0.2};
}

static void linear_forward(Ground *g)
{
    g->k->linear_forward(g->s, g->at[0], false, g->at[1], g->at[2], g->at[3], true, N, D, F);
}

static void linear_one(Ground *g)
{
    g->k->linear_forward(g->s, g->at[0], false, g->at[1], g->at[2], g->at[3], false, 1, D, F);
}

static void linear_backward(Ground *g)
{
    g->k->linear_backward(g->s, g->at[0], true, g->at[1], g->at[2], g->at[3], g->at[4], g->at[5], g->at[6], true, N, D,
                          F);
}

static void attention_forward(Ground *g)
{
    Attend how = attend_of(g);
    Strided q = {g->at[2], D}, k = {g->at[3], D}, v = {g->at[4], D};
    g->k->attention_forward(g->s, g->at[0], g->at[1], q, k, v, &how, &g->state);
}

static void attention_backward(Ground *g)
{
    Attend how = attend_of(g);
    Strided q = {g->at[2], D}, k = {g->at[3], D}, v = {g->at[4], D};
    AttendGradients d = {.q = {g->at[5], D}, .k = {g->at[6], D}, .v = {g->at[7], D}};
    g->k->attention_backward(g->s, &d, g->at[8], g->at[0], g->at[1], q, k, v, &how, &g->state);
}

static void add_norm_forward(Ground *g)
{
    Dropout drop = {.rate = 0.1, .site = 1};
    g->k->add_norm_forward(g->s, g->at[0], g->at[1], g->at[2], g->at[3], g->at[4], g->at[5], drop, &g->state, g->at[6],
                           g->at[7], 1e-5, N, D);
}

static void add_norm_backward(Ground *g)
{
    g->k->add_norm_backward(g->s, g->at[0], true, g->at[1], false, g->at[2], g->at[3], g->at[4], g->at[5], g->at[6],
                            g->at[7], (Dropout){0}, &g->state, g->at[8], N, D);
}

static void activation_forward(Ground *g)
{
    g->k->activation_forward(g->s, g->at[0], g->at[1], ACTIVATION_GELU, COUNT);
}

static void cross_entropy_forward(Ground *g)
{
    g->k->cross_entropy_forward(g->s, g->at[0], g->at[1], &g->state, 0, g->at[2], g->ids, 0, N, V);
}

static void cross_entropy_backward(Ground *g)
{
    g->k->cross_entropy_backward(g->s, g->at[0], false, &g->state, 0, g->at[1], g->at[2], g->ids, 0, N, V);
}

static void squares(Ground *g) { g->k->squares(g->s, g->at[0], g->at[1], COUNT); }

static void adam(Ground *g)
{
    void *copy = g->k->number < g->k->real ? g->at[1] : NULL;
    g->k->adam(g->s, g->at[0], copy, g->at[2], g->at[3], g->at[4], &g->state, (Adam){0.9, 0.999, 1e-8}, NULL, 0, 0,
               COUNT);
}

static const struct {
    const char *name;
    void (*run)(Ground *g);
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

void measured(void (*run)(Ground *g), Ground *g); /* callgrind finds it by its name */

__attribute__((noinline)) void measured(void (*run)(Ground *g), Ground *g)
{
    run(g);
    __asm__ volatile("" ::: "memory"); /* no jump instead of a call */
}

/* Through a pointer that could change, so that no compiler makes a copy of it under another name. */
static void (*volatile measuring)(void (*run)(Ground *g), Ground *g) = measured;

static bool ground_open(Ground *g, const Kernels *k, Error *e)
{
    *g = (Ground){.k = k};
    g->state = (StepState){.learning_rate = 1e-3, .correction1 = 0.1, .correction2 = 1e-3, .clip = 1, .finite = 1};
    for (size_t i = 0; i < N; i++)
        g->ids[i] = (int32_t)(i * 3 % V);
    for (size_t b = 0; b <= N / LENGTH; b++)
        g->start[b] = (int32_t)(b * LENGTH);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        uint32_t *words = g->at[i] = k->allocate(BLOCK * sizeof *words);
        if (!words)
            return memory_error(e, "numbers", BLOCK, sizeof *words);
        for (uint32_t j = 0; j < BLOCK; j++) /* each half in [0.25, 0.5) */
            words[j] = 0x3e803e80u | (philox(1, 0, j, i, 0, 0).word[0] & 0x007f007fu);
    }
    return k->open(&g->s, 1, e);
}

static void ground_close(Ground *g)
{
    for (size_t i = 0; i < BLOCKS; i++)
        g->k->release(g->at[i]);
    if (g->s)
        g->k->close(g->s);
}

int main(int argc, char **argv)
{
    static Ground g;
    Error e;
    const Kernels *const backends[] = {kernels_find("cpu", NUMBER_F32, &e), kernels_find("cpu", NUMBER_BF16, &e)};
    bool all = argc == 2 && strcmp(argv[1], "--list") == 0, found = all;
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
            char name[64];
            snprintf(name, sizeof name, "%s.%s", list[i].name, number_type_name(backends[t]->type));
            if (all)
                printf("%s\n", name);
            if (all || argc != 2 || strcmp(argv[1], name) != 0)
                continue;
            found = true;
            if (!ground_open(&g, backends[t], &e)) {
                fprintf(stderr, "instructions: %s\n", e.text);
                return 1;
            }
            list[i].run(&g);
            measuring(list[i].run, &g);
            ground_close(&g);
        }
    if (!found)
        fprintf(stderr, "usage: instructions --list | NAME\n");
    return found ? 0 : 2;
}
