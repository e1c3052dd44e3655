/* Twenty steps of each program, with dropout, on the emulated device and on the cpu: each loss agrees, and after them
 * so does every tensor of the model. (The bias of keys has no gradient: softmax does not see what all scores have in
 * common. What is there is rounding, which Adam makes as large as any.) */
#include "base/file.h"
#include "base/memory.h"
#include "core/run/safetensors.h"
#include "tests/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_EMULATOR

enum { STEPS = 20 };

typedef struct Trained {
    const char *program, *words;
} Trained;

#define SAME                                                                                                           \
    "--steps 20 --eval-every 0 --save-every 0 --workers 2 --dropout 0.1 --attention-dropout 0.1 --warmup 10 --lr "     \
    "1e-3 "                                                                                                            \
    "--quiet "

static const Trained programs[] = {
    {"charlm", SAME "--minutes 0 --dim 32 --heads 2 --depth 2 --context 32 --batch 4 --micro-batch 2 --distances bias"},
    {"classifier", SAME "--preset minute --minutes 0 --dim 16 --heads 2 --ff 32 --depth 1 --batch 4 --no-cache"},
    {"encdec", SAME "--preset minute --minutes 0 --dim 32 --heads 2 --ff 64 --depth 1 --batch-tokens 256"},
};

static const char *trained(const Trained *t, const char *device)
{
    const char *run = fresh_path(device);
    command_program(t->program);
    works("train --run %s %s --device %s", run, t->words, device);
    return run;
}

static void losses_of(double losses[STEPS], const char *run)
{
    size_t size;
    char *log = read_in(run, "log.tsv", &size), *line = strchr(log, '\n');
    for (size_t i = 0; i < STEPS; i++) {
        ck_assert_ptr_nonnull(line);
        losses[i] = strtod(strchr(strchr(line + 1, '\t') + 1, '\t'), NULL); /* step, targets, loss */
        line = strchr(line + 1, '\n');
    }
    memory_free(log);
}

static Safetensors *model_of(const char *run)
{
    Safetensors *file;
    char path[800];
    Error e;
    snprintf(path, sizeof path, "%s/checkpoints/%08d/model.safetensors", run, STEPS);
    ck_done(safetensors_open(&file, path, &e), e);
    return file;
}

static double *values_of(const Safetensors *file, const SafeTensor *t)
{
    Error e;
    double *values = memory_get(safe_elements(t), sizeof *values);
    ck_assert_ptr_nonnull(values);
    ck_done(safetensors_read(file, t, SAFE_F64, values, safe_elements(t), &e), e);
    return values;
}

static void tensor_agrees(const Safetensors *a, const Safetensors *b, const SafeTensor *t)
{
    const SafeTensor *other = safetensors_find(b, t->name);
    ck_assert_ptr_nonnull(other);
    double *x = values_of(a, t), *y = values_of(b, other), largest = 0, off = 0;
    for (size_t i = 0; i < safe_elements(t); i++) {
        largest = fmax(largest, fabs(x[i]));
        off = fmax(off, fabs(x[i] - y[i]));
    }
    memory_free(x);
    memory_free(y);
    ck_assert_msg(off <= 1e-3 * largest, "%s is off by %g of %g", t->name, off, largest);
}

START_TEST(twenty_steps_are_those_of_the_cpu)
{
    double expected[STEPS], losses[STEPS];
    setenv("ATTEND_ORDER", "greedy", 1);
    const char *cpu = trained(&programs[_i], "cpu"), *emulated = trained(&programs[_i], "emulated");
    losses_of(expected, cpu);
    losses_of(losses, emulated);
    for (size_t i = 0; i < STEPS; i++)
        ck_assert_msg(fabs(losses[i] - expected[i]) <= 1e-4, "%s, step %d: %g, on the cpu %g", programs[_i].program,
                      (int)i + 1, losses[i], expected[i]);
    Safetensors *a = model_of(cpu), *b = model_of(emulated);
    ck_assert_uint_eq(safetensors_count(a), safetensors_count(b));
    for (size_t i = 0; i < safetensors_count(a); i++)
        if (!name_ends(safetensors_at(a, i)->name, "key.bias"))
            tensor_agrees(a, b, safetensors_at(a, i));
    safetensors_close(a);
    safetensors_close(b);
}

/* The same run gives the same bits, whatever order threads run in. */
START_TEST(no_bit_depends_on_the_order_of_threads)
{
    static const char *const orders[] = {"forward", "random:3"};
    char *model[2];
    size_t size[2];
    for (int i = 0; i < 2; i++) {
        setenv("ATTEND_ORDER", orders[i], 1);
        const char *run = trained(&programs[0], "emulated");
        model[i] = read_in(run, "checkpoints/00000020/model.safetensors", &size[i]);
    }
    ck_assert(size[0] == size[1] && memcmp(model[0], model[1], size[0]) == 0);
    memory_free(model[0]);
    memory_free(model[1]);
}

/* Captured once and replayed, with the next batch sent ahead: the same bits as asked for one by one. */
START_TEST(a_replayed_step_is_the_step)
{
    static const char *const graphs[] = {"yes", "no"};
    static const char words[] = "train --run %s --steps 5 --eval-every 0 --save-every 0 --quiet --minutes 0 --dim 8 "
                                "--heads 1 --ff 8 --depth 1 --context 32 --batch 3 --dropout 0.1 --device emulated";
    char *model[2];
    size_t size[2];
    for (int i = 0; i < 2; i++) {
        const char *run = fresh_path(graphs[i]);
        setenv("ATTEND_GRAPHS", graphs[i], 1);
        command_program("charlm");
        works(words, run);
        model[i] = read_in(run, "checkpoints/00000005/model.safetensors", &size[i]);
    }
    unsetenv("ATTEND_GRAPHS");
    ck_assert(size[0] == size[1] && memcmp(model[0], model[1], size[0]) == 0);
    memory_free(model[0]);
    memory_free(model[1]);
}

#ifdef HAVE_CHECKED
START_TEST(a_step_of_each_program_has_no_race)
{
    command_program(programs[_i].program);
    works("bench %s --device checked --steps 1",
          _i == 2 ? "--preset minute --dim 16 --heads 2 --ff 32 --depth 1 --batch-tokens 64"
                  : "--dim 16 --heads 2 --ff 32 --depth 1 --batch 2 --context 16");
}
#endif

enum { PROGRAMS = sizeof programs / sizeof *programs };

static const Test tests[] = {TEST_SLOW_LOOP(twenty_steps_are_those_of_the_cpu, PROGRAMS, 300),
                             TEST_SLOW(a_replayed_step_is_the_step, 300),
                             TEST_LEARNS(no_bit_depends_on_the_order_of_threads, 0, 300),
#ifdef HAVE_CHECKED
                             TEST_SLOW_LOOP(a_step_of_each_program_has_no_race, PROGRAMS, 300)
#endif
};

#else

START_TEST(without_a_compiler_for_it_the_emulator_is_one_clear_line)
{
    refused(1, "no device 'emulated'", "train --run %s --device emulated", fresh_path("run"));
}

static const Test tests[] = {TEST(without_a_compiler_for_it_the_emulator_is_one_clear_line)};

#endif

int main(int argc, char **argv)
{
    return suite_run("emulator/programs", tests, sizeof tests / sizeof *tests, argc, argv);
}
