/* The likeliest classes and how likely they are. */
#include "tests/kernels/backends.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WHICH, VALUES, ONE, LOGITS };

typedef struct Choosing {
    size_t n, v, k;
    int32_t class;
} Choosing;

static void choices(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    (void)state;
    const Choosing *a = c->shape;
    k->choices(s, at[WHICH], at[VALUES], at[ONE], at[LOGITS], a->class, a->n, a->v, a->k);
}

/* Logits of which (odd seeds) many are equal; all of them whole numbers, which every type holds. */
static Case choices_case(Choosing *a, size_t n, size_t v, size_t k, uint32_t seed)
{
    *a = (Choosing){n, v, k, (int32_t)(seed % v)};
    Case c = case_new(choices, a, seed);
    snprintf(c.words, sizeof c.words, "n %d, V %d, k %d", (int)n, (int)v, (int)k);
    tensor(&c, WHICH, "which", INTEGERS, WRITTEN, n, k);
    Tensor *values = tensor(&c, VALUES, "values", REALS, WRITTEN, n, k);
    Tensor *one = tensor(&c, ONE, "one", REALS, WRITTEN, n, 1);
    Tensor *logits = tensor(&c, LOGITS, "logits", REALS, READ, n, v);
    values->terms = one->terms = v;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < v; j++)
            *element(logits, i, j) = (double)below(&c.random, seed % 2 ? 4 : 40) - 12;
    return c;
}

static double logit(const Case *c, size_t i, size_t j) { return *element(&c->tensor[LOGITS], i, j); }

/* How many classes go before class j. */
static size_t rank_of(const Case *c, size_t i, size_t j)
{
    const Choosing *a = c->shape;
    size_t rank = 0;
    for (size_t l = 0; l < a->v; l++)
        rank += logit(c, i, l) > logit(c, i, j) || (logit(c, i, l) == logit(c, i, j) && l < j);
    return rank;
}

static double share_of(const Case *c, size_t i, size_t j)
{
    const Choosing *a = c->shape;
    double sum = 0;
    for (size_t l = 0; l < a->v; l++)
        sum += exp(logit(c, i, l) - logit(c, i, j));
    return -log(sum);
}

/* A sum of v floats, one after the other, can be off by v / 2 units in the last place; in lanes by far less. */
static double rounding_of(const Kernels *k, size_t v)
{
    return k->type == NUMBER_F64 ? 1e-12 : 2e-6 + (strcmp(k->backend, "plain") == 0 ? 6e-8 : 6e-9) * (double)v;
}

static void check_row(const Case *c, const Kernels *k, const Result *r, size_t i)
{
    const Choosing *a = c->shape;
    const double rounding = rounding_of(k, a->v);
    for (size_t m = 0; m < a->k; m++) {
        double class = result_at(c, r, WHICH, i, m), value = result_at(c, r, VALUES, i, m);
        if (m >= a->v) {
            ck_assert(class == -1 && value == -INFINITY);
            continue;
        }
        ck_assert_msg(class >= 0 && class < (double)a->v && rank_of(c, i, (size_t) class) == m,
                      "%s, %s: row %zu, choice %zu is %g", k->backend, c->words, i, m, class);
        ck_assert_double_eq_tol(value, share_of(c, i, (size_t) class), rounding);
        ck_assert_double_le(value, 0);
    }
    ck_assert_double_eq_tol(result_at(c, r, ONE, i, 0), share_of(c, i, (size_t)a->class), rounding);
}

static void check_all(const Case *c)
{
    const Choosing *a = c->shape;
    for (size_t t = 0;; t++) {
        const Kernels *k = t ? backend(t - 1) : &plain_f64;
        if (!k)
            break;
        Result r = case_run(c, k, k->type);
        for (size_t i = 0; i < a->n; i++)
            check_row(c, k, &r, i);
        result_free(&r);
    }
}

START_TEST(the_likeliest_come_in_order_and_of_equal_ones_the_first)
{
    static const size_t sizes[][3] = {{0, 3, 2},    {1, 1, 1},      {5, 2, 2},     {4, 7, 3},
                                      {3, 8, 8},    {3, 15, 0},     {3, 16, 4},    {3, 17, 20},
                                      {2, 31, 31},  {2, 257, 40},   {1, 1000, 4},  {6, 33, 1},
                                      {2, 4096, 5}, {2, 4097, 300}, {2, 10007, 4}, {1, 40000, 8}};
    for (uint32_t seed = 0; seed < 4; seed++) {
        Choosing a;
        Case c = choices_case(&a, sizes[_i][0], sizes[_i][1], sizes[_i][2], seed + 4 * (uint32_t)_i);
        check_all(&c);
        case_free(&c);
    }
}

/* Where the largest logits of a row are close together, or in its last, incomplete vector. */
START_TEST(neighbours_can_be_the_likeliest)
{
    static const size_t sizes[] = {9, 64, 1000, 10001};
    const size_t v = sizes[_i];
    for (size_t first = 0; first + 4 <= v; first += v / 8 ? v / 8 : 1)
        for (int last = 0; last < 2; last++) {
            Choosing a;
            Case c = choices_case(&a, 1, v, 4, 2);
            for (size_t m = 0; m < 4; m++)
                *element(&c.tensor[LOGITS], 0, last ? v - 4 + m : first + m) = 100 + (double)(m % 3);
            check_all(&c);
            case_free(&c);
        }
}

static void expect(const Case *c, size_t m, int32_t class, double value)
{
    for (size_t t = 0;; t++) {
        const Kernels *k = t ? backend(t - 1) : &plain_f64;
        if (!k)
            break;
        Result r = case_run(c, k, k->type);
        double found = result_at(c, &r, VALUES, 0, m);
        ck_assert_msg(result_at(c, &r, WHICH, 0, m) == (double)class, "%s, %s: choice %zu is %g, not %d", k->backend,
                      c->words, m, result_at(c, &r, WHICH, 0, m), (int)class);
        ck_assert_msg(found == value || fabs(found - value) <= 1e-5, "%s, %s: choice %zu has %g, not %g", k->backend,
                      c->words, m, found, value);
        result_free(&r);
    }
}

START_TEST(what_is_no_number_cannot_be_chosen)
{
    static const struct {
        double logit[5];
        int32_t class[3];
        double value[3];
    } rows[] = {{{NAN, 1, NAN, 1, -INFINITY}, {1, 3, -1}, {-0.693147181, -0.693147181, -INFINITY}},
                {{-INFINITY, -INFINITY, 3, -INFINITY, -INFINITY}, {2, -1, -1}, {0, -INFINITY, -INFINITY}},
                {{NAN, NAN, NAN, NAN, NAN}, {-1, -1, -1}, {-INFINITY, -INFINITY, -INFINITY}},
                {{INFINITY, 1, INFINITY, NAN, 5}, {0, 2, 4}, {-0.693147181, -0.693147181, -DBL_MAX}},
                {{0, -0.0, 0, NAN, -0.0}, {0, 1, 2}, {-1.386294361, -1.386294361, -1.386294361}},
                {{-200, 0, -1000, NAN, NAN}, {1, 0, 2}, {0, -200, -1000}}};
    for (size_t v = 5; v < 400; v += 131) /* the five at the end of V classes that are none */
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            Choosing a;
            Case c = choices_case(&a, 1, v, 3, 3);
            for (size_t j = 0; j < v; j++)
                *element(&c.tensor[LOGITS], 0, j) = j + 5 < v ? (j % 2 ? NAN : -INFINITY) : rows[i].logit[j + 5 - v];
            for (size_t m = 0; m < 3; m++) {
                int32_t class = rows[i].class[m];
                if (rows[i].value[m] > -DBL_MAX || class < 0)
                    expect(&c, m, class < 0 ? -1 : class + (int32_t)(v - 5), rows[i].value[m]);
            }
            case_free(&c);
        }
}

START_TEST(the_one_class_has_its_share_wherever_it_ranks)
{
    Choosing a;
    Case c = choices_case(&a, 1, 100, 1, 6);
    double values[] = {-INFINITY, NAN, INFINITY, 50, -50};
    for (size_t i = 0; i < 5; i++) {
        *element(&c.tensor[LOGITS], 0, 6) = values[i];
        EACH_BACKEND(r, &c) {
            double found = result_at(&c, &r, ONE, 0, 0);
            if (i < 2)
                ck_assert(found == -INFINITY);
            else if (i < 4)
                ck_assert(found <= 0 && found > -1e-6);
            else
                ck_assert_double_eq_tol(found, share_of(&c, 0, 6), 1e-5);
        }
    }
    case_free(&c);
}

START_TEST(the_one_class_has_no_share_where_none_can_be_chosen)
{
    Choosing a;
    Case c = choices_case(&a, 2, 9, 1, 3);
    for (size_t j = 0; j < 9; j++)
        *element(&c.tensor[LOGITS], 0, j) = NAN, *element(&c.tensor[LOGITS], 1, j) = -INFINITY;
    EACH_BACKEND(r, &c)
        for (size_t i = 0; i < 2; i++)
            ck_assert(result_at(&c, &r, ONE, i, 0) == -INFINITY);
    case_free(&c);
}

START_TEST(the_same_bits_with_any_team)
{
    Choosing a;
    case_ask(case_teams, choices_case(&a, 13, 1003, 7, 4));
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(the_likeliest_come_in_order_and_of_equal_ones_the_first, 16),
                                 TEST_LOOP(neighbours_can_be_the_likeliest, 4),
                                 TEST(what_is_no_number_cannot_be_chosen),
                                 TEST(the_one_class_has_its_share_wherever_it_ranks),
                                 TEST(the_one_class_has_no_share_where_none_can_be_chosen),
                                 TEST(the_same_bits_with_any_team)};
    return suite_run("kernels/choices", tests, sizeof tests / sizeof *tests, argc, argv);
}
