/* train --find-lr: a rate from a ramp, by every optimizer, without a run; and what is said where there is none. */
#include "base/file.h"
#include "base/memory.h"
#include "tests/charlm/tiny.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static double found(const char *more)
{
    Said s = must("train " TINY " --find-lr --json -q %s", more);
    Json *j = said_json(&s);
    const double lr = json_real(j, "lr");
    ck_assert_msg(isfinite(lr) && lr > 1e-6 && lr <= 1 && json_real(j, "steepest") < 10, "%s: %s", more, s.out);
    json_free(j);
    said_free(&s);
    return lr;
}

/* In a folder of its own, so that whatever it leaves is seen. */
START_TEST(a_ramp_leaves_no_run)
{
    const char *folder = fresh_path("rates");
    char here[4096], **names;
    size_t count;
    Error e;
    ck_done(folder_make(folder, &e), e);
    ck_assert(getcwd(here, sizeof here) && !chdir(folder));
    const double lr = found("");
    ck_done(folder_list(".", &names, &count, &e), e);
    ck_assert_uint_eq(count, 0);
    folder_list_free(names, count);
    ck_assert(!chdir(here));
    ck_assert_msg(lr > 1e-4 && lr < 0.3, "%g", lr);
}

START_TEST(every_optimizer_has_a_ramp)
{
    const double adam = found(""), again = found(""), sgd = found("--optimizer sgd --momentum 0.9");
    ck_assert(adam == again && adam != sgd);
}

/* The same step as noam's highest: its factor is another number. */
START_TEST(noam_gets_its_factor)
{
    const double lr = found(""), factor = found("--schedule noam --warmup 25");
    ck_assert_msg(fabs(factor / (lr * sqrt(16 * 25.0)) - 1) < 1e-9, "%g, not 20 times %g", factor, lr);
}

START_TEST(what_cannot_move_has_no_rate)
{
    refused(1, "no learning rate found", "train " TINY " --find-lr -q --groups *:lr=0");
}

START_TEST(a_ramp_makes_no_run_and_is_not_too_short)
{
    const char *run = fresh_path("run");
    refused(2, "makes no run", "train " TINY " --find-lr --run %s", run);
    ck_assert(!folder_exists(run));
    refused(2, "too short", "train " TINY " --find-lr --steps 20");
    refused(2, "--find-lr", "train " TINY " --steps 1 --out a.png");
    refused(2, "expected a name that ends in", "train " TINY " --find-lr --out a.jpg");
}

START_TEST(a_ramp_is_drawn)
{
    size_t size;
    if (!can_draw("a_ramp_is_drawn"))
        return;
    const char *folder = fresh_path("rates");
    Error e;
    ck_done(folder_make(folder, &e), e);
    Said s = must("train " TINY " --find-lr --steps 80 -q --out %s/a.svg", folder);
    ck_assert_msg(strstr(s.out, "suggestion: --lr ") && strstr(s.out, "is lowest at"), "%s", s.out);
    said_free(&s);
    char *picture = read_in(folder, "a.svg", &size), *data = read_in(folder, "a.tsv", &size);
    ck_assert(picture && strstr(picture, "steepest descent") && strstr(picture, "loss (bits/byte)"));
    ck_assert_msg(data && strstr(data, "\nsuggestion\t"), "%s", data);
    memory_free(picture);
    memory_free(data);
}

static const Test tests[] = {
    TEST(a_ramp_leaves_no_run),
    TEST(every_optimizer_has_a_ramp),
    TEST(noam_gets_its_factor),
    TEST(what_cannot_move_has_no_rate),
    TEST(a_ramp_makes_no_run_and_is_not_too_short),
    TEST(a_ramp_is_drawn),
};

int main(int argc, char **argv) { return suite_run("charlm/rates", tests, sizeof tests / sizeof *tests, argc, argv); }
