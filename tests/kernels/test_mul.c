/* The product of two tensors, element by element. */
#include "tests/kernels/backends.h"

#include <math.h>
#include <stdio.h>

enum { Y, A, B, DA, DB, DY };

typedef struct Mul {
    size_t n;
    bool itself; /* one tensor as both */
} Mul;

static void mul(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    (void)state;
    const Mul *m = c->shape;
    const void *b = m->itself ? at[A] : at[B];
    k->mul_forward(s, at[Y], at[A], b, m->n);
    if (m->itself)
        k->mul_backward(s, at[DA], c->add, at[DA], true, at[DY], at[A], b, m->n);
    else
        k->mul_backward(s, at[DA], c->add, at[DB], c->add, at[DY], at[A], b, m->n);
}

static Case mul_sized(const Mul *m, uint32_t seed)
{
    Case c = case_new(mul, m, seed);
    snprintf(c.words, sizeof c.words, "mul of %d%s", (int)m->n, m->itself ? " by itself" : "");
    tensor(&c, Y, "y", NUMBERS, WRITTEN, m->n, 1);
    tensor(&c, A, "a", NUMBERS, READ, m->n, 1);
    tensor(&c, B, "b", NUMBERS, m->itself ? ABSENT : READ, m->n, 1);
    Tensor *da = gradient(&c, DA, "da", NUMBERS, GRADIENT, A);
    Tensor *db = gradient(&c, DB, "db", NUMBERS, m->itself ? ABSENT : GRADIENT, B);
    da->stores = m->itself ? 3 : 2;
    da->optional = db->optional = !m->itself;
    db->stores = 2;
    da->floor = db->floor = 1;
    output(&c, Y, DY);
    return c;
}

static Case mul_case(Mul *m, uint32_t seed)
{
    static const size_t sizes[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 33, 1000, 60};
    *m = (Mul){sizes[seed % (sizeof sizes / sizeof *sizes)], seed % 5 == 4};
    return mul_sized(m, seed);
}

START_TEST(every_backend_agrees_with_f64)
{
    SKIP_IF_FAST(_i);
    Mul m;
    case_ask(case_agrees, mul_case(&m, (uint32_t)_i));
}

START_TEST(gradients_are_slopes)
{
    Mul m = {.n = 23, .itself = _i};
    Case c = mul_sized(&m, 2 * (uint32_t)_i); /* over what is there, and (of itself) added to its own first half */
    case_ask(case_differentiates, c);
}

START_TEST(gradients_are_added_where_asked_and_either_may_be_unwanted)
{
    Mul m = {.n = 20 + (size_t)_i};
    Case c = mul_sized(&m, (uint32_t)_i);
    case_adds(&c);
    case_ask(case_spares, c);
}

/* Each gradient may be added while the other is not. */
static void mixed(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    (void)state;
    const Mul *m = c->shape;
    k->mul_backward(s, at[DA], c->add, at[DB], !c->add, at[DY], at[A], at[B], m->n);
}

START_TEST(the_flags_of_both_gradients_are_apart)
{
    for (size_t k = 0; backend(k); k++) {
        Mul m = {.n = 19};
        Case c = mul_sized(&m, (uint32_t)_i);
        c.call = mixed;
        c.tensor[DB].use = c.add ? WRITTEN : ADDED;
        Result r = case_run(&c, backend(k), backend(k)->type);
        double near = backend(k)->type == NUMBER_BF16 ? 0x1p-6 : 1e-6;
        for (size_t i = 0; i < m.n; i++) {
            double dy = *element(&c.tensor[DY], i, 0), a = *element(&c.tensor[A], i, 0);
            double b = *element(&c.tensor[B], i, 0);
            double da = dy * b + (c.add ? *element(&c.tensor[DA], i, 0) : 0);
            double db = dy * a + (c.add ? 0 : *element(&c.tensor[DB], i, 0));
            ck_assert_double_eq_tol(result_at(&c, &r, DA, i, 0), da, near);
            ck_assert_double_eq_tol(result_at(&c, &r, DB, i, 0), db, near);
        }
        result_free(&r);
        case_free(&c);
    }
}

START_TEST(what_is_not_finite_stays_where_it_is)
{
    static const double special[][3] = {{NAN, 1, NAN},          {0, INFINITY, NAN}, {-INFINITY, 2, -INFINITY},
                                        {1e30, 1e30, INFINITY}, {-0.0, 3, 0},       {2, 3, 6}};
    enum { N = sizeof special / sizeof *special };
    Mul m = {.n = N};
    Case c = mul_sized(&m, 2);
    for (size_t i = 0; i < N; i++) {
        *element(&c.tensor[A], i, 0) = special[i][0];
        *element(&c.tensor[B], i, 0) = special[i][1];
    }
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < N; i++) {
            double y = result_at(&c, &r, Y, i, 0);
            ck_assert_msg(isnan(special[i][2]) ? isnan(y) : y == special[i][2], "%g times %g is %g", special[i][0],
                          special[i][1], y);
        }
    }
    case_free(&c);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(every_backend_agrees_with_f64, 48), TEST_LOOP(gradients_are_slopes, 2),
                                 TEST_LOOP(gradients_are_added_where_asked_and_either_may_be_unwanted, 4),
                                 TEST_LOOP(the_flags_of_both_gradients_are_apart, 2),
                                 TEST(what_is_not_finite_stays_where_it_is)};
    return suite_run("kernels/mul", tests, sizeof tests / sizeof *tests, argc, argv);
}
