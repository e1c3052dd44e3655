/* bf16 learns as f32 does: the same model on the same batches has the same loss curve, within one percent of the loss.
 */
#include "base/memory.h"
#include "tests/command.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 300, WINDOW = 20 };

/* Means of the loss over windows of steps, from a run's log. */
static void curve(double *means, const char *precision)
{
    const char *run = fresh_path(precision);
    works("train --run %s --quiet --dim 64 --heads 2 --depth 2 --context 64 --batch 8 --init gpt2 --lr 2e-3 "
          "--warmup 20 --minutes 0 --steps %d --eval-every 0 --save-every 0 --device cpu --precision %s",
          run, STEPS, precision);
    size_t size;
    char *log = read_in(run, "log.tsv", &size), *line = strchr(log, '\n');
    memset(means, 0, STEPS / WINDOW * sizeof *means);
    for (size_t i = 0; i < STEPS; i++) {
        ck_assert_ptr_nonnull(line);
        char *at = strchr(strchr(line + 1, '\t') + 1, '\t'); /* step, targets, loss */
        means[i / WINDOW] += strtod(at, NULL) / WINDOW;
        line = strchr(line + 1, '\n');
    }
    memory_free(log);
}

START_TEST(bf16_follows_f32_for_300_steps)
{
    double f32[STEPS / WINDOW], bf16[STEPS / WINDOW];
    curve(f32, "f32");
    curve(bf16, "bf16");
    ck_assert_double_lt(f32[STEPS / WINDOW - 1], f32[0] / 1.5); /* it has learned something to agree on */
    for (size_t i = 0; i < STEPS / WINDOW; i++)
        ck_assert_msg(fabs(bf16[i] - f32[i]) < 0.01 * f32[i], "steps %zu on: %g in bf16, %g in f32", i * WINDOW,
                      bf16[i], f32[i]);
}

/* Whether the processor multiplies bfloat16, which is what counts where choices are not measured (tests/suite.c). */
static bool has_bf16(void)
{
#if defined __x86_64__
    size_t size;
    char *flags = read_in("/proc", "cpuinfo", &size);
    bool has = strstr(flags, "avx512_bf16");
    memory_free(flags);
    return has;
#elif defined __ARM_FEATURE_BF16
    return true;
#else
    return false;
#endif
}

static void expect_note(const char *words, bool note)
{
    Said s = must("bench --dim 16 --heads 2 --depth 1 --context 16 --batch 2 --steps 1 %s", words);
    const char *end = strchr(s.err, '\n');
    if (note)
        ck_assert_msg(strstr(s.err, "bf16 is computed as f32") && end && !end[1], "%s: %s", words, s.err);
    else
        ck_assert_msg(!*s.err, "%s: %s", words, s.err);
    said_free(&s);
}

START_TEST(bf16_without_instructions_for_it_is_told)
{
    expect_note("--precision bf16", !has_bf16());
    expect_note("--precision bf16 --quiet", false);
    expect_note("--precision f32", false);
    expect_note("--precision bf16 --device plain", false); /* slow in every type */
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LEARNS(bf16_follows_f32_for_300_steps, 0, 120),
                                 TEST(bf16_without_instructions_for_it_is_told)};
    test_folders_in_memory();
    return suite_run("charlm/precision", tests, sizeof tests / sizeof *tests, argc, argv);
}
