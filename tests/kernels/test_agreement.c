/* R-Drop's loss: how far two passes are apart. */
#include "tests/kernels/backends.h"

#include <math.h>
#include <stdio.h>

enum { LOSS, SAVED, X, Z, TARGETS, DX, DZ, ARRIVES };

typedef struct Passes {
    size_t n, v;
    double c;
} Passes;

static void call(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    const Passes *p = c->shape;
    k->agreement_forward(s, at[LOSS], at[SAVED], state, 1, at[X], at[Z], at[TARGETS], p->c, p->n, p->v);
    k->agreement_backward(s, at[DX], c->add, at[DZ], c->add, state, 1, at[SAVED], at[X], at[Z], at[TARGETS], p->c, p->n,
                          p->v);
}

static Case passes(Passes *p, uint32_t seed)
{
    static const size_t sizes[][2] = {{0, 5}, {1, 1}, {1, 2}, {9, 3}, {4, 257}, {40, 17}};
    Random random = {.seed = seed + 500};
    *p = (Passes){.n = below(&random, 20), .v = 1 + below(&random, 60), .c = 0.7};
    if (seed < sizeof sizes / sizeof *sizes)
        p->n = sizes[seed][0], p->v = sizes[seed][1];
    Case c = case_new(call, p, seed);
    snprintf(c.words, sizeof c.words, "n %d V %d", (int)p->n, (int)p->v);
    c.state.loss[1].scale = 0.25;
    c.state.loss[1].sum = 2;
    Tensor *losses = tensor(&c, LOSS, "losses", REALS, WRITTEN, p->n, 1);
    tensor(&c, SAVED, "saved", REALS, SPOILED, p->n, 4);
    for (size_t i = X; i <= Z; i++) {
        Tensor *logits = tensor(&c, i, i == X ? "x" : "z", REALS, READ, p->n, p->v);
        for (size_t n = 0; n < p->n; n++)
            for (size_t j = 0; j < p->v; j++)
                *element(logits, n, j) *= 3;
    }
    Tensor *targets = tensor(&c, TARGETS, "targets", INTEGERS, READ, p->n, 1);
    for (size_t i = 0; i < p->n; i++)
        *element(targets, i, 0) = chance(&c.random, 0.2) ? -1 : (double)below(&c.random, p->v);
    losses->terms = 4 * p->v, losses->floor = 3;
    for (size_t i = DX; i <= DZ; i++) {
        Tensor *d = gradient(&c, i, i == DX ? "dx" : "dz", NUMBERS, GRADIENT, i == DX ? X : Z);
        d->terms = 4 * p->v, d->floor = 1;
    }
    output(&c, LOSS, ARRIVES);
    tensor_fill(&c.tensor[ARRIVES], c.state.loss[1].scale);
    return c;
}

START_TEST(every_backend_agrees_with_f64)
{
    SKIP_IF_FAST(_i);
    Passes p;
    Case c = passes(&p, (uint32_t)_i);
    case_agrees(&c);
    Result f64 = case_run(&c, &plain_f64, NUMBER_F32);
    EACH_BACKEND(r, &c) {
        ck_assert_double_eq_tol(r.state.loss[1].sum, f64.state.loss[1].sum, 1e-5 * (1 + (double)p.n));
        ck_assert(r.state.loss[1].count == c.state.loss[1].count && r.state.loss[1].nll == c.state.loss[1].nll);
    }
    result_free(&f64);
    case_free(&c);
}

START_TEST(gradients_are_slopes)
{
    SKIP_IF_FAST(_i);
    Passes p;
    case_ask(case_differentiates, passes(&p, (uint32_t)_i));
}

START_TEST(gradients_are_added_where_asked)
{
    Passes p;
    case_ask(case_adds, passes(&p, 3 + (uint32_t)_i));
}

/* c/2 (KL(p, q) + KL(q, p)), word by word. */
START_TEST(the_loss_is_the_sum_of_both_divergences)
{
    Passes p;
    Case c = passes(&p, 8);
    Result r = case_run(&c, &plain_f64, NUMBER_F64);
    for (size_t i = 0; i < p.n; i++) {
        double sums[2] = {0}, loss = 0;
        for (size_t j = 0; j < p.v; j++)
            for (size_t s = 0; s < 2; s++)
                sums[s] += exp(*element(&c.tensor[X + s], i, j));
        for (size_t j = 0; j < p.v && *element(&c.tensor[TARGETS], i, 0) >= 0; j++) {
            const double one = exp(*element(&c.tensor[X], i, j)) / sums[0],
                         two = exp(*element(&c.tensor[Z], i, j)) / sums[1];
            loss += p.c / 2 * (one * log(one / two) + two * log(two / one));
        }
        ck_assert_double_eq_tol(result_at(&c, &r, LOSS, i, 0), loss, 1e-12);
    }
    result_free(&r);
    case_free(&c);
}

/* Vectors are filled up with zeros, whose exp is infinite beside such logits. */
START_TEST(logits_far_below_0_stay_finite)
{
    Passes p;
    Case c = passes(&p, 3);
    for (size_t i = 0; i < p.n; i++)
        for (size_t j = 0; j < p.v; j++)
            *element(&c.tensor[X], i, j) -= 500, *element(&c.tensor[Z], i, j) -= 500;
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < p.n; i++)
            ck_assert(isfinite(result_at(&c, &r, LOSS, i, 0)) && isfinite(result_at(&c, &r, DX, i, 0)));
    }
    case_free(&c);
}

/* Their powers are infinite, and 0 times infinity is NaN. */
START_TEST(what_is_not_scored_has_no_gradient_whatever_its_logits)
{
    Passes p;
    Case c = passes(&p, 3);
    *element(&c.tensor[TARGETS], 0, 0) = -1;
    for (size_t j = 0; j < p.v; j++)
        *element(&c.tensor[X], 0, j) += 100, *element(&c.tensor[Z], 0, j) += 200;
    c.add = false;
    EACH_BACKEND(r, &c) {
        for (size_t j = 0; j < p.v; j++)
            ck_assert(result_at(&c, &r, DX, 0, j) == 0 && result_at(&c, &r, DZ, 0, j) == 0);
    }
    case_free(&c);
}

START_TEST(passes_that_agree_cost_nothing)
{
    Passes p;
    Case c = passes(&p, 4);
    for (size_t i = 0; i < p.n; i++)
        for (size_t j = 0; j < p.v; j++)
            *element(&c.tensor[Z], i, j) = *element(&c.tensor[X], i, j);
    c.add = false;
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < p.n; i++) {
            ck_assert(result_at(&c, &r, LOSS, i, 0) == 0);
            for (size_t j = 0; j < p.v; j++)
                ck_assert(result_at(&c, &r, DX, i, j) == 0 && result_at(&c, &r, DZ, i, j) == 0);
        }
    }
    case_free(&c);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(every_backend_agrees_with_f64, 40),  TEST_LOOP(gradients_are_slopes, 24),
        TEST_LOOP(gradients_are_added_where_asked, 4), TEST(the_loss_is_the_sum_of_both_divergences),
        TEST(logits_far_below_0_stay_finite),          TEST(what_is_not_scored_has_no_gradient_whatever_its_logits),
        TEST(passes_that_agree_cost_nothing)};
    return suite_run("kernels/agreement", tests, sizeof tests / sizeof *tests, argc, argv);
}
