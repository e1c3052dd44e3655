/* Spans that heads learn, as a user sees them. */
#include "base/memory.h"
#include "core/run/safetensors.h"
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

/* A run's weights in `path`, but with these spans. */
static void write_spans(const char *run, const char *path, float span)
{
    enum { MOST = 100 };
    char from[800];
    Safetensors *file;
    SafeTensor list[MOST];
    Error e;
    snprintf(from, sizeof from, "%s/checkpoints/00000020/model.safetensors", run);
    ck_done(safetensors_open(&file, from, &e), e);
    const size_t count = safetensors_count(file);
    ck_assert(count <= MOST);
    for (size_t i = 0; i < count; i++) {
        const SafeTensor *t = safetensors_at(file, i);
        float *values = memory_get(safe_elements(t), sizeof *values);
        ck_done(safetensors_read(file, t, SAFE_F32, values, safe_elements(t), &e), e);
        for (size_t k = 0; strstr(t->name, ".span") && k < safe_elements(t); k++)
            values[k] = span;
        list[i] = *t;
        list[i].data = values;
    }
    ck_done(safetensors_write(path, list, count, NULL, 0, &e), e);
    for (size_t i = 0; i < count; i++)
        memory_free((void *)(uintptr_t)list[i].data);
    safetensors_close(file);
}

START_TEST(a_span_that_has_left_its_range_returns)
{
    const char *run = fresh_path("run"), *weights = fresh_path("weights.safetensors");
    double back[2];
    char other[700];
    snprintf(other, sizeof other, "%s-1", run);
    works("train --run %s " SPANS, run);
    write_spans(run, weights, -3);
    works("train --run %s --weights %s " SPANS, other, weights);
    spans_of(other, back);
    ck_assert_msg(back[0] >= 8 && back[1] >= 8, "%g %g", back[0], back[1]);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(spans_are_learned_and_a_loss_keeps_them_short),
                                 TEST(a_span_that_has_left_its_range_returns)};
    test_folders_in_memory();
    return suite_run("charlm/spans", tests, sizeof tests / sizeof *tests, argc, argv);
}
