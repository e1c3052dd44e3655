/* Products by warps: what kernels/cuda/mma.h says of fragments, against a plain product. */
#include "tests/emulator/fragments.h"

#include "base/bf16.h"
#include "tests/chance.h"
#include "tests/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_EMULATOR

enum { MOST = 48 };

typedef bool Multiply(Way way, float *c, const uint16_t *a, const uint16_t *b, size_t m, size_t n, size_t k, Error *e);

static Multiply *const multiply[] = {
    fragments_emulated,
#ifdef HAVE_CHECKED
    fragments_checked,
#endif
};

/* Random numbers that bf16 holds, [rows, columns], and those the other way round. */
static void fill(Random *random, uint16_t *x, uint16_t *turned, float *value, size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            Bf16 number = bf16_from_float((float)uniform(random));
            value[i * columns + j] = bf16_to_float(number);
            memcpy(&x[i * columns + j], &number, sizeof number);
            turned[j * rows + i] = x[i * columns + j];
        }
}

/* No two numbers of a matrix are in each other's place: every c is its own row times its own column. */
START_TEST(a_product_by_warps_is_a_plain_product)
{
    static const char *const orders[] = {"forward", "backward", "random:3", "greedy"};
    static const size_t sizes[][3] = {{16, 8, 16}, {16, 16, 32}, {32, 24, 48}, {48, 40, 16}};
    size_t m = sizes[_i][0], n = sizes[_i][1], k = sizes[_i][2];
    Random random = {.seed = (uint32_t)_i + 70};
    uint16_t a[MOST * MOST], b[MOST * MOST], a_turned[MOST * MOST], b_turned[MOST * MOST];
    float x[MOST * MOST], y[MOST * MOST], c[MOST * MOST];
    fill(&random, a, a_turned, x, m, k);
    fill(&random, b, b_turned, y, n, k);
    for (size_t run = 0; run < WAYS * sizeof multiply / sizeof *multiply * 4; run++) {
        Error e;
        Way way = (Way)(run % WAYS);
        if (way == BY_TRANSPOSED && n % 16)
            continue;
        setenv("ATTEND_ORDER", orders[run / WAYS % 4], 1);
        bool turned = way == BY_TRANSPOSED;
        ck_done(multiply[run / WAYS / 4](way, c, turned ? a_turned : a, turned ? b_turned : b, m, n, k, &e), e);
        for (size_t i = 0; i < m; i++)
            for (size_t j = 0; j < n; j++) {
                double sum = 0, largest = 0;
                for (size_t l = 0; l < k; l++) {
                    sum += (double)x[i * k + l] * (double)y[j * k + l];
                    largest += fabs((double)x[i * k + l] * (double)y[j * k + l]);
                }
                ck_assert_msg(fabs((double)c[i * n + j] - sum) <= 1e-6 * largest, "way %d: c[%d,%d] is %g, not %g",
                              (int)way, (int)i, (int)j, (double)c[i * n + j], sum);
            }
    }
}

static const Test tests[] = {TEST_LOOP(a_product_by_warps_is_a_plain_product, 4)};

#else

START_TEST(without_a_compiler_for_it_there_is_nothing_to_try)
{
    test_skip("fragments", "this build has no C++17 compiler");
}

static const Test tests[] = {TEST(without_a_compiler_for_it_there_is_nothing_to_try)};

#endif

int main(int argc, char **argv)
{
    return suite_run("emulator/fragments", tests, sizeof tests / sizeof *tests, argc, argv);
}
