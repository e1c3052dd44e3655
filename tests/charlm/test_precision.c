/* bf16 learns as f32 does: the same model on the same batches has the same loss curve, within one percent of the loss.
 */
#include "base/memory.h"
#include "tests/charlm/command.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 300, WINDOW = 20 };

/* Means of the loss over windows of steps, from a run's log. */
static void curve(double *means, const char *precision)
{
    const char *run = fresh_path(precision);
    Said s = must("train --run %s --quiet --dim 64 --heads 2 --depth 2 --context 64 --batch 8 --init gpt2 --lr 2e-3 "
                  "--warmup 20 --steps %d --eval-every 0 --save-every 0 --device cpu --precision %s",
                  run, STEPS, precision);
    said_free(&s);
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
    ck_assert_double_lt(f32[STEPS / WINDOW - 1], f32[0] / 1.5); /* it has learnt something to agree on */
    for (size_t i = 0; i < STEPS / WINDOW; i++)
        ck_assert_msg(fabs(bf16[i] - f32[i]) < 0.01 * f32[i], "steps %zu on: %g in bf16, %g in f32", i * WINDOW,
                      bf16[i], f32[i]);
}
END_TEST

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_SLOW(bf16_follows_f32_for_300_steps, 120)};
    command_folders_in_memory();
    return suite_run("charlm/precision", tests, sizeof tests / sizeof *tests, argc, argv);
}
