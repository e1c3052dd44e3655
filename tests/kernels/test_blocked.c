/* Our own matrix product, in every shape: of many, matmul.c goes to oneDNN where it is there. */
#include "base/bf16.h"
#include "kernels/cpu/level.h"
#include "tests/chance.h"
#include "tests/suite.h"

#include <stdlib.h>

enum { MOST = 128 * 1024, LONG = 500 };

typedef struct Matrix {
    Element type;
    float f32[MOST];
    Bf16 bf16[MOST];
} Matrix;

static Matrix a, b, c, was;
static float bias[256];

/* Whole numbers within `reach`: neither their products nor the sums here have to be rounded. */
static void fill(Matrix *x, Random *r, Element type, size_t reach, size_t count)
{
    x->type = type;
    for (size_t i = 0; i < count; i++) {
        x->f32[i] = (float)below(r, 2 * reach + 1) - (float)reach;
        x->bf16[i] = bf16_from_float(x->f32[i]);
    }
}

static void *data(Matrix *x) { return x->type == ELEMENT_BF16 ? (void *)x->bf16 : x->f32; }
static float number(const Matrix *x, size_t at)
{
    return x->type == ELEMENT_BF16 ? bf16_to_float(x->bf16[at]) : x->f32[at];
}

static MatmulShape shape_of(Random *r, size_t turn)
{
    static const size_t sizes[][3] = {{1, 1, 1},     {3, 2, 0},      {16, 64, 32},   {17, 65, 33},
                                      {70, 100, 9},  {1, 90, 50},    {14, 200, 600}, {14, 200, 600},
                                      {7, 33, 1300}, {25, 97, 1301}, {13, 64, 1027}};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    MatmulShape s = {.m = 1 + below(r, 60), .n = 1 + below(r, 90), .k = 1 + below(r, 60)};
    if (turn < SIZES)
        s.m = sizes[turn][0], s.n = sizes[turn][1], s.k = sizes[turn][2];
    s.a_transposed = chance(r, 0.5), s.b_transposed = chance(r, 0.5);
    s.a_stride = (s.a_transposed ? s.m : s.k) + below(r, 5);
    s.b_stride = (s.b_transposed ? s.k : s.n) + below(r, 5);
    s.c_stride = s.n + below(r, 5);
    s.add = chance(r, 0.5), s.bias = chance(r, 0.5), s.relu = chance(r, 0.5);
    s.inputs = chance(r, 0.5) ? ELEMENT_BF16 : ELEMENT_F32;
    s.output = chance(r, 0.5) && s.k < LONG ? ELEMENT_BF16 : ELEMENT_F32; /* which has to hold the sums exactly */
    if (s.k >= LONG && turn % 2)                                          /* the gradient of a weight */
        s.a_transposed = true, s.b_transposed = s.bias = s.relu = false, s.a_stride = s.m, s.b_stride = s.n;
    return s;
}

static float wanted(const MatmulShape *s, size_t i, size_t j)
{
    float x = (s->bias ? bias[j] : 0) + (s->add ? number(&was, i * s->c_stride + j) : 0);
    for (size_t l = 0; l < s->k; l++)
        x += number(&a, s->a_transposed ? l * s->a_stride + i : i * s->a_stride + l) *
             number(&b, s->b_transposed ? j * s->b_stride + l : l * s->b_stride + j);
    return s->relu && x < 0 ? 0 : x;
}

/* To the bit, and what is between rows stays. */
START_TEST(a_product_is_the_sum_of_products)
{
    Random r = {.seed = (uint32_t)_i};
    MatmulShape s = shape_of(&r, (size_t)_i);
    const size_t end = s.m * s.c_stride + 64; /* a little after it */
    fill(&a, &r, s.inputs, 1, s.a_stride * (s.a_transposed ? s.k : s.m));
    fill(&b, &r, s.inputs, 2, s.b_stride * (s.b_transposed ? s.n : s.k));
    fill(&was, &r, s.output, 50, end);
    for (size_t j = 0; j < s.n; j++)
        bias[j] = (float)below(&r, 21) - 10;
    for (const CpuLevel *l = cpu_levels; l->name && !cpu_lacks(l); l++) {
        c = was;
        void *scratch = malloc(l->scratch(&s));
        ck_assert_ptr_nonnull(scratch);
        l->product(&s, data(&c), data(&a), data(&b), s.bias ? bias : NULL, scratch);
        free(scratch);
        for (size_t at = 0; at < end; at++) {
            size_t i = at / s.c_stride, j = at % s.c_stride;
            float want = i < s.m && j < s.n ? wanted(&s, i, j) : number(&was, at), found = number(&c, at);
            ck_assert_msg(found == want, "%s: %zu by %zu by %zu, row %zu, column %zu: %g, not %g", l->name, s.m, s.n,
                          s.k, i, j, (double)found, (double)want);
        }
    }
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(a_product_is_the_sum_of_products, 64)};
    return suite_run("kernels/blocked", tests, sizeof tests / sizeof *tests, argc, argv);
}
