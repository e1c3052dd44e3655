/* The likeliest class. */
#include "tests/kernels/backends.h"

#include <math.h>
#include <stdio.h>

enum { Y, LOGITS };

typedef struct Classes {
    size_t n, v;
} Classes;

static void argmax(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    (void)state;
    const Classes *a = c->shape;
    k->argmax(s, at[Y], at[LOGITS], a->n, a->v);
}

/* Logits of which many are equal. */
static Case argmax_case(Classes *a, size_t n, size_t v, uint32_t seed)
{
    *a = (Classes){n, v};
    Case c = case_new(argmax, a, seed);
    snprintf(c.words, sizeof c.words, "n %d, V %d", (int)n, (int)v);
    tensor(&c, Y, "y", INTEGERS, WRITTEN, n, 1);
    Tensor *logits = tensor(&c, LOGITS, "logits", REALS, READ, n, v);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < v; j++)
            *element(logits, i, j) = (double)below(&c.random, seed % 2 ? 4 : 1000) - 2;
    return c;
}

/* The smallest j with no larger logit anywhere. */
static size_t by_definition(const Case *c, size_t i)
{
    const Classes *a = c->shape;
    for (size_t j = 0; j < a->v; j++) {
        bool largest = true;
        for (size_t l = 0; l < a->v; l++)
            largest = largest && !(*element(&c->tensor[LOGITS], i, l) > *element(&c->tensor[LOGITS], i, j));
        if (largest)
            return j;
    }
    return a->v;
}

static void expect(const Case *c, size_t i, size_t class)
{
    EACH_BACKEND(r, c) {
        ck_assert_msg(result_at(c, &r, Y, i, 0) == (double)class, "%s %s, %s: class %g, not %d", r.k->backend,
                      number_type_name(r.k->type), c->words, result_at(c, &r, Y, i, 0), (int)class);
    }
    Result r = case_run(c, &plain_f64, NUMBER_F64);
    ck_assert(result_at(c, &r, Y, i, 0) == (double)class);
    result_free(&r);
}

START_TEST(the_first_of_the_largest_is_found)
{
    static const size_t sizes[][2] = {{0, 3},  {1, 1},  {5, 2},   {4, 7},    {3, 8},  {3, 15}, {3, 16}, {3, 17},
                                      {2, 31}, {2, 32}, {2, 257}, {1, 1000}, {6, 33}, {9, 5},  {6, 1}};
    Classes a;
    Case c = argmax_case(&a, sizes[_i][0], sizes[_i][1], (uint32_t)_i);
    for (size_t i = 0; i < a.n; i++)
        expect(&c, i, by_definition(&c, i));
    case_free(&c);
}

START_TEST(infinities_are_numbers_and_nan_is_above_all)
{
    static const struct {
        double value[5];
        size_t class;
    } rows[] = {{{-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY}, 0},
                {{-INFINITY, -1e30, -INFINITY, -1e30, -INFINITY}, 1},
                {{1, INFINITY, 2, INFINITY, 3}, 1},
                {{-0.0, 0, 0, -1, -0.0}, 0},
                {{INFINITY, 1, NAN, INFINITY, NAN}, 2},
                {{NAN, NAN, NAN, NAN, NAN}, 0},
                {{0, 0, 0, 0, NAN}, 4}};
    for (size_t v = 5; v < 40; v += 17) /* the five at the end of V classes that are none */
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            Classes a;
            Case c = argmax_case(&a, 1, v, 3);
            for (size_t j = 0; j < v; j++)
                *element(&c.tensor[LOGITS], 0, j) = j + 5 < v ? -INFINITY : rows[i].value[j + 5 - v];
            expect(&c, 0, i ? v - 5 + rows[i].class : 0);
            case_free(&c);
        }
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(the_first_of_the_largest_is_found, 15),
                                 TEST(infinities_are_numbers_and_nan_is_above_all)};
    return suite_run("kernels/argmax", tests, sizeof tests / sizeof *tests, argc, argv);
}
