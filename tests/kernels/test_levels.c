/* The levels of instructions of one program: which one runs, and what is said where one cannot. (Each operation at each
 * level is tested by `make levels`.) */
#include "kernels/cpu/level.h"
#include "tests/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

START_TEST(the_lowest_level_runs_everywhere_and_names_differ)
{
    ck_assert_ptr_nonnull(cpu_levels[0].name);
    ck_assert_ptr_null(cpu_lacks(&cpu_levels[0]));
    for (const CpuLevel *l = cpu_levels; l->name; l++) {
        ck_assert_str_eq(l->f32->backend, "cpu");
        ck_assert(l->f32->type == NUMBER_F32 && l->bf16->type == NUMBER_BF16);
        for (const CpuLevel *other = cpu_levels; other < l; other++)
            ck_assert(strcmp(l->name, other->name) != 0 && l->f32 != other->f32 && l->product != other->product);
    }
}

START_TEST(the_highest_level_that_runs_here_is_taken)
{
    unsetenv("ATTEND_CPU");
    Error e;
    const CpuLevel *found = cpu_level(&e);
    ck_assert_ptr_nonnull(found);
    ck_assert_ptr_null(cpu_lacks(found));
    ck_assert(!found[1].name || cpu_lacks(&found[1]));
    ck_assert_ptr_eq(cpu_kernels(NUMBER_BF16), found->bf16);
}

START_TEST(the_environment_names_a_level)
{
    Error e;
    for (const CpuLevel *l = cpu_levels; l->name; l++) {
        setenv("ATTEND_CPU", l->name, 1);
        if (!cpu_lacks(l)) {
            ck_assert_ptr_eq(cpu_level(&e), l);
            ck_assert_ptr_eq(cpu_kernels(NUMBER_F32), l->f32);
            continue;
        }
        ck_assert_ptr_null(cpu_level(&e));
        ck_assert_ptr_nonnull(strstr(e.text, cpu_lacks(l)));
    }
    setenv("ATTEND_CPU", "", 1);
    ck_assert_ptr_nonnull(cpu_level(&e));
}

START_TEST(a_level_that_is_none_is_refused_by_the_device)
{
    Error e;
    setenv("ATTEND_CPU", "v77", 1);
    ck_assert_ptr_null(kernels_find("cpu", NUMBER_F32, &e));
    ck_assert_msg(strstr(e.text, "ATTEND_CPU=v77") && strstr(e.text, "best of this processor"), "%s", e.text);
    ck_assert_ptr_nonnull(kernels_find("plain", NUMBER_F32, &e));
    ck_assert_ptr_null(kernels_find("nothing", NUMBER_F32, &e)); /* and the list of devices can be made */
}

/* Every level computes; what they compute differs by rounding. */
START_TEST(levels_agree)
{
    enum { N = 37 };
    float a[N * N], b[N * N], first[N * N], c[N * N];
    for (int i = 0; i < N * N; i++)
        a[i] = sinf((float)i), b[i] = cosf((float)i);
    const MatmulShape s = {.m = N, .n = N, .k = N, .a_stride = N, .b_stride = N, .c_stride = N};
    for (const CpuLevel *l = cpu_levels; l->name && !cpu_lacks(l); l++) {
        void *scratch = malloc(l->scratch(&s));
        l->product(&s, l == cpu_levels ? first : c, a, b, NULL, scratch);
        free(scratch);
        for (int i = 0; l > cpu_levels && i < N * N; i++)
            ck_assert_float_eq_tol(c[i], first[i], 1e-5f);
    }
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(the_lowest_level_runs_everywhere_and_names_differ),
                                 TEST(the_highest_level_that_runs_here_is_taken), TEST(the_environment_names_a_level),
                                 TEST(a_level_that_is_none_is_refused_by_the_device), TEST(levels_agree)};
    return suite_run("kernels/levels", tests, sizeof tests / sizeof *tests, argc, argv);
}
