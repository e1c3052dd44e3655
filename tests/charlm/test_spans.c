/* Spans that heads learn, as a user sees them. */
#include "tests/charlm/tiny.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPANS TINY " --context 256 --adaptive-span 32 --distances bias --steps 20 -q"

/* What info says of two heads. */
static void spans_of(const char *run, double span[2])
{
    static const char words[] = "blocks.0.attention.span of heads, in positions:";
    Said s = must("info --run %s --weights last", run);
    char *at = strstr(s.out, words);
    ck_assert_msg(at, "%s", s.out);
    at += sizeof words - 1;
    for (size_t h = 0; h < 2; h++) {
        char *end;
        span[h] = strtod(at, &end);
        ck_assert_msg(end != at, "%s", at);
        at = end;
    }
    said_free(&s);
}

START_TEST(spans_are_learned_and_a_loss_keeps_them_short)
{
    const char *run = fresh_path("run");
    double alone[2], lossy[2];
    char other[700];
    snprintf(other, sizeof other, "%s-1", run);
    works("train --run %s " SPANS, run);
    works("train --run %s " SPANS " --span-loss 1", other);
    spans_of(run, alone);
    spans_of(other, lossy);
    ck_assert_msg(alone[0] >= 8 && alone[1] >= 8, "%g %g", alone[0], alone[1]);
    ck_assert_msg(lossy[0] <= 2 && lossy[1] <= 2, "%g %g", lossy[0], lossy[1]);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(spans_are_learned_and_a_loss_keeps_them_short)};
    test_folders_in_memory();
    return suite_run("charlm/spans", tests, sizeof tests / sizeof *tests, argc, argv);
}
