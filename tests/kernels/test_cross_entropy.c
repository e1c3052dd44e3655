/* Softmax and cross-entropy. */
#include "tests/kernels/backends.h"

#include <math.h>
#include <stdio.h>

enum { LOSS, LSE, LOGITS, TARGETS, DLOGITS, ARRIVES };

typedef struct Entropy {
    size_t n, v, which;
    double smoothing, z;
} Entropy;

static void entropy(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    const Entropy *e = c->shape;
    k->cross_entropy_forward(s, at[LOSS], at[LSE], state, e->which, at[LOGITS], at[TARGETS], e->smoothing, e->n, e->v);
    if (e->z > 0)
        k->z_loss_forward(s, at[LOSS], state, e->which, at[LSE], e->z, e->n);
    k->cross_entropy_backward(s, at[DLOGITS], c->add, state, e->which, at[LSE], at[LOGITS], at[TARGETS], e->smoothing,
                              e->n, e->v);
    if (e->z > 0)
        k->z_loss_backward(s, at[DLOGITS], true, state, e->which, at[LSE], at[LOGITS], e->z, e->n, e->v);
}

/* Logits within `reach`; a share of targets is ignored. */
static Case entropy_sized(Entropy *e, uint32_t seed, double reach, double ignored)
{
    Case c = case_new(entropy, e, seed);
    c.add = false;
    snprintf(c.words, sizeof c.words, "n %d V %d smoothing %g", (int)e->n, (int)e->v, e->smoothing);
    c.state.loss[e->which].scale = e->n ? 1 / (double)e->n : 0;
    c.state.loss[e->which].sum = 2.5;
    c.state.loss[e->which].nll = 1.5;
    c.state.loss[e->which].count = 7;
    Tensor *losses = tensor(&c, LOSS, "losses", REALS, WRITTEN, e->n, 1);
    tensor(&c, LSE, "lse", REALS, SPOILED, e->n, 1); /* where nothing was scored, anything */
    Tensor *logits = tensor(&c, LOGITS, "logits", REALS, READ, e->n, e->v);
    for (size_t i = 0; i < e->n; i++)
        for (size_t j = 0; j < e->v; j++)
            *element(logits, i, j) *= reach;
    Tensor *targets = tensor(&c, TARGETS, "targets", INTEGERS, READ, e->n, 1);
    for (size_t i = 0; i < e->n; i++)
        *element(targets, i, 0) = chance(&c.random, ignored) ? -1 : (double)below(&c.random, e->v);
    Tensor *dlogits = gradient(&c, DLOGITS, "dlogits", NUMBERS, GRADIENT, LOGITS);
    output(&c, LOSS, ARRIVES);
    tensor_fill(&c.tensor[ARRIVES], c.state.loss[e->which].scale);
    losses->terms = dlogits->terms = e->v;
    losses->floor = 1;
    dlogits->floor = c.state.loss[e->which].scale;
    dlogits->stores += e->z > 0; /* both losses write */
    return c;
}

static Case entropy_case(Entropy *e, uint32_t seed)
{
    static const size_t sizes[][2] = {{0, 5}, {1, 1}, {1, 2}, {9, 3}, {4, 257}, {3, 1000}, {40, 17}, {2, 10000}};
    Random random = {.seed = seed + 1000};
    *e = (Entropy){.n = below(&random, 20), .v = 1 + below(&random, 60)};
    if (seed < sizeof sizes / sizeof *sizes)
        e->n = sizes[seed][0], e->v = sizes[seed][1];
    e->which = below(&random, 2);
    e->smoothing = chance(&random, 0.5) ? 0.1 : 0;
    const double reach = chance(&random, 0.5) ? 3 : 10;
    e->z = seed % 2 ? 0.01 : 0;
    Case c = entropy_sized(e, seed, reach, 0.2);
    c.add = chance(&random, 0.5);
    return c;
}

static void sums_agree(const Case *c, const Result *f64, const Result *r)
{
    const Entropy *e = c->shape;
    ck_assert(r->state.loss[e->which].count == f64->state.loss[e->which].count);
    ck_assert_double_eq_tol(r->state.loss[e->which].sum, f64->state.loss[e->which].sum, 1e-6 * (1 + 3 * (double)e->n));
    ck_assert_double_eq_tol(r->state.loss[e->which].nll, f64->state.loss[e->which].nll, 1e-6 * (1 + 3 * (double)e->n));
    ck_assert(r->state.loss[e->which].scale == c->state.loss[e->which].scale);
    ck_assert(r->state.loss[!e->which].count == 0 && r->state.loss[!e->which].sum == 0 &&
              r->state.loss[!e->which].nll == 0);
    ck_assert(r->state.seed == c->state.seed && r->state.norm == 0 && r->state.finite == 1);
}

START_TEST(every_backend_agrees_with_f64)
{
    SKIP_IF_FAST(_i);
    Entropy e;
    Case c = entropy_case(&e, (uint32_t)_i);
    case_agrees(&c);
    Result f64 = case_run(&c, &plain_f64, NUMBER_F32);
    EACH_BACKEND(r, &c) {
        sums_agree(&c, &f64, &r);
    }
    result_free(&f64);
    case_free(&c);
}

START_TEST(gradients_are_slopes)
{
    SKIP_IF_FAST(_i);
    Entropy e;
    case_ask(case_differentiates, entropy_case(&e, (uint32_t)_i));
}

START_TEST(gradients_are_added_where_asked)
{
    Entropy e;
    case_ask(case_adds, entropy_case(&e, 3 + (uint32_t)_i));
}

START_TEST(losses_are_what_the_definition_says)
{
    Entropy e = {.n = 12, .v = 9, .smoothing = _i % 2 ? 0.1 : 0, .z = _i / 2 ? 0.25 : 0};
    Case c = entropy_sized(&e, 5, 4, 0.3);
    Result r = case_run(&c, &plain_f64, NUMBER_F64);
    double total = 0, nll = 0, count = 0;
    for (size_t i = 0; i < e.n; i++) {
        double sum = 0, loss = 0, target = *element(&c.tensor[TARGETS], i, 0);
        for (size_t j = 0; j < e.v; j++)
            sum += exp(*element(&c.tensor[LOGITS], i, j));
        for (size_t j = 0; j < e.v && target >= 0; j++) {
            double share = e.smoothing / (double)e.v + ((double)j == target ? 1 - e.smoothing : 0);
            loss -= share * (*element(&c.tensor[LOGITS], i, j) - log(sum));
        }
        loss += target >= 0 ? e.z * log(sum) * log(sum) : 0;
        ck_assert_double_eq_tol(result_at(&c, &r, LOSS, i, 0), loss, 1e-13);
        if (target >= 0)
            ck_assert_double_eq_tol(result_at(&c, &r, LSE, i, 0), log(sum), 1e-13);
        total += loss;
        nll += target >= 0 ? log(sum) - *element(&c.tensor[LOGITS], i, (size_t)target) : 0;
        count += target >= 0;
    }
    ck_assert_double_eq_tol(r.state.loss[0].nll, 1.5 + nll, 1e-12);
    ck_assert_double_eq_tol(r.state.loss[0].sum, 2.5 + total, 1e-12);
    ck_assert(r.state.loss[0].count == 7 + count);
    result_free(&r);
    case_free(&c);
}

START_TEST(an_all_ignored_batch_has_loss_0_count_0_and_no_gradient)
{
    Entropy e = {.n = 8, .v = 11, .smoothing = _i ? 0.1 : 0, .z = _i ? 0.1 : 0};
    Case c = entropy_sized(&e, 5, 4, 1);
    c.state.loss[0].scale = c.state.loss[0].sum = c.state.loss[0].nll = c.state.loss[0].count = 0;
    EACH_BACKEND(r, &c) {
        ck_assert(r.state.loss[0].sum == 0 && r.state.loss[0].nll == 0 && r.state.loss[0].count == 0);
        for (size_t i = 0; i < e.n; i++) {
            ck_assert(result_at(&c, &r, LOSS, i, 0) == 0);
            for (size_t j = 0; j < e.v; j++)
                ck_assert(result_at(&c, &r, DLOGITS, i, j) == 0);
        }
    }
    case_free(&c);
}

START_TEST(logits_of_an_ignored_target_may_hold_anything)
{
    Entropy e = {.n = 3, .v = 5};
    Case c = entropy_sized(&e, 5, 4, 0);
    *element(&c.tensor[TARGETS], 1, 0) = -100;
    for (size_t j = 0; j < e.v; j++)
        *element(&c.tensor[LOGITS], 1, j) = j % 2 ? NAN : INFINITY;
    EACH_BACKEND(r, &c) {
        ck_assert(isfinite(r.state.loss[0].sum) && r.state.loss[0].count == 9);
        ck_assert(result_at(&c, &r, LOSS, 1, 0) == 0 && result_at(&c, &r, DLOGITS, 1, 3) == 0);
    }
    case_free(&c);
}

/* The right one far ahead: loss 0. Another far ahead: the distance. All equal: log V, however large they are. */
START_TEST(logits_of_1e30_give_finite_losses)
{
    Entropy e = {.n = 3, .v = 4, .smoothing = 0};
    Case c = entropy_sized(&e, 5, 0, 0);
    const double expected[] = {0, 1e30, log(4)};
    *element(&c.tensor[LOGITS], 0, 1) = *element(&c.tensor[LOGITS], 1, 1) = 1e30;
    for (size_t j = 0; j < 4; j++)
        *element(&c.tensor[LOGITS], 2, j) = -1e30;
    *element(&c.tensor[TARGETS], 0, 0) = 1;
    *element(&c.tensor[TARGETS], 1, 0) = *element(&c.tensor[TARGETS], 2, 0) = 2;
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < e.n; i++) {
            ck_assert(fabs(result_at(&c, &r, LOSS, i, 0) - expected[i]) <= expected[i] * 1e-6);
            for (size_t j = 0; j < e.v; j++)
                ck_assert(isfinite(result_at(&c, &r, DLOGITS, i, j)));
        }
        ck_assert_double_eq_tol(result_at(&c, &r, DLOGITS, 1, 1), 1 / 3.0, 2e-3);
        ck_assert_double_eq_tol(result_at(&c, &r, DLOGITS, 1, 2), -1 / 3.0, 2e-3);
    }
    case_free(&c);
}

/* A logit of 10000 beside 9990: what is lost to rounding is that of the difference, not that of 10000. */
START_TEST(small_losses_of_large_logits_keep_their_digits)
{
    Entropy e = {.n = 1, .v = 2};
    Case c = entropy_sized(&e, 5, 0, 0);
    *element(&c.tensor[LOGITS], 0, 0) = 10000;
    *element(&c.tensor[LOGITS], 0, 1) = 9990;
    *element(&c.tensor[TARGETS], 0, 0) = 0;
    EACH_BACKEND(r, &c) {
        ck_assert_double_eq_tol(result_at(&c, &r, LOSS, 0, 0), log1p(exp(-10)), 2e-7);
    }
    case_free(&c);
}

START_TEST(a_class_ruled_out_by_minus_infinity_costs_nothing)
{
    Entropy e = {.n = 1, .v = 3};
    Case c = entropy_sized(&e, 5, 1, 0);
    *element(&c.tensor[LOGITS], 0, 0) = *element(&c.tensor[LOGITS], 0, 1) = 0.25;
    *element(&c.tensor[LOGITS], 0, 2) = -INFINITY;
    *element(&c.tensor[TARGETS], 0, 0) = 1;
    EACH_BACKEND(r, &c) {
        ck_assert_double_eq_tol(result_at(&c, &r, LOSS, 0, 0), log(2), 1e-6);
        ck_assert(result_at(&c, &r, DLOGITS, 0, 2) == 0);
    }
    case_free(&c);
}

START_TEST(nan_and_infinity_reach_the_sum)
{
    static const double bad[] = {NAN, INFINITY, NAN, INFINITY};
    Entropy e = {.n = 3, .v = 40, .smoothing = _i % 2 ? 0.1 : 0};
    Case c = entropy_sized(&e, 5, 4, 0);
    *element(&c.tensor[LOGITS], 1, _i < 2 ? 0 : 39) = bad[_i];
    EACH_BACKEND(r, &c) {
        ck_assert(!isfinite(r.state.loss[0].sum) && !isfinite(r.state.loss[0].nll));
        for (size_t i = 0; i < e.n; i++)
            ck_assert_int_eq(!isfinite(result_at(&c, &r, LOSS, i, 0)), i == 1);
    }
    case_free(&c);
}

START_TEST(without_smoothing_both_sums_are_the_same_to_the_bit)
{
    Entropy e = {.n = 9, .v = 37};
    Case c = entropy_sized(&e, 5, 4, 0.2);
    c.state.loss[0].nll = c.state.loss[0].sum;
    EACH_BACKEND(r, &c) {
        ck_assert(r.state.loss[0].nll == r.state.loss[0].sum && r.state.loss[0].sum > 3);
    }
    case_free(&c);
}

/* A sure and right answer has no loss, but for what smoothing asks of the other classes. */
START_TEST(smoothing_does_not_reach_the_true_loss)
{
    Entropy e = {.n = 1, .v = 4, .smoothing = 0.1};
    Case c = entropy_sized(&e, 5, 0, 0);
    c.state.loss[0].nll = c.state.loss[0].sum = 0;
    *element(&c.tensor[LOGITS], 0, 2) = 100;
    *element(&c.tensor[TARGETS], 0, 0) = 2;
    EACH_BACKEND(r, &c) {
        ck_assert(r.state.loss[0].nll == 0);
        ck_assert_double_eq_tol(r.state.loss[0].sum, 0.1 * 3 / 4 * 100, 1e-5);
    }
    case_free(&c);
}

START_TEST(a_gradient_sums_to_0_over_the_classes)
{
    Entropy e = {.n = 6, .v = 50, .smoothing = _i ? 0.2 : 0};
    Case c = entropy_sized(&e, 5, 4, 0.2);
    Result r = case_run(&c, &plain_f64, NUMBER_F64);
    for (size_t i = 0; i < e.n; i++) {
        double sum = 0;
        for (size_t j = 0; j < e.v; j++)
            sum += result_at(&c, &r, DLOGITS, i, j);
        ck_assert_double_eq_tol(sum, 0, 1e-14);
    }
    result_free(&r);
    case_free(&c);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(every_backend_agrees_with_f64, 40),
                                 TEST_LOOP(gradients_are_slopes, 20),
                                 TEST_LOOP(gradients_are_added_where_asked, 4),
                                 TEST_LOOP(losses_are_what_the_definition_says, 4),
                                 TEST_LOOP(an_all_ignored_batch_has_loss_0_count_0_and_no_gradient, 2),
                                 TEST(logits_of_an_ignored_target_may_hold_anything),
                                 TEST(logits_of_1e30_give_finite_losses),
                                 TEST(small_losses_of_large_logits_keep_their_digits),
                                 TEST(a_class_ruled_out_by_minus_infinity_costs_nothing),
                                 TEST_LOOP(nan_and_infinity_reach_the_sum, 4),
                                 TEST(without_smoothing_both_sums_are_the_same_to_the_bit),
                                 TEST(smoothing_does_not_reach_the_true_loss),
                                 TEST_LOOP(a_gradient_sums_to_0_over_the_classes, 2)};
    return suite_run("kernels/cross_entropy", tests, sizeof tests / sizeof *tests, argc, argv);
}
